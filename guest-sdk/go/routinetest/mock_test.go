package routinetest_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"stateous.dev/routine"
	"stateous.dev/routine/routinetest"
)

type order struct {
	Title string `json:"title"`
}

type filled struct {
	Count int `json:"count"`
}

func (filled) EventName() string { return "filled" }

type reminded struct{}

func (reminded) EventName() string { return "reminded" }

type list []int

func (list) EventName() string { return "listed" }

func run(ctx *routine.Context[order]) (routine.Event, error) {
	seen := 0
	if _, err := ctx.Memory.Get("seen", &seen); err != nil {
		return nil, err
	}
	seen++
	if err := ctx.Memory.Set("seen", seen); err != nil {
		return nil, err
	}
	if err := ctx.Note("  %s for the %d. time  ", ctx.Data.Title, seen); err != nil {
		return nil, err
	}
	switch ctx.Data.Title {
	case "wait":
		return routine.Waiting, errors.Join(ctx.Schedule(reminded{}, "6h"), ctx.Schedule(filled{seen}, "90s"))
	case "fill":
		if err := ctx.Set("count", seen); err != nil {
			return nil, err
		}
		again := 0
		if there, err := ctx.Get("count", &again); !there || err != nil || again != seen {
			return nil, routine.Fatal("its own write is not there: %d, %v", again, err)
		}
		return filled{seen}, nil
	case "fail":
		return nil, errors.New("the warehouse does not answer")
	case "never":
		return nil, routine.Fatal("there is no such thing: %w", errors.ErrUnsupported)
	case "panic":
		var none *order
		ctx.Data = *none
	case "list":
		return list{1}, nil
	case "nothing":
		return nil, nil
	}
	return routine.Named("submitted", nil), nil
}

func mock(title string) *routinetest.Mock {
	return routinetest.New(map[string]any{"title": title})
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v, want %#v", got, want)
	}
}

func TestAnEventMovesTheTokenAndTheWritesGoWithIt(t *testing.T) {
	m := mock("fill")
	ended := routinetest.Run(m, run)
	equal(t, ended, routinetest.Ended{Kind: routinetest.Event, Event: "filled", Payload: map[string]any{"count": json.Number("1")}})
	equal(t, m.Context(), map[string]any{"title": "fill", "count": json.Number("1")})
	equal(t, m.Notes(), []string{"fill for the 1. time"})
	equal(t, routinetest.Run(m, run).Payload["count"], json.Number("2"))
}

func TestWaitingKeepsTheTimers(t *testing.T) {
	m := mock("wait")
	equal(t, routinetest.Run(m, run), routinetest.Ended{Kind: routinetest.Waiting})
	equal(t, m.Scheduled(), []routinetest.Scheduled{{"reminded", "{}", "6h"}, {"filled", `{"count":1}`, "90s"}})
}

func TestFailuresSayWhetherToRetry(t *testing.T) {
	ended := routinetest.Run(mock("fail"), run)
	equal(t, ended, routinetest.Ended{Kind: routinetest.Failed, Message: "the warehouse does not answer", Retry: true})
	ended = routinetest.Run(mock("never"), run)
	equal(t, ended, routinetest.Ended{Kind: routinetest.Failed, Message: "there is no such thing: unsupported operation"})
}

func TestAPanicIsAFailureWithItsPlace(t *testing.T) {
	ended := routinetest.Run(mock("panic"), run)
	equal(t, ended.Retry, true)
	first, rest, _ := strings.Cut(ended.Message, "\n")
	equal(t, first, "panic: runtime error: invalid memory address or nil pointer dereference")
	if !strings.Contains(rest, "routinetest_test.run (") || !strings.Contains(rest, "mock_test.go:") {
		t.Fatal(rest)
	}
}

func TestWhatIsNoOutcomeFailsForGood(t *testing.T) {
	ended := routinetest.Run(mock("list"), run)
	equal(t, ended, routinetest.Ended{Kind: routinetest.Failed, Message: "the payload of event `listed` must be an object, not [1]"})
	ended = routinetest.Run(mock("nothing"), run)
	if ended.Retry || !strings.HasPrefix(ended.Message, "the routine returned neither an event nor an error") {
		t.Fatal(ended)
	}
	ended = routinetest.Run(routinetest.New(map[string]any{"title": 7}), run)
	if ended.Retry || !strings.HasPrefix(ended.Message, "the token's context does not fit `*routinetest_test.order`: ") {
		t.Fatal(ended)
	}
}

