package iokl

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/internal/par"
)

func crossValidate(ctx context.Context, s *study, opt Options) (*CVResult, error) {
	g, err := s.grid(&opt, 10)
	if err != nil {
		return nil, err
	}
	candidates, err := s.candidates(ctx, g, &opt)
	if err != nil {
		return nil, err
	}
	branches, err := s.branches(ctx, g, candidates, &opt)
	if err != nil {
		return nil, err
	}
	at, err := s.atOnce(ctx, g, candidates, &opt)
	if err != nil {
		return nil, err
	}
	complete := make([]bool, len(g.splits))
	for done, round := 0, g.round(); done < len(g.splits); done += round {
		fail := make([]error, round)
		for lo := 0; lo < round && ctx.Err() == nil; lo += at {
			par.For(min(at, round-lo), func(i int) {
				f := done + lo + i
				err := s.fold(ctx, g, opt, branches, f)
				if err != nil {
					fail[lo+i] = fmt.Errorf("fold %d: %w", f+1, err)
				}
				complete[f] = err == nil && ctx.Err() == nil
			})
			if ctx.Err() == nil {
				opt.notify("cross-validation: %d of %d folds", done+min(lo+at, round), len(g.splits))
			}
		}
		if ctx.Err() != nil {
			return g.soFar(branches, complete), ctx.Err()
		}
		if err := firstOf(fail); err != nil {
			return nil, err
		}
		if g.Lambdas == nil && done+round < len(g.splits) {
			g.narrow(branches, done+round)
		}
	}
	return g.summarize(branches)
}

// soFar summarizes the folds that are complete, or where none is, those that have
// errors; nil where no setting has been tried on all of them.
func (g *grid) soFar(branches []*branch, complete []bool) *CVResult {
	begun := make([]bool, len(complete))
	for _, b := range branches {
		for _, errors := range b.errors {
			for f, e := range errors {
				begun[f] = begun[f] || !math.IsNaN(e)
			}
		}
	}
	folds := indices(complete)
	if folds == nil {
		folds = indices(begun)
	}
	if folds == nil {
		return nil
	}
	of := *g
	of.splits = make([]Split, len(folds))
	part := make([]*branch, len(branches))
	for k, b := range branches {
		with := *b
		with.errors = make([][]float64, len(b.errors))
		for i := range b.errors {
			for _, f := range folds {
				with.errors[i] = append(with.errors[i], b.errors[i][f])
			}
		}
		part[k] = &with
	}
	r, err := of.summarize(part)
	if err != nil {
		return nil
	}
	return r
}

// indices are those of the true elements.
func indices(is []bool) (idx []int) {
	for i, v := range is {
		if v {
			idx = append(idx, i)
		}
	}
	return idx
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// After each repeat the branches that are worse than the best by more than
// hopeless standard errors of the difference, and by more than slack in log
// error, are given up; the others keep the values of λ beside their best one.
const (
	hopeless = 1.5
	slack    = 0.01
	beside   = 1
)

// narrow gives up what the first folds leave no hope for.
func (g *grid) narrow(branches []*branch, folds int) {
	at := make([]int, len(branches)) // of the best λ of each branch
	best := -1
	score := func(k, i int) float64 { return g.score(branches[k].errors[i][:folds]) }
	for k, b := range branches {
		at[k] = -1
		for i := range b.lambdas {
			if v := score(k, i); !math.IsInf(v, 1) && (at[k] < 0 || v < score(k, at[k])) {
				at[k] = i
			}
		}
		if at[k] >= 0 && (best < 0 || score(k, at[k]) < score(best, at[best])) {
			best = k
		}
	}
	if best < 0 {
		return
	}
	for k, b := range branches {
		lost := at[k] < 0 || g.worse(b.errors[at[k]][:folds], branches[best].errors[at[best]][:folds])
		for i := range b.dropped {
			b.dropped[i] = b.dropped[i] || lost || i < at[k]-beside || i > at[k]+beside
		}
	}
}

// worse reports whether the errors a exceed b beyond doubt.
func (g *grid) worse(a, b []float64) bool {
	d := make([]float64, len(a))
	for f := range d {
		d[f] = g.value(a[f]) - g.value(b[f])
	}
	mean, se := meanAndError(d)
	return mean > slack && mean > hopeless*se
}
