// Package host is the seam between the SDK and its host: the contract's calls, in its own words and with JSON as text.
// Package routine has the real host (wasm.go), package routinetest the one for native tests.
package host

// Event is an event in the contract's words; Payload is JSON text, "" without one.
type Event struct {
	Name    string
	Payload string
}

// Task is the contract's record `task`.
type Task struct {
	Token     string
	ID        uint64
	Workflow  string
	State     string
	Visit     uint32
	Attempt   uint32
	EnteredBy Event
	NowMs     uint64
}

// Outcome is how an attempt ended: with a failure, with an event, or waiting when both are nil.
type Outcome struct {
	Event   *Event
	Failure *Failure
}

// Failure is the contract's record `failure`.
type Failure struct {
	Message string
	Retry   bool
}

// Level is how much a log line matters.
type Level uint8

// The levels of the contract, in its order.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

// Host is what a routine may ask of its host. A refusal is an error of the caller's own type.
type Host interface {
	ContextAll() string
	ContextGet(key string) (string, bool)
	ContextSet(key, json string) error
	MemoryGet(key string) (string, bool)
	MemorySet(key, json string) error
	MemoryDelete(key string) (bool, error)
	MemoryKeys() []string
	Note(text string) error
	Schedule(event Event, after string) error
	Log(level Level, text string)
}
