// This file fits arms without a fold, shares folds between ranks, and bounds memory. It leaves out single rows in
// closed form.

package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

// task is work on one fold: to fit the arms, which share matrices, or to learn what a SPEC says of columns.
type task struct {
	fold int
	arms []*arm
	spec string
}

// tasks lists the work on the folds, in parts that may run at once. What is learned of columns comes a fold ahead of
// the fits, which wait for it: first that of sums of many kernels, which takes longest.
func (s *race) tasks(folds []int) (list []task) {
	specs := slices.DeleteFunc(union(s.arms), func(k string) bool { return !dictionary.LearnFromTargets([]string{k}) })
	slices.SortStableFunc(specs, func(a, b string) int { return strings.Count(b, "+") - strings.Count(a, "+") })
	teach := func(k int) {
		for _, spec := range specs {
			if k < len(folds) {
				list = append(list, task{fold: folds[k], spec: spec})
			}
		}
	}
	groups := s.groups()
	teach(0)
	for k, f := range folds {
		if k > 0 {
			teach(k + 1)
		}
		for _, arms := range groups {
			list = append(list, task{fold: f, arms: arms})
		}
		if k == 0 { // learning on all other folds starts from what was learned on the first
			teach(1)
		}
	}
	return list
}

// do does the task. An error of learning is one of the fits, too, which say for which arms it does not matter.
func (s *race) do(ctx context.Context, t task) error {
	if t.arms != nil {
		return s.fold(ctx, t.arms, t.fold)
	}
	if table := s.data.Table; table != nil {
		_ = table.Teach(ctx, t.spec, t.fold)
	}
	return nil
}

// groups are the arms that share matrices: a training set, or else the kernels of the first SPEC.
func (s *race) groups() (list [][]*arm) {
	at := map[string]int{}
	for _, a := range s.arms {
		key := fmt.Sprintf("%q %v", a.Kernels, a.Learn.Weights())
		if a.closed {
			key = a.Kernels[0]
		}
		k, known := at[key]
		if !known {
			k = len(list)
			at[key], list = k, append(list, nil)
		}
		list[k] = append(list[k], a)
	}
	return list
}

// fold fits arms that share matrices without a fold, and records the errors on it.
func (s *race) fold(ctx context.Context, arms []*arm, f int) error {
	record := func(a *arm, i int, e learn.Errors) {
		a.errors[i][f] = known(e.Each(s.Metric))
		s.hold(a, i, f, &e)
		s.step(1, learn.Mean(a.errors[i][f]))
	}
	if arms[0].closed {
		return s.foldClosed(ctx, arms, f, record)
	}
	var t learn.Training
	for _, a := range arms {
		lambdas, at := a.pending(f)
		if len(lambdas) == 0 {
			continue
		}
		if t.Set == nil {
			made, err := s.data.Train(ctx, a.Kernels, a.Learn, f)
			if s.skips(err) {
				s.step(len(lambdas), math.NaN())
				continue
			}
			if err != nil {
				return err
			}
			t = made
		}
		least, tried := math.Inf(1), 0
		best, wait := 0, len(lambdas)
		switch {
		case s.whole:
			wait = beside
		case s.fills() || !s.data.Plain():
			wait = patience
		}
		method := s.Method
		if s.Setting.Model == learn.Sum && a.Model != learn.Sum {
			method.Solver = "" // Method names that of the sum
		}
		err := method.Path(ctx, t, a.Setting, lambdas, func(k int, e learn.Errors, certified bool) (stop bool) {
			if k > 0 && !certified && s.Lambdas == nil && s.Method.MaxOuter == 0 { // rounding hides the optimum
				return true
			}
			record(a, at[k], e)
			tried++
			if e.NMSE < (1-s.Tol)*least {
				least, best = e.NMSE, k
			}
			if s.Lambdas != nil || s.floor > 0 && lambdas[k] > s.floor {
				return false
			}
			return !(e.NMSE <= 2*least) || k-best >= wait && !s.flat(a.errors[at[k]][f], f)
		})
		if err != nil {
			return err
		}
		s.step(len(lambdas)-tried, math.NaN())
	}
	return nil
}

// flat reports whether errors on a fold are within a standard error of those of the constant, as they are at large λ.
func (s *race) flat(errors []float64, f int) bool {
	constant := learn.Mean(s.constant[f])
	return math.Abs(learn.Mean(errors)-constant) <= constant/math.Sqrt(float64(s.size)/float64(s.folds))
}

// foldClosed is fold for the arms that one decomposition serves.
func (s *race) foldClosed(ctx context.Context, arms []*arm, f int, record func(*arm, int, learn.Errors)) (err error) {
	var r learn.Ridge
	for _, a := range arms {
		lambdas, at := a.pending(f)
		if len(lambdas) == 0 {
			continue
		}
		if r == nil {
			if r, err = s.data.Table.Ridge(f); err != nil {
				return err
			}
		}
		var e []learn.Errors
		phase.Do(ctx, phase.Ridge, func(ctx context.Context) { e, err = r.Errors(ctx, a.Kernels, a.Tau, lambdas) })
		if s.skips(err) {
			s.step(len(lambdas), math.NaN())
			continue
		}
		if err != nil {
			return err
		}
		for k := range at {
			record(a, at[k], e[k])
		}
	}
	return nil
}

