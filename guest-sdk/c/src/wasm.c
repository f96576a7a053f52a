/*
 * The real host: the contract's imports behind the seam of inner.h, and the way in from `run`. The one place that names
 * the generated bindings. Nothing is freed: an instance serves one attempt.
 */

#include "../bindings/routine.h"
#include "inner.h"

#include <string.h>

static routine_string_t borrowed(const char *text) {
  return (routine_string_t){.ptr = (uint8_t *)text, .len = strlen(text)};
}

static const char *owned(stateous_ctx *ctx, routine_string_t text) {
  return stateous_copy(ctx, (const char *)text.ptr, text.len);
}

/* JSON that is not there, by mistake of the routine, is no JSON: the host says so. */
static routine_string_t json_of(const char *json) {
  return borrowed(json == NULL ? "" : json);
}

static bool answered(stateous_ctx *ctx, bool taken, stateous_routine_types_refusal_t *refusal) {
  if (!taken) {
    ctx->inner->refusal = (stateous_refusal){.code = owned(ctx, refusal->code), .message = owned(ctx, refusal->message)};
  }
  return taken;
}

static stateous_routine_types_event_t event_of(const char *name, const char *payload) {
  stateous_routine_types_event_t event = {.name = borrowed(name)};
  event.payload.is_some = payload != NULL;
  if (payload != NULL) event.payload.val = borrowed(payload);
  return event;
}

const char *stateous_host_context_all(stateous_ctx *ctx) {
  routine_string_t json;
  stateous_routine_context_all(&json);
  return owned(ctx, json);
}

const char *stateous_host_context_get(stateous_ctx *ctx, const char *key) {
  routine_string_t name = borrowed(key), json;
  return stateous_routine_context_get(&name, &json) ? owned(ctx, json) : NULL;
}

bool stateous_host_context_set(stateous_ctx *ctx, const char *key, const char *json) {
  routine_string_t name = borrowed(key), value = json_of(json);
  stateous_routine_types_refusal_t refusal;
  return answered(ctx, stateous_routine_context_set(&name, &value, &refusal), &refusal);
}

const char *stateous_host_memory_get(stateous_ctx *ctx, const char *key) {
  routine_string_t name = borrowed(key), json;
  return stateous_routine_memory_get(&name, &json) ? owned(ctx, json) : NULL;
}

bool stateous_host_memory_set(stateous_ctx *ctx, const char *key, const char *json) {
  routine_string_t name = borrowed(key), value = json_of(json);
  stateous_routine_types_refusal_t refusal;
  return answered(ctx, stateous_routine_memory_set(&name, &value, &refusal), &refusal);
}

bool stateous_host_memory_delete(stateous_ctx *ctx, const char *key, bool *deleted) {
  routine_string_t name = borrowed(key);
  stateous_routine_types_refusal_t refusal;
  return answered(ctx, stateous_routine_memory_delete(&name, deleted, &refusal), &refusal);
}

const char *const *stateous_host_memory_keys(stateous_ctx *ctx) {
  routine_list_string_t list;
  stateous_routine_memory_keys(&list);
  const char **keys = stateous_alloc(ctx, (list.len + 1) * sizeof *keys);
  for (size_t at = 0; at < list.len; at += 1) keys[at] = owned(ctx, list.ptr[at]);
  return keys;
}

bool stateous_host_note(stateous_ctx *ctx, const char *text) {
  routine_string_t note = borrowed(text);
  stateous_routine_types_refusal_t refusal;
  return answered(ctx, stateous_routine_notes_add(&note, &refusal), &refusal);
}

bool stateous_host_schedule(stateous_ctx *ctx, const char *name, const char *payload, const char *after) {
  stateous_routine_types_event_t event = event_of(name, payload);
  routine_string_t delay = borrowed(after);
  stateous_routine_types_refusal_t refusal;
  return answered(ctx, stateous_routine_timers_schedule(&event, &delay, &refusal), &refusal);
}

void stateous_host_log(stateous_ctx *ctx, stateous_level level, const char *text) {
  (void)ctx;
  routine_string_t line = borrowed(text);
  stateous_routine_log_write((stateous_routine_log_level_t)level, &line);
}

bool exports_routine_run(routine_task_t *task, routine_outcome_t *ret, routine_failure_t *err) {
  struct stateous_inner inner = {0};
  stateous_ctx ctx = {.inner = &inner};
  ctx.token = owned(&ctx, task->token);
  ctx.task = task->id;
  ctx.workflow = owned(&ctx, task->workflow);
  ctx.state = owned(&ctx, task->state);
  ctx.visit = task->visit;
  ctx.attempt = task->attempt;
  ctx.entered_by = owned(&ctx, task->entered_by.name);
  ctx.payload = task->entered_by.payload.is_some ? owned(&ctx, task->entered_by.payload.val) : "{}";
  ctx.now_ms = task->now_ms;

  stateous_outcome outcome = stateous_attempt(&ctx, stateous_run);
  if (outcome.kind == STATEOUS_FAILED) {
    routine_string_dup(&err->message, outcome.text);
    err->retry = outcome.retry;
    return false;
  }
  ret->tag = outcome.kind == STATEOUS_WAITING ? STATEOUS_ROUTINE_TYPES_OUTCOME_WAITING
                                              : STATEOUS_ROUTINE_TYPES_OUTCOME_EVENT;
  if (outcome.kind == STATEOUS_EVENT) {
    routine_string_dup(&ret->val.event.name, outcome.text);
    ret->val.event.payload.is_some = outcome.payload != NULL;
    if (outcome.payload != NULL) routine_string_dup(&ret->val.event.payload.val, outcome.payload);
  }
  return true;
}

/*
 * The bindings pull in an object file with the description of the world. Here `stateous routine build` puts it into the
 * module, so that no binary file is kept beside the sources.
 */
void __component_type_object_force_link_routine(void);
void __component_type_object_force_link_routine(void) {}
