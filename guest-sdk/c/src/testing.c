/* The mock's host: keeps what a routine does, and refuses by the same forms as the real one. */

#include "../include/stateous_testing.h"
#include "inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  NOTE_CHARS_MAX = 500,
  NOTES_MAX = 1000,
  SCHEDULES_MAX = 100,
  EVENT_BYTES_MAX = 64,
  MEMORY_KEY_CHARS_MAX = 128,
  /* 1 MiB less what is written around a value on its way. */
  VALUE_BYTES_MAX = (1 << 20) - (4 << 10),
  MEMORY_BYTES_MAX = 16 << 20,
};
static const long long DELAY_SECONDS_MAX = 3650LL * 86400;

/* Keys and JSON values, in the order of their first write. */
struct map {
  struct entry {
    char *key, *json;
  } *entries;
  size_t count;
};

struct stateous_mock {
  stateous_ctx ctx;
  struct stateous_inner inner;
  struct map context, writes, memory;
  char *notes, *scheduled, *logs, *shown;
  unsigned notes_of_attempt, schedules, writes_to_live;
  jmp_buf machine;
};

static stateous_mock *mock_of(stateous_ctx *ctx) {
  return ctx->inner->host;
}

static void *sure(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

static char *duplicate(const char *text) {
  return strcpy(sure(malloc(strlen(text) + 1)), text);
}

static struct entry *find(struct map *map, const char *key) {
  for (size_t at = 0; at < map->count; at += 1) {
    if (strcmp(map->entries[at].key, key) == 0) return &map->entries[at];
  }
  return NULL;
}

static void put(struct map *map, const char *key, const char *json) {
  struct entry *entry = find(map, key);
  if (entry == NULL) {
    map->entries = sure(realloc(map->entries, (map->count + 1) * sizeof *map->entries));
    entry = &map->entries[map->count];
    map->count += 1;
    *entry = (struct entry){.key = duplicate(key)};
  }
  free(entry->json);
  entry->json = duplicate(json);
}

static bool drop(struct map *map, const char *key) {
  struct entry *entry = find(map, key);
  if (entry == NULL) return false;
  free(entry->key);
  free(entry->json);
  map->count -= 1;
  size_t at = (size_t)(entry - map->entries);
  memmove(entry, entry + 1, (map->count - at) * sizeof *entry);
  return true;
}

static void clear(struct map *map) {
  while (map->count > 0) drop(map, map->entries[0].key);
  free(map->entries);
  map->entries = NULL;
}

static void append(char **text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  size_t before = strlen(*text), more = (size_t)vsnprintf(NULL, 0, format, again);
  va_end(again);
  *text = sure(realloc(*text, before + more + 1));
  vsnprintf(*text + before, more + 1, format, arguments);
  va_end(arguments);
}

static size_t characters(const char *text) {
  size_t count = 0;
  for (; *text != '\0'; text += 1) count += (*text & 0xc0) != 0x80;
  return count;
}

static bool refuse(stateous_ctx *ctx, const char *code, const char *message) {
  ctx->inner->refusal = (stateous_refusal){.code = code, .message = message};
  return false;
}

static bool check_json(stateous_ctx *ctx, const char *what, const char *key, const char *json) {
  const char *end = json == NULL ? NULL : stateous_json_skip(json);
  if (json != NULL && strlen(json) > VALUE_BYTES_MAX) {
    return refuse(ctx, "too_large",
                  stateous_format(ctx, "%s `%s` has %zu bytes; the most is %d", what, key, strlen(json), VALUE_BYTES_MAX));
  }
  if (end == NULL || end[strspn(end, " \t\r\n")] != '\0') {
    return refuse(ctx, "invalid_json", stateous_format(ctx, "%s `%s` is not JSON", what, key));
  }
  return true;
}

stateous_mock *stateous_mock_new(const char *context) {
  stateous_mock *mock = sure(calloc(1, sizeof *mock));
  mock->inner.host = mock;
  mock->ctx = (stateous_ctx){
      .token = "T-1", .task = 1, .workflow = "workflow", .state = "state", .visit = 1, .attempt = 1,
      .entered_by = "__started__", .payload = "{}", .now_ms = 1767225600000, .inner = &mock->inner,
  };
  mock->notes = duplicate("");
  mock->scheduled = duplicate("");
  mock->logs = duplicate("");
  mock->shown = duplicate("");
  const char *key, *value;
  for (size_t at = 0; stateous_json_nth(context, at, &key, &value); at += 1) {
    const char *end = stateous_json_skip(value);
    put(&mock->context, stateous_json_text(&mock->ctx, key), stateous_copy(&mock->ctx, value, (size_t)(end - value)));
  }
  stateous_check(*context == '{', "a token's context is a JSON object, not %s", context);
  return mock;
}

void stateous_mock_free(stateous_mock *mock) {
  stateous_free_all(&mock->ctx);
  clear(&mock->context);
  clear(&mock->writes);
  clear(&mock->memory);
  free(mock->notes);
  free(mock->scheduled);
  free(mock->logs);
  free(mock->shown);
  free(mock);
}

stateous_ctx *stateous_mock_task(stateous_mock *mock) {
  return &mock->ctx;
}

void stateous_mock_remembers(stateous_mock *mock, const char *key, const char *json) {
  put(&mock->memory, key, json);
}

void stateous_mock_kill_after_memory_writes(stateous_mock *mock, unsigned writes) {
  mock->writes_to_live = writes == 0 ? 1 : writes;
}

stateous_ended stateous_mock_run(stateous_mock *mock, stateous_outcome (*routine)(stateous_ctx *)) {
  stateous_free_all(&mock->ctx);
  mock->inner.pending = false;
  mock->notes_of_attempt = mock->schedules = 0;
  mock->scheduled[0] = '\0';
  clear(&mock->writes);

  stateous_ended ended = {.kind = STATEOUS_ENDED_KILLED};
  if (setjmp(mock->machine) == 0) {
    stateous_outcome outcome = stateous_attempt(&mock->ctx, routine);
    switch (outcome.kind) {
      case STATEOUS_EVENT:
        ended.kind = STATEOUS_ENDED_EVENT;
        ended.event = outcome.text;
        ended.payload = outcome.payload == NULL ? "{}" : outcome.payload;
        break;
      case STATEOUS_WAITING: ended.kind = STATEOUS_ENDED_WAITING; break;
      case STATEOUS_FAILED:
        ended.kind = STATEOUS_ENDED_FAILED;
        ended.message = outcome.text;
        ended.retry = outcome.retry;
        break;
    }
  }
  mock->writes_to_live = 0;
  if (ended.kind == STATEOUS_ENDED_EVENT || ended.kind == STATEOUS_ENDED_WAITING) {
    for (size_t at = 0; at < mock->writes.count; at += 1) {
      put(&mock->context, mock->writes.entries[at].key, mock->writes.entries[at].json);
    }
    mock->ctx.task += 1;
    mock->ctx.visit += 1;
    mock->ctx.attempt = 1;
  } else {
    mock->ctx.attempt += 1;
  }
  return ended;
}

/* A JSON object of `map` with the values of `over` before its own. */
static const char *object(stateous_mock *mock, struct map *map, struct map *over) {
  mock->shown[0] = '\0';
  append(&mock->shown, "{");
  const char *comma = "";
  for (int pass = 0; pass < 2; pass += 1) {
    struct map *of = pass == 0 ? map : over;
    for (size_t at = 0; of != NULL && at < of->count; at += 1) {
      struct entry *entry = &of->entries[at], *newer = over == NULL ? NULL : find(over, entry->key);
      if (pass == 1 && find(map, entry->key) != NULL) continue;
      const char *key = stateous_json_quote(&mock->ctx, entry->key);
      append(&mock->shown, "%s%s: %s", comma, key, newer == NULL ? entry->json : newer->json);
      comma = ", ";
    }
  }
  append(&mock->shown, "}");
  return mock->shown;
}

const char *stateous_mock_context(stateous_mock *mock) {
  return object(mock, &mock->context, NULL);
}

const char *stateous_mock_memory(stateous_mock *mock, const char *key) {
  struct entry *entry = find(&mock->memory, key);
  return entry == NULL ? NULL : entry->json;
}

const char *stateous_mock_notes(stateous_mock *mock) {
  return mock->notes;
}

const char *stateous_mock_scheduled(stateous_mock *mock) {
  return mock->scheduled;
}

const char *stateous_mock_logs(stateous_mock *mock) {
  return mock->logs;
}

/* The host's side. */

const char *stateous_host_context_all(stateous_ctx *ctx) {
  stateous_mock *mock = mock_of(ctx);
  const char *json = object(mock, &mock->context, &mock->writes);
  return stateous_copy(ctx, json, strlen(json));
}

const char *stateous_host_context_get(stateous_ctx *ctx, const char *key) {
  struct entry *entry = find(&mock_of(ctx)->writes, key);
  if (entry == NULL) entry = find(&mock_of(ctx)->context, key);
  return entry == NULL ? NULL : stateous_copy(ctx, entry->json, strlen(entry->json));
}

bool stateous_host_context_set(stateous_ctx *ctx, const char *key, const char *json) {
  if (!check_json(ctx, "context value", key, json)) return false;
  put(&mock_of(ctx)->writes, key, json);
  return true;
}

static void memory_was_written(stateous_mock *mock) {
  if (mock->writes_to_live == 0) return;
  mock->writes_to_live -= 1;
  if (mock->writes_to_live == 0) longjmp(mock->machine, 1);
}

const char *stateous_host_memory_get(stateous_ctx *ctx, const char *key) {
  struct entry *entry = find(&mock_of(ctx)->memory, key);
  return entry == NULL ? NULL : stateous_copy(ctx, entry->json, strlen(entry->json));
}

bool stateous_host_memory_set(stateous_ctx *ctx, const char *key, const char *json) {
  stateous_mock *mock = mock_of(ctx);
  size_t length = characters(key), total = strlen(key);
  if (length == 0 || length > MEMORY_KEY_CHARS_MAX) {
    return refuse(ctx, "invalid_key",
                  stateous_format(ctx, "a memory key has 1 to %d characters, not %zu", MEMORY_KEY_CHARS_MAX, length));
  }
  if (!check_json(ctx, "memory value", key, json)) return false;
  const char *first = json + strspn(json, " \t\r\n");
  if (strncmp(first, "null", 4) == 0) {
    return refuse(ctx, "invalid_json",
                  stateous_format(ctx, "memory value `%s` is null, which means \"delete\": call `stateous_memory_delete`", key));
  }
  for (size_t at = 0; at < mock->memory.count; at += 1) {
    struct entry *entry = &mock->memory.entries[at];
    if (strcmp(entry->key, key) != 0) total += strlen(entry->key) + strlen(entry->json);
  }
  if (total + strlen(json) > MEMORY_BYTES_MAX) {
    return refuse(ctx, "too_large",
                  stateous_format(ctx, "the memory of this token and state would exceed %d bytes", MEMORY_BYTES_MAX));
  }
  put(&mock->memory, key, json);
  memory_was_written(mock);
  return true;
}

bool stateous_host_memory_delete(stateous_ctx *ctx, const char *key, bool *deleted) {
  *deleted = drop(&mock_of(ctx)->memory, key);
  if (*deleted) memory_was_written(mock_of(ctx));
  return true;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *stateous_host_memory_keys(stateous_ctx *ctx) {
  struct map *memory = &mock_of(ctx)->memory;
  const char **keys = stateous_alloc(ctx, (memory->count + 1) * sizeof *keys);
  for (size_t at = 0; at < memory->count; at += 1) {
    keys[at] = stateous_copy(ctx, memory->entries[at].key, strlen(memory->entries[at].key));
  }
  qsort(keys, memory->count, sizeof *keys, by_text);
  return keys;
}

bool stateous_host_note(stateous_ctx *ctx, const char *text) {
  stateous_mock *mock = mock_of(ctx);
  static const char SPACE[] = " \t\r\n\v\f";
  text += strspn(text, SPACE);
  size_t length = strlen(text);
  while (length > 0 && strchr(SPACE, text[length - 1]) != NULL) length -= 1;
  const char *note = stateous_copy(ctx, text, length);
  if (characters(note) > NOTE_CHARS_MAX) {
    return refuse(ctx, "too_large",
                  stateous_format(ctx, "a note of %zu characters; the most is %d", characters(note), NOTE_CHARS_MAX));
  }
  if (length == 0) return true;
  if (mock->notes_of_attempt >= NOTES_MAX) {
    return refuse(ctx, "too_many", stateous_format(ctx, "one attempt adds at most %d notes", NOTES_MAX));
  }
  mock->notes_of_attempt += 1;
  append(&mock->notes, "%s\n", note);
  return true;
}

static bool is_event(const char *name) {
  size_t length = strlen(name);
  return length >= 1 && length <= EVENT_BYTES_MAX && name[0] >= 'a' && name[0] <= 'z' &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length && strcmp(name, "timeout") != 0 &&
         strcmp(name, "error") != 0 && strcmp(name, "joined") != 0;
}

static bool is_delay(const char *after) {
  size_t digits = strspn(after, "0123456789");
  if (digits == 0 || digits > 12 || after[0] == '0' || strlen(after) != digits + 1) return false;
  long long each = 0;
  switch (after[digits]) {
    case 's': each = 1; break;
    case 'm': each = 60; break;
    case 'h': each = 3600; break;
    case 'd': each = 86400; break;
  }
  return each != 0 && strtoll(after, NULL, 10) <= DELAY_SECONDS_MAX / each;
}

bool stateous_host_schedule(stateous_ctx *ctx, const char *event, const char *payload, const char *after) {
  stateous_mock *mock = mock_of(ctx);
  if (!is_event(event)) {
    return refuse(ctx, "invalid_event",
                  stateous_format(ctx, "`%s` is no event of a workflow: expected a letter, then up to 63 of a-z 0-9 _ -", event));
  }
  if (!is_delay(after)) {
    return refuse(ctx, "invalid_duration",
                  stateous_format(ctx, "`%s` is no duration: expected a number and one of s, m, h, d, as in 90s or 6h; at most 3650d", after));
  }
  if (mock->schedules >= SCHEDULES_MAX) {
    return refuse(ctx, "too_many", stateous_format(ctx, "one attempt adds at most %d events", SCHEDULES_MAX));
  }
  if (payload != NULL && !check_json(ctx, "the payload of", event, payload)) return false;
  mock->schedules += 1;
  append(&mock->scheduled, "%s %s after %s\n", event, payload == NULL ? "{}" : payload, after);
  return true;
}

void stateous_host_log(stateous_ctx *ctx, stateous_level level, const char *text) {
  static const char *const NAMES[] = {"debug", "info", "warn", "error"};
  if (ctx == NULL) {
    fprintf(stderr, "%s\n", text);
    return;
  }
  append(&mock_of(ctx)->logs, "%s: %s\n", NAMES[level], text);
}
