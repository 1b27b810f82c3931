// Package fault marks errors that come from the user's data or options, so that a
// program can tell them from failures of the computation.
package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/kernel"
)

// ErrInput says that data or options make no sense; the message has the place and the value.
var ErrInput = errors.New("bad input")

// marked is err, also known as ErrInput.
type marked struct{ err error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.err, ErrInput} }

// Input is an ErrInput whose message stands alone.
func Input(format string, args ...any) error { return &marked{fmt.Errorf(format, args...)} }

// Mark makes an ErrInput of err.
func Mark(err error) error { return &marked{err} }

// From makes an ErrInput of the errors with which other packages refuse data and
// options, and returns others as they are.
func From(err error) error {
	for _, e := range []error{
		bcd.ErrInput, bcd.ErrNotPSD, kernel.ErrSpec, kernel.ErrNotFinite, kernel.ErrConstant,
		kernel.ErrNegative, kernel.ErrGram, kernel.ErrMeans,
	} {
		if errors.Is(err, e) && !errors.Is(err, ErrInput) {
			return Mark(err)
		}
	}
	return err
}

// Choice checks that the value is one of have, and makes "" the first of them.
func Choice(what string, value *string, have []string) error {
	if *value == "" {
		*value = have[0]
	}
	if slices.Contains(have, *value) {
		return nil
	}
	var names []string
	for _, h := range have {
		if h != "" && !slices.Contains(names, h) {
			names = append(names, h)
		}
	}
	return Input("unknown %s %q (have %s)", what, *value, strings.Join(names, " | "))
}

// Positive reports whether x is positive and finite.
func Positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
