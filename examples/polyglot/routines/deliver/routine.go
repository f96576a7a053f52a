// The last desk, in Go: delivers the parcel and writes the report.
package main

import (
	"math/big"
	"reflect"

	"stateous.dev/routine"
)

// Thing is one of the parcel's contents.
type Thing struct {
	Name  string   `json:"name"`
	Grams int      `json:"grams"`
	Tags  []string `json:"tags"`
}

// Stamp is where the parcel has been.
type Stamp struct {
	Desk     string `json:"desk"`
	Language string `json:"language"`
}

// Parcel is the token's context.
type Parcel struct {
	Title    string  `json:"title"`
	Contents []Thing `json:"contents"`
	Journey  []Stamp `json:"journey"`
}

// Noted is what this desk remembers between two attempts.
type Noted struct {
	Title    string   `json:"title"`
	Serial   *big.Int `json:"serial"`
	Contents []Thing  `json:"contents"`
}

// Delivered ends the journey.
type Delivered struct {
	Serial *big.Int `json:"serial"`
	Says   string   `json:"says"`
}

// EventName makes it an event.
func (Delivered) EventName() string { return "delivered" }

func deliver(ctx *routine.Context[Parcel]) (routine.Event, error) {
	parcel := ctx.Data
	var passed struct{ Serial *big.Int }
	if err := ctx.EnteredBy.Payload(&passed); err != nil {
		return nil, err
	}
	now := Noted{parcel.Title, passed.Serial, parcel.Contents}
	var noted Noted
	there, err := ctx.Memory.Get("noted", &noted)
	if err != nil {
		return nil, err
	}
	if !there {
		if err := ctx.Memory.Set("noted", now); err != nil {
			return nil, err
		}
		return nil, routine.Retryable("deliver was interrupted")
	}
	if !reflect.DeepEqual(noted, now) {
		return nil, routine.Fatal("deliver forgot something")
	}

	if err := ctx.Note("delivered: %s 🚚", parcel.Title); err != nil {
		return nil, err
	}
	journey := append(parcel.Journey, Stamp{"deliver", "Go"})
	if err := ctx.Set("journey", journey); err != nil {
		return nil, err
	}
	serial := new(big.Int).Add(noted.Serial, big.NewInt(1))
	return Delivered{serial, "تم التسليم 🚚"}, nil
}

func init() { routine.Serve(deliver) }

func main() {}
