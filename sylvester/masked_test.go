package sylvester_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// cellsOf is the list of observed cells, row by row.
func cellsOf(cells *linop.Cells) [][2]int {
	var at [][2]int
	l, n := cells.Dims()
	for i := range l {
		for j := range n {
			if cells.Has(i, j) {
				at = append(at, [2]int{i, j})
			}
		}
	}
	return at
}

// pair is one K⊗L as dense matrices.
type pair struct{ K, L blas.General }

// observedSystem is the matrix Σ K⊗L + μI on the observed cells.
func observedSystem(terms []pair, mu float64, at [][2]int) *mat.SymDense {
	A := mat.NewSymDense(len(at), nil)
	for a, p := range at {
		for b := a; b < len(at); b++ {
			q := at[b]
			var v float64
			for _, t := range terms {
				v += t.K.Data[p[0]*t.K.Stride+q[0]] * t.L.Data[p[1]*t.L.Stride+q[1]]
			}
			if a == b {
				v += mu
			}
			A.SetSym(a, b, v)
		}
	}
	return A
}

// solveDense solves P(Σ K·(P·C)·L) + μC = Y on the observed cells by gonum's Cholesky factorization.
func solveDense(t testing.TB, terms []pair, mu float64, cells *linop.Cells, Y blas.General) blas.General {
	t.Helper()
	C, at := blas.NewGeneral(Y.Rows, Y.Cols), cellsOf(cells)
	if len(at) == 0 {
		return C
	}
	var chol mat.Cholesky
	A := observedSystem(terms, 0, at)
	for a, p := range at {
		for b, q := range at[:a+1] {
			A.SetSym(a, b, cells.Row(p[0])[p[1]]*A.At(a, b)*cells.Row(q[0])[q[1]])
		}
		A.SetSym(a, a, A.At(a, a)+mu)
	}
	if !chol.Factorize(A) {
		t.Fatal("the reference is not positive definite")
	}
	y, c := mat.NewVecDense(len(at), nil), mat.NewVecDense(len(at), nil)
	for a, p := range at {
		y.SetVec(a, Y.Data[p[0]*Y.Stride+p[1]])
	}
	if err := chol.SolveVecTo(c, y); err != nil {
		t.Fatal(err)
	}
	for a, p := range at {
		C.Data[p[0]*C.Stride+p[1]] = c.AtVec(a)
	}
	return C
}

// maskedResidual is ‖P(Σ K·(P·C)·L) + μC − Y‖/‖Y‖ on Ω; NaN when C has a nonzero missing cell.
func maskedResidual(terms []pair, mu float64, cells *linop.Cells, C, Y blas.General) float64 {
	R, PC := blas.NewGeneral(C.Rows, C.Cols), blas.NewGeneral(C.Rows, C.Cols)
	cells.Project(PC, C)
	for _, t := range terms {
		KC, KCL := blas.NewGeneral(C.Rows, C.Cols), blas.NewGeneral(C.Rows, C.Cols)
		blas.Mul(blas.Active(), KC, false, false, t.K, PC)
		blas.Mul(blas.Active(), KCL, false, false, KC, t.L)
		blas.AddScaled(R, 1, KCL)
	}
	PY := blas.NewGeneral(C.Rows, C.Cols)
	cells.Keep(PY, Y)
	cells.Project(R, R)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, PY)
	for i := range C.Rows {
		for j, v := range blas.Row(C, i) {
			if v != 0 && !cells.Has(i, j) {
				return math.NaN()
			}
		}
	}
	if nY := blas.Frob(PY); nY > 0 {
		return blas.Frob(R) / nY
	}
	return blas.Frob(R)
}

// masked is a solver for the given cells.
type masked struct {
	sylvester.Solver
	cells *linop.Cells
}

func (s masked) Solve(
	ctx context.Context, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options,
) (sylvester.Result, error) {
	sys.Cells = s.cells
	return s.Solver.Solve(ctx, C, sys, Y, opt)
}

