/* The SDK's own tests, natively: a routine with everything a context offers, and the reader of JSON. */

#include <stateous_testing.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
  ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static bool same(const char *left, const char *right) {
  bool equal = left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
  if (!equal) fprintf(stderr, "  left:  %s\n  right: %s\n", left == NULL ? "(none)" : left, right == NULL ? "(none)" : right);
  return equal;
}

static stateous_outcome order(stateous_ctx *ctx) {
  const char *title = stateous_json_text(ctx, stateous_get(ctx, "title"));
  if (title == NULL) return stateous_fatal(ctx, "there is no title");
  int64_t seen = 0;
  stateous_json_int(stateous_memory_get(ctx, "seen"), &seen);
  seen += 1;
  const char *count = stateous_format(ctx, "%d", (int)seen);
  stateous_memory_set(ctx, "seen", count);
  stateous_note(ctx, "  %s for the %d. time  ", title, (int)seen);
  if (strcmp(title, "wait") == 0) {
    stateous_schedule(ctx, "reminded", NULL, "6h");
    stateous_schedule(ctx, "filled", stateous_format(ctx, "{\"count\": %s}", count), "90s");
    return stateous_waiting();
  }
  if (strcmp(title, "fill") == 0) {
    stateous_set(ctx, "count", count);
    CHECK(same(stateous_get(ctx, "count"), count));
    return stateous_event("filled", stateous_format(ctx, "{\"count\": %s}", count));
  }
  if (strcmp(title, "fail") == 0) return stateous_retryable(ctx, "the warehouse does not answer");
  if (strcmp(title, "careless") == 0) stateous_memory_set(ctx, "", "1");
  if (strcmp(title, "careful") == 0 && !stateous_memory_set(ctx, "", "1")) {
    CHECK(same(stateous_refused(ctx)->code, "invalid_key"));
    CHECK(stateous_refused(ctx) == NULL);
  }
  if (strcmp(title, "nameless") == 0) return stateous_event(NULL, NULL);
  return stateous_event("submitted", NULL);
}

static stateous_mock *mock_of(const char *title) {
  char context[100];
  snprintf(context, sizeof context, "{\"title\": \"%s\"}", title);
  return stateous_mock_new(context);
}

static void an_event_moves_the_token_and_the_writes_go_with_it(void) {
  stateous_mock *mock = mock_of("fill");
  stateous_ended ended = stateous_mock_run(mock, order);
  CHECK(ended.kind == STATEOUS_ENDED_EVENT && same(ended.event, "filled") && same(ended.payload, "{\"count\": 1}"));
  CHECK(same(stateous_mock_context(mock), "{\"title\": \"fill\", \"count\": 1}"));
  CHECK(same(stateous_mock_notes(mock), "fill for the 1. time\n"));
  CHECK(same(stateous_mock_run(mock, order).payload, "{\"count\": 2}"));
  CHECK(same(stateous_mock_context(mock), "{\"title\": \"fill\", \"count\": 2}"));
  stateous_mock_free(mock);
}

static void waiting_keeps_the_timers(void) {
  stateous_mock *mock = mock_of("wait");
  CHECK(stateous_mock_run(mock, order).kind == STATEOUS_ENDED_WAITING);
  CHECK(same(stateous_mock_scheduled(mock), "reminded {} after 6h\nfilled {\"count\": 1} after 90s\n"));
  stateous_mock_free(mock);
}

static void failures_say_whether_to_retry(void) {
  stateous_mock *mock = mock_of("fail");
  stateous_ended ended = stateous_mock_run(mock, order);
  CHECK(ended.kind == STATEOUS_ENDED_FAILED && ended.retry);
  CHECK(strncmp(ended.message, "the warehouse does not answer (", 31) == 0 && strstr(ended.message, "test.c:") != NULL);
  stateous_mock_free(mock);

  mock = stateous_mock_new("{}");
  ended = stateous_mock_run(mock, order);
  CHECK(!ended.retry && same(ended.message, "there is no title"));
  stateous_mock_free(mock);

  mock = mock_of("nameless");
  CHECK(same(stateous_mock_run(mock, order).message, "the routine returned an event without a name"));
  stateous_mock_free(mock);
}

