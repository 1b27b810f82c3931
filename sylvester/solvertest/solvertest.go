// Package solvertest checks that a [sylvester.Solver] keeps its contract on every kind of system: the reported
// residual, the tolerance, the solution against that of a dense factorization, which memory it reads, errors and
// limits.
package solvertest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Options of a check. The zero value asks for everything.
type Options struct {
	NoCells bool // the solver takes no systems with cells
	// Direct says that a solve is not iterative, so that there are no iterations to limit or to see.
	Direct bool
	// After is how many products with K may follow the one at which a solve is cancelled; 0 means 1, and 3 with cells.
	After int
}

// Run checks the solvers that create makes.
func Run(t *testing.T, create func() sylvester.Solver, opt Options) {
	all := problems()
	if !opt.NoCells {
		all = append(all, withCells(testing.Short())...)
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { p.check(t, create()) })
	}
	t.Run("reuse", func(t *testing.T) { reuse(t, create(), opt) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, create, opt) })
	t.Run("shapes", func(t *testing.T) { shapes(t, create()) })
	if !opt.Direct {
		t.Run("limits", func(t *testing.T) { limits(t, create) })
	}
}

func (p problem) system() sylvester.System {
	return sylvester.System{K: linop.NewDense(p.K, nil), L: p.L, Mu: p.mu, Cells: p.cells}
}

// observed is Y on the cells and 0 elsewhere, and root what √w is.
func (p problem) observed() (Y, root blas.General) {
	Y, root = blas.Clone(p.Y), blas.Like(p.Y)
	for i := range Y.Rows {
		for j := range Y.Cols {
			at := i*Y.Stride + j
			if root.Data[at] = 1; p.cells != nil {
				root.Data[at] = p.cells.Row(i)[j]
			}
			if root.Data[at] == 0 {
				Y.Data[at] = 0
			}
		}
	}
	return Y, root
}

// inside is a copy of a in the middle of a larger matrix, v where the cells are missing.
func (p problem) inside(a blas.General, v float64) blas.General {
	b := blas.View(Gaussian(rand.New(rand.NewPCG(5, 6)), a.Rows+2, a.Cols+3), 1, 2, a.Rows, a.Cols)
	blas.Copy(b, a)
	for i := range a.Rows {
		for j := range a.Cols {
			if p.cells != nil && !p.cells.Has(i, j) {
				b.Data[i*b.Stride+j] = v
			}
		}
	}
	return b
}

// check solves p from nothing, and again from the solution.
func (p problem) check(t *testing.T, s sylvester.Solver) {
	t.Helper()
	C, F := p.inside(blas.Like(p.Y), 7), blas.Like(p.Y)
	var want blas.General
	if p.want == nil {
		want = p.solution(t)
	}
	for _, fitted := range []blas.General{{}, F} {
		res, err := s.Solve(t.Context(), C, p.system(), p.inside(p.Y, math.NaN()),
			sylvester.Options{Tol: p.tol, MaxIter: 5000, Fitted: fitted})
		if err == nil != (p.want == nil) ||
			err != nil && !slices.ContainsFunc(p.want, func(want error) bool { return errors.Is(err, want) }) {
			t.Fatalf("error %v, want one of %v", err, p.want)
		}
		if err == nil {
			p.verify(t, C, fitted, want, res)
		}
	}
}

// verify compares what res claims with C itself, and C with the solution that is wanted, if any.
func (p problem) verify(t *testing.T, C, fitted, want blas.General, res sylvester.Result) {
	t.Helper()
	be := blas.Active()
	Y, root := p.observed()
	PC, KC, F, R := blas.Like(Y), blas.Like(Y), blas.Like(Y), blas.Like(Y)
	for i := range C.Rows {
		for j, v := range blas.Row(C, i) {
			PC.Data[i*PC.Stride+j] = root.Data[i*root.Stride+j] * v
			if root.Data[i*root.Stride+j] == 0 && v != 0 {
				t.Fatalf("cell %d,%d, which is missing, is %g", i, j, v)
			}
		}
	}
	blas.Mul(be, KC, false, false, p.K, PC)
	p.L.MulRight(be, F, KC)
	for i, v := range F.Data {
		R.Data[i] = root.Data[i]*v - Y.Data[i]
	}
	blas.AddScaled(R, p.mu, C)
	r := relative(blas.Frob(R), blas.Frob(Y))
	if !(r <= 1.01*p.tol) || !(res.Residual <= p.tol) || !(math.Abs(r-res.Residual) <= 1e-3*r+1e-12) {
		t.Errorf("residual %g, claimed %g, tolerance %g", r, res.Residual, p.tol)
	}
	size := blas.Frob(p.K) * blas.Frob(PC)
	if d := distance(res.KC, KC); res.KC.Data != nil && !(d <= 1e-12*size) {
		t.Errorf("KC is off by %g of %g", d, size)
	}
	if d := distance(fitted, F); fitted.Data != nil && !(d <= 1e-12*size*(1+p.L.Trace())) {
		t.Errorf("the fitted values are off by %g of %g", d, size*p.L.Trace())
	}
	if want.Data == nil {
		return
	}
	condition := 1 + blas.Frob(p.K)*p.L.Trace()*square(largest(root))/p.mu
	if d := relative(distance(C, want), blas.Frob(want)); !(d <= 10*p.tol*condition) {
		t.Errorf("relative distance %g from the dense solution", d)
	}
}

