/*
 * A reader of JSON text for routines: finds values, decodes strings and small integers, and quotes text. It builds no
 * tree, so every digit stays what it was. It trusts the host's JSON to be JSON, and answers NULL for what is none.
 */

#include "inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Deeper JSON is none of a token's: the host keeps at most 64 levels. */
enum { LEVELS_MAX = 128 };

static const char *space(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at += 1;
  return at;
}

static const char *skip_string(const char *at) {
  for (at += 1; *at != '"'; at += 1) {
    if (*at == '\\') at += 1;
    if (*at == '\0') return NULL;
  }
  return at + 1;
}

static const char *skip_word(const char *at) {
  size_t length = strspn(at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
  return length == 0 ? NULL : at + length;
}

static const char *skip(const char *at, int levels);

/* After the key and the colon of a member; `*key` is where the key begins. */
static const char *skip_key(const char *at, const char **key) {
  at = space(at);
  if (*at != '"') return NULL;
  *key = at;
  at = skip_string(at);
  if (at == NULL) return NULL;
  at = space(at);
  return *at == ':' ? space(at + 1) : NULL;
}

static const char *skip_container(const char *at, char end, int levels) {
  const char *key;
  if (levels >= LEVELS_MAX) return NULL;
  at = space(at + 1);
  if (*at == end) return at + 1;
  for (;;) {
    if (end == '}' && (at = skip_key(at, &key)) == NULL) return NULL;
    at = skip(at, levels + 1);
    if (at == NULL) return NULL;
    at = space(at);
    if (*at == end) return at + 1;
    if (*at != ',') return NULL;
    at = space(at + 1);
  }
}

static const char *skip(const char *at, int levels) {
  at = space(at);
  switch (*at) {
    case '{': return skip_container(at, '}', levels);
    case '[': return skip_container(at, ']', levels);
    case '"': return skip_string(at);
    default: return skip_word(at);
  }
}

const char *stateous_json_skip(const char *json) {
  return skip(json, 0);
}

bool stateous_json_nth(const char *json, size_t at, const char **key, const char **value) {
  if (json == NULL) return false;
  json = space(json);
  char end = *json == '{' ? '}' : ']';
  if (*json != '{' && *json != '[') return false;
  json = space(json + 1);
  if (*json == end) return false;
  for (size_t seen = 0;; seen += 1) {
    *key = NULL;
    if (end == '}' && (json = skip_key(json, key)) == NULL) return false;
    *value = space(json);
    json = stateous_json_skip(json);
    if (json == NULL) return false;
    if (seen == at) return true;
    json = space(json);
    if (*json != ',') return false;
    json = space(json + 1);
  }
}

static const char *copied(stateous_ctx *ctx, const char *value) {
  const char *end = stateous_json_skip(value);
  return end == NULL ? NULL : stateous_copy(ctx, value, (size_t)(end - value));
}

const char *stateous_json_get(stateous_ctx *ctx, const char *json, const char *key) {
  const char *quoted, *value;
  if (json == NULL || *space(json) != '{') return NULL;
  for (size_t at = 0; stateous_json_nth(json, at, &quoted, &value); at += 1) {
    if (strcmp(stateous_json_text(ctx, quoted), key) == 0) return copied(ctx, value);
  }
  return NULL;
}

const char *stateous_json_at(stateous_ctx *ctx, const char *json, size_t at) {
  const char *key, *value;
  if (json == NULL || *space(json) != '[') return NULL;
  return stateous_json_nth(json, at, &key, &value) ? copied(ctx, value) : NULL;
}

size_t stateous_json_count(const char *json) {
  const char *key, *value;
  size_t count = 0;
  while (stateous_json_nth(json, count, &key, &value)) count += 1;
  return count;
}

static bool hex4(const char *at, unsigned *unit) {
  *unit = 0;
  for (int digit = 0; digit < 4; digit += 1) {
    char c = at[digit];
    unsigned value = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                   : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                   : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                          : 16;
    if (value == 16) return false;
    *unit = *unit << 4 | value;
  }
  return true;
}

static char *utf8(char *out, unsigned point) {
  if (point < 0x80) {
    *out++ = (char)point;
    return out;
  }
  int rest = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  *out++ = (char)((0xf0 << (3 - rest) & 0xff) | point >> (6 * rest));
  while (rest-- > 0) *out++ = (char)(0x80 | (point >> (6 * rest) & 0x3f));
  return out;
}

/* One `\u` escape, or the two of a pair; `*at` is moved to its last character. */
static bool escape(const char **at, unsigned *point) {
  unsigned low;
  if (!hex4(*at + 1, point)) return false;
  *at += 4;
  if (*point < 0xd800 || *point >= 0xe000) return true;
  if (*point >= 0xdc00 || (*at)[1] != '\\' || (*at)[2] != 'u' || !hex4(*at + 3, &low)) return false;
  if (low < 0xdc00 || low >= 0xe000) return false;
  *at += 6;
  *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

const char *stateous_json_text(stateous_ctx *ctx, const char *json) {
  static const char ESCAPES[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
  if (json == NULL || *(json = space(json)) != '"') return NULL;
  const char *end = skip_string(json);
  if (end == NULL) return NULL;
  /* Decoded text is never longer. */
  char *text = stateous_alloc(ctx, (size_t)(end - json)), *out = text;
  for (const char *at = json + 1; at < end - 1; at += 1) {
    if (*at != '\\') {
      *out++ = *at;
      continue;
    }
    at += 1;
    if (*at == 'u') {
      unsigned point;
      if (!escape(&at, &point)) return NULL;
      out = utf8(out, point);
    } else {
      const char *found = strchr(ESCAPES, *at);
      if (found == NULL) return NULL;
      *out++ = MEANT[found - ESCAPES];
    }
  }
  return text;
}

bool stateous_json_int(const char *json, int64_t *value) {
  if (json == NULL) return false;
  json = space(json);
  const char *end = stateous_json_skip(json);
  if (end == NULL || (*json != '-' && (*json < '0' || *json > '9'))) return false;
  if (json + strspn(json, "-0123456789") != end) return false;
  errno = 0;
  *value = strtoll(json, NULL, 10);
  return errno == 0;
}

bool stateous_json_true(const char *json) {
  return json != NULL && strncmp(space(json), "true", 4) == 0;
}

const char *stateous_json_quote(stateous_ctx *ctx, const char *text) {
  static const char HEX[] = "0123456789abcdef";
  /* The longest escape has six characters. */
  char *json = stateous_alloc(ctx, 6 * strlen(text) + 3), *out = json;
  *out++ = '"';
  for (; *text != '\0'; text += 1) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      *out++ = '\\';
      *out++ = *text;
    } else if (c < 0x20) {
      memcpy(out, "\\u00", 4);
      out[4] = HEX[c >> 4];
      out[5] = HEX[c & 15];
      out += 6;
    } else {
      *out++ = *text;
    }
  }
  *out = '"';
  return json;
}
