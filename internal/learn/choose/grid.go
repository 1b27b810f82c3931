// This file lists the settings to compare: dictionaries, norms, τ, what is learned, and paths of λ.

package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/par"
)

// fill checks the options and puts defaults in place.
func (s *selection) fill() error {
	l, _ := s.data.Size()
	if err := fault.Choice("metric", &s.Metric, learn.Metrics); err != nil {
		return err
	}
	switch {
	case s.Hide != "" && s.Hide != "rows" && s.Hide != "cells":
		return fault.Input("unknown way to hide targets %q (have rows, cells)", s.Hide)
	case s.Metric == "accuracy" && s.Hide == "cells":
		return fault.Input("the accuracy is of whole rows: hide rows, not cells")
	case s.Metric == "accuracy":
		s.Hide = "rows"
	}
	if err := fault.Choice("way to deal rows to folds", &s.FoldsBy, []string{"", Shuffle, Blocks}); err != nil {
		return err
	}
	if s.FoldsBy != "" && (s.Groups != nil || s.TimeOrdered) {
		return fault.Input("folds by %s, and by groups or in the order of time: give one of them", s.FoldsBy)
	}
	if s.Setting.Model == "sum" {
		s.Setting.Learn = cmp.Or(s.Setting.Learn, "eta,l") // a sum learns all its output kernels
	}
	if s.Taus == nil {
		s.Taus = []float64{s.Setting.Tau}
	}
	if s.Tol == 0 {
		s.Tol = max(defaults.CompareTol, s.Method.Tol)
	}
	if s.Folds == 0 {
		s.Folds = min(defaults.Folds, learn.Folding{Groups: s.Groups, TimeOrdered: s.TimeOrdered}.MostFolds(l))
	}
	if s.TimeOrdered {
		s.Repeats = 1
	}
	if s.FoldsBy == Blocks {
		s.Groups, s.FoldsBy = blocks(l, s.Folds*defaults.FoldBlocks), ""
	}
	if s.Budget > 0 && s.Ranks != nil && s.Ranks.Size() > 1 {
		return fault.Input("a budget of time is for one process: several would choose different settings")
	}
	for _, v := range s.Lambdas {
		if !fault.Positive(v) {
			return fault.Input("λ = %g: it must be positive", v)
		}
	}
	for _, v := range s.Taus {
		if v != 0 && !fault.Positive(v) {
			return fault.Input("τ = %g: it must be positive", v)
		}
	}
	for k := range s.Models {
		if err := fault.Choice("model", &s.Models[k], []string{"product", "sum"}); err != nil {
			return err
		}
	}
	for _, n := range s.Norms {
		if _, err := bcd.ParseNorm(n); err != nil {
			return fault.Mark(err)
		}
	}
	if s.Setting.Model == "sum" || slices.Contains(s.Models, "sum") {
		for _, norm := range s.norms(nil) {
			set := s.Setting
			set.Norm = norm
			if err := set.CheckSum(); err != nil {
				return err
			}
		}
	}
	s.Lambdas = slices.Clone(s.Lambdas)
	slices.Sort(s.Lambdas)
	slices.Reverse(s.Lambdas)
	return nil
}

// candidate is a dictionary, and the norms, the things to learn and the part of
// the path of λ worth trying on it.
type candidate struct {
	kernels     []string
	norms       []string
	learn       []string
	model       string    // "" means those of selection.models
	first, last int       // steps of the path; 0, 0 is all of it
	lambdas     []float64 // in place of the path
}

// candidates lists the dictionaries, norms and things to learn that are compared. Where
// the user fixed no kernels, screening proposes them.
// It is to be affordable with all samples of the data d.
func (s *selection) candidates(ctx context.Context, d learn.Data) (all []candidate, err error) {
	switch {
	case s.given != nil:
		all = s.given
	case s.Kernels != nil:
		for _, k := range s.Kernels {
			all = append(all, candidate{kernels: k})
		}
	case len(s.Setting.Kernels) > 0:
		all = []candidate{{kernels: s.Setting.Kernels}}
	default:
		some, ok := s.data.(learn.Ridger)
		if !ok {
			all = []candidate{{}}
			break
		}
		// One matrix of the largest fold is the least that learning will take.
		p, err := some.Plan(ctx, defaults.Bases(1)[0], false)
		if err != nil {
			return nil, err
		}
		if p.Bytes > float64(s.Method.Limit()) {
			return nil, s.Method.Announce(p)
		}
		ranking, err := s.screen(ctx, some)
		if err != nil {
			return nil, err
		}
		if all, err = s.affordable(ctx, d.(learn.Ridger), ranking); err != nil {
			return nil, err
		}
	}
	for k := range all {
		c := &all[k]
		if c.learn == nil {
			c.learn = []string{cmp.Or(s.Setting.Learn, "eta,l")}
		}
		c.norms = s.norms(c.norms)
		if c.lambdas == nil {
			c.lambdas = s.Lambdas
		}
	}
	return all, nil
}

// norms are those to try: what is asked for, else the given ones, else the defaults.
func (s *selection) norms(given []string) []string {
	switch {
	case s.Setting.Regularizer != nil:
		return []string{s.Setting.Regularizer.String()}
	case s.Norms != nil:
		return s.Norms
	case s.Setting.Norm != "":
		return []string{s.Setting.Norm}
	case !s.Setting.Learns("eta"):
		return defaults.Norms()[:1] // of fixed weights, all norms are the same
	case given != nil:
		return given
	}
	return defaults.Norms()
}