// solution is by gonum's Cholesky factorization.
func (p problem) solution(t *testing.T) blas.General {
	t.Helper()
	Y, root := p.observed()
	L, C := blas.NewGeneral(p.L.Dim(), p.L.Dim()), blas.Like(Y)
	p.L.Dense(blas.Active(), L)
	var at []int
	for a, v := range root.Data {
		if v > 0 {
			at = append(at, a)
		}
	}
	if len(at) == 0 {
		return C
	}
	n := Y.Cols
	A, y, c := mat.NewSymDense(len(at), nil), mat.NewVecDense(len(at), nil), mat.NewVecDense(len(at), nil)
	for a, i := range at {
		y.SetVec(a, Y.Data[i])
		for b, j := range at[:a+1] {
			A.SetSym(a, b, root.Data[i]*root.Data[j]*p.K.Data[i/n*p.K.Stride+j/n]*L.Data[i%n*L.Stride+j%n])
		}
		A.SetSym(a, a, A.At(a, a)+p.mu)
	}
	var chol mat.Cholesky
	if !chol.Factorize(A) {
		t.Fatal("the reference is not positive definite")
	}
	if err := chol.SolveVecTo(c, y); err != nil {
		t.Fatal(err)
	}
	for a, i := range at {
		C.Data[i] = c.AtVec(a)
	}
	return C
}

func square(v float64) float64 { return v * v }

func largest(a blas.General) (m float64) {
	for _, v := range a.Data {
		m = max(m, v)
	}
	return m
}

