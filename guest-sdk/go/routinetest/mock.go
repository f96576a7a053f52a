// Package routinetest is for native tests of routines: a host that records, without wasm.
//
//	mock := routinetest.New(map[string]any{"title": "a pen"})
//	ended := routinetest.Run(mock, draft)
//	if ended.Event != "submitted" { … }
//
// Each [Run] is the next grant of the same (token, state), as the control plane would give it: after a failure or a kill
// another attempt of the same task, after an event the next visit. Memory stays; context writes count only when the
// attempt did not fail.
//
// The mock refuses what the host would refuse by its form (sizes, keys, durations). It knows no workflow: whether the
// state may emit an event, and whether a payload fits its schema, only the control plane says.
package routinetest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"stateous.dev/routine"
	"stateous.dev/routine/internal/host"
)

// Kind is how a run ended.
type Kind string

// The ways in which a run ends.
const (
	Event   Kind = "event"
	Waiting Kind = "waiting"
	Failed  Kind = "failed"
	Killed  Kind = "killed"
)

// Ended is how a run on the mock ended.
type Ended struct {
	Kind Kind
	// Event is the event's name, if there is one, and Payload what came with it.
	Event   string
	Payload map[string]any
	// Message is why the attempt failed, if it did, and Retry whether it asks for another.
	Message string
	Retry   bool
}

// Mock is a token in a state, and a host for it that records what routines do.
type Mock struct {
	task     host.Task
	recorder recorder
}

// New is token `T-1` in its first visit, first attempt, entered by `__started__`, with this context.
func New(context map[string]any) *Mock {
	mock := &Mock{task: host.Task{
		Token: "T-1", ID: 1, Workflow: "workflow", State: "state", Visit: 1, Attempt: 1,
		EnteredBy: host.Event{Name: "__started__"}, NowMs: 1_767_225_600_000,
	}}
	mock.recorder.context = map[string]json.RawMessage{}
	mock.recorder.memory = map[string]string{}
	for key, value := range context {
		mock.recorder.context[key] = json.RawMessage(write(value))
	}
	return mock
}

// Token sets the token's id.
func (m *Mock) Token(id string) *Mock { m.task.Token = id; return m }

// State sets the workflow's and the state's name.
func (m *Mock) State(workflow, state string) *Mock {
	m.task.Workflow, m.task.State = workflow, state
	return m
}

// Visit sets which visit the next run is; 1 is the first.
func (m *Mock) Visit(visit uint32) *Mock { m.task.Visit = visit; return m }

// Attempt sets which attempt the next run is; 1 is the first.
func (m *Mock) Attempt(attempt uint32) *Mock { m.task.Attempt = attempt; return m }

// EnteredBy sets the event that brought the token here.
func (m *Mock) EnteredBy(event string, payload map[string]any) *Mock {
	m.task.EnteredBy = host.Event{Name: event, Payload: write(payload)}
	return m
}

// NowMs sets the host's time, in milliseconds since 1970-01-01 UTC.
func (m *Mock) NowMs(ms uint64) *Mock { m.task.NowMs = ms; return m }

// Remembers is something that an earlier attempt or visit left in memory.
func (m *Mock) Remembers(key string, value any) *Mock {
	m.recorder.memory[key] = write(value)
	return m
}

// KillAfterMemoryWrites kills the machine in the next run, right after so many memory writes were kept.
func (m *Mock) KillAfterMemoryWrites(writes int) *Mock {
	m.recorder.writesToLive = max(1, writes)
	return m
}

// Run runs the routine once, as the host would.
func Run[Data any](m *Mock, run routine.Func[Data]) Ended {
	m.recorder.begin()
	ended := attempt(m, run)
	m.recorder.writesToLive = 0
	if ended.Kind == Event || ended.Kind == Waiting {
		for key, value := range m.recorder.writes {
			m.recorder.context[key] = value
		}
		m.task.ID++
		m.task.Visit++
		m.task.Attempt = 1
	} else {
		m.task.Attempt++
	}
	return ended
}

func attempt[Data any](m *Mock, run routine.Func[Data]) (ended Ended) {
	defer func() {
		if panicked := recover(); panicked != nil {
			if _, died := panicked.(death); !died {
				panic(panicked)
			}
			ended = Ended{Kind: Killed}
		}
	}()
	outcome := routine.Attempt(m.task, &m.recorder, run)
	switch {
	case outcome.Failure != nil:
		return Ended{Kind: Failed, Message: outcome.Failure.Message, Retry: outcome.Failure.Retry}
	case outcome.Event != nil:
		payload := map[string]any{}
		if outcome.Event.Payload != "" {
			read(outcome.Event.Payload, &payload)
		}
		return Ended{Kind: Event, Event: outcome.Event.Name, Payload: payload}
	default:
		return Ended{Kind: Waiting}
	}
}

// Context is the token's context now: what the mock was given and what attempts that did not fail wrote. Numbers are
// [json.Number].
func (m *Mock) Context() map[string]any { return object(m.recorder.context) }

// Writes is what the latest run wrote into the context, kept or not.
func (m *Mock) Writes() map[string]any { return object(m.recorder.writes) }

// Memory is what the state remembers now.
func (m *Mock) Memory() map[string]any {
	all := map[string]any{}
	for key, text := range m.recorder.memory {
		var value any
		read(text, &value)
		all[key] = value
	}
	return all
}

// Notes is every note of every run, stripped.
func (m *Mock) Notes() []string { return append([]string(nil), m.recorder.notes...) }

// Scheduled is what the latest run scheduled.
func (m *Mock) Scheduled() []Scheduled { return append([]Scheduled(nil), m.recorder.scheduled...) }

// Logs is every log line of every run: `warn: careful`.
func (m *Mock) Logs() []string { return append([]string(nil), m.recorder.logs...) }

func object(raw map[string]json.RawMessage) map[string]any {
	all := map[string]any{}
	for key, text := range raw {
		var value any
		read(string(text), &value)
		all[key] = value
	}
	return all
}

func read(text string, into any) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		panic(fmt.Sprintf("this is no JSON: %s: %v", text, err))
	}
}

func write(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("this cannot be written as JSON: %v: %v", value, err))
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}
