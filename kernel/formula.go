// Kernels as formulas.

package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
)

// ErrNoFormula is wrapped by errors about kernels that [Kernel.Term] does not describe.
var ErrNoFormula = errors.New("no formula")

// Term describes weight·k(·, p_i) for the rows p_i of points, which hold the features of the kernel, as a term of a
// formula. It serves kernels of the form (Σ_i c_i·uⁱ)^power·exp(−rate·u) of a distance or an inner product u: gaussian,
// laplacian, rational, matern12, matern32, matern52, and poly and linear without unit. For linear kernels it describes
// the features. Centring is left to the caller. For other kernels the error wraps [ErrNoFormula].
func (k *Kernel) Term(weight float64, points blas.General) (formula.Term, error) {
	t := k.View()
	f := formula.Function{Weight: weight, Coefficients: []float64{1}, Power: 1}
	d := k.Kind.def()
	if d.rate != nil {
		f.Rate = -d.rate(k)
	}
	switch order := slices.Index([]Kind{Matern12, Matern32, Matern52}, k.Kind); {
	case k.Kind == Gaussian:
		t.Metric = formula.Squared
	case k.Kind == Laplacian:
		t.Metric = formula.Absolute
	case k.Kind == Rational:
		alpha := k.Params[0]
		t.Metric, f.Power = formula.Squared, -alpha
		f.Coefficients = append(f.Coefficients, 0.5/alpha/k.Width/k.Width)
	case order >= 0: // 1, 1 + v and 1 + v + v²/3, v = rate·u
		t.Metric, f.Rate = formula.Euclid, math.Sqrt(float64(2*order+1))/k.Width
		f.Coefficients = []float64{1, f.Rate, f.Rate * f.Rate / 3}[:order+1]
	case d.polynomial != nil && !k.UnitDiagonal():
		degree, gamma, offset := d.polynomial(k)
		if degree == 1 && offset == 0 {
			t.Metric, t.Weight = formula.Linear, weight*gamma
			return t, nil
		}
		t.Metric, f.Power = formula.Dot, float64(degree)
		f.Coefficients = []float64{offset, gamma}
	default:
		return t, fmt.Errorf("%w: kernel %q is none of gaussian, laplacian, matern12, matern32, matern52, rational, "+
			"and linear and poly without unit", ErrNoFormula, k.Name)
	}
	t.Points, t.Functions = blas.Clone(points).Data, []formula.Function{f}
	return t, nil
}

// View describes, as a term without values, which features of a row the kernel is a function of.
func (k *Kernel) View() formula.Term {
	return formula.Term{Columns: k.Columns, Knots: k.Knots, Factor: k.Scale, Directions: k.Directions}
}
