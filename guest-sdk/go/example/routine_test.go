package main

import (
	"testing"

	"stateous.dev/routine/routinetest"
)

func TestADraftIsSubmitted(t *testing.T) {
	mock := routinetest.New(map[string]any{"title": "a pen"})
	if ended := routinetest.Run(mock, draft); ended.Event != "submitted" {
		t.Fatalf("%+v", ended)
	}
	if got := mock.Context()["draft"]; got != "Please order: a pen." {
		t.Fatal(got)
	}
	if notes := mock.Notes(); len(notes) != 1 || notes[0] != "draft 1 of a pen" {
		t.Fatal(notes)
	}
}

func TestATitleThatSaysNothingNeedsWork(t *testing.T) {
	ended := routinetest.Run(routinetest.New(map[string]any{"title": "?"}), draft)
	if ended.Event != "needs-work" || ended.Payload["because"] != "the title is too short" {
		t.Fatalf("%+v", ended)
	}
}
