/* What a routine's author calls, over the seam of inner.h. Where the host is, is none of its business. */

#include "inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a panic's message. */
enum { PANIC_BYTES_MAX = 4096 };

void *stateous_alloc(stateous_ctx *ctx, size_t size) {
  struct stateous_chunk *chunk = calloc(1, sizeof *chunk + size);
  stateous_check(chunk != NULL, "there is no memory for %zu bytes", size);
  chunk->next = ctx->inner->chunks;
  ctx->inner->chunks = chunk;
  return chunk + 1;
}

void stateous_free_all(stateous_ctx *ctx) {
  while (ctx->inner->chunks != NULL) {
    struct stateous_chunk *chunk = ctx->inner->chunks;
    ctx->inner->chunks = chunk->next;
    free(chunk);
  }
}

char *stateous_copy(stateous_ctx *ctx, const char *bytes, size_t length) {
  char *text = stateous_alloc(ctx, length + 1);
  memcpy(text, bytes, length);
  return text;
}

static char *vformat(stateous_ctx *ctx, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  stateous_check(length >= 0, "this is no format: %s", format);
  char *text = stateous_alloc(ctx, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

#define FORMATTED(text, ctx, format)      \
  va_list arguments;                      \
  va_start(arguments, format);            \
  char *text = vformat(ctx, format, arguments); \
  va_end(arguments)

char *stateous_format(stateous_ctx *ctx, const char *format, ...) {
  FORMATTED(text, ctx, format);
  return text;
}

stateous_outcome stateous_event(const char *name, const char *payload) {
  return (stateous_outcome){.kind = STATEOUS_EVENT, .text = name, .payload = payload};
}

stateous_outcome stateous_waiting(void) {
  return (stateous_outcome){.kind = STATEOUS_WAITING};
}

stateous_outcome stateous_failed(stateous_ctx *ctx, bool retry, const char *file, int line, const char *format, ...) {
  FORMATTED(text, ctx, format);
  if (retry) text = stateous_format(ctx, "%s (%s:%d)", text, file, line);
  return (stateous_outcome){.kind = STATEOUS_FAILED, .text = text, .retry = retry};
}

/* No allocation: it also reports that there is no memory. */
_Noreturn void stateous_panic(const char *file, int line, const char *format, ...) {
  char message[PANIC_BYTES_MAX], text[PANIC_BYTES_MAX + 256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  snprintf(text, sizeof text, "panic: %s (%s:%d)", message, file, line);
  stateous_host_log(NULL, STATEOUS_ERROR, text);
  abort();
}

stateous_outcome stateous_attempt(stateous_ctx *ctx, stateous_outcome (*routine)(stateous_ctx *)) {
  stateous_outcome outcome = routine(ctx);
  if (outcome.kind == STATEOUS_FAILED) return outcome;
  if (ctx->inner->pending) {
    const stateous_refusal *refusal = &ctx->inner->refusal;
    const char *text = stateous_format(ctx, "%s: %s", refusal->code, refusal->message);
    return (stateous_outcome){.kind = STATEOUS_FAILED, .text = text, .retry = true};
  }
  if (outcome.kind == STATEOUS_EVENT && outcome.text == NULL) {
    return (stateous_outcome){.kind = STATEOUS_FAILED, .text = "the routine returned an event without a name"};
  }
  return outcome;
}

const stateous_refusal *stateous_refused(stateous_ctx *ctx) {
  if (!ctx->inner->pending) return NULL;
  ctx->inner->pending = false;
  return &ctx->inner->refusal;
}

/* Remembers a refusal until it is asked about. */
static bool asked(stateous_ctx *ctx, bool taken) {
  if (!taken) ctx->inner->pending = true;
  return taken;
}

const char *stateous_all(stateous_ctx *ctx) {
  return stateous_host_context_all(ctx);
}

const char *stateous_get(stateous_ctx *ctx, const char *key) {
  return stateous_host_context_get(ctx, key);
}

bool stateous_set(stateous_ctx *ctx, const char *key, const char *json) {
  return asked(ctx, stateous_host_context_set(ctx, key, json));
}

const char *stateous_memory_get(stateous_ctx *ctx, const char *key) {
  return stateous_host_memory_get(ctx, key);
}

bool stateous_memory_set(stateous_ctx *ctx, const char *key, const char *json) {
  return asked(ctx, stateous_host_memory_set(ctx, key, json));
}

bool stateous_memory_delete(stateous_ctx *ctx, const char *key, bool *deleted) {
  bool there = false;
  bool taken = asked(ctx, stateous_host_memory_delete(ctx, key, &there));
  if (deleted != NULL) *deleted = there;
  return taken;
}

const char *const *stateous_memory_keys(stateous_ctx *ctx) {
  return stateous_host_memory_keys(ctx);
}

bool stateous_note(stateous_ctx *ctx, const char *format, ...) {
  FORMATTED(text, ctx, format);
  return asked(ctx, stateous_host_note(ctx, text));
}

bool stateous_schedule(stateous_ctx *ctx, const char *event, const char *payload, const char *after) {
  return asked(ctx, stateous_host_schedule(ctx, event, payload, after));
}

void stateous_log(stateous_ctx *ctx, stateous_level level, const char *format, ...) {
  FORMATTED(text, ctx, format);
  stateous_host_log(ctx, level, text);
}
