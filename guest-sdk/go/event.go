package routine

import (
	"errors"
	"fmt"

	"stateous.dev/routine/internal/host"
)

// Event is an event that the state may emit. Its value, written as JSON, is the payload, which must be an object.
type Event interface {
	// EventName is the event's name.
	EventName() string
}

type waiting struct{}

func (waiting) EventName() string { return "" }

// Waiting is returned instead of an event when the work goes on outside; somebody will report the task or fire an event.
var Waiting = waiting{}

type named struct {
	name    string
	payload any
}

func (e named) EventName() string { return e.name }

// Named is an event by its bare name, with its payload or nil. The host checks the name.
func Named(name string, payload any) Event {
	return named{name, payload}
}

// EnteredBy is the event that brought the token into the state; `__started__` in the first.
type EnteredBy struct {
	Name string
	json string
}

// Payload reads the payload into a value; no payload reads as `{}`.
func (e EnteredBy) Payload(into any) error {
	json := e.json
	if json == "" {
		json = "{}"
	}
	return decode(json, into, fmt.Sprintf("the payload of event `%s`", e.Name))
}

// lower puts an event into the contract's words.
func lower(event Event) (host.Event, error) {
	if event == nil {
		return host.Event{}, errors.New("the routine returned neither an event nor an error; to wait, return routine.Waiting")
	}
	var payload any = event
	if bare, is := event.(named); is {
		payload = bare.payload
		if payload == nil {
			return host.Event{Name: bare.name}, nil
		}
	}
	json, err := encode(payload, fmt.Sprintf("the payload of event `%s`", event.EventName()))
	if err != nil {
		return host.Event{}, err
	}
	if json[0] != '{' {
		return host.Event{}, fmt.Errorf("the payload of event `%s` must be an object, not %s", event.EventName(), json)
	}
	if json == "{}" {
		json = ""
	}
	return host.Event{Name: event.EventName(), Payload: json}, nil
}
