#include <assert.h>
#include <stateous_testing.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  stateous_mock *mock = stateous_mock_new("{\"title\": \"a pen\", \"contents\": [], \"journey\": [1]}");
  stateous_mock_task(mock)->entered_by = "weighed";
  stateous_mock_task(mock)->payload = "{\"serial\": 99999999999999999999999999, \"says\": \"hi\"}";
  assert(stateous_mock_run(mock, stateous_run).retry);
  stateous_ended ended = stateous_mock_run(mock, stateous_run);
  assert(strcmp(ended.event, "sealed") == 0);
  assert(strstr(ended.payload, "\"serial\": 100000000000000000000000000,") != NULL);
  assert(strstr(stateous_mock_context(mock), "[1, {\"desk\": \"seal\"") != NULL);
  stateous_mock_free(mock);
  puts("1 passed, 0 failed");
  return 0;
}
