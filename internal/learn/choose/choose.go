// Package choose finds the setting of a fit by cross-validation: it fits candidate
// settings to parts of the data and compares their errors on the rest. It uses data
// through the interface learn.Data alone.
package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/stream"
)

// Options say what is tried and how; see iokl.CVOptions.
type Options struct {
	Lambdas []float64
	Taus    []float64
	Norms   []string
	Kernels [][]string
	Models  []string

	Folds       int
	LeaveOneOut bool
	Repeats     int
	Groups      []int
	TimeOrdered bool
	Hide        string
	FoldsBy     string
	Metric      string
	Tol         float64
	OneSE       bool
}

// Point is one setting and how it did on held-out samples; see iokl.CVPoint.
type Point struct {
	Kernels []string
	Norm    string
	Learn   string
	Model   string
	Tau     float64
	Lambda  float64
	Mean    float64
	StdErr  float64
	Folds   []float64
	Freedom float64
}

// Result lists the settings that every fold has tried.
type Result struct {
	Metric   string
	Folds    int
	Best     int // index in Points
	Points   []Point
	Constant []float64 // the metric of a model without kernels, on each fold
	Means    []int     // the targets that the best setting predicts no better than such a model
	Groups   []int     // that the rows were dealt by, where these were chosen; nil where not
	Note     string    // why
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
	Budget  time.Duration // for all of it; 0 means no limit
	Ranks   stream.Ranks  // that share the folds; nil means this process alone

	given []candidate // what is compared in place of what the options describe
}

// selection is the state of Run.
type selection struct {
	Job
	data     learn.Data  // what settings are compared on
	folds    int         // of all repeats
	constant [][]float64 // errors without kernels: of each fold, what the metric averages
	last     *Result     // of what was compared before, on fewer samples or with fixed weights
	chosen   []int       // groups of rows, where the user gave none
	note     string      // why
	sum      bool        // a sum is asked for: products choose its kernels, and it is compared last
	progress
}

// round is the number of folds of one repeat.
func (s *selection) round() int { return s.folds / max(s.Repeats, 1) }

// Run compares the settings on the folds of the data: of many samples on a part first, and the
// settings that are not clearly worse on ever larger parts. After each repeat of the folds too it
// gives up settings that are clearly worse. The result does not depend on how many folds
// run at once.
//
// When the budget is spent, or the context is cancelled, Run returns the result of the complete folds,
// or where none is complete that of the samples before, or of the folds begun; with the
// error of the context, if that was cancelled, and then nil where there is no result yet.
func Run(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	s := &selection{Job: job, data: d}
	if err := s.fill(); err != nil {
		return nil, err
	}
	s.progress.watch, s.progress.metric = job.Method.Watch, s.Metric
	limited, cancel := ctx, func() {}
	if s.Budget > 0 {
		s.progress.deadline = time.Now().Add(s.Budget)
		limited, cancel = context.WithDeadline(ctx, s.progress.deadline)
	}
	defer cancel()
	r, err := s.choose(limited, ctx)
	if r != nil && r.Note == "" {
		r.Groups, r.Note = s.chosen, s.note
	}
	if s.sum && r != nil && r.Points[r.Best].Model == "product" {
		s.Method.Say("no sum was compared before the end: kernels, λ and the error are those of the product")
		r.Points, r.Best = r.Points[r.Best:r.Best+1], 0
		r.Points[0].Model = "sum"
	}
	if limited.Err() == nil || ctx.Err() != nil {
		return r, err
	}
	if r == nil {
		r, err = s.least(ctx)
	} else {
		err = nil
	}
	if r != nil {
		s.Method.Say("the time for choosing settings is spent: the best so far is taken")
	}
	return r, err
}

// choose compares settings while limited lasts; ctx is for what is needed after that.
func (s *selection) choose(limited, ctx context.Context) (*Result, error) {
	if s.LeaveOneOut {
		return s.leaveOneOut(limited)
	}
	if d, samples, targets, ok := s.large(); ok {
		return s.chooseLarge(limited, ctx, d, samples, targets)
	}
	return s.compare(limited, s.data)
}

// compare compares settings on growing parts of the data.
func (s *selection) compare(ctx context.Context, d learn.Data) (*Result, error) {
	if _, ok := d.(learn.Ridger); ok && s.Setting.Model == "sum" && s.Kernels == nil && s.Setting.Kernels == nil && s.given == nil {
		s.sum = true
	}
	sizes := s.sizes(d)
	if err := s.take(d, sizes[0]); err != nil {
		return nil, err
	}
	if err := s.dealByBlocks(ctx, d, sizes[0]); err != nil {
		return nil, err
	}
	candidates, err := s.candidates(ctx, d)
	if err != nil {
		return s.last, err
	}
	branches, err := s.branches(ctx, candidates)
	if err != nil {
		return s.last, err
	}
	method := s.Method
	s.Method.Tol, s.Method.Trace = s.Tol, nil
	defer func() { s.Method = method }()
	for k, size := range sizes {
		if k > 0 {
			s.narrow(branches, s.folds)
			if err := s.take(d, size); err != nil {
				return s.last, err
			}
			branches = s.survivors(branches)
		}
		r, err := s.race(ctx, branches)
		if err != nil {
			return cmp.Or(r, s.last), err
		}
		s.last = r
	}
	return s.trySum(ctx, branches)
}

// sizes are the numbers of samples that settings are compared on in turn.
func (s *selection) sizes(d learn.Data) []int {
	l, _ := d.Size()
	sizes := []int{l}
	if _, ok := d.(learn.Sampler); !ok || s.Kernels != nil || s.Setting.Kernels != nil || s.Lambdas != nil {
		return sizes // the user says what to compare, and means all samples
	}
	for sizes[0] >= 2*defaults.RaceFrom {
		sizes = slices.Insert(sizes, 0, sizes[0]/2)
	}
	return sizes
}