func TestAKillKeepsMemoryAndNotesAndNothingElse(t *testing.T) {
	steps := func(ctx *routine.Context[map[string]any]) (routine.Event, error) {
		step := 0
		if _, err := ctx.Memory.Get("step", &step); err != nil {
			return nil, err
		}
		err := errors.Join(ctx.Note("attempt %d from step %d", ctx.Attempt, step), ctx.Set("attempt", ctx.Attempt))
		for ; step < 3; step++ {
			err = errors.Join(err, ctx.Memory.Set("step", step+1))
		}
		return routine.Named("submitted", nil), err
	}
	m := routinetest.New(nil).KillAfterMemoryWrites(2)
	equal(t, routinetest.Run(m, steps), routinetest.Ended{Kind: routinetest.Killed})
	equal(t, m.Memory(), map[string]any{"step": json.Number("2")})
	equal(t, m.Context(), map[string]any{})
	equal(t, routinetest.Run(m, steps).Event, "submitted")
	equal(t, m.Notes(), []string{"attempt 1 from step 0", "attempt 2 from step 2"})
	equal(t, m.Context(), map[string]any{"attempt": json.Number("2")})
}

func TestTheTaskCanBeReadAndIntegersKeepEveryDigit(t *testing.T) {
	digits := strings.Repeat("9", 400)
	number, _ := new(big.Int).SetString(digits, 10)
	m := routinetest.New(map[string]any{"big": number, "text": "naïve 🖋 <b>"}).Token("ORDER-7").State("orders", "draft").
		Visit(2).Attempt(3).EnteredBy("reviewed", map[string]any{"note": "longer"}).NowMs(1500).Remembers("seen", 4)
	ended := routinetest.Run(m, func(ctx *routine.Context[map[string]any]) (routine.Event, error) {
		equal(t, []any{ctx.Token, ctx.Workflow, ctx.State, ctx.Visit, ctx.Attempt, ctx.Task},
			[]any{"ORDER-7", "orders", "draft", uint32(2), uint32(3), uint64(1)})
		equal(t, ctx.Now().Format("15:04:05.000"), "00:00:01.500")
		var review struct{ Note string }
		equal(t, []any{ctx.EnteredBy.Name, ctx.EnteredBy.Payload(&review), review.Note}, []any{"reviewed", nil, "longer"})
		equal(t, ctx.Memory.Keys(), []string{"seen"})
		there, err := ctx.Memory.Delete("seen")
		equal(t, []any{there, err}, []any{true, nil})
		there, err = ctx.Memory.Delete("seen")
		equal(t, []any{there, err}, []any{false, nil})
		ctx.Warn("care%s", "ful")
		return routine.Named("done", ctx.Data), ctx.Memory.Set("copy", ctx.Data)
	})
	equal(t, ended.Payload, map[string]any{"big": json.Number(digits), "text": "naïve 🖋 <b>"})
	equal(t, m.Memory()["copy"], ended.Payload)
	equal(t, m.Logs(), []string{"warn: careful"})
}

func TestTheMockRefusesWhatTheHostWould(t *testing.T) {
	code := func(err error) string {
		var refusal *routine.Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("%v is no refusal", err)
		}
		return refusal.Code
	}
	routinetest.Run(routinetest.New(nil), func(ctx *routine.Context[map[string]any]) (routine.Event, error) {
		equal(t, code(ctx.Note("%s", strings.Repeat("x", 501))), "too_large")
		equal(t, code(ctx.Memory.Set("", 1)), "invalid_key")
		equal(t, code(ctx.Memory.Set(strings.Repeat("k", 129), 1)), "invalid_key")
		equal(t, code(ctx.Memory.Set("k", nil)), "invalid_json")
		equal(t, code(ctx.Memory.Set("k", strings.Repeat("x", 1<<20))), "too_large")
		equal(t, code(ctx.Schedule(reminded{}, "soon")), "invalid_duration")
		equal(t, code(ctx.Schedule(reminded{}, "3651d")), "invalid_duration")
		equal(t, code(ctx.Schedule(routine.Named("timeout", nil), "1s")), "invalid_event")
		for range 100 {
			equal(t, ctx.Schedule(reminded{}, "1s"), nil)
		}
		equal(t, code(ctx.Schedule(reminded{}, "1s")), "too_many")
		equal(t, ctx.Note("   "), nil)
		if err := ctx.Set("f", func() {}); err == nil || !strings.Contains(err.Error(), "cannot be written as JSON") {
			t.Fatal(err)
		}
		return routine.Waiting, nil
	})
}
