/* One state of a workflow: drafts an order, and drafts it anew with what a reviewer said. */

#include <stateous.h>
#include <string.h>

stateous_outcome stateous_run(stateous_ctx *ctx) {
  const char *title = stateous_json_text(ctx, stateous_get(ctx, "title"));
  if (title == NULL) return stateous_fatal(ctx, "the order has no title");

  int64_t drafts = 0;
  stateous_json_int(stateous_memory_get(ctx, "drafts"), &drafts);
  drafts += 1;
  stateous_memory_set(ctx, "drafts", stateous_format(ctx, "%lld", (long long)drafts));
  stateous_note(ctx, "draft %lld of %s", (long long)drafts, title);
  if (strlen(title) < 3) {
    return stateous_event("needs-work", "{\"because\": \"the title is too short\"}");
  }

  const char *draft = stateous_format(ctx, "Please order: %s.", title);
  stateous_set(ctx, "draft", stateous_json_quote(ctx, draft));
  return stateous_event("submitted", NULL);
}
