// One state of a workflow: drafts an order, and drafts it anew with what a reviewer said.
package main

import (
	"strings"

	"stateous.dev/routine"
)

// Order is the token's context as this state reads it.
type Order struct {
	Title string `json:"title"`
}

// Submitted sends the draft on.
type Submitted struct{}

// EventName makes it an event.
func (Submitted) EventName() string { return "submitted" }

// NeedsWork sends the order back.
type NeedsWork struct {
	Because string `json:"because"`
}

// EventName makes it an event.
func (NeedsWork) EventName() string { return "needs-work" }

func draft(ctx *routine.Context[Order]) (routine.Event, error) {
	title := ctx.Data.Title
	if title == "" {
		return nil, routine.Fatal("the order has no title")
	}
	drafts := 0
	if _, err := ctx.Memory.Get("drafts", &drafts); err != nil {
		return nil, err
	}
	drafts++
	if err := ctx.Memory.Set("drafts", drafts); err != nil {
		return nil, err
	}
	if err := ctx.Note("draft %d of %s", drafts, title); err != nil {
		return nil, err
	}
	if len(strings.TrimSpace(title)) < 3 {
		return NeedsWork{Because: "the title is too short"}, nil
	}
	return Submitted{}, ctx.Set("draft", "Please order: "+title+".")
}

func init() { routine.Serve(draft) }

func main() {}
