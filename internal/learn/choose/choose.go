// Package choose finds the setting of a fit by cross-validation: it fits candidate
// settings to parts of the data and compares their errors on the rest. It uses data
// through the interface learn.Data alone.
package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/stream"
)

// Options say what is tried and how; see iokl.CVOptions.
type Options struct {
	Lambdas []float64
	Taus    []float64
	Norms   []string
	Kernels [][]string

	Folds       int
	Repeats     int
	Groups      []int
	TimeOrdered bool
	Metric      string
	Tol         float64
	OneSE       bool
}

// Point is one setting and how it did on held-out samples; see iokl.CVPoint.
type Point struct {
	Kernels []string
	Norm    string
	Learn   string
	Tau     float64
	Lambda  float64
	Mean    float64
	StdErr  float64
	Folds   []float64
}

// Result lists the settings that every fold has tried.
type Result struct {
	Metric string
	Folds  int
	Best   int // index in Points
	Points []Point
}

// Brief joins SPECs, the first few of many: sets of random columns make dozens.
func Brief(specs []string) string {
	const most = 6
	if len(specs) <= most {
		return strings.Join(specs, " ")
	}
	return fmt.Sprintf("%s … and %d more", strings.Join(specs[:most-2], " "), len(specs)-(most-2))
}

// Job says what to choose.
type Job struct {
	Options
	Setting learn.Setting // what the user fixed
	Method  learn.Method
	Ranks   stream.Ranks // that share the folds; nil means this process alone
}

// selection is the state of Run.
type selection struct {
	Job
	data  learn.Data
	folds int // of all repeats
}

// round is the number of folds of one repeat.
func (s *selection) round() int { return s.folds / max(s.Repeats, 1) }

// Run compares the settings on the folds of the data. After each repeat of the folds it
// gives up settings that are clearly worse. The result does not depend on how many folds
// run at once. When the context is cancelled, Run returns its error with the result of
// the complete folds, or of the folds begun where none is complete, or nil.
func Run(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	s := &selection{Job: job, data: d}
	if err := s.fill(); err != nil {
		return nil, err
	}
	if d, some, ok := s.large(); ok {
		return s.runLarge(ctx, d, some)
	}
	var err error
	if s.folds, err = d.Split(learn.Folding{Folds: s.Folds, Repeats: s.Repeats, Groups: s.Groups, TimeOrdered: s.TimeOrdered, Seed: s.Method.Seed}); err != nil {
		return nil, err
	}
	candidates, err := s.candidates(ctx)
	if err != nil {
		return nil, err
	}
	branches, err := s.branches(ctx, candidates)
	if err != nil {
		return nil, err
	}
	at, err := s.atOnce(ctx, candidates)
	if err != nil {
		return nil, err
	}
	s.Method.Tol, s.Method.Trace = s.Tol, nil
	complete := make([]bool, s.folds)
	for done, round := 0, s.round(); done < s.folds; done += round {
		own := s.share(done, done+round)
		fail := make([]error, len(own))
		for lo := 0; lo < len(own) && ctx.Err() == nil; lo += at {
			par.For(min(at, len(own)-lo), func(i int) {
				f := own[lo+i]
				err := s.fold(ctx, branches, f)
				if err != nil {
					fail[lo+i] = fmt.Errorf("fold %d: %w", f+1, err)
				}
				complete[f] = err == nil && ctx.Err() == nil
			})
			if ctx.Err() == nil {
				s.Method.Say("cross-validation: %d of %d folds", own[min(lo+at, len(own))-1]+1, s.folds)
			}
		}
		if ctx.Err() != nil {
			return s.soFar(branches, complete), ctx.Err()
		}
		if err := cmp.Or(fail...); err != nil {
			return nil, err
		}
		if err := s.gather(branches, done, done+round); err != nil {
			return nil, err
		}
		if s.Lambdas == nil && done+round < s.folds {
			s.narrow(branches, done+round)
		}
	}
	all := make([]int, s.folds)
	for f := range all {
		all[f] = f
	}
	return s.summarize(branches, all)
}

// share lists the folds that this rank works on.
func (s *selection) share(from, to int) (own []int) {
	for f := from; f < to; f++ {
		if s.Ranks == nil || f%s.Ranks.Size() == s.Ranks.Rank() {
			own = append(own, f)
		}
	}
	return own
}

// gather exchanges the errors on the folds between the ranks.
func (s *selection) gather(branches []*branch, from, to int) error {
	if s.Ranks == nil || s.Ranks.Size() == 1 {
		return nil
	}
	for _, b := range branches {
		for _, errors := range b.errors {
			for f := from; f < to; f++ {
				if f%s.Ranks.Size() != s.Ranks.Rank() {
					errors[f] = 0 // another's, who may have NaN
				}
			}
			if err := s.Ranks.Allreduce(errors[from:to]); err != nil {
				return fmt.Errorf("exchanging the errors of the folds: %w", err)
			}
		}
	}
	return nil
}

// fold fits every branch with one fold left out, and records the errors on that fold.
func (s *selection) fold(ctx context.Context, branches []*branch, f int) (err error) {
	var t learn.Training
	var kernels []string
	var r learn.Ridge
	for _, b := range branches {
		lambdas, at := b.open()
		if len(lambdas) == 0 {
			continue
		}
		if b.ridge != nil {
			if r == nil {
				if r, err = b.ridge.Ridge(f, 0, false); err != nil {
					return err
				}
			}
			e, err := r.Errors(ctx, b.Kernels, b.Tau, func(float64) []float64 { return lambdas })
			if err != nil {
				return err
			}
			for k, i := range at {
				b.errors[i][f] = e[k].Metric(s.Metric)
			}
			continue
		}
		if t == nil || !slices.Equal(b.Kernels, kernels) {
			kernels = b.Kernels
			if t, err = s.data.Train(ctx, kernels, f); err != nil {
				return err
			}
		}
		rises := rising{least: math.Inf(1)}
		err := s.Method.Path(ctx, t, b.Setting, lambdas, func(k int, e learn.Errors) (stop bool) {
			b.errors[at[k]][f] = e.Metric(s.Metric)
			return rises.ended(e.NMSE) && b.whole
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rising watches the errors along a default path, which ends where they have risen; one
// that the caller gave, or that screening has cut out, is followed to its end.
type rising struct {
	least float64
	high  int // values of λ in a row with errors that are too high
}

// ended takes the next error and reports whether the path ends there.
func (r *rising) ended(e float64) bool {
	r.least = math.Min(r.least, e)
	if r.high++; e <= defaults.TooHigh*r.least {
		r.high = 0
	}
	return r.high >= defaults.EndAfter
}
