// This file predicts the time of a fit with exact kernels, from the speed of this machine.

package samples

import (
	"context"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

const (
	// What the speed is measured with: so many rows of kernels, and products of a matrix that is beyond most caches.
	speedRows, speedOrder = 1024, 4096
	speedColumns          = 64 // of a product, at most
	// A system at a λ that cross-validation chooses takes about usualProducts products with K. Weights are learned in
	// about usualSteps passes over the kernels.
	usualProducts, usualSteps = 100, 20
)

// predict is about how long a fit of the dictionary to l samples takes, by the time of a small part of its work.
func (r *Rows) predict(ctx context.Context, d kernel.Dictionary, what learn.Learned) (time.Duration, error) {
	l, n := r.Size()
	s := min(l, speedRows)
	opt := kernel.GramOptions{Precision: r.opt.Precision, Backend: r.opt.Backend}
	weights := make([]float64, len(d))
	for j := range weights {
		weights[j] = 1
	}
	start := time.Now()
	if _, err := d.WeightedGram(ctx, blas.View(r.all.Z, 0, 0, s, r.all.Z.Cols), weights, opt); err != nil {
		return 0, fault.From(err)
	}
	form := time.Since(start).Seconds() / float64(s*s)

	order, columns := min(l, speedOrder), min(n, speedColumns)
	K := blas.Or(r.opt.Backend).NewPacked(order, r.opt.Precision)
	K.Complete() // memory that was never written is read from the caches
	x, y := blas.NewGeneral(order, columns), blas.NewGeneral(order, columns)
	K.Mul(y, x) // makes its scratch
	start = time.Now()
	K.Mul(y, x)
	product := time.Since(start).Seconds() / float64(order*order) * float64(n) / float64(columns)

	products := usualProducts * product
	switch {
	case what.Weights() && r.opt.recomputes(len(d), l, r.x.Cols, n):
		products += usualSteps * 2 * form // of the sum, and for the gradient
	case what.Weights():
		products += usualSteps * float64(len(d)) * product / float64(n)
	}
	return time.Duration(float64(l) * float64(l) * (form + products) * float64(time.Second)), nil
}
