// Descent of the criterion.

package lengths

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/iokl/iokl/blas"
)

// minimize follows the pulled criterion down from p for so many steps, or until three lower it by less than 1/manyRows:
// the logarithm of the likelihood of so many rows then changes by half, where Akaike's criterion counts a parameter as
// one. It ends, too, where it would not come below goal if all steps that are left were as long as the last.
//
// [optimize.Minimize] hands every evaluation to another goroutine and waits for it. On a hundred rows the waiting takes
// half as long as the evaluation.
func (c *criterion) minimize(ctx context.Context, p []float64, steps int, goal float64) (end []float64, value float64) {
	at := &optimize.Location{X: slices.Clone(p), Gradient: make([]float64, len(p))}
	at.F = c.pulled(at.X, at.Gradient)
	end, value = slices.Clone(p), at.F
	if math.IsInf(value, 1) {
		return end, value
	}
	search := &optimize.LinesearchMethod{NextDirectioner: new(bfgs), Linesearcher: new(within)}
	converge := optimize.FunctionConverge{Absolute: 1. / manyRows, Iterations: 3}
	converge.Init(len(p))
	last, left := math.Inf(1), 2*steps // evaluations
	for op, err := search.Init(at); err == nil && ctx.Err() == nil; op, err = search.Iterate(at) {
		if op != optimize.MajorIteration {
			if left--; left == 0 {
				break
			}
			at.F = c.pulled(at.X, at.Gradient)
			continue
		}
		if at.F < value {
			copy(end, at.X)
			value = at.F
		}
		step := last - at.F
		last = at.F
		steps--
		if steps == 0 || at.F-float64(steps)*step > goal || converge.Converged(at) != optimize.NotTerminated {
			break
		}
	}
	return end, value
}

// within is the line search of Moré and Thuente among steps to where the criterion is finite.
type within struct {
	optimize.MoreThuente
	f, g, step float64 // where it starts, and the last step
}

func (w *within) Init(f, g, step float64) optimize.Operation {
	w.f, w.g, w.step, w.MoreThuente = f, g, step, optimize.MoreThuente{}
	return w.MoreThuente.Init(f, g, step)
}

func (w *within) Iterate(f, g float64) (op optimize.Operation, step float64, err error) {
	if math.IsInf(f, 1) {
		w.step /= 2
		w.MoreThuente = optimize.MoreThuente{MaximumStep: w.step}
		return w.MoreThuente.Init(w.f, w.g, w.step), w.step, nil
	}
	op, w.step, err = w.MoreThuente.Iterate(f, g)
	if errors.Is(err, optimize.ErrLinesearcherBound) { // lower, and steeper still
		return optimize.MajorIteration, w.step, nil
	}
	return op, w.step, err
}

// bfgs is the quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno, by its steps in place of a matrix: they
// are few, and parameters may be thousands (Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, algorithm 7.4,
// where none is forgotten).
type bfgs struct {
	x, gradient []float64
	steps       []step
	scale       float64 // of the Hessian at the start, by the first step (loc. cit. 6.20)
}

// step is s = x' − x and y = g' − g, where sᵀy > 0.
type step struct {
	s, y  []float64
	rho   float64 // 1/sᵀy
	alpha float64
}

// InitDirection is the steepest descent, for a first step of length 1.
func (b *bfgs) InitDirection(at *optimize.Location, direction []float64) float64 {
	b.x, b.gradient = slices.Clone(at.X), slices.Clone(at.Gradient)
	clear(direction)
	blas.Axpy(-1, at.Gradient, direction)
	return 1 / blas.Nrm2(direction)
}

// NextDirection takes in the step that has led to this point.
func (b *bfgs) NextDirection(at *optimize.Location, direction []float64) float64 {
	s, y := slices.Clone(at.X), slices.Clone(at.Gradient)
	blas.Axpy(-1, b.x, s)
	blas.Axpy(-1, b.gradient, y)
	copy(b.x, at.X)
	copy(b.gradient, at.Gradient)
	if sy := blas.Dot(s, y); sy > 0 {
		if b.steps == nil {
			b.scale = sy / blas.Dot(y, y)
		}
		b.steps = append(b.steps, step{s: s, y: y, rho: 1 / sy})
	}
	clear(direction)
	blas.Axpy(-1, at.Gradient, direction)
	for k := range b.steps {
		t := &b.steps[len(b.steps)-1-k]
		t.alpha = t.rho * blas.Dot(t.s, direction)
		blas.Axpy(-t.alpha, t.y, direction)
	}
	if b.steps != nil {
		blas.Scal(b.scale, direction)
	}
	for _, t := range b.steps {
		blas.Axpy(t.alpha-t.rho*blas.Dot(t.y, direction), t.s, direction)
	}
	return 1
}
