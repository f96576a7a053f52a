//go:build wasip1

package routine

// The real host: the contract's imports behind the SDK's own seam, and the way in from `run`. The one file that names the
// generated bindings.

import (
	"stateous.dev/routine/internal/bindings/export_wit_world"
	"stateous.dev/routine/internal/bindings/stateous_routine_context"
	"stateous.dev/routine/internal/bindings/stateous_routine_log"
	"stateous.dev/routine/internal/bindings/stateous_routine_memory"
	"stateous.dev/routine/internal/bindings/stateous_routine_notes"
	"stateous.dev/routine/internal/bindings/stateous_routine_timers"
	types "stateous.dev/routine/internal/bindings/stateous_routine_types"
	_ "stateous.dev/routine/internal/bindings/wit_exports"
	"stateous.dev/routine/internal/host"
	wit "stateous.dev/routine/internal/wit/types"
)

func init() { export_wit_world.Handler = handle }

func handle(task types.Task) wit.Result[types.Outcome, types.Failure] {
	if served == nil {
		return failure("this component has no routine: call routine.Serve in an init function", false)
	}
	outcome := served(host.Task{
		Token: task.Token, ID: task.Id, Workflow: task.Workflow, State: task.State, Visit: task.Visit,
		Attempt:   task.Attempt,
		EnteredBy: host.Event{Name: task.EnteredBy.Name, Payload: task.EnteredBy.Payload.SomeOr("")},
		NowMs:     task.NowMs,
	}, imports{})
	switch {
	case outcome.Failure != nil:
		return failure(outcome.Failure.Message, outcome.Failure.Retry)
	case outcome.Event != nil:
		return wit.Ok[types.Outcome, types.Failure](types.MakeOutcomeEvent(event(*outcome.Event)))
	default:
		return wit.Ok[types.Outcome, types.Failure](types.MakeOutcomeWaiting())
	}
}

func failure(message string, retry bool) wit.Result[types.Outcome, types.Failure] {
	return wit.Err[types.Outcome, types.Failure](types.Failure{Message: message, Retry: retry})
}

func event(event host.Event) types.Event {
	payload := wit.None[string]()
	if event.Payload != "" {
		payload = wit.Some(event.Payload)
	}
	return types.Event{Name: event.Name, Payload: payload}
}

func answered[T any](result wit.Result[T, types.Refusal]) (T, error) {
	if result.IsErr() {
		var none T
		refusal := result.Err()
		return none, &Refusal{Code: refusal.Code, Message: refusal.Message}
	}
	return result.Ok(), nil
}

func some(option wit.Option[string]) (string, bool) {
	return option.SomeOr(""), option.IsSome()
}

type imports struct{}

func (imports) ContextAll() string { return stateous_routine_context.All() }

func (imports) ContextGet(key string) (string, bool) { return some(stateous_routine_context.Get(key)) }

func (imports) ContextSet(key, json string) error {
	_, err := answered(stateous_routine_context.Set(key, json))
	return err
}

func (imports) MemoryGet(key string) (string, bool) { return some(stateous_routine_memory.Get(key)) }

func (imports) MemorySet(key, json string) error {
	_, err := answered(stateous_routine_memory.Set(key, json))
	return err
}

func (imports) MemoryDelete(key string) (bool, error) {
	return answered(stateous_routine_memory.Delete(key))
}

func (imports) MemoryKeys() []string { return stateous_routine_memory.Keys() }

func (imports) Note(text string) error {
	_, err := answered(stateous_routine_notes.Add(text))
	return err
}

func (imports) Schedule(e host.Event, after string) error {
	_, err := answered(stateous_routine_timers.Schedule(event(e), after))
	return err
}

func (imports) Log(level host.Level, text string) { stateous_routine_log.Write(uint8(level), text) }
