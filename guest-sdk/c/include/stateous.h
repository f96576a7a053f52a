/*
 * Write Stateous routines in C (or C++). README.md begins with a first routine.
 *
 * You write one function, `stateous_run`; everything else is here. All text is UTF-8 and ends with a NUL; all values are
 * JSON as text. What a function gives you lives until the attempt ends: nothing is freed by you.
 */
#ifndef STATEOUS_H
#define STATEOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One attempt's view of its token. Read its fields; act through the functions below. */
typedef struct stateous_ctx {
  /* The id of the token that waits in this state. */
  const char *token;
  /* The task's number, the same for every attempt. With the token's id it makes an idempotency key for the outside. */
  uint64_t task;
  const char *workflow;
  const char *state;
  /* How many times the token has entered this state; 1 is the first. */
  uint32_t visit;
  /* Which try of the task this is; 1 is the first. */
  uint32_t attempt;
  /* The event that brought the token here (`__started__` in the first state), and its payload; `{}` when it has none. */
  const char *entered_by;
  const char *payload;
  /* The host's time when the attempt began, in milliseconds since 1970-01-01 UTC. Does not advance. */
  uint64_t now_ms;
  /* The SDK's own. */
  struct stateous_inner *inner;
} stateous_ctx;

/* How an attempt ends. Made by `stateous_event`, `stateous_waiting`, `stateous_fatal` and `stateous_retryable`. */
typedef struct stateous_outcome {
  enum { STATEOUS_EVENT, STATEOUS_WAITING, STATEOUS_FAILED } kind;
  /* The event's name and payload (NULL without one), or the failure's message. */
  const char *text;
  const char *payload;
  bool retry;
} stateous_outcome;

/* Why the host refused a call. */
typedef struct stateous_refusal {
  /* Stable, for programs: `too_large`, `invalid_json`, `invalid_key`, `too_many`, `invalid_event`, … */
  const char *code;
  /* For people. */
  const char *message;
} stateous_refusal;

/* The routine: the one function that you write. */
stateous_outcome stateous_run(stateous_ctx *ctx);

/* The token moves by this event. `payload` is a JSON object, or NULL. */
stateous_outcome stateous_event(const char *name, const char *payload);
/* The work goes on outside; somebody will report the task or fire an event. */
stateous_outcome stateous_waiting(void);
/* The attempt failed, and no other would change that: it spends the task's remaining retries. As printf. */
#define stateous_fatal(ctx, ...) stateous_failed((ctx), false, __FILE__, __LINE__, __VA_ARGS__)
/* The attempt failed, and another makes sense. As printf; the message gets file and line. */
#define stateous_retryable(ctx, ...) stateous_failed((ctx), true, __FILE__, __LINE__, __VA_ARGS__)
stateous_outcome stateous_failed(stateous_ctx *ctx, bool retry, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Stops the attempt at once unless `condition` holds. The message goes into the token's history, with file and line. */
#define stateous_check(condition, ...) ((condition) ? (void)0 : stateous_panic(__FILE__, __LINE__, __VA_ARGS__))
_Noreturn void stateous_panic(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The whole context of the token, a JSON object, this attempt's own writes included. */
const char *stateous_all(stateous_ctx *ctx);
/* One value of the context, this attempt's own writes included; NULL when there is no such key. */
const char *stateous_get(stateous_ctx *ctx, const char *key);
/* Keeps a value for the context. It goes out with the outcome; if the attempt fails, it is gone. */
bool stateous_set(stateous_ctx *ctx, const char *key, const char *json);

/*
 * Keys and values of one (token, state) that outlive a crash, a retry and the supervisor itself. A value is on the
 * supervisor's disk when `stateous_memory_set` returns. That costs a disk flush: write after a piece of work worth not
 * repeating.
 */
const char *stateous_memory_get(stateous_ctx *ctx, const char *key);
bool stateous_memory_set(stateous_ctx *ctx, const char *key, const char *json);
/* `*deleted` (if not NULL): whether there was something to delete. */
bool stateous_memory_delete(stateous_ctx *ctx, const char *key, bool *deleted);
/* All keys, ended by NULL. */
const char *const *stateous_memory_keys(stateous_ctx *ctx);

/* Adds a line to the token's history, durably. At most 500 characters. As printf. */
bool stateous_note(stateous_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fires an event later, if the token is still in this state and visit by then: `90s`, `5m`, `6h`, `2d`. */
bool stateous_schedule(stateous_ctx *ctx, const char *event, const char *payload, const char *after);

typedef enum { STATEOUS_DEBUG, STATEOUS_INFO, STATEOUS_WARN, STATEOUS_ERROR } stateous_level;
/* Writes a line to the supervisor's log, which is not kept with the token. As printf. */
void stateous_log(stateous_ctx *ctx, stateous_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define stateous_debug(ctx, ...) stateous_log((ctx), STATEOUS_DEBUG, __VA_ARGS__)
#define stateous_info(ctx, ...) stateous_log((ctx), STATEOUS_INFO, __VA_ARGS__)
#define stateous_warn(ctx, ...) stateous_log((ctx), STATEOUS_WARN, __VA_ARGS__)
#define stateous_error(ctx, ...) stateous_log((ctx), STATEOUS_ERROR, __VA_ARGS__)

/*
 * A function that answers `false` was refused. This says why, and counts as handling it. A refusal that nobody asks about
 * ends the attempt as a retryable failure, whatever the routine returns.
 */
const stateous_refusal *stateous_refused(stateous_ctx *ctx);

/* Text as printf makes it; lives as long as the attempt. */
char *stateous_format(stateous_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `size` bytes, zeroed; they live as long as the attempt. Ends the attempt when there is no memory. */
void *stateous_alloc(stateous_ctx *ctx, size_t size);

/* The value of a key of a JSON object, as JSON; NULL when there is none. */
const char *stateous_json_get(stateous_ctx *ctx, const char *json, const char *key);
/* The value at a place (from 0) of a JSON list, as JSON; NULL when there is none. */
const char *stateous_json_at(stateous_ctx *ctx, const char *json, size_t at);
/* How many values a JSON list or object has; 0 for anything else. */
size_t stateous_json_count(const char *json);
/* The text of a JSON string; NULL when it is none (or `json` is NULL). A NUL inside ends it early. */
const char *stateous_json_text(stateous_ctx *ctx, const char *json);
/* Whether this is a JSON integer that fits, and which. Larger ones can be passed on as the JSON that they are. */
bool stateous_json_int(const char *json, int64_t *value);
/* Whether this is JSON's `true`. */
bool stateous_json_true(const char *json);
/* Text as a JSON string, quotes included. */
const char *stateous_json_quote(stateous_ctx *ctx, const char *text);

#ifdef __cplusplus
}
#endif
#endif