// relative is a/b, 0 for 0/0.
func relative(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// distance is the norm of a − b, 0 where there is no a.
func distance(a, b blas.General) float64 {
	if a.Data == nil {
		return 0
	}
	d := blas.Clone(a)
	blas.AddScaled(d, -1, b)
	return blas.Frob(d)
}

// reuse runs one solver through changes of L, of K after Invalidate, of the cells, of shape and of tolerance, each time
// from the last solution where that fits.
func reuse(t *testing.T, s sylvester.Solver, opt Options) {
	rng := rand.New(rand.NewPCG(3, 4))
	small := problem{
		K: Spectrum(rng, Decay(40, 5, 0.8)), L: OutputKernel(rng, 4, Decay(3, 2, 0.5)), mu: 0.1,
		Y: Gaussian(rng, 40, 4), tol: 1e-9,
	}
	large := problem{
		K: Spectrum(rng, Decay(150, 50, 0.95)), L: OutputKernel(rng, 6, Decay(6, 2, 0.5)), mu: 0.01,
		Y: Gaussian(rng, 150, 6), tol: 1e-6,
	}
	otherL, near, otherK := large, large, large
	otherL.L = OutputKernel(rng, 6, Decay(5, 3, 0.7))
	near.K = blas.Clone(large.K)
	blas.Scal(1.1, near.K.Data)
	otherK.K = Spectrum(rng, Decay(150, 80, 0.97))
	steps := []problem{large, otherL, near, otherK, small, large, large}
	if !opt.NoCells {
		kinds := Holes(rng, 150, 6)
		for _, kind := range []string{"30 %", "a row", "log-normal", "2 %"} {
			holed, changed := large, otherK
			holed.cells, changed.cells = kinds[kind], kinds[kind]
			steps = append(steps, holed, holed, changed, large)
		}
	}
	C := map[int]blas.General{40: blas.NewGeneral(40, 4), 150: blas.NewGeneral(150, 6)}
	for i, p := range steps {
		if i > 0 && !(&p.K.Data[0] == &steps[i-1].K.Data[0]) {
			s.Invalidate()
		}
		res, err := s.Solve(t.Context(), C[p.Y.Rows], p.system(), p.Y, sylvester.Options{Tol: p.tol})
		if err != nil {
			t.Fatalf("solve %d: %v", i, err)
		}
		p.verify(t, C[p.Y.Rows], blas.General{}, blas.General{}, res)
	}
}

// iterated is a system that takes iterations, with and without cells.
func iterated(cells bool) problem {
	rng := rand.New(rand.NewPCG(7, 8))
	p := problem{
		K: Spectrum(rng, Decay(200, 100, 0.98)), L: OutputKernel(rng, 5, Decay(5, 2, 0.5)), mu: 1e-4,
		Y: Gaussian(rng, 200, 5), tol: 1e-10,
	}
	if cells {
		p.cells = linop.NewCells(200, 5, func(int, int) bool { return rng.Float64() > 0.3 })
	}
	return p
}

// limits of iterative solvers without cells; those with cells may take a factor.
func limits(t *testing.T, create func() sylvester.Solver) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		opt   sylvester.Options
		start float64
		want  error
	}{
		{"limit", sylvester.Options{Tol: 1e-10, MaxIter: 3}, 0, sylvester.ErrNotConverged},
		{"out of reach", sylvester.Options{Tol: 1e-19, MaxIter: 5000}, 0, sylvester.ErrNotConverged},
		{"start not finite", sylvester.Options{}, math.NaN(), sylvester.ErrNotFinite},
		{"trace stops", sylvester.Options{Trace: func(s sylvester.Step) error {
			if s.Iter >= 4 {
				return boom
			}
			return nil
		}}, 0, boom},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := iterated(false)
			C := blas.Like(p.Y)
			C.Data[7] = c.start
			res, err := create().Solve(t.Context(), C, p.system(), p.Y, c.opt)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if res.KC.Data == nil || math.IsNaN(c.start) {
				return
			}
			KC, R := blas.Like(C), blas.Like(C)
			blas.Mul(blas.Active(), KC, false, false, p.K, C)
			p.L.MulRight(blas.Active(), R, KC)
			blas.AddScaled(R, p.mu, C)
			blas.AddScaled(R, -1, p.Y)
			if r := blas.Frob(R) / blas.Frob(p.Y); !(math.Abs(r-res.Residual) <= 1e-6*r) {
				t.Errorf("residual %g, claimed %g", r, res.Residual)
			}
		})
	}
}

// counting cancels a context at its k-th product and counts those after it.
type counting struct {
	linop.Operator
	left, after int
	cancel      func()
}

func (c *counting) Dense(dst blas.General) { _ = linop.Dense(context.Background(), dst, c.Operator) }

func (c *counting) Apply(dst, x blas.General) {
	if c.left--; c.left == 0 {
		c.cancel()
	} else if c.left < 0 {
		c.after++
	}
	c.Operator.Apply(dst, x)
}

// cancelled ends solves before they begin, and at one of their products.
func cancelled(t *testing.T, create func() sylvester.Solver, opt Options) {
	for _, cells := range []bool{false, true} {
		if cells && opt.NoCells {
			continue
		}
		p, most := iterated(cells), cmp.Or(opt.After, 1)
		if cells {
			most = cmp.Or(opt.After, 3)
		}
		for k := 0; k <= 6; k++ {
			ctx, cancel := context.WithCancel(context.Background())
			if k == 0 {
				cancel()
			}
			sys := p.system()
			slow := &counting{Operator: sys.K, left: k, cancel: cancel}
			sys.K = slow
			_, err := create().Solve(ctx, blas.Like(p.Y), sys, p.Y, sylvester.Options{Tol: 1e-10})
			cancel()
			if slow.left > 0 {
				continue // done before
			}
			if k == 0 && !errors.Is(err, context.Canceled) || err != nil && !errors.Is(err, context.Canceled) ||
				k > 0 && slow.after > most {
				t.Errorf("cells %v, cancelled at product %d: error %v, %d products after it", cells, k, err, slow.after)
			}
		}
	}
}

// shapes that do not fit each other panic.
func shapes(t *testing.T, s sylvester.Solver) {
	p := problems()[0]
	l, n := p.Y.Rows, p.Y.Cols
	for i, shape := range [][4]int{{l + 1, n, l, n}, {l, n + 1, l, n}, {l, n, l + 1, n}, {l, n, l, n + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for shape mismatch %d", i)
				}
			}()
			_, _ = s.Solve(t.Context(), blas.NewGeneral(shape[0], shape[1]), p.system(),
				blas.NewGeneral(shape[2], shape[3]), sylvester.Options{})
		}()
	}
}
