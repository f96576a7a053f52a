package routine

import (
	"fmt"
	"time"

	"stateous.dev/routine/internal/host"
)

// Level is how much a log line matters.
type Level = host.Level

// The levels of the log.
const (
	Debug = host.Debug
	Info  = host.Info
	Warn  = host.Warn
	Error = host.Error
)

// Context is one attempt's view of its token, and everything it may do.
//
// Data is the shape of the token's context as the routine reads it: a struct with the fields that it needs, or
// map[string]any.
type Context[Data any] struct {
	// Data is the token's context as it was when the attempt began.
	Data Data
	// Token is the id of the token that waits in this state.
	Token string
	// Task is the task's number, the same for every attempt. With the token's id it makes an idempotency key for the outside.
	Task     uint64
	Workflow string
	State    string
	// Visit is how many times the token has entered this state; 1 is the first.
	Visit uint32
	// Attempt is which try of the task this is; 1 is the first.
	Attempt uint32
	// EnteredBy is the event that brought the token here, with its payload.
	EnteredBy EnteredBy
	// NowMs is the host's time when the attempt began, in milliseconds since 1970-01-01 UTC. It does not advance.
	NowMs uint64
	// Memory is what this state remembers about the token from one attempt and visit to the next.
	Memory Memory

	host host.Host
}

func newContext[Data any](task host.Task, h host.Host) (*Context[Data], error) {
	ctx := &Context[Data]{
		Token: task.Token, Task: task.ID, Workflow: task.Workflow, State: task.State, Visit: task.Visit,
		Attempt: task.Attempt, EnteredBy: EnteredBy{task.EnteredBy.Name, task.EnteredBy.Payload}, NowMs: task.NowMs,
		Memory: Memory{h}, host: h,
	}
	return ctx, decode(h.ContextAll(), &ctx.Data, "the token's context")
}

// Now is the host's time when the attempt began, in UTC. It does not advance.
func (c *Context[Data]) Now() time.Time { return time.UnixMilli(int64(c.NowMs)).UTC() }

// Get reads one value of the context, this attempt's own writes included; false when there is no such key.
func (c *Context[Data]) Get(key string, into any) (bool, error) {
	json, there := c.host.ContextGet(key)
	if !there {
		return false, nil
	}
	return true, decode(json, into, fmt.Sprintf("the context's `%s`", key))
}

// All reads the whole context, this attempt's own writes included.
func (c *Context[Data]) All(into any) error {
	return decode(c.host.ContextAll(), into, "the context")
}

// Set keeps a value for the context. It goes out with the outcome; if the attempt fails, it is gone.
func (c *Context[Data]) Set(key string, value any) error {
	json, err := encode(value, fmt.Sprintf("the value for the context's `%s`", key))
	if err != nil {
		return err
	}
	return c.host.ContextSet(key, json)
}

// Note adds a line to the token's history, durably. At most 500 characters; an empty text adds nothing.
func (c *Context[Data]) Note(format string, arguments ...any) error {
	return c.host.Note(fmt.Sprintf(format, arguments...))
}

// Schedule fires an event later, if the token is still in this state and visit by then: `90s`, `5m`, `6h`, `2d`. It goes
// out with the outcome.
func (c *Context[Data]) Schedule(event Event, after string) error {
	lowered, err := lower(event)
	if err != nil {
		return err
	}
	return c.host.Schedule(lowered, after)
}

// Log writes a line to the supervisor's log, which is not kept with the token.
func (c *Context[Data]) Log(level Level, format string, arguments ...any) {
	c.host.Log(level, fmt.Sprintf(format, arguments...))
}

// Debug is [Context.Log] for whoever looks for a bug.
func (c *Context[Data]) Debug(format string, arguments ...any) { c.Log(Debug, format, arguments...) }

// Info is [Context.Log] for what is worth reading.
func (c *Context[Data]) Info(format string, arguments ...any) { c.Log(Info, format, arguments...) }

// Warn is [Context.Log] for what is unexpected, and the routine goes on.
func (c *Context[Data]) Warn(format string, arguments ...any) { c.Log(Warn, format, arguments...) }

// Error is [Context.Log] for what somebody should look at.
func (c *Context[Data]) Error(format string, arguments ...any) { c.Log(Error, format, arguments...) }

// Memory is keys and values of one (token, state) that outlive a crash, a retry and the supervisor itself.
//
// A value is on the supervisor's disk when Set returns. That costs a disk flush: write after a piece of work worth not
// repeating.
type Memory struct{ host host.Host }

// Get reads the value of a key; false when nothing was set.
func (m Memory) Get(key string, into any) (bool, error) {
	json, there := m.host.MemoryGet(key)
	if !there {
		return false, nil
	}
	return true, decode(json, into, fmt.Sprintf("the memory's `%s`", key))
}

// Set sets a key (1 to 128 characters), durably. null cannot be kept: delete the key.
func (m Memory) Set(key string, value any) error {
	json, err := encode(value, fmt.Sprintf("the value for the memory's `%s`", key))
	if err != nil {
		return err
	}
	return m.host.MemorySet(key, json)
}

// Delete deletes a key, durably. False when there was nothing to delete.
func (m Memory) Delete(key string) (bool, error) { return m.host.MemoryDelete(key) }

// Keys is all keys.
func (m Memory) Keys() []string { return m.host.MemoryKeys() }
