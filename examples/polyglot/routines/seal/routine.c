/* The fourth desk, in C: seals the parcel. */

#include <stateous.h>
#include <string.h>

/* A number of any length and one, as text. */
static const char *one_more(stateous_ctx *ctx, const char *digits) {
  char *sum = stateous_format(ctx, "0%s", digits);
  size_t at = strlen(sum) - 1;
  while (sum[at] == '9') sum[at--] = '0';
  sum[at] += 1;
  return sum[0] == '0' ? sum + 1 : sum;
}

static bool same(const char *left, const char *right) {
  return left != NULL && right != NULL && strcmp(left, right) == 0;
}

stateous_outcome stateous_run(stateous_ctx *ctx) {
  const char *title = stateous_get(ctx, "title");
  const char *contents = stateous_get(ctx, "contents");
  const char *journey = stateous_get(ctx, "journey");
  const char *serial = stateous_json_get(ctx, ctx->payload, "serial");
  if (title == NULL || contents == NULL || journey == NULL || serial == NULL) {
    return stateous_fatal(ctx, "this is no parcel");
  }

  const char *noted = stateous_memory_get(ctx, "noted");
  const char *now =
      stateous_format(ctx, "{\"title\": %s, \"serial\": %s, \"contents\": %s}", title, serial, contents);
  if (noted == NULL) {
    stateous_memory_set(ctx, "noted", now);
    return stateous_retryable(ctx, "seal was interrupted");
  }
  /* Compared value by value, and not as one text: between two attempts it was written down by others. */
  if (!same(stateous_json_text(ctx, stateous_json_get(ctx, noted, "title")), stateous_json_text(ctx, title)) ||
      !same(stateous_json_get(ctx, noted, "serial"), serial) ||
      stateous_json_count(stateous_json_get(ctx, noted, "contents")) != stateous_json_count(contents)) {
    return stateous_fatal(ctx, "seal forgot something");
  }

  stateous_note(ctx, "sealed: %s 🔏", stateous_json_text(ctx, title));
  /* The list is open again before its last bracket. */
  stateous_set(ctx, "journey",
               stateous_format(ctx, "%.*s, {\"desk\": \"seal\", \"language\": \"C\"}]", (int)strlen(journey) - 1, journey));
  return stateous_event("sealed", stateous_format(ctx, "{\"serial\": %s, \"says\": \"Запечатано 🔏\"}", one_more(ctx, serial)));
}