// branch is a path of falling λ at one setting of the rest.
type branch struct {
	learn.Setting      // but for λ
	ridge         bool // only C is learned: one decomposition for all λ
	whole         bool // the default path, from its first value to its last
	lambdas       []float64
	errors        [][][]float64 // of each λ, of each fold, what the metric averages; nil where the fold did not get there
	dropped       []bool        // values of λ that later folds need not try
	score         float64       // of the best λ, when it was last narrowed
}

// open is the values of λ that are still to be tried, and which they are.
func (b *branch) open() (lambdas []float64, at []int) {
	for i, lambda := range b.lambdas {
		if !b.dropped[i] {
			lambdas, at = append(lambdas, lambda), append(at, i)
		}
	}
	return lambdas, at
}

// reset forgets all errors, for so many folds to come.
func (b *branch) reset(folds int) {
	b.errors = make([][][]float64, len(b.lambdas))
	for i := range b.errors {
		b.errors[i] = make([][]float64, folds)
	}
}

// open counts the values of λ that are still to be tried.
func open(branches []*branch) (count int) {
	for _, b := range branches {
		lambdas, _ := b.open()
		count += len(lambdas)
	}
	return count
}

// survivors are the better half of the branches that are not given up, at least two, and those that take one
// decomposition, ready for more samples. The best λ falls as samples are added.
func (s *selection) survivors(branches []*branch) []*branch {
	alive := slices.DeleteFunc(branches, func(b *branch) bool { return open([]*branch{b}) == 0 })
	slices.SortStableFunc(alive, func(a, b *branch) int { return cmp.Compare(a.score, b.score) })
	kept := min(len(alive), max(2, (len(alive)+1)/2))
	alive = append(alive[:kept], slices.DeleteFunc(alive[kept:], func(b *branch) bool { return !b.ridge })...)
	for _, b := range alive {
		_, at := b.open()
		if next := at[len(at)-1] + 1; next < len(b.dropped) {
			b.dropped[next] = false
		}
		b.reset(s.folds)
	}
	return alive
}

// branches makes a branch for every combination of dictionary, norm, τ, what is learned and model.
func (s *selection) branches(ctx context.Context, candidates []candidate) (all []*branch, err error) {
	for _, c := range candidates {
		weights, diagonals, err := s.data.Start(ctx, c.kernels)
		if err != nil {
			return nil, err
		}
		for _, norm := range c.norms {
			for _, tau := range s.Taus {
				for _, what := range c.learn {
					for _, model := range s.models(&c, what) {
						b := &branch{Setting: s.Setting, lambdas: c.lambdas}
						b.Kernels, b.Norm, b.Tau, b.Learn, b.Model = c.kernels, norm, tau, what, model
						size, err := size(&b.Setting, weights, diagonals)
						if err != nil {
							return nil, err
						}
						if b.lambdas == nil && size == 0 {
							return nil, fault.Input("the kernels %s are zero on all samples, as are those of columns that do not vary", Brief(c.kernels))
						}
						if b.lambdas == nil {
							b.whole = c.last == 0
							b.lambdas = defaults.Path(size*s.relative(tau), cmp.Or(c.last, defaults.PathPoints))[c.first:]
						}
						if _, ok := s.data.(learn.Ridger); ok && s.given == nil { // given are few values of λ
							b.ridge = what == "none" && dictionary.Exact(c.kernels)
						}
						b.dropped = make([]bool, len(b.lambdas))
						b.reset(s.folds)
						all = append(all, b)
					}
				}
			}
		}
	}
	return all, nil
}

// size is the mean diagonal of K_η where learning starts: at the weights that are
// fixed, or those of the norm.
func size(set *learn.Setting, weights, diagonals []float64) (float64, error) {
	if weights != nil && !set.Learns("eta") {
		return blas.Dot(weights, diagonals), nil
	}
	reg := set.Reg()
	m := len(diagonals)
	if err := reg.Check(m); err != nil {
		return 0, fault.Mark(err)
	}
	eta := make([]float64, m)
	reg.Start(eta)
	var total, mean float64
	for j, v := range diagonals {
		total += eta[j]
		mean += v / float64(m)
	}
	return total * mean, nil
}

// relative is τ/n. The path of λ is proportional to it, since only λ/τ matters.
func (s *selection) relative(tau float64) float64 {
	if tau == 0 {
		return 1
	}
	_, n := s.data.Size()
	return tau / float64(n)
}

// atOnce is the number of folds that fit into memory at the same time, and the bytes that they hold.
func (s *selection) atOnce(ctx context.Context, branches []*branch) (at int, held float64, err error) {
	var need learn.Plan
	for k, b := range branches {
		if k > 0 && slices.Equal(b.Kernels, branches[k-1].Kernels) {
			continue
		}
		p, err := s.data.Plan(ctx, b.Kernels, false)
		if err != nil {
			return 0, 0, err
		}
		if p.Bytes > need.Bytes {
			need = p
		}
	}
	if need.Bytes == 0 {
		return 1, 0, nil
	}
	if err := s.Method.Announce(need); err != nil {
		return 0, 0, err
	}
	at = int(max(1, min(float64(par.Threads()), float64(s.Method.Limit())/need.Bytes)))
	return at, float64(at) * need.Held, nil
}