// skips reports whether the error only says that a fold has too few rows or values for a dictionary of the race's own.
func (s *race) skips(err error) bool {
	return errors.Is(err, kernel.ErrConstant) && !s.named()
}

// known is the errors, nil where none is a number.
func known(errors []float64) []float64 {
	if math.IsNaN(learn.Mean(errors)) {
		return nil
	}
	return errors
}

// share lists the folds that this rank works on.
func (s *race) share(from, to int) (own []int) {
	for f := from; f < to; f++ {
		if s.Ranks == nil || f%s.Ranks.Size() == s.Ranks.Rank() {
			own = append(own, f)
		}
	}
	return own
}

// gather exchanges the errors on the folds between the ranks.
func (s *race) gather(from, to int) error {
	if s.Ranks == nil || s.Ranks.Size() == 1 {
		return nil
	}
	for _, a := range s.arms {
		for _, errors := range a.errors {
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

// atOnce is the number of tasks that fit into memory at the same time, and the bytes that they hold.
func (s *race) atOnce(ctx context.Context) (at int, held float64, err error) {
	var need learn.Plan
	for _, arms := range s.groups() {
		if arms[0].closed {
			// A cross-Gram matrix of every SPEC, and four more to add them up and to solve.
			if bytes := 8 * float64(len(union(arms))+4) * float64(s.size) * float64(s.size); bytes > need.Bytes {
				need = learn.Plan{Bytes: bytes}
			}
			continue
		}
		for k, a := range arms {
			if k > 0 && a.Learn == arms[k-1].Learn {
				continue
			}
			p, err := s.data.Plan(ctx, a.Kernels, a.Learn, false)
			if err != nil {
				return 0, 0, err
			}
			if p.Bytes > need.Bytes {
				need = p
			}
		}
	}
	if need.Bytes == 0 {
		return 1, 0, nil
	}
	if need.What != "" {
		if err := s.Method.Announce(need); err != nil {
			return 0, 0, err
		}
	}
	at = int(max(1, min(float64(par.Threads()), float64(s.Method.Limit())/need.Bytes)))
	return at, float64(at) * need.Held, nil
}

// leaveOneOut compares settings by refits without each sample, in closed form at the η and L that all samples
// chose. Where no kernels are given, a race on folds finds the dictionary.
func (s *race) leaveOneOut(ctx context.Context) error {
	l, _ := s.data.Size()
	if s.Groups != nil || s.TimeOrdered {
		return fault.Input("leaving out single rows is for rows in no order and no groups: use folds")
	}
	if s.Setting.Model == learn.Sum || slices.Contains(s.Models, learn.Sum) {
		const sum = "leaving out single rows in closed form is for one output kernel, not for one of each kernel's " +
			"own: use folds"
		return fault.Input(sum)
	}
	if s.kernelsOpen() {
		if err := s.run(ctx); err != nil {
			return err
		}
		p := s.best.Chosen()
		s.Setting.Kernels, s.Setting.OutputKernel, s.OutputKernels, s.arms = p.Kernels, p.OutputKernel, nil, nil
		if s.Setting.Learn == "" {
			s.Setting.Learn = p.Learn
		}
	}
	s.data, s.size, s.folds = s.all, l, 1 // of all samples
	if err := s.start(ctx); err != nil {
		return err
	}
	s.begin("leaving out each row", len(s.arms))
	var notes []Point // standard errors and degrees of freedom
	for _, a := range s.arms {
		t, err := s.data.Train(ctx, a.Kernels, a.Learn, learn.All)
		if err != nil {
			return err
		}
		if t.Samples == nil {
			return fault.Input("leaving out single rows is for data in memory: use folds")
		}
		refits, err := t.Samples.LeaveOut()
		if err != nil {
			return err
		}
		s.constant = [][]float64{refits.Constant().Errors.Each(s.Metric)}
		err = s.Method.LeaveOut(ctx, t, refits, a.Setting, a.lambdas, func(i int, r *learn.Refits) {
			a.errors[i][0] = r.Errors.Each(s.Metric)
			if !math.IsNaN(learn.Mean(a.errors[i][0])) {
				notes = append(notes, Point{StdErr: standardError(r, l, s.Metric), Freedom: r.Freedom})
			}
		})
		if err != nil {
			return err
		}
		s.step(1, math.NaN())
	}
	r, err := s.summarize([]int{0})
	if err != nil {
		return err
	}
	for i, n := range notes {
		r.Points[i].StdErr, r.Points[i].Freedom = n.StdErr, n.Freedom
	}
	r.Folds = l
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	s.best = r
	return nil
}

// standardError is that of the metric, from what each of l rows adds to it; of the root of a mean square to first
// order.
func standardError(r *learn.Refits, l int, metric string) float64 {
	rows := make([]float64, l)
	for i := range rows {
		e := r.Row(i)
		each := e.Each(metric)
		for j := range each {
			if mse := r.Errors.MSE[j]; metric == "rmse" && mse > 0 {
				each[j] = e.MSE[j] / (2 * math.Sqrt(mse))
			}
		}
		rows[i] = learn.Mean(each)
	}
	_, se := meanAndError(rows)
	return se
}
