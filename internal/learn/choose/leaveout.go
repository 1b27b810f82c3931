// This file compares settings by leaving out each sample in closed form.

package choose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/fault"
)

// leaveOneOut compares settings by refits without each sample, in closed form at the η and L that all samples
// chose. Dictionaries are screened on folds where none are given.
func (s *selection) leaveOneOut(ctx context.Context) (*Result, error) {
	l, _ := s.data.Size()
	if s.Groups != nil || s.TimeOrdered {
		return nil, fault.Input("leaving out single rows is for rows in no order and no groups: use folds")
	}
	if s.Setting.Model == "sum" || slices.Contains(s.Models, "sum") {
		return nil, fault.Input("leaving out single rows in closed form is for one output kernel, not for one of each kernel's own: use folds")
	}
	s.Repeats = 1
	if err := s.take(s.data, l); err != nil {
		return nil, err
	}
	candidates, err := s.candidates(ctx, s.data)
	if err != nil {
		return nil, err
	}
	s.folds = 1 // of all samples
	branches, err := s.branches(ctx, candidates)
	if err != nil {
		return nil, err
	}
	method := s.Method
	method.Tol, method.Trace = s.Tol, nil
	s.begin("leaving out each row", open(branches))
	var notes []note
	for _, b := range branches {
		t, err := s.data.Train(ctx, b.Kernels, learn.All)
		if err != nil {
			return nil, err
		}
		leaver, ok := t.(learn.Leaver)
		if !ok {
			return nil, fault.Input("leaving out single rows is for data in memory: use folds")
		}
		refits, err := leaver.LeaveOut()
		if err != nil {
			return nil, err
		}
		s.constant = [][]float64{refits.Constant().Errors.Each(s.Metric)}
		err = method.LeaveOut(ctx, t, refits, b.Setting, b.lambdas, func(i int, r *learn.Refits) {
			b.errors[i][0] = r.Errors.Each(s.Metric)
			if !math.IsNaN(learn.Mean(b.errors[i][0])) {
				notes = append(notes, note{standardError(r, s.Metric), r.Freedom})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	r, err := s.summarize(branches, []int{0})
	if err != nil {
		return nil, err
	}
	if len(notes) != len(r.Points) {
		return nil, fmt.Errorf("leaving out each row: %d of %d settings have errors", len(notes), len(r.Points))
	}
	for i, n := range notes {
		r.Points[i].StdErr, r.Points[i].Freedom = n.stdErr, n.freedom
	}
	r.Folds = l
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	return r, nil
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
			if learn.Largest(f) == learn.Largest(y) {
				rows[i] = 1
			}
			count = 1
		}
		rows[i] /= max(count, 1)
	}
	_, se := meanAndError(rows)
	return se
}
