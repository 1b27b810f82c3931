// Fits of arms without a fold, folds shared between ranks, bounds of memory, and refits without single rows in
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
// the fits, which wait for it: first that of sums of many kernels, which takes longest. Learning on all other folds
// starts from what was learned on the first.
func (s *race) tasks(folds []int) (list []task) {
	specs := slices.DeleteFunc(union(s.arms), func(k string) bool { return !dictionary.LearnFromTargets([]string{k}) })
	slices.SortStableFunc(specs, func(a, b string) int { return strings.Count(b, "+") - strings.Count(a, "+") })
	groups := s.groups()
	fits := func(k int) {
		for _, arms := range groups {
			list = append(list, task{fold: folds[k], arms: arms})
		}
	}
	for k, f := range folds {
		if k == 1 {
			fits(0)
		}
		for _, spec := range specs {
			list = append(list, task{fold: f, spec: spec})
		}
		if k > 1 {
			fits(k - 1)
		}
	}
	if len(folds) > 0 {
		fits(len(folds) - 1)
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

// fold fits arms that share matrices without a fold. Where the race finds the kernels, it passes over dictionaries for
// which the fold has too few rows or values.
func (s *race) fold(ctx context.Context, arms []*arm, f int) error {
	var t learn.Training
	var r learn.Ridge
	for _, a := range arms {
		lambdas := a.pending(f)
		if lambdas == nil {
			continue
		}
		var err error
		switch {
		case a.closed && r == nil:
			r, err = s.data.Table.Ridge(f)
		case !a.closed && t.Set == nil:
			t, err = s.data.Train(ctx, a.Kernels, a.Learn, f)
		}
		switch {
		case err != nil:
		case a.closed:
			err = s.ridge(ctx, r, a, f)
		default:
			err = s.path(ctx, t, a, f)
		}
		if errors.Is(err, kernel.ErrConstant) && !s.named() {
			s.step(len(lambdas), math.NaN())
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record keeps the errors on a fold of an arm at value i of its path.
func (s *race) record(a *arm, i, f int, e learn.Errors) {
	a.errors[i][f] = known(e.Each(s.Metric))
	s.hold(a, i, f, &e)
	s.step(1, learn.Mean(a.errors[i][f]))
}

// ridge fits an arm by one decomposition for all λ.
func (s *race) ridge(ctx context.Context, r learn.Ridge, a *arm, f int) (err error) {
	var list []learn.Errors
	phase.Do(ctx, phase.Ridge, func(ctx context.Context) {
		list, err = r.Errors(ctx, a.Kernels, a.Tau, a.pending(f))
	})
	for k, e := range list {
		s.record(a, a.from+k, f, e)
	}
	return err
}

// path fits an arm at falling λ, until rounding hides the optimum. Where no last λ is known, the path ends when errors
// are not lower any more; by squared errors, with explicit features or given kernels, where the path may rise and fall
// and fits are fast, at twice the least error.
func (s *race) path(ctx context.Context, t learn.Training, a *arm, f int) error {
	method, lambdas := s.Method, a.pending(f)
	if s.Setting.Model == learn.Sum && a.Model != learn.Sum {
		method.Solver = "" // Method names that of the sum
	}
	most := patience
	if a.from > 0 {
		most = beside
	}
	fast := !dictionary.Exact(a.Kernels) || a.from == 0 && !s.kernelsOpen()
	fast = fast && !s.fills() && s.data.Plain()
	lowest, least, wait, tried := math.Inf(1), math.Inf(1), 0, 0
	err := method.Path(ctx, t, a.Setting, lambdas, func(k int, e learn.Errors, certified bool) (stop bool) {
		if k > 0 && !certified && !a.given && s.Method.MaxOuter == 0 {
			return true
		}
		s.record(a, a.from+k, f, e)
		tried++
		lowest = math.Min(lowest, e.NMSE)
		if wait++; atMostConstant(&e) < (1-s.Tol)*least {
			least, wait = atMostConstant(&e), 0
		}
		switch {
		case a.given || a.to < len(a.lambdas) || s.floor > 0 && lambdas[k] > s.floor:
			return false
		case fast:
			return !(e.NMSE <= 2*lowest)
		}
		return wait >= most && !s.flat(a.errors[a.from+k][f], f)
	})
	s.step(len(lambdas)-tried, math.NaN())
	return err
}

// atMostConstant is the mean of the relative errors of the targets, or of 1, which is that of their mean, where it is
// lower.
func atMostConstant(e *learn.Errors) float64 {
	least := slices.Clone(e.Relative)
	for k, v := range least {
		least[k] = math.Min(v, 1)
	}
	return learn.Mean(least)
}

// flat reports whether errors on a fold are within a standard error of those of the constant, as they are at large λ.
func (s *race) flat(errors []float64, f int) bool {
	constant := learn.Mean(s.constant[f])
	return math.Abs(learn.Mean(errors)-constant) <= constant/math.Sqrt(float64(s.size)/float64(s.folds))
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
		for _, a := range arms {
			// A cross-Gram matrix of every SPEC, and four more to add them up and to solve.
			p := learn.Plan{Bytes: 8 * float64(len(union(arms))+4) * float64(s.size) * float64(s.size)}
			if !a.closed {
				if p, err = s.data.Plan(ctx, a.Kernels, a.Learn, false); err != nil {
					return 0, 0, err
				}
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
// chose. Where no kernels are given, they are those of the leader of a race on folds, with what it learns.
func (s *race) leaveOneOut(ctx context.Context) error {
	l, _ := s.all.Size()
	s.data, s.folds, s.complete = s.all, 1, []bool{true} // one fold of all samples
	if s.kernelsOpen() {
		s.leader().move(float64(l)/float64(s.size), 1)
	} else if err := s.start(ctx); err != nil {
		return err
	}
	s.size = l
	s.begin("leaving out each row", len(s.arms))
	notes := map[*arm][]Point{} // standard errors and degrees of freedom
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
		notes[a] = make([]Point, len(a.lambdas))
		err = s.Method.LeaveOut(ctx, t, refits, a.Setting, a.lambdas, func(i int, r *learn.Refits) {
			a.errors[i][0] = known(r.Errors.Each(s.Metric))
			notes[a][i] = Point{StdErr: standardError(r, l, s.Metric), Freedom: r.Freedom}
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
	for i := range r.Points {
		p := &r.Points[i]
		n := notes[p.arm][p.at]
		p.StdErr, p.Freedom = n.StdErr, n.Freedom
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
