/*
 * The seam between the SDK and its host: the contract's calls, with text that ends with a NUL. wasm.c is the real host,
 * testing.c the one for native tests.
 */
#ifndef STATEOUS_INNER_H
#define STATEOUS_INNER_H

#include "../include/stateous.h"

/* A piece of the attempt's memory. */
struct stateous_chunk {
  struct stateous_chunk *next;
};

struct stateous_inner {
  struct stateous_chunk *chunks;
  /* The latest refusal; `pending` until the routine asks about it. */
  stateous_refusal refusal;
  bool pending;
  /* The host's own. */
  void *host;
};

/* What a host offers. A call that can be refused answers `false` and fills in `ctx->inner->refusal`. */
const char *stateous_host_context_all(stateous_ctx *ctx);
const char *stateous_host_context_get(stateous_ctx *ctx, const char *key);
bool stateous_host_context_set(stateous_ctx *ctx, const char *key, const char *json);
const char *stateous_host_memory_get(stateous_ctx *ctx, const char *key);
bool stateous_host_memory_set(stateous_ctx *ctx, const char *key, const char *json);
bool stateous_host_memory_delete(stateous_ctx *ctx, const char *key, bool *deleted);
const char *const *stateous_host_memory_keys(stateous_ctx *ctx);
bool stateous_host_note(stateous_ctx *ctx, const char *text);
bool stateous_host_schedule(stateous_ctx *ctx, const char *event, const char *payload, const char *after);
/* `ctx` may be NULL: a panic has none. */
void stateous_host_log(stateous_ctx *ctx, stateous_level level, const char *text);

/* One attempt: runs the routine, and turns what cannot be an outcome, or a refusal that nobody asked about, into a failure. */
stateous_outcome stateous_attempt(stateous_ctx *ctx, stateous_outcome (*routine)(stateous_ctx *));
/* Frees what the attempt allocated. */
void stateous_free_all(stateous_ctx *ctx);
/* `length` bytes as text of the attempt. */
char *stateous_copy(stateous_ctx *ctx, const char *bytes, size_t length);

/* The place after the value that begins at `json` (white space before it is skipped); NULL when it is no JSON. */
const char *stateous_json_skip(const char *json);
/* The `at`th member of an object or item of a list: its value, and for an object its key (a JSON string). */
bool stateous_json_nth(const char *json, size_t at, const char **key, const char **value);

#endif
