package routinetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stateous.dev/routine"
	"stateous.dev/routine/internal/host"
)

const (
	noteCharsMax      = 500
	notesMax          = 1000
	schedulesMax      = 100
	memoryKeyCharsMax = 128
	// 1 MiB less what is written around a value on its way.
	valueBytesMax   = 1<<20 - 4<<10
	memoryBytesMax  = 16 << 20
	delaySecondsMax = 3650 * 86_400
)

var (
	eventForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	delayForm = regexp.MustCompile(`^([1-9][0-9]{0,12})([smhd])$`)
	seconds   = map[string]int{"s": 1, "m": 60, "h": 3600, "d": 86_400}
)

// Scheduled is an event that a run scheduled.
type Scheduled struct {
	Event   string
	Payload string
	After   string
}

// death is what a run panics with where its machine dies.
type death struct{}

// EndsAttempt makes it pass through the SDK's own recovery.
func (death) EndsAttempt() {}

// recorder is the mock's host: keeps what a routine does, and refuses by the same forms as the real one.
type recorder struct {
	context, writes map[string]json.RawMessage
	memory          map[string]string
	notes           []string
	notesOfAttempt  int
	scheduled       []Scheduled
	logs            []string
	writesToLive    int
}

func (r *recorder) begin() {
	r.writes = map[string]json.RawMessage{}
	r.notesOfAttempt, r.scheduled = 0, nil
}

func refuse(code, format string, arguments ...any) error {
	return &routine.Refusal{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

func checkSize(what, text string) error {
	if len(text) > valueBytesMax {
		return refuse("too_large", "%s has %d bytes; the most is %d", what, len(text), valueBytesMax)
	}
	return nil
}

func (r *recorder) ContextAll() string {
	merged := map[string]json.RawMessage{}
	for _, from := range []map[string]json.RawMessage{r.context, r.writes} {
		for key, value := range from {
			merged[key] = value
		}
	}
	return write(merged)
}

func (r *recorder) ContextGet(key string) (string, bool) {
	value, there := r.writes[key]
	if !there {
		value, there = r.context[key]
	}
	return string(value), there
}

func (r *recorder) ContextSet(key, text string) error {
	if err := checkSize("context value `"+key+"`", text); err != nil {
		return err
	}
	r.writes[key] = json.RawMessage(text)
	return nil
}

func (r *recorder) MemoryGet(key string) (string, bool) {
	value, there := r.memory[key]
	return value, there
}

func (r *recorder) MemorySet(key, text string) error {
	if chars := utf8.RuneCountInString(key); chars == 0 || chars > memoryKeyCharsMax || strings.Contains(key, "\x00") {
		return refuse("invalid_key", "memory key %q: expected 1 to %d characters, none of them NUL", key, memoryKeyCharsMax)
	}
	if err := checkSize("memory value `"+key+"`", text); err != nil {
		return err
	}
	if text == "null" {
		return refuse("invalid_json", "memory value `%s` is null, which means \"delete\": call Delete", key)
	}
	total := len(key) + len(text)
	for other, value := range r.memory {
		if other != key {
			total += len(other) + len(value)
		}
	}
	if total > memoryBytesMax {
		return refuse("too_large", "the memory of this token and state would exceed %d bytes", memoryBytesMax)
	}
	r.memory[key] = text
	r.memoryWasWritten()
	return nil
}

func (r *recorder) MemoryDelete(key string) (bool, error) {
	if _, there := r.memory[key]; !there {
		return false, nil
	}
	delete(r.memory, key)
	r.memoryWasWritten()
	return true, nil
}

func (r *recorder) memoryWasWritten() {
	if r.writesToLive == 0 {
		return
	}
	r.writesToLive--
	if r.writesToLive == 0 {
		panic(death{})
	}
}

func (r *recorder) MemoryKeys() []string {
	keys := make([]string, 0, len(r.memory))
	for key := range r.memory {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (r *recorder) Note(text string) error {
	text = strings.TrimSpace(text)
	if chars := utf8.RuneCountInString(text); chars > noteCharsMax {
		return refuse("too_large", "a note of %d characters; the most is %d", chars, noteCharsMax)
	}
	if text == "" {
		return nil
	}
	if r.notesOfAttempt >= notesMax {
		return refuse("too_many", "one attempt adds at most %d notes", notesMax)
	}
	r.notesOfAttempt++
	r.notes = append(r.notes, text)
	return nil
}

func (r *recorder) Schedule(event host.Event, after string) error {
	if !eventForm.MatchString(event.Name) || slices.Contains([]string{"timeout", "error", "joined"}, event.Name) {
		return refuse("invalid_event", "`%s` is no event of a workflow: expected a letter, then up to 63 of a-z 0-9 _ -", event.Name)
	}
	found := delayForm.FindStringSubmatch(after)
	if found != nil {
		if number, err := strconv.Atoi(found[1]); err != nil || number > delaySecondsMax/seconds[found[2]] {
			found = nil
		}
	}
	if found == nil {
		return refuse("invalid_duration", "`%s` is no duration: expected a number and one of s, m, h, d, as in 90s or 6h; at most 3650d", after)
	}
	if len(r.scheduled) >= schedulesMax {
		return refuse("too_many", "one attempt adds at most %d events", schedulesMax)
	}
	payload := event.Payload
	if payload == "" {
		payload = "{}"
	}
	if err := checkSize("payload", payload); err != nil {
		return err
	}
	r.scheduled = append(r.scheduled, Scheduled{event.Name, payload, after})
	return nil
}

func (r *recorder) Log(level host.Level, text string) {
	names := []string{"debug", "info", "warn", "error"}
	r.logs = append(r.logs, names[level]+": "+text)
}