static void a_refusal_that_nobody_asks_about_ends_the_attempt(void) {
  stateous_mock *mock = mock_of("careless");
  stateous_ended ended = stateous_mock_run(mock, order);
  CHECK(same(ended.message, "invalid_key: a memory key has 1 to 128 characters, not 0") && ended.retry);
  stateous_mock_free(mock);
  mock = mock_of("careful");
  CHECK(same(stateous_mock_run(mock, order).event, "submitted"));
  stateous_mock_free(mock);
}

static stateous_outcome steps(stateous_ctx *ctx) {
  int64_t step = 0;
  stateous_json_int(stateous_memory_get(ctx, "step"), &step);
  stateous_note(ctx, "attempt %u from step %d", ctx->attempt, (int)step);
  stateous_set(ctx, "attempt", stateous_format(ctx, "%u", ctx->attempt));
  while (step < 3) {
    step += 1;
    stateous_memory_set(ctx, "step", stateous_format(ctx, "%d", (int)step));
  }
  return stateous_event("submitted", NULL);
}

static void a_kill_keeps_memory_and_notes_and_nothing_else(void) {
  stateous_mock *mock = stateous_mock_new("{}");
  stateous_mock_kill_after_memory_writes(mock, 2);
  CHECK(stateous_mock_run(mock, steps).kind == STATEOUS_ENDED_KILLED);
  CHECK(same(stateous_mock_memory(mock, "step"), "2") && same(stateous_mock_context(mock), "{}"));
  CHECK(same(stateous_mock_run(mock, steps).event, "submitted"));
  CHECK(same(stateous_mock_notes(mock), "attempt 1 from step 0\nattempt 2 from step 2\n"));
  CHECK(same(stateous_mock_context(mock), "{\"attempt\": 2}"));
  stateous_mock_free(mock);
}

static const char *code(stateous_ctx *ctx, bool taken) {
  return taken ? "taken" : stateous_refused(ctx)->code;
}

static void the_mock_refuses_what_the_host_would(void) {
  stateous_mock *mock = stateous_mock_new("{}");
  stateous_ctx *ctx = stateous_mock_task(mock);
  char *long_text = stateous_alloc(ctx, (1 << 20) + 1);
  memset(long_text, '7', 1 << 20);
  CHECK(same(code(ctx, stateous_note(ctx, "%.501s", long_text)), "too_large"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, "", "1")), "invalid_key"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, stateous_format(ctx, "%.129s", long_text), "1")), "invalid_key"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, "k", "null")), "invalid_json"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, "k", "{\"a\": }")), "invalid_json"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, "k", NULL)), "invalid_json"));
  CHECK(same(code(ctx, stateous_memory_set(ctx, "k", long_text)), "too_large"));
  CHECK(same(code(ctx, stateous_schedule(ctx, "reminded", NULL, "soon")), "invalid_duration"));
  CHECK(same(code(ctx, stateous_schedule(ctx, "reminded", NULL, "3651d")), "invalid_duration"));
  CHECK(same(code(ctx, stateous_schedule(ctx, "timeout", NULL, "1s")), "invalid_event"));
  for (int count = 0; count < 100; count += 1) CHECK(stateous_schedule(ctx, "reminded", NULL, "1s"));
  CHECK(same(code(ctx, stateous_schedule(ctx, "reminded", NULL, "1s")), "too_many"));
  CHECK(stateous_note(ctx, "   ") && same(stateous_mock_notes(mock), ""));
  stateous_warn(ctx, "care%s", "ful");
  CHECK(same(stateous_mock_logs(mock), "warn: careful\n"));

  stateous_mock_remembers(mock, "b", "2");
  stateous_mock_remembers(mock, "a", "1");
  const char *const *keys = stateous_memory_keys(ctx);
  CHECK(same(keys[0], "a") && same(keys[1], "b") && keys[2] == NULL);
  bool deleted;
  CHECK(stateous_memory_delete(ctx, "a", &deleted) && deleted);
  CHECK(stateous_memory_delete(ctx, "a", &deleted) && !deleted);
  stateous_mock_free(mock);
}