func newMasked(t testing.TB, name string, cells *linop.Cells) sylvester.Solver {
	t.Helper()
	s, err := sylvester.New(name, sylvester.Config{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return masked{s, cells}
}

func denseOf(L *linop.Spectral) blas.General {
	d := blas.NewGeneral(L.Dim(), L.Dim())
	L.Dense(blas.Active(), d)
	return d
}

// writeDense writes K to dst.
func writeDense(t testing.TB, dst blas.General, K linop.Operator) {
	t.Helper()
	if err := linop.Dense(context.Background(), dst, K); err != nil {
		t.Fatal(err)
	}
}

// distance is the relative distance of two matrices.
func distance(a, b blas.General) float64 {
	d := blas.Clone(a)
	blas.AddScaled(d, -1, b)
	if n := blas.Frob(b); n > 0 {
		return blas.Frob(d) / n
	}
	return blas.Frob(d)
}

// The reference solution came from an independent program.
func TestMaskedGolden(t *testing.T) {
	z := readGolden(t, "missing_solve")
	L, err := linop.NewSpectral(blas.Active(), z["L"], 1e-14)
	if err != nil {
		t.Fatal(err)
	}
	cells := linop.ObservedCells(z["Y"])
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			C := blas.NewGeneral(z["Y"].Rows, z["Y"].Cols)
			res, err := newMasked(t, name, cells).Solve(context.Background(), C, system(z["K"], L, 0.6), z["Y"],
				sylvester.Options{Tol: 1e-13})
			if err != nil {
				t.Fatal(err)
			}
			if d := distance(C, z["C"]); !(d <= 1e-10) {
				t.Errorf("relative distance %g from the reference", d)
			}
			if r := maskedResidual([]pair{{z["K"], z["L"]}}, 0.6, cells, C, z["Y"]); !(r <= 2e-13) ||
				!(res.Residual <= 1e-13) {
				t.Errorf("residual %g, claimed %g", r, res.Residual)
			}
		})
	}
}

// startBeside is zero in the observed cells, and holds numbers in the others that no solver may use.
func startBeside(cells *linop.Cells) blas.General {
	l, n := cells.Dims()
	C := blas.NewGeneral(l, n)
	for i := range C.Data {
		if !cells.Has(i/n, i%n) {
			C.Data[i] = 7
		}
	}
	return C
}

