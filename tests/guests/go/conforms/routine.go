// What every SDK can do, one thing at a time: the same list in every language (tests/guests/conforms is Rust's).
package main

import (
	"errors"
	"strings"

	"stateous.dev/routine"
)

type given struct {
	Do    string `json:"do"`
	Value any    `json:"value"`
}

func look(message string) { panic(message) }

func conforms(ctx *routine.Context[given]) (routine.Event, error) {
	switch ctx.Data.Do {
	case "read":
		return read(ctx)
	case "write":
		return routine.Waiting, write(ctx)
	case "fatal":
		return nil, routine.Fatal("there is no such thing")
	case "retry":
		return nil, routine.Retryable("no answer")
	case "refused":
		var refusal *routine.Refusal
		if errors.As(ctx.Memory.Set("", 1), &refusal) {
			return routine.Named("refused", map[string]any{"code": refusal.Code}), nil
		}
	case "careless":
		return nil, ctx.Memory.Set("", 1)
	case "crash":
		look("no such order")
	case "shout":
		look(strings.Repeat("x", 20_000))
	case "spin":
		for {
		}
	case "hoard":
		var hoard [][]byte
		for {
			hoard = append(hoard, []byte(strings.Repeat("x", 1<<20)))
		}
	default:
		return nil, routine.Fatal("unknown: %s", ctx.Data.Do)
	}
	return routine.Named("done", nil), nil
}

func read(ctx *routine.Context[given]) (routine.Event, error) {
	var known, none, payload any
	_, err := ctx.Memory.Get("known", &known)
	remembered, more := ctx.Memory.Get("none", &none)
	there, again := ctx.Get("none", &none)
	err = errors.Join(err, more, again, ctx.EnteredBy.Payload(&payload))
	return routine.Named("done", map[string]any{
		"value": ctx.Data.Value, "token": ctx.Token, "task": ctx.Task, "workflow": ctx.Workflow, "state": ctx.State,
		"visit": ctx.Visit, "attempt": ctx.Attempt, "now_ms": ctx.NowMs, "entered_by": ctx.EnteredBy.Name,
		"given": payload, "known": known, "none": !remembered && !there,
	}), err
}

func write(ctx *routine.Context[given]) error {
	if err := ctx.Set("copy", ctx.Data.Value); err != nil {
		return err
	}
	var again any
	_, err := ctx.Get("copy", &again)
	err = errors.Join(err, ctx.Memory.Set("copy", again))
	_, deleted := ctx.Memory.Delete("known")
	err = errors.Join(err, deleted, ctx.Set("keys", ctx.Memory.Keys()), ctx.Note("  noted 🖋  "))
	err = errors.Join(err, ctx.Schedule(routine.Named("reminded", map[string]any{"n": 1}), "6h"))
	for _, level := range []routine.Level{routine.Debug, routine.Info, routine.Warn, routine.Error} {
		ctx.Log(level, "a line")
	}
	return err
}

func init() { routine.Serve(conforms) }

func main() {}
