package routine

import "fmt"

// Failure is an error that says whether another attempt makes sense. Any other error counts as retryable.
type Failure struct {
	// Retry is whether another attempt makes sense; without it the task's remaining retries are spent.
	Retry bool
	err   error
}

// Fatal is a failure that no other attempt would change. As [fmt.Errorf], `%w` included.
func Fatal(format string, arguments ...any) error {
	return &Failure{Retry: false, err: fmt.Errorf(format, arguments...)}
}

// Retryable is a failure after which another attempt makes sense, if the state has retries left. As [fmt.Errorf].
func Retryable(format string, arguments ...any) error {
	return &Failure{Retry: true, err: fmt.Errorf(format, arguments...)}
}

func (f *Failure) Error() string { return f.err.Error() }

// Unwrap is the error behind it.
func (f *Failure) Unwrap() error { return f.err }

// Refusal is why the host refused a call. Handled, the routine goes on; returned, it ends the attempt as a retryable
// failure.
type Refusal struct {
	// Code is stable, for programs: `too_large`, `invalid_json`, `invalid_key`, `too_many`, `invalid_event`, …
	Code string
	// Message is for people.
	Message string
}

func (r *Refusal) Error() string { return r.Message }