static void json_is_read_and_written(void) {
  stateous_mock *mock = stateous_mock_new("{}");
  stateous_ctx *ctx = stateous_mock_task(mock);
  const char *json = " {\"big\": 12345678901234567890123, \"n\\u00e4me\": \"\\ud83d\\udd8b \\\"x\\\" \\n\", "
                     "\"list\": [1, {\"deep\": [true, null]}, \"]\"], \"empty\": {}}";
  CHECK(same(stateous_json_get(ctx, json, "big"), "12345678901234567890123"));
  CHECK(same(stateous_json_text(ctx, stateous_json_get(ctx, json, "n\xc3\xa4me")), "\xf0\x9f\x96\x8b \"x\" \n"));
  const char *list = stateous_json_get(ctx, json, "list");
  CHECK(stateous_json_count(list) == 3 && stateous_json_count(json) == 4 && stateous_json_count("[]") == 0);
  CHECK(same(stateous_json_at(ctx, list, 1), "{\"deep\": [true, null]}"));
  CHECK(stateous_json_true(stateous_json_at(ctx, stateous_json_get(ctx, stateous_json_at(ctx, list, 1), "deep"), 0)));
  CHECK(same(stateous_json_at(ctx, list, 2), "\"]\"") && stateous_json_at(ctx, list, 3) == NULL);
  CHECK(stateous_json_get(ctx, json, "none") == NULL && stateous_json_get(ctx, NULL, "x") == NULL);
  CHECK(stateous_json_text(ctx, "7") == NULL && stateous_json_text(ctx, "\"\\ud83d\"") == NULL);

  int64_t value;
  CHECK(stateous_json_int("-42", &value) && value == -42);
  CHECK(stateous_json_int("9223372036854775807", &value) && value == INT64_MAX);
  CHECK(!stateous_json_int("9223372036854775808", &value) && !stateous_json_int("1.5", &value));
  CHECK(!stateous_json_int("1e3", &value) && !stateous_json_int("\"1\"", &value) && !stateous_json_int(NULL, &value));

  CHECK(same(stateous_json_quote(ctx, "a\"\\\n\x01\xc3\xa4"), "\"a\\\"\\\\\\u000a\\u0001\xc3\xa4\""));
  CHECK(same(stateous_json_text(ctx, stateous_json_quote(ctx, "a\"\\\n\x01\xc3\xa4")), "a\"\\\n\x01\xc3\xa4"));

  /* Deeper than any token's, and cut short: no answer, and no crash. */
  char deep[1000];
  memset(deep, '[', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  CHECK(stateous_json_count(deep) == 0);
  for (const char *cut = json, *whole = strstr(json, "{}}"); cut < whole + 2; cut += 1) {
    const char *part = stateous_format(ctx, "%.*s", (int)(cut - json), json);
    CHECK(stateous_json_get(ctx, part, "empty") == NULL);
  }
  stateous_mock_free(mock);
}

int main(void) {
  an_event_moves_the_token_and_the_writes_go_with_it();
  waiting_keeps_the_timers();
  failures_say_whether_to_retry();
  a_refusal_that_nobody_asks_about_ends_the_attempt();
  a_kill_keeps_memory_and_notes_and_nothing_else();
  the_mock_refuses_what_the_host_would();
  json_is_read_and_written();
  puts("7 passed, 0 failed");
  return 0;
}
