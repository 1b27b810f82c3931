// This file compares dictionaries by kernel ridge regression: with fixed weights and L = (τ/n)·I, one factorization serves all λ.

package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// screened is how a dictionary did.
type screened struct {
	kernels []string
	score   float64   // at the best λ
	errors  []float64 // of each fold there
	step    int       // of that λ on the path
}

// screen compares the base dictionaries on the first repeat of the folds and
// returns them, the best first. The best is what there is to choose so far.
func (s *selection) screen(ctx context.Context, d learn.Ridger) ([]screened, error) {
	all := defaults.Bases(len(d.Columns()))
	l, _ := d.Size()
	folds := s.round()
	s.Method.Say("screening %d dictionaries on %d folds of %d samples", len(all), folds, l)
	s.begin(fmt.Sprintf("screening kernels on %d rows", l), folds*len(all))
	branches := make([]*branch, len(all))
	for k, kernels := range all {
		b := &branch{Setting: s.Setting, lambdas: make([]float64, defaults.ScreenPoints)}
		b.Kernels, b.Learn, b.Norm = kernels, cmp.Or(s.Setting.Learn, "none"), s.norms(defaults.Norms())[0]
		b.reset(folds)
		branches[k] = b
	}
	fail := make([]error, folds)
	at := int(max(1, min(float64(folds), float64(s.Method.Limit())/screenBytes(all, l))))
	for lo := 0; lo < folds; lo += at {
		par.For(min(at, folds-lo), func(i int) { fail[lo+i] = s.screenFold(ctx, d, lo+i, branches) })
	}
	some := upTo(folds)
	var ranking []screened
	var best *branch
	for _, b := range branches {
		r := screened{kernels: b.Kernels, score: math.Inf(1)}
		for i := range b.lambdas {
			e, _ := s.served(b.errors[i], some)
			if v := s.score(e); v < r.score {
				r.score, r.step, r.errors = v, i, e
			}
		}
		b.score = r.score
		if !math.IsInf(r.score, 1) && (best == nil || r.score < best.score) {
			best = b
		}
		ranking = append(ranking, r)
	}
	if best != nil {
		s.last, _ = s.summarize([]*branch{best}, some)
	}
	slices.SortStableFunc(ranking, func(a, b screened) int { return cmp.Compare(a.score, b.score) })
	return ranking, cmp.Or(ctx.Err(), cmp.Or(fail...))
}

// screenBytes bounds the memory of one fold: the cross-Gram matrix of every SPEC, and
// four more to add them up and to solve.
func screenBytes(dictionaries [][]string, samples int) float64 {
	specs := map[string]bool{}
	for _, d := range dictionaries {
		for _, spec := range d {
			specs[spec] = true
		}
	}
	return 8 * float64(len(specs)+4) * float64(samples) * float64(samples)
}

// screenFold records the errors of the dictionaries on one fold, along the default path of λ.
func (s *selection) screenFold(ctx context.Context, d learn.Ridger, f int, all []*branch) error {
	r, err := d.Ridge(f, true)
	if err != nil {
		return err
	}
	tau := s.Setting.Tau
	for _, b := range all {
		along, err := r.Errors(ctx, b.Kernels, tau, func(size float64) []float64 {
			path := defaults.Path(size*s.relative(tau), defaults.ScreenPoints)
			if f == 0 {
				b.lambdas = path
			}
			return path
		})
		if errors.Is(err, kernel.ErrConstant) {
			s.step(1)
			continue // few rows, or few values: others may do
		}
		if err != nil {
			return err
		}
		for i, e := range along {
			b.errors[i][f] = known(e.Each(s.Metric))
			s.better(learn.Mean(b.errors[i][f]))
		}
		s.step(1)
	}
	return nil
}

// united are the best dictionaries, without those that are worse than the best beyond doubt.
func (s *selection) united(ranking []screened) []screened {
	return slices.DeleteFunc(slices.Clone(ranking[:min(defaults.United, len(ranking))]), func(r screened) bool {
		return s.worse(r.errors, ranking[0].errors)
	})
}

// promising lists what is worth learning on after screening: the union of the
// best dictionaries, as it is and with weights and, for several outputs, L
// learned, and two dictionaries that leave more to the weights: smoothness, and columns.
// The union does better than the single best, which is the best by chance too, as
// long as what it adds may be as good.
func (s *selection) promising(ranking []screened, inputs []int) []candidate {
	_, outputs := s.data.Size()
	given := s.Setting.Learn
	first, last := defaults.ScreenPoints, 0
	var union []string
	for _, r := range s.united(ranking) {
		first, last = min(first, r.step), max(last, r.step)
		for _, k := range r.kernels {
			if !slices.Contains(union, k) {
				union = append(union, k)
			}
		}
	}
	few := defaults.Norms()[:1]
	first, last = max(0, first-defaults.StepsAbove), min(defaults.ScreenPoints, last+defaults.StepsBelow+1)
	weights := []string{"eta", "eta,l"}
	if outputs > 1 {
		weights = weights[1:]
	}
	all := []candidate{
		{kernels: union, norms: few, learn: []string{"none", "l", "eta", "eta,l"}, first: first, last: last},
		{kernels: defaults.Kernels(len(inputs)), norms: few, learn: weights, first: first, last: last},
	}
	if sets := defaults.Subspaces(inputs, s.Method.Seed); sets != nil {
		all = append(all, candidate{kernels: append(slices.Clip(union), sets...), norms: few, learn: weights, first: first, last: last})
	}
	for k := range all {
		all[k].learn = slices.DeleteFunc(all[k].learn, func(l string) bool {
			return given != "" && l != given || given == "" && outputs == 1 && strings.HasSuffix(l, "l")
		})
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return len(c.learn) == 0 })
}

// affordable is what is promising after screening and fits into memory with all
// samples: as much of it as does, or else the best single dictionary that does.
func (s *selection) affordable(ctx context.Context, d learn.Ridger, ranking []screened) ([]candidate, error) {
	fits := func(kernels []string) (bool, error) {
		p, err := d.Plan(ctx, kernels, true)
		return p.Bytes <= float64(s.Method.Limit()), err
	}
	inputs := d.Columns()
	all := s.promising(ranking, inputs)
	var keep []candidate
	for _, c := range all {
		ok, err := fits(c.kernels)
		if err != nil {
			return nil, err
		}
		if ok {
			keep = append(keep, c)
		}
	}
	for k := 0; keep == nil && k < len(ranking); k++ {
		ok, err := fits(ranking[k].kernels)
		if err != nil {
			return nil, err
		}
		if ok {
			keep = s.promising(ranking[k:k+1], inputs)[:1]
		}
	}
	switch {
	case keep == nil:
		return all, nil // to be refused with the numbers
	case len(keep) < len(all):
		s.Method.Say("memory holds %d of the %d dictionaries worth comparing", len(keep), len(all))
	}
	return keep, nil
}
