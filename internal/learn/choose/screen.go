package choose

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/par"
)

// Where no kernels are given, dictionaries are screened first: with weights that
// are fixed and L = (τ/n)·I, one factorisation serves all values of λ, so
// that dozens can be compared on held-out samples before anything is learned.
// screened is how a dictionary did.
type screened struct {
	kernels []string
	score   float64   // at the best λ
	errors  []float64 // of each fold there
	step    int       // of that λ on the path
}

// screen compares the base dictionaries on the first repeat of the folds and
// returns them, the best first.
func (s *selection) screen(ctx context.Context, d learn.Ridger) ([]screened, error) {
	all := defaults.Bases(d.Columns())
	l, _ := d.Size()
	folds := s.round()
	s.Method.Say("screening %d dictionaries on %d folds of %d samples", len(all), folds, min(l, defaults.ScreenSamples))
	errs := make([][][]float64, folds) // of each fold, dictionary and λ
	fail := make([]error, folds)
	at := int(max(1, min(float64(folds), float64(s.Method.Limit())/screenBytes(all, min(l, defaults.ScreenSamples)))))
	for lo := 0; lo < folds; lo += at {
		par.For(min(at, folds-lo), func(i int) { errs[lo+i], fail[lo+i] = s.screenFold(ctx, d, lo+i, all) })
	}
	if err := cmp.Or(ctx.Err(), cmp.Or(fail...)); err != nil {
		return nil, err
	}
	var ranking []screened
	for k, kernels := range all {
		best := screened{kernels: kernels, score: math.Inf(1)}
		for i := range defaults.PathPoints {
			var column []float64
			for f := range folds {
				column = append(column, errs[f][k][i])
			}
			if v := s.score(column); v < best.score {
				best.score, best.step, best.errors = v, i, column
			}
		}
		ranking = append(ranking, best)
	}
	slices.SortStableFunc(ranking, func(a, b screened) int { return cmp.Compare(a.score, b.score) })
	return ranking, nil
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

// screenFold is the errors of the dictionaries on one fold, along the default path of λ.
func (s *selection) screenFold(ctx context.Context, d learn.Ridger, f int, all [][]string) ([][]float64, error) {
	r, err := d.Ridge(f, defaults.ScreenSamples, true)
	if err != nil {
		return nil, err
	}
	tau := s.Setting.Tau
	errs := make([][]float64, len(all))
	for k, specs := range all {
		along, err := r.Errors(ctx, specs, tau, func(size float64) []float64 { return defaults.Path(size * s.relative(tau)) })
		if err != nil {
			return nil, err
		}
		for _, e := range along {
			errs[k] = append(errs[k], e.Metric(s.Metric))
		}
	}
	return errs, nil
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
func (s *selection) promising(ranking []screened, cols int) []candidate {
	_, outputs := s.data.Size()
	given := s.Setting.Learn
	first, last := defaults.PathPoints, 0
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
	first, last = max(0, first-defaults.StepsAbove), min(defaults.PathPoints, last+defaults.StepsBelow+1)
	weights := []string{"eta", "eta,l"}
	if outputs > 1 {
		weights = weights[1:]
	}
	all := []candidate{
		{kernels: union, norms: few, learn: []string{"none", "l", "eta", "eta,l"}, first: first, last: last},
		{kernels: defaults.Kernels(cols), norms: few, learn: weights, first: first, last: last},
	}
	if sets := defaults.Subspaces(cols, s.Method.Seed); sets != nil {
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
	all := s.promising(ranking, d.Columns())
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
			keep = s.promising(ranking[k:k+1], d.Columns())[:1]
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
