package bcd

import (
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// patternTask is 4 targets of l rows, observed in the given patterns in turn, two blocks of features,
// and the sums over the rows of each pattern.
func patternTask(l int, observed [][]bool, scale float64) (Z, Y blas.General, blocks []int, parts []Pattern) {
	rng := newRand(31)
	const n = 4
	blocks = []int{6, 5}
	Z, Y = blas.NewGeneral(l, 11), blas.NewGeneral(l, n)
	for i := range Z.Data {
		Z.Data[i] = rng.NormFloat64()
	}
	for i := range l {
		z, y := blas.Row(Z, i), blas.Row(Y, i)
		for j := range y {
			y[j] = scale * (z[0] + z[j] - z[7]*float64(j%2) + 0.3*rng.NormFloat64())
			if !observed[i%len(observed)][j] {
				y[j] = math.NaN()
			}
		}
	}
	for p, in := range observed {
		part := Pattern{Observed: in, Gamma: blas.NewGeneral(11, 11), H: blas.NewGeneral(11, n)}
		for i := p; i < l; i += len(observed) {
			part.Rows++
			for a, v := range blas.Row(Z, i) {
				blas.Axpy(v, blas.Row(Z, i), blas.Row(part.Gamma, a))
				for j, y := range blas.Row(Y, i) {
					if in[j] {
						blas.Row(part.H, a)[j] += v * y
					}
				}
			}
			for j, y := range blas.Row(Y, i) {
				if in[j] {
					part.YY += y * y
				}
			}
		}
		parts = append(parts, part)
	}
	return Z, Y, blocks, parts
}

// The sums of each pattern hold all that the fit of the rows themselves depends on.
func TestPatterns(t *testing.T) {
	some := [][]bool{{true, true, true, true}, {true, false, true, false}, {false, true, false, false}}
	for _, c := range []struct {
		name     string
		l        int
		observed [][]bool
		scale    float64
		options  Options
	}{
		{"three patterns", 90, some, 1, Options{}},
		{"fewer rows than features", 21, some, 1, Options{}},
		{"no row complete", 60, some[1:], 1, Options{}},
		{"nothing missing", 60, some[:1], 1, Options{}},
		{"large targets", 90, some, 0x1p100, Options{}},
		{"tiny targets", 90, some, 0x1p-200, Options{}},
		{"closed", 90, some, 1, Options{Solver: "closed"}},
		{"eigenvectors", 90, some, 1, Options{Sylvester: "eigen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			Z, Y, blocks, parts := patternTask(c.l, c.observed, c.scale)
			factors := []blas.General{blas.View(Z, 0, 0, c.l, 6), blas.View(Z, 0, 6, c.l, 5)}
			c.options.Tol = 1e-9
			if c.options.Solver == "closed" {
				c.options.Tol = 5e-3
			}
			problem := func(s Space) *Problem {
				return &Problem{Space: s, Lambda: 1e-2, Tau: 4, Norm: regularizer.Lp{P: 1.5}}
			}
			want, err := Solve(t.Context(), problem(NewSamples(linop.NewFactorSum(factors, nil), Y)), c.options)
			if err != nil {
				t.Fatal(err)
			}
			s, R, err := NewPatterns(parts, blocks, nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Samples() != c.l || R.Rows > 11*len(parts) {
				t.Errorf("%d samples, want %d; %d rows stand for them", s.Samples(), c.l, R.Rows)
			}
			got, err := Solve(t.Context(), problem(s), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got.Objective-want.Objective) <= 2*c.options.Tol*want.Objective) ||
				!(got.RelativeGap <= c.options.Tol) {
				t.Errorf("objective %.14g with a gap of %g, of the rows themselves %.14g", got.Objective,
					got.RelativeGap, want.Objective)
			}
			W, V := blas.NewGeneral(11, 4), blas.NewGeneral(11, 4)
			be := blas.Active()
			got.L.MulRight(be, got.C, got.C)
			want.L.MulRight(be, want.C, want.C)
			blas.Mul(be, W, true, false, R, got.C)
			blas.Mul(be, V, true, false, Z, want.C)
			if d := math.Sqrt(distance2(W, V)); !(d <= 20*math.Sqrt(c.options.Tol)*blas.Frob(V)) {
				t.Errorf("weights differ by %g of %g", d, blas.Frob(V))
			}
		})
	}
}

// With cells missing too, each gap bounds what its block can still gain, at points far from the optimum
// and at coefficients that are far from exact.
func TestMissingBounds(t *testing.T) {
	spaces := map[string]func() Space{
		"samples": func() Space { p, _ := missingJoint(t); return p.Space },
		"patterns": func() Space {
			_, _, blocks, parts := patternTask(90, [][]bool{{true, true, true, false}, {false, true, true, true}}, 1)
			s, _, err := NewPatterns(parts, blocks, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for name, space := range spaces {
		for _, norm := range []regularizer.Regularizer{
			regularizer.Lp{P: 1},
			regularizer.Lp{P: 1.5},
			regularizer.ElasticNet{Mix: 0.5},
		} {
			for _, fixEta := range []bool{true, false} { // either block alone makes a convex problem
				fit := func(opt Options) *Result {
					res, err := Solve(t.Context(), &Problem{
						Space: space(), Lambda: 2e-3, Tau: 4, Norm: norm,
						Model: ProductOf(!fixEta, fixEta),
					}, opt)
					if err != nil && !errors.Is(err, ErrNotConverged) {
						t.Fatal(err)
					}
					return res
				}
				best := fit(Options{Tol: 1e-9})
				least, open := best.Objective, 0
				for k := range 4 {
					for _, inner := range []float64{0.5, 0.05, 1e-6} {
						res := fit(Options{
							Solver: "closed", Sylvester: "cg", Tol: 1e-10, MaxOuter: k + 1, InnerTol: inner,
						})
						low := res.Objective - res.GapL - res.GapEta
						if !(low <= least*(1+1e-8)) {
							t.Errorf("%s, %v, fixed weights %v: after %d steps to %g the bound is %.12g, the minimum "+
								"%.12g", name, norm, fixEta, k+1, inner, low, least)
						}
						if res.Objective > 1.001*least {
							open++
						}
					}
				}
				if open == 0 || !(best.RelativeGap <= 1e-9) {
					t.Errorf("%s, %v, fixed weights %v: %d points are off the minimum, whose gap is %g", name, norm,
						fixEta, open, best.RelativeGap)
				}
			}
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for name, spoil := range map[string]func(p *Pattern){
		"NaN in Γ":        func(p *Pattern) { p.Gamma.Data[0] = math.NaN() },
		"negative ‖Y‖²":   func(p *Pattern) { p.YY = -1 },
		"too few targets": func(p *Pattern) { p.Observed = p.Observed[:3] },
	} {
		_, _, blocks, parts := patternTask(30, [][]bool{{true, true, true, true}, {true, true, false, false}}, 1)
		spoil(&parts[1])
		if _, _, err := NewPatterns(parts, blocks, nil); !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
