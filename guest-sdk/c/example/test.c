#include <assert.h>
#include <stateous_testing.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  stateous_mock *mock = stateous_mock_new("{\"title\": \"a pen\"}");
  assert(strcmp(stateous_mock_run(mock, stateous_run).event, "submitted") == 0);
  assert(strcmp(stateous_mock_run(mock, stateous_run).event, "submitted") == 0);
  assert(strcmp(stateous_mock_memory(mock, "drafts"), "2") == 0);
  assert(strcmp(stateous_mock_notes(mock), "draft 1 of a pen\ndraft 2 of a pen\n") == 0);
  stateous_mock_free(mock);

  mock = stateous_mock_new("{\"title\": \"?\"}");
  assert(strcmp(stateous_mock_run(mock, stateous_run).event, "needs-work") == 0);
  stateous_mock_free(mock);
  puts("2 passed, 0 failed");
  return 0;
}
