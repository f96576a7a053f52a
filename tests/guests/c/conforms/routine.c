/* What every SDK can do, one thing at a time: the same list in every language (tests/guests/conforms is Rust's). */

#include <stateous.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void look(const char *message) {
  stateous_check(message == NULL, "%s", message);
}

static stateous_outcome read_all(stateous_ctx *ctx, const char *value) {
  const char *known = stateous_memory_get(ctx, "known");
  bool none = stateous_memory_get(ctx, "none") == NULL && stateous_get(ctx, "none") == NULL;
  const char *payload = stateous_format(
      ctx,
      "{\"value\": %s, \"token\": %s, \"task\": %llu, \"workflow\": %s, \"state\": %s, \"visit\": %u, \"attempt\": %u, "
      "\"now_ms\": %llu, \"entered_by\": %s, \"given\": %s, \"known\": %s, \"none\": %s}",
      value, stateous_json_quote(ctx, ctx->token), (unsigned long long)ctx->task,
      stateous_json_quote(ctx, ctx->workflow), stateous_json_quote(ctx, ctx->state), ctx->visit, ctx->attempt,
      (unsigned long long)ctx->now_ms, stateous_json_quote(ctx, ctx->entered_by), ctx->payload,
      known == NULL ? "null" : known, none ? "true" : "false");
  return stateous_event("done", payload);
}

static stateous_outcome write_all(stateous_ctx *ctx, const char *value) {
  stateous_set(ctx, "copy", value);
  stateous_memory_set(ctx, "copy", stateous_get(ctx, "copy"));
  stateous_memory_delete(ctx, "known", NULL);
  const char *keys = "";
  for (const char *const *key = stateous_memory_keys(ctx); *key != NULL; key += 1) {
    keys = stateous_format(ctx, "%s%s%s", keys, *keys == '\0' ? "" : ", ", stateous_json_quote(ctx, *key));
  }
  stateous_set(ctx, "keys", stateous_format(ctx, "[%s]", keys));
  stateous_note(ctx, "  noted 🖋  ");
  stateous_schedule(ctx, "reminded", "{\"n\": 1}", "6h");
  for (int level = STATEOUS_DEBUG; level <= STATEOUS_ERROR; level += 1) {
    stateous_log(ctx, (stateous_level)level, "a line");
  }
  return stateous_waiting();
}

stateous_outcome stateous_run(stateous_ctx *ctx) {
  const char *act = stateous_json_text(ctx, stateous_get(ctx, "do"));
  const char *value = stateous_get(ctx, "value");
  if (act == NULL) return stateous_fatal(ctx, "there is nothing to do");
  if (strcmp(act, "read") == 0) return read_all(ctx, value);
  if (strcmp(act, "write") == 0) return write_all(ctx, value);
  if (strcmp(act, "fatal") == 0) return stateous_fatal(ctx, "there is no such thing");
  if (strcmp(act, "retry") == 0) return stateous_retryable(ctx, "no answer");
  if (strcmp(act, "refused") == 0 && !stateous_memory_set(ctx, "", "1")) {
    return stateous_event("refused", stateous_format(ctx, "{\"code\": \"%s\"}", stateous_refused(ctx)->code));
  }
  if (strcmp(act, "careless") == 0) {
    stateous_memory_set(ctx, "", "1");
  } else if (strcmp(act, "crash") == 0) {
    look("no such order");
  } else if (strcmp(act, "shout") == 0) {
    char *message = stateous_alloc(ctx, 20001);
    look(memset(message, 'x', 20000));
  } else if (strcmp(act, "spin") == 0) {
    for (volatile int turn = 0;; turn += 1) {
    }
  } else if (strcmp(act, "hoard") == 0) {
    for (;;) memset(stateous_alloc(ctx, 1 << 20), 1, 1 << 20);
  } else {
    return stateous_fatal(ctx, "unknown: %s", act);
  }
  return stateous_event("done", NULL);
}
