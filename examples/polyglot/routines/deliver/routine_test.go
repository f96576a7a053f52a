package main

import (
	"encoding/json"
	"testing"

	"stateous.dev/routine/routinetest"
)

func TestAnInterruptedDeliveryGoesOnFromItsNoteWithEveryDigit(t *testing.T) {
	mock := routinetest.New(map[string]any{"title": "a pen", "contents": []any{}, "journey": []any{}})
	mock.EnteredBy("sealed", map[string]any{"serial": json.Number("123456789012345678901234567890"), "says": "hi"})
	if ended := routinetest.Run(mock, deliver); ended.Kind != routinetest.Failed || !ended.Retry {
		t.Fatalf("%+v", ended)
	}
	ended := routinetest.Run(mock, deliver)
	if ended.Payload["serial"] != json.Number("123456789012345678901234567891") {
		t.Fatalf("%+v", ended)
	}
}
