// This file compares settings by leaving out each sample in closed form.

package choose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/fault"
)

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
	var notes []note
	for _, a := range s.arms {
		t, err := s.data.Train(ctx, a.Kernels, a.Learn, learn.All)
		if err != nil {
			return err
		}
		leaver := t.Kernelled()
		if leaver == nil {
			return fault.Input("leaving out single rows is for data in memory: use folds")
		}
		refits, err := leaver.LeaveOut()
		if err != nil {
			return err
		}
		s.constant = [][]float64{refits.Constant().Errors.Each(s.Metric)}
		err = s.Method.LeaveOut(ctx, t, refits, a.Setting, a.lambdas, func(i int, r *learn.Refits) {
			a.errors[i][0] = r.Errors.Each(s.Metric)
			if !math.IsNaN(learn.Mean(a.errors[i][0])) {
				notes = append(notes, note{standardError(r, s.Metric), r.Freedom})
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
	if len(notes) != len(r.Points) {
		return fmt.Errorf("leaving out each row: %d of %d settings have errors", len(notes), len(r.Points))
	}
	for i, n := range notes {
		r.Points[i].StdErr, r.Points[i].Freedom = n.stdErr, n.freedom
	}
	r.Folds = l
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	s.best = r
	return nil
}

// note is what a point of leaving out each row has beside its error.
type note struct{ stdErr, freedom float64 }

// standardError is that of the metric, from what each row adds to it; of the root of a mean square to first order.
func standardError(r *learn.Refits, metric string) float64 {
	rows := make([]float64, r.F.Rows)
	e := &r.Errors
	for i := range rows {
		f, y := blas.Row(r.F, i), blas.Row(r.Y, i)
		count := 0.0
		for j, v := range y {
			square, mse := (f[j]-v)*(f[j]-v), e.MSE[j]
			switch {
			case metric == "accuracy":
			case mse == 0:
				count++
			case metric == "mse":
				rows[i] += square
				count++
			case metric == "rmse":
				rows[i] += square / (2 * math.Sqrt(mse))
				count++
			case !math.IsNaN(e.Relative[j]):
				rows[i] += square / mse * e.Relative[j]
				count++
			}
		}
		if metric == "accuracy" {
			if floats.MaxIdx(f) == floats.MaxIdx(y) {
				rows[i] = 1
			}
			count = 1
		}
		rows[i] /= max(count, 1)
	}
	_, se := meanAndError(rows)
	return se
}
