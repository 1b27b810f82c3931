// This file tries the sum of separable kernels around the best setting of the product.

package choose

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn/defaults"
)

// models are those of a candidate to try with what is learned: its own, what is asked for, else the product.
func (s *selection) models(c *candidate, what string) []string {
	switch {
	case c.model != "":
		return []string{c.model}
	case s.sum:
		return []string{"product"}
	case s.Setting.Model != "":
		return []string{s.Setting.Model}
	case s.Models != nil && what == "eta,l":
		return s.Models
	}
	return []string{"product"}
}

// trySum compares the sum of separable kernels with the best of the branches that were
// compared last: on the kernels of that branch, with its norm, at values of λ around its
// own. It does so where the user asked for the sum, of which alone the result then tells; and where the user
// fixed neither model nor kernels, where there are several kernels and outputs, and where a fit of the
// sum takes little work. Where the time is spent it returns the result without the sum.
func (s *selection) trySum(ctx context.Context, branches []*branch) (*Result, error) {
	best := s.last.Points[s.last.Best]
	if !s.sum && (s.Setting.Model != "" || s.Models != nil || s.Kernels != nil || len(s.Setting.Kernels) > 0 || s.Norms != nil || s.Setting.Norm != "" ||
		s.Setting.Regularizer != nil || s.Setting.Learn != "" || s.Lambdas != nil || len(best.Kernels) == 0) {
		return s.last, nil
	}
	_, diagonals, err := s.data.Start(ctx, best.Kernels)
	if err != nil {
		return s.last, err
	}
	l, n := s.data.Size()
	m := len(diagonals)
	least := defaults.SumLambda * stat.Mean(diagonals, nil) * s.relative(best.Tau)
	work := float64(m*n) * (float64(l)*float64(l) + 1000*float64(n*n))
	if !s.sum && (n < 2 || m < 2 || best.Lambda < least || work > defaults.SumWork) {
		return s.last, nil
	}
	b := &branch{Setting: s.Setting, lambdas: s.Lambdas}
	b.Kernels, b.Norm, b.Tau, b.Learn, b.Model = best.Kernels, best.Norm, best.Tau, "eta,l", "sum"
	for k := defaults.SumBeside; k >= -defaults.SumBeside && s.Lambdas == nil; k-- {
		b.lambdas = append(b.lambdas, max(best.Lambda, least)*math.Pow(10, float64(k)/2))
	}
	b.dropped = make([]bool, len(b.lambdas))
	b.reset(s.folds)
	all := []*branch{b}
	if !s.sum {
		all = append(slices.Clone(branches), b)
	}
	r, err := s.race(ctx, []*branch{b})
	if err == nil {
		r, err = s.summarize(all, upTo(s.folds))
	}
	if r != nil && (err == nil || s.sum) {
		s.last = r
	}
	return s.last, err
}
