// Directions that kernels of Euclidean distances have lengths along.

package lengths

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// Turn is from with directions in the place of the columns: any metric in the place of a diagonal one, for each kernel
// of Euclidean distances. From lengths that Learn found for the same Z and Y it goes on where directions raise the
// likelihood of the samples by more than their number asks for, by Akaike's criterion with the correction for few
// samples, and else returns from; from directions that were learned on other samples it goes on in any case. Errors are
// those of Learn.
//
// (Vivarelli and Williams, Discovering hidden features with Gaussian processes regression, NIPS 1999; Hurvich and Tsai,
// Regression and time series model selection in small samples, Biometrika 76, 1989.)
func Turn(ctx context.Context, kinds []kernel.Kind, Z, Y blas.General, from Point, opt Options) (Point, error) {
	s, err := newSearch(kinds, Z, Y, &opt)
	if err != nil {
		return Point{}, err
	}
	straight := len(s.parameters(&from))
	s.turned = true
	p := s.parameters(&from)
	fresh, surplus := from.Directions == nil, s.penalty(len(p))-s.penalty(straight)
	if s.Y.Cols == 0 || len(p) == straight || fresh && !(surplus < math.Inf(1)) { // NaN too
		return from, nil
	}
	c, goal := s.criterion(ctx, s.X.Rows), math.Inf(1)
	if fresh {
		goal = c.pulled(p, make([]float64, len(p))) - surplus
	}
	if end, value := c.minimize(ctx, p, steps, goal); value < goal {
		from = s.point(end)
	}
	return from, ctx.Err()
}

// penalty is what Akaike's criterion adds to −2 log of the likelihood for so many parameters, averaged over samples and
// targets.
func (s *search) penalty(parameters int) float64 {
	k, N := float64(parameters), float64(s.X.Rows*s.Y.Cols)
	if k >= N-1 {
		return math.Inf(1)
	}
	return 2 * k / (N - k - 1)
}

// layout is that of the parameters.
type layout struct {
	kinds  []kernel.Kind // of the kernels with lengths
	d      int           // columns
	turned bool          // kernels of r² are on Tx
}

// turnSize is the number of parameters for T of a kernel.
func (y *layout) turnSize(kind kernel.Kind) int {
	if !y.turned || shapes[kind].absolute {
		return 0
	}
	return y.d * (y.d - 1) / 2
}

// turns are the parts of p, or of its gradient, for T of each kernel; empty where that is I.
func (y *layout) turns(p []float64) (of [][]float64) {
	p = p[len(y.kinds)*(y.d+1)-1:]
	for _, kind := range y.kinds {
		size := y.turnSize(kind)
		of, p = append(of, p[:size]), p[size:]
	}
	return of
}

// below is row r of T before the diagonal.
func below(turn []float64, r int) []float64 { return turn[r*(r-1)/2:][:r] }

// directions are the rows of T of each kernel that has one, in all columns of Z; nil where no kernel is turned.
func (s *search) directions(p []float64) [][][]float64 {
	if !s.turned {
		return nil
	}
	of := make([][][]float64, s.count)
	for b, turn := range s.turns(p) {
		for r := 0; r < s.d && len(turn) > 0; r++ {
			row := make([]float64, len(s.scale))
			row[s.vary[r]] = 1
			for k, v := range below(turn, r) {
				row[s.vary[k]] = v
			}
			of[s.terms[b]] = append(of[s.terms[b]], row)
		}
	}
	return of
}

// turnTo is the inverse of directions: it writes T of a point with directions to p. Other columns may have varied where
// that was learned; each row ends at the column that it is of.
func (s *search) turnTo(p []float64, from *Point) {
	if from.Directions == nil {
		return
	}
	for b, turn := range s.turns(p) {
		for _, row := range from.Directions[s.terms[b]] {
			of := len(row) - 1
			for row[of] == 0 {
				of--
			}
			r := slices.Index(s.vary, of)
			for k := 0; k < r && len(turn) > 0; k++ {
				below(turn, r)[k] = row[s.vary[k]]
			}
		}
	}
}

// turnedGradient is ∂S/∂log θ_c of a kernel of r², and ∂S/∂T below its diagonal.
func (c *criterion) turnedGradient(t *term, theta, turn, lengths, turns []float64) {
	l, d := c.X.Rows, len(theta)
	c.multiply(t)
	for i := range l {
		x, mx := blas.Row(c.X, i), blas.Row(c.MX, i)
		for k := range theta {
			mx[k] = x[k]*mx[d] - mx[k]
		}
	}
	E := blas.Product(c.be, true, false, blas.View(c.X, 0, 0, l, d), blas.View(c.MX, 0, 0, l, d))
	for r := range d {
		for k := range d {
			E.Data[r*d+k] *= 2 * math.Sqrt(theta[r]*theta[k])
		}
	}
	for r := d - 1; r >= 0; r-- {
		row := blas.Row(E, r)
		for k, v := range below(turn, r) {
			blas.Axpy(v, blas.Row(E, k), row)
		}
		lengths[r] += row[r]
		for k, v := range below(turn, r) {
			lengths[k] += row[k] * v
			below(turns, r)[k] = 2 * row[k]
		}
	}
}
