//go:build wasip1

// Package export_wit_world is what the generated bindings call for the contract's export. The one file of the bindings
// that is written by hand: it passes the call on to whoever serves.
package export_wit_world

import (
	types "stateous.dev/routine/internal/bindings/stateous_routine_types"
	wit "stateous.dev/routine/internal/wit/types"
)

// Handler is set by package routine before `run` can be called.
var Handler func(types.Task) wit.Result[types.Outcome, types.Failure]

// Run is the component's `run`.
func Run(task types.Task) wit.Result[types.Outcome, types.Failure] {
	return Handler(task)
}
