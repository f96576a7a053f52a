/*
 * Native tests of routines: a host that records, without wasm.
 *
 *     stateous_mock *mock = stateous_mock_new("{\"title\": \"a pen\"}");
 *     stateous_ended ended = stateous_mock_run(mock, stateous_run);
 *     assert(strcmp(ended.event, "submitted") == 0);
 *     stateous_mock_free(mock);
 *
 * Each run is the next grant of the same (token, state), as the control plane would give it: after a failure or a kill
 * another attempt of the same task, after an event the next visit. Memory stays; context writes count only when the
 * attempt did not fail. Text that the mock gives you lives until its next run or its end.
 *
 * The mock refuses what the host would refuse by its form (sizes, keys, durations). It knows no workflow: whether the
 * state may emit an event, and whether a payload fits its schema, only the control plane says.
 */
#ifndef STATEOUS_TESTING_H
#define STATEOUS_TESTING_H

#include "stateous.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stateous_mock stateous_mock;

/* How a run on the mock ended. */
typedef struct stateous_ended {
  enum { STATEOUS_ENDED_EVENT, STATEOUS_ENDED_WAITING, STATEOUS_ENDED_FAILED, STATEOUS_ENDED_KILLED } kind;
  /* The event and its payload (`{}` when it has none); NULL without an event. */
  const char *event;
  const char *payload;
  /* The failure's message; NULL without one. */
  const char *message;
  bool retry;
} stateous_ended;

/* Token `T-1` in its first visit, first attempt, entered by `__started__`, with this context (a JSON object). */
stateous_mock *stateous_mock_new(const char *context);
void stateous_mock_free(stateous_mock *mock);

/* What the next run is given. Change it in between as you like. */
stateous_ctx *stateous_mock_task(stateous_mock *mock);
/* Something that an earlier attempt or visit left in memory. */
void stateous_mock_remembers(stateous_mock *mock, const char *key, const char *json);
/* Kills the machine in the next run, right after so many memory writes were kept. */
void stateous_mock_kill_after_memory_writes(stateous_mock *mock, unsigned writes);

/* Runs the routine once, as the host would. A panic ends the test. */
stateous_ended stateous_mock_run(stateous_mock *mock, stateous_outcome (*routine)(stateous_ctx *));

/* The token's context now, a JSON object: what the mock was given and what attempts that did not fail wrote. */
const char *stateous_mock_context(stateous_mock *mock);
/* What the state remembers under a key, as JSON; NULL when nothing. */
const char *stateous_mock_memory(stateous_mock *mock, const char *key);
/* Every note of every run, one a line. */
const char *stateous_mock_notes(stateous_mock *mock);
/* What the latest run scheduled, one a line: `reminded {} after 6h`. */
const char *stateous_mock_scheduled(stateous_mock *mock);
/* Every log line of every run, one a line: `warn: careful`. */
const char *stateous_mock_logs(stateous_mock *mock);

#ifdef __cplusplus
}
#endif
#endif