// Without holes the answer is that of the solver on the full grid, bit for bit.
func TestMaskedComplete(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const l, n = 70, 4
	K, L, Y := spectrum(rng, decay(l, 10, 0.8)), outputKernel(rng, n, decay(n, 3, 0.5)), gaussian(rng, l, n)
	all := linop.NewCells(l, n, func(int, int) bool { return true })
	for _, name := range sylvester.Names() {
		got, want := blas.NewGeneral(l, n), blas.NewGeneral(l, n)
		opt := sylvester.Options{Tol: 1e-9}
		a, err := newMasked(t, name, all).Solve(context.Background(), got, system(K, L, 0.1), Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		full, err := sylvester.New(name, sylvester.Config{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		b, err := full.Solve(context.Background(), want, system(K, L, 0.1), Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		if a.Residual != b.Residual || a.Iter != b.Iter {
			t.Errorf("%s: %+v, on the full grid %+v", name, a, b)
		}
		for i, v := range got.Data {
			if v != want.Data[i] {
				t.Fatalf("%s: element %d is %g, on the full grid %g", name, i, v, want.Data[i])
			}
		}
	}
}

// gaussianHoles is a problem of a size at which auto makes a sketch.
func gaussianHoles(l, n int, lambda, missing float64) (sylvester.System, *linop.Cells, blas.General) {
	rng := rand.New(rand.NewPCG(1, 2))
	K := sylvester.GaussianKernel(rng, l, 6, 0.05, blas.Active())
	Y := gaussian(rng, l, n)
	L := outputKernel(rng, n, decay(n, 0.3*float64(n), 0.7))
	cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= missing })
	return sylvester.System{K: K, L: L, Mu: lambda * float64(l)}, cells, Y
}

// The correction by missing cells takes a fraction of the iterations of plain
// conjugate gradients on the observed ones.
func TestMaskedIterations(t *testing.T) {
	for _, c := range []struct {
		lambda, missing float64
		most            int // products by eigenvectors
	}{{1e-2, 0.3, 9}, {1e-3, 0.3, 12}, {1e-3, 0.6, 18}} {
		sys, cells, Y := gaussianHoles(450, 12, c.lambda, c.missing)
		counts := map[string]sylvester.Result{}
		for _, name := range []string{"eigen", "auto", "cg"} {
			res, err := newMasked(t, name, cells).Solve(context.Background(), blas.NewGeneral(450, 12), sys, Y,
				sylvester.Options{Tol: 1e-6})
			if err != nil {
				t.Fatal(name, err)
			}
			counts[name] = res
		}
		eigen := counts["eigen"]
		if eigen.Iter > c.most || 2*eigen.Iter > counts["cg"].Iter {
			t.Errorf("λ = %g, %g missing: %d products by eigenvectors, %d of plain cg", c.lambda, c.missing,
				eigen.Iter, counts["cg"].Iter)
		}
		if auto := counts["auto"]; 2*auto.Columns > counts["cg"].Columns {
			t.Errorf("λ = %g, %g missing: auto multiplies %d columns, plain cg %d", c.lambda, c.missing, auto.Columns,
				counts["cg"].Columns)
		}
	}
}

// A warm start, a nearby K and another L and μ are solved to the tolerance, for less
// than from nothing where little has changed; a wholly different K is found out.
func TestMaskedKept(t *testing.T) {
	sys, cells, Y := gaussianHoles(450, 6, 1e-3, 0.3)
	rng := rand.New(rand.NewPCG(27, 28))
	other := sylvester.GaussianKernel(rng, 450, 3, 0.5, blas.Active())
	for _, name := range []string{"auto", "eigen", "nystrom", "tridiagonal", "cg", "cholesky"} {
		t.Run(name, func(t *testing.T) {
			s, C := newMasked(t, name, cells), blas.NewGeneral(450, 6)
			opt := sylvester.Options{Tol: 1e-8}
			check := func(what string, sys sylvester.System) sylvester.Result {
				t.Helper()
				res, err := s.Solve(context.Background(), C, sys, Y, opt)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				K := blas.NewGeneral(450, 450)
				writeDense(t, K, sys.K)
				if r := maskedResidual([]pair{{K, denseOf(sys.L)}}, sys.Mu, cells, C, Y); !(r <= 1.01e-8) {
					t.Errorf("%s: residual %g, claimed %g", what, r, res.Residual)
				}
				return res
			}
			cold := check("cold", sys)
			if again := check("again", sys); again.Iter > 3 {
				t.Errorf("a solve from the solution takes %d products", again.Iter)
			}
			next := sys
			next.L = &linop.Spectral{V: sys.L.V, S: decay(6, 1.9, 0.69)}
			next.Mu *= 1.1
			if warm := check("another L", next); warm.Iter > cold.Iter {
				t.Errorf("%d products from a near solution, %d from nothing", warm.Iter, cold.Iter)
			}
			K := blas.NewGeneral(450, 450)
			writeDense(t, K, sys.K)
			blas.Scal(1.05, K.Data)
			next.K = linop.NewDense(K, nil)
			s.Invalidate()
			check("a nearby K", next)
			next.K = other
			s.Invalidate()
			check("another K", next)
		})
	}
}

// cancelling is an operator that cancels a context at its k-th product and counts those after it.
type cancelling struct {
	linop.Operator
	left, after int
	cancel      func()
}

func (c *cancelling) Dense(dst blas.General) { _ = linop.Dense(context.Background(), dst, c.Operator) }

func (c *cancelling) Apply(dst, x blas.General) {
	if c.left--; c.left == 0 {
		c.cancel()
	} else if c.left < 0 {
		c.after++
	}
	c.Operator.Apply(dst, x)
}

// Systems whose condition is beyond iterations are solved by a factor in their place.
func TestMaskedIllConditioned(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const l, n, mu, tol = 20, 24, 1e-8, 1e-8
	K, L, Y := spectrum(rng, decay(l, 10, 0.6)), outputKernel(rng, n, decay(n, 3, 0.9)), gaussian(rng, l, n)
	cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() < 0.5 })
	terms := []pair{{K, denseOf(L)}}
	for _, name := range sylvester.Names() {
		if name == "cg" {
			continue
		}
		s := newMasked(t, name, cells)
		for range 2 {
			C := blas.NewGeneral(l, n)
			_, err := s.Solve(context.Background(), C, system(K, L, mu), Y, sylvester.Options{Tol: tol})
			if r := maskedResidual(terms, mu, cells, C, Y); err != nil || !(r <= 1.01*tol) {
				t.Errorf("%s: residual %g, %v", name, r, err)
			}
		}
	}
}

