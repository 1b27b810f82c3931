// Package status maps the error that a command ended with to its exit status. It tells failures of the work from errors
// of usage and input.
package status

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iokl/iokl/internal/files/table"
)

// Exit statuses.
const (
	OK     = 0
	Failed = 1 // the work failed, was interrupted, or a comparison found a regression
	Usage  = 2 // bad usage or bad input
)

// failure is an error of the work itself.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// Failure marks an error of the work itself; every other one is about usage or input. nil stays nil.
func Failure(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// input is a table.ErrData whose message stands alone.
type input struct{ error }

func (input) Unwrap() error { return table.ErrData }

// Input is an error about what the user gave.
func Input(format string, args ...any) error { return input{fmt.Errorf(format, args...)} }

// Of is the exit status of a command that ended with err.
func Of(err error) int {
	switch {
	case err == nil:
		return OK
	case errors.As(err, new(failure)):
		return Failed
	}
	return Usage
}

// End writes the first line of an error behind the name of the command, and returns the status.
func End(stderr io.Writer, name string, err error) int {
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintln(stderr, name+":", line)
	}
	return Of(err)
}