// take makes so many of the samples what settings are compared on, and deals them to folds.
// A smaller number takes a part of a larger one.
func (s *selection) take(d learn.Data, size int) (err error) {
	l, _ := d.Size()
	groups := s.Groups
	if s.data = d; size < l {
		rows := s.draw(l, size, defaults.RaceFrom)
		if s.data, err = d.(learn.Sampler).Sample(rows); err != nil {
			return err
		}
		groups = learn.Pick(groups, rows)
	}
	s.folds, err = s.data.Split(learn.Folding{Folds: s.Folds, Repeats: s.Repeats, Groups: groups, TimeOrdered: s.TimeOrdered, Hide: s.Hide, Seed: s.Method.Seed})
	if err != nil {
		return err
	}
	s.constant = make([][]float64, s.folds)
	for f := range s.constant {
		e, err := s.data.Constant(f)
		if err != nil {
			return fmt.Errorf("fold %d: %w", f+1, err)
		}
		s.constant[f] = e.Each(s.Metric)
	}
	return nil
}

// draw returns the numbers of size random samples of l, ascending. Those of a smaller size
// and the same stream of the seed are among them.
func (s *selection) draw(l, size int, stream uint64) []int {
	rows := rand.New(rand.NewPCG(s.Method.Seed, stream)).Perm(l)[:size]
	slices.Sort(rows)
	return rows
}

// race compares the branches on the folds, repeat by repeat.
func (s *selection) race(ctx context.Context, branches []*branch) (*Result, error) {
	at, held, err := s.atOnce(ctx, branches)
	if err != nil {
		return nil, err
	}
	defer memory.Reserve(held)()
	l, _ := s.data.Size()
	complete := make([]bool, s.folds)
	for done, round := 0, s.round(); done < s.folds; done += round {
		own := s.share(done, done+round)
		s.begin(fmt.Sprintf("comparing settings on %d rows", l), len(own)*open(branches))
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
	return s.summarize(branches, upTo(s.folds))
}

// upTo lists the first folds, so many.
func upTo(folds int) []int {
	all := make([]int, folds)
	for f := range all {
		all[f] = f
	}
	return all
}

// least is what there is to choose where nothing could be compared: the middle of a path, and its error
// on one fold.
func (s *selection) least(ctx context.Context) (*Result, error) {
	c := candidate{kernels: s.Setting.Kernels, learn: []string{cmp.Or(s.Setting.Learn, "none")}}
	if s.Kernels != nil {
		c.kernels = s.Kernels[0]
	}
	if _, ok := s.data.(learn.Ridger); ok && len(c.kernels) == 0 {
		c.kernels = []string{defaults.OneKernel}
	}
	c.norms = s.norms(defaults.Norms())[:1]
	if s.sum {
		c.model = "sum"
	}
	branches, err := s.branches(ctx, []candidate{c})
	if err != nil {
		return nil, err
	}
	b := branches[0]
	for i := range b.dropped {
		b.dropped[i] = i != len(b.lambdas)/2
	}
	s.begin("comparing settings", 1)
	if err := s.fold(ctx, branches[:1], 0); err != nil {
		return nil, err
	}
	r, err := s.summarize(branches[:1], []int{0})
	if r != nil {
		r.Means = nil // one fold says too little
	}
	return r, err
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
				sum := make([]float64, len(s.constant[f]))
				switch {
				case f%s.Ranks.Size() != s.Ranks.Rank():
				case errors[f] == nil:
					sum = slices.Repeat([]float64{math.NaN()}, len(sum))
				default:
					copy(sum, errors[f])
				}
				if err := s.Ranks.Allreduce(sum); err != nil {
					return fmt.Errorf("exchanging the errors of the folds: %w", err)
				}
				errors[f] = known(sum)
			}
		}
	}
	return nil
}

// known is the errors, nil where none is a number.
func known(errors []float64) []float64 {
	if !slices.ContainsFunc(errors, func(e float64) bool { return !math.IsNaN(e) }) {
		return nil
	}
	return errors
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
		record := func(k int, e learn.Errors) {
			b.errors[at[k]][f] = known(e.Each(s.Metric))
			s.better(learn.Mean(b.errors[at[k]][f]))
			s.step(1)
		}
		if b.ridge {
			if r == nil {
				if r, err = s.data.(learn.Ridger).Ridge(f, false); err != nil {
					return err
				}
			}
			e, err := r.Errors(ctx, b.Kernels, b.Tau, func(float64) []float64 { return lambdas })
			if err != nil {
				return err
			}
			for k := range at {
				record(k, e[k])
			}
			continue
		}
		if t == nil || !slices.Equal(b.Kernels, kernels) {
			t, kernels = nil, b.Kernels // the old matrices go before the new ones come
			t, err = s.data.Train(ctx, kernels, f)
			if errors.Is(err, kernel.ErrConstant) && len(s.Setting.Kernels) == 0 && s.Kernels == nil {
				t = nil
				s.step(len(lambdas))
				continue // few rows, or few values: other dictionaries may do
			}
			if err != nil {
				return err
			}
		}
		rises, tried := rising{least: math.Inf(1)}, 0
		method := s.Method
		if s.sum && b.Model == "product" {
			method.Solver = "" // Method names that of the sum
		}
		err := method.Path(ctx, t, b.Setting, lambdas, func(k int, e learn.Errors) (stop bool) {
			record(k, e)
			tried++
			return rises.ended(e.NMSE) && b.whole
		})
		if err != nil {
			return err
		}
		s.step(len(lambdas) - tried)
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