func TestMaskedLimits(t *testing.T) {
	sys, cells, Y := gaussianHoles(450, 6, 1e-3, 0.3)
	boom := errors.New("boom")
	for _, name := range []string{"auto", "eigen", "nystrom", "cg"} {
		for _, c := range []struct {
			name string
			opt  sylvester.Options
			want error
		}{
			{"limit", sylvester.Options{Tol: 1e-10, MaxIter: 2}, sylvester.ErrNotConverged},
			{"out of reach", sylvester.Options{Tol: 1e-18, MaxIter: 3000}, sylvester.ErrNotConverged},
			{"trace stops", sylvester.Options{Trace: func(s sylvester.Step) error {
				if s.Iter >= 1 {
					return boom
				}
				return nil
			}}, boom},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				C := blas.NewGeneral(450, 6)
				res, err := newMasked(t, name, cells).Solve(context.Background(), C, sys, Y, c.opt)
				if !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				K := blas.NewGeneral(450, 450)
				writeDense(t, K, sys.K)
				if r := maskedResidual([]pair{{K, denseOf(sys.L)}}, sys.Mu, cells, C,
					Y); !(math.Abs(r-res.Residual) <= 1e-3*r+1e-13) {
					t.Errorf("residual %g, claimed %g", r, res.Residual)
				}
			})
		}
		t.Run(name+"/cancelled", func(t *testing.T) {
			for k := 1; k <= 4; k++ {
				ctx, cancel := context.WithCancel(context.Background())
				slow := &cancelling{Operator: sys.K, left: k, cancel: cancel}
				_, err := newMasked(t, name, cells).Solve(ctx, blas.NewGeneral(450, 6),
					sylvester.System{K: slow, L: sys.L, Mu: sys.Mu}, Y, sylvester.Options{Tol: 1e-12})
				cancel()
				if slow.left > 0 {
					continue // done before
				}
				// One product may be under way on the grid, one with the direction, and one
				// computes the residual that is reported.
				if !errors.Is(err, context.Canceled) && err != nil || slow.after > 3 {
					t.Errorf("cancelled at product %d: error %v, %d products after it", k, err, slow.after)
				}
			}
		})
	}
}

// Weights that vary by orders of magnitude cost few more solves on the full grid than missing cells do.
func TestMaskedWeightedSolves(t *testing.T) {
	sys, _, Y := gaussianHoles(400, 12, 1e-3, 0)
	rng := rand.New(rand.NewPCG(71, 72))
	cells := linop.WeightedCells(400, 12, func(int, int) float64 { return math.Exp(rng.NormFloat64()) })
	if mean := cells.Mean(); math.Abs(mean-math.Exp(0.5)) > 0.2 {
		t.Errorf("the mean weight is %g", mean)
	}
	for _, name := range []string{"auto", "eigen"} {
		res, err := newMasked(t, name, cells).Solve(context.Background(), blas.Like(Y), sys, Y,
			sylvester.Options{Tol: 1e-6})
		if err != nil || res.Iter > 25 {
			t.Errorf("%s: %d products, %v", name, res.Iter, err)
		}
	}
}

// The decomposition that is asked for is that of K, and the one that the solver goes on with until K changes.
func TestMaskedDecompose(t *testing.T) {
	const l, n = 60, 4
	rng := rand.New(rand.NewPCG(3, 9))
	Z, V, Y := blas.NewGeneral(l, l), blas.NewGeneral(n, n), blas.NewGeneral(l, n)
	for _, a := range []blas.General{Z, V, Y} {
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
	}
	K, be := blas.NewGeneral(l, l), blas.Active()
	blas.Mul(be, K, false, true, Z, Z)
	blas.Mul(be, V, false, true, blas.Clone(V), V)
	L, err := linop.NewSpectral(be, V, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []bool{false, true} {
		cells := linop.NewCells(l, n, func(i, j int) bool { return (i+j)%2 == 0 && (i > 0 || !empty) })
		s, err := sylvester.New("nystrom", sylvester.Config{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		sys := sylvester.System{K: linop.NewDense(K, be), L: L, Mu: 1, Cells: cells}
		decompose := func() *sylvester.Decomposition {
			dec, err := s.(sylvester.Decomposer).Decompose(t.Context(), sys)
			if err != nil {
				t.Fatal(err)
			}
			return dec
		}
		first := decompose()
		KT, TS := blas.Like(first.T), blas.Like(first.T)
		blas.Mul(be, KT, false, false, K, first.T)
		blas.Copy(TS, first.T)
		blas.ScaleColumns(TS, first.Sigma)
		blas.AddScaled(KT, -1, TS)
		if empty { // K of the other rows
			clear(blas.Row(KT, 0))
		}
		if d := blas.Frob(KT); !(d <= 1e-12*blas.Frob(K)) || len(first.Sigma) < l != empty {
			t.Errorf("empty row %v: ‖KT − TΣ‖ = %g", empty, d)
		}
		if _, err := s.Solve(t.Context(), blas.NewGeneral(l, n), sys, Y, sylvester.Options{}); err != nil {
			t.Fatal(err)
		}
		kept := func() bool { return &decompose().Sigma[0] == &first.Sigma[0] }
		if !kept() {
			t.Errorf("empty row %v: not kept", empty)
		}
		if s.Invalidate(); kept() {
			t.Errorf("empty row %v: it is that of an earlier K", empty)
		}
	}
}

// tally counts the columns that it multiplies.
type tally struct {
	linop.Operator
	columns int
}

func (c *tally) Apply(dst, x blas.General) {
	c.columns += x.Cols
	c.Operator.Apply(dst, x)
}
