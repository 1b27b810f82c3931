package iokl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/sylvester"
)

var (
	// ErrInput says that data or options make no sense; the message has the place and the value.
	ErrInput = errors.New("bad input")
	// ErrMemory says that the matrices needed exceed the memory limit.
	ErrMemory = memory.ErrTooLarge
)

// inputError is an ErrInput whose message stands alone.
type inputError struct{ msg string }

func (e *inputError) Error() string { return e.msg }
func (e *inputError) Unwrap() error { return ErrInput }

func badInput(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }

// asInput makes an ErrInput of the errors with which other packages refuse data and options.
func asInput(err error) error {
	for _, e := range []error{
		bcd.ErrInput, bcd.ErrNotPSD, kernel.ErrSpec, kernel.ErrNotFinite, kernel.ErrConstant,
		kernel.ErrNegative, kernel.ErrGram, kernel.ErrMeans,
	} {
		if errors.Is(err, e) && !errors.Is(err, ErrInput) {
			return &wrapped{err, ErrInput}
		}
	}
	return err
}

// wrapped is err, also known as kind.
type wrapped struct{ err, kind error }

func (w *wrapped) Error() string   { return w.err.Error() }
func (w *wrapped) Unwrap() []error { return []error{w.err, w.kind} }

// Options of [Fit]. The zero value learns everything from the data.
type Options struct {
	// Kernels are SPECs as package kernel reads them. None means that cross-validation
	// chooses them with λ, and DefaultKernels where Lambda is given.
	Kernels []string
	Groups  []kernel.Group // named sets of columns that SPECs may refer to

	Lambda float64 // λ; 0 means that cross-validation chooses it
	Tau    float64 // τ, the bound on tr L; 0 means the number of outputs
	// Norm is the regularizer of η as bcd.ParseNorm reads it. "" means lp:1, or,
	// where cross-validation chooses λ, that it chooses among DefaultNorms too.
	Norm        string
	Regularizer bcd.Regularizer `json:"-"` // the caller's own, in place of Norm

	// Learn says what is learned beside C: "eta,l", "eta" with L = (τ/n)·I, "l"
	// with weights that the SPECs of Kernels share equally, or "none" of them. ""
	// means "eta,l", or, where cross-validation chooses the kernels, that it chooses
	// among these too.
	Learn string
	// Standardize says what is brought to mean 0 and variance 1: "x,y", "x", "y"
	// or "none". "" means "x,y" in Fit and "none" in FitGram.
	Standardize string
	// Missing says what becomes of missing input cells (NaN): "mean", the
	// default, puts the mean of their column, "error" refuses them.
	Missing string

	Solver    string  // of package bcd: reduced (default), closed, paper, okl
	Sylvester string  // of package sylvester; "" means auto
	Tol       float64 // relative gap to reach; 0 means 1e-4
	MaxOuter  int     // outer iterations; 0 means bcd's default

	Precision blas.Precision // in which Gram matrices are stored
	MaxBytes  int64          // memory for them; 0 means what is available, negative no limit. It bounds what zero Options compare.
	Backend   blas.Backend   `json:"-"` // nil means blas.Active()
	Seed      uint64         // of every random choice

	InputNames, OutputNames []string // of the columns; nil means x1, x2, … and y1, y2, …

	CV CVOptions // how λ and the norm are chosen where they are not given

	// Checkpoint is a file that keeps where the final fit stands, replaced as a
	// whole every few seconds and when the fit ends; a fit of the same data and
	// settings goes on from there. "" means none. For streamed fits see [FitStream].
	Checkpoint string

	// Trace sees every outer iteration of the final fit; an error from it ends the
	// fit, which then returns the best model so far with that error.
	Trace func(bcd.Step) error `json:"-"`
	// Notify gets single lines about what is about to be done or was decided:
	// the memory needed, the λ chosen.
	Notify func(line string) `json:"-"`
}

func (opt *Options) notify(format string, args ...any) {
	if opt.Notify != nil {
		opt.Notify(fmt.Sprintf(format, args...))
	}
}

// check validates what needs no data, and fills in defaults. gram says that the
// caller gives Gram matrices.
func (opt Options) check(gram bool) (Options, error) {
	if opt.Standardize == "" && gram {
		opt.Standardize = "none"
	}
	if opt.Lambda != 0 && !positive(opt.Lambda) {
		return opt, badInput("λ = %g: it must be positive", opt.Lambda)
	}
	if opt.Tau != 0 && !positive(opt.Tau) {
		return opt, badInput("τ = %g: it must be positive", opt.Tau)
	}
	if !(opt.Tol >= 0) {
		return opt, badInput("tolerance %g is negative", opt.Tol)
	}
	if opt.MaxOuter < 0 {
		return opt, badInput("%d outer iterations", opt.MaxOuter)
	}
	for _, c := range []struct {
		what  string
		value *string
		have  []string
	}{
		{"choice of what to learn", &opt.Learn, []string{"", "eta,l", "eta", "l", "none", "l,eta"}},
		{"choice of what to standardize", &opt.Standardize, []string{"x,y", "x", "y", "none", "y,x"}},
		{"treatment of missing cells", &opt.Missing, []string{"mean", "error"}},
		{"solver", &opt.Solver, append([]string{"reduced"}, bcd.Solvers()...)},
		{"solver of the linear systems", &opt.Sylvester, append([]string{"auto"}, sylvester.Names()...)},
	} {
		if err := choose(c.what, c.value, c.have); err != nil {
			return opt, err
		}
	}
	if opt.Norm != "" {
		if _, err := bcd.ParseNorm(opt.Norm); err != nil {
			return opt, &wrapped{err, ErrInput}
		}
	}
	for _, spec := range opt.Kernels {
		if _, err := kernel.Parse(spec); err != nil {
			return opt, &wrapped{err, ErrInput}
		}
	}
	return opt, nil
}

// choose checks that the value is one of have, and makes "" the first of them.
func choose(what string, value *string, have []string) error {
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
	return badInput("unknown %s %q (have %s)", what, *value, strings.Join(names, " | "))
}

func (opt *Options) scaleX() bool { return strings.Contains(opt.Standardize, "x") }
func (opt *Options) scaleY() bool { return strings.Contains(opt.Standardize, "y") }

func (opt *Options) regularizer() bcd.Regularizer {
	if opt.Regularizer != nil {
		return opt.Regularizer
	}
	norm := opt.Norm
	if norm == "" {
		norm = "lp:1"
	}
	r, err := bcd.ParseNorm(norm)
	if err != nil {
		panic("iokl: norm that was checked before")
	}
	return r
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
