package sylvester_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

var (
	stress     = flag.Uint64("stress", 0, "number of random systems to solve; 0 means 400, with -short 50")
	stressSeed = flag.Uint64("stress-seed", 1, "of the first random system")
)

// randomSystem is a system drawn from a seed. K, L, μ and Y are of moderate size;
// the solver is given powers of two times them, and its solution is brought back.
type randomSystem struct {
	what           string
	K, V           blas.General
	S              []float64
	mu             float64
	Y              blas.General
	ek, el, ey     int // binary logarithms of what the solver's K, L and Y are multiplied by
	condition      float64
	reference      blas.General // C by a dense method of another library
	referenceError float64      // bound of its error times μ/‖Y‖, in units of rounding times condition
}

// spectra are the ways to draw eigenvalues of K and L.
func spectrumOf(rng *rand.Rand, l, rank int) (s []float64, name string) {
	s = make([]float64, l)
	kind := rng.IntN(6)
	a, b := rng.Float64(), 0.3+0.69*rng.Float64()
	for i := range rank {
		switch kind {
		case 0: // repeated
			s[i] = 1
		case 1: // geometric
			s[i] = math.Pow(b, float64(i))
		case 2: // power law
			s[i] = math.Pow(float64(i+1), -1-2*a)
		case 3: // two clusters
			s[i] = 1
			if 2*i >= rank {
				s[i] = math.Pow(10, -9*a)
			}
		case 4: // random
			s[i] = rng.Float64()
		case 5: // nearly repeated
			s[i] = 1 - float64(i)*0x1p-50
		}
	}
	slices.Sort(s)
	slices.Reverse(s)
	return s, []string{"repeated", "geometric", "power", "clusters", "random", "nearly repeated"}[kind]
}

// gramOfDuplicates is the Gram matrix of l points of which many are the same.
func gramOfDuplicates(rng *rand.Rand, l int) blas.General {
	distinct := 1 + rng.IntN(l)
	points := gaussian(rng, distinct, 1+rng.IntN(3))
	K := blas.NewGeneral(l, l)
	which := make([]int, l)
	for i := range which {
		which[i] = rng.IntN(distinct)
	}
	for i := range l {
		for j := range l {
			var sq float64
			for k, v := range blas.Row(points, which[i]) {
				sq += square(v - blas.Row(points, which[j])[k])
			}
			K.Data[i*l+j] = math.Exp(-0.3 * sq)
		}
	}
	return K
}

func square(x float64) float64 { return x * x }

// drawSystem makes the system of a seed, of at most so many rows; above 60 they are at least 200.
func drawSystem(seed uint64, rows int) *randomSystem {
	rng := rand.New(rand.NewPCG(seed, 0x737472657373))
	l, n := 1+rng.IntN(min(rows, 60)), 1+rng.IntN(8)
	large := rows > 60
	switch {
	case large:
		l, n = 200+rng.IntN(rows-199), 1+rng.IntN(20)
	case rng.IntN(10) == 0:
		l = 1
	case rng.IntN(10) == 0:
		n = 1
	}
	p := &randomSystem{}
	kind := "duplicates"
	if rng.IntN(5) == 0 && !large {
		p.K = gramOfDuplicates(rng, l)
	} else {
		var s []float64
		s, kind = spectrumOf(rng, l, rng.IntN(l+1))
		p.K = spectrum(rng, s)
	}
	rank := rng.IntN(n + 1)
	s, outputs := spectrumOf(rng, rank, rank)
	L := outputKernel(rng, n, s)
	p.V, p.S = L.V, L.S
	p.Y = gaussian(rng, l, n)
	switch rng.IntN(12) {
	case 0:
		blas.Zero(p.Y)
	case 1: // in the range of K
		X := blas.Clone(p.Y)
		blas.Mul(blas.Active(), p.Y, false, false, p.K, X)
	case 2:
		for i := range l {
			blas.Row(p.Y, i)[n-1] = 0
		}
	}
	size := blas.Frob(p.K)
	if size == 0 || rank == 0 {
		size = 1
	} else {
		size *= p.S[0]
	}
	p.mu = size * math.Pow(10, -11*square(rng.Float64()))
	p.condition = 1 + size/p.mu
	if rng.IntN(3) == 0 {
		p.ek, p.el, p.ey = scaleOf(rng), scaleOf(rng), scaleOf(rng)
		if e := p.ek + p.el; e > 900 || e < -900 { // μ is no number of normal size
			p.el = 0
		}
		if e, kc := p.ey-p.ek-p.el, p.ey-p.el; e > 900 || e < -900 || kc > 900 || kc < -900 { // nor C, nor K·C
			p.ey = 0
		}
	}
	p.what = fmt.Sprintf("seed %d: l = %d, n = %d, K %s, L of rank %d %s, condition %.1e, scales 2^%d, 2^%d, 2^%d",
		seed, l, n, kind, rank, outputs, p.condition, p.ek, p.el, p.ey)
	return p
}

// scaleOf is a binary exponent, those of 1e±150 among them.
func scaleOf(rng *rand.Rand) int { return []int{0, 0, -498, 498, 40, -40}[rng.IntN(6)] }

func scaledBy(a blas.General, e int) blas.General {
	b := blas.Clone(a)
	for i, v := range b.Data {
		b.Data[i] = math.Ldexp(v, e)
	}
	return b
}

// solveDensely sets the reference: by Cholesky's factor of the Kronecker matrix where that is
// small, else by the eigenvectors of K, both of gonum on its own kernels.
func (p *randomSystem) solveDensely(t *testing.T) {
	l, n := p.Y.Rows, p.Y.Cols
	p.reference = blas.NewGeneral(l, n)
	if l*n <= 60 {
		var LV, L mat.Dense
		L.ReuseAs(n, n)
		if len(p.S) > 0 {
			V := mat.NewDense(n, len(p.S), slices.Clone(p.V.Data[:n*len(p.S)]))
			LV.Mul(V, mat.NewDiagDense(len(p.S), p.S))
			L.Mul(&LV, V.T())
		}
		A := mat.NewSymDense(l*n, nil)
		for i := range l * n {
			for j := range i + 1 {
				v := p.K.Data[i/n*l+j/n] * L.At(i%n, j%n)
				if i == j {
					v += p.mu
				}
				A.SetSym(i, j, v)
			}
		}
		var f mat.Cholesky
		if !f.Factorize(A) {
			t.Fatal("the Kronecker matrix is not positive definite")
		}
		if err := f.SolveVecTo(mat.NewVecDense(l*n, p.reference.Data), mat.NewVecDense(l*n, p.Y.Data)); err != nil &&
			!errors.As(err, new(mat.Condition)) {
			t.Fatal(err)
		}
		p.referenceError = float64(10 * l * n)
		return
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(l, slices.Clone(p.K.Data)), true) {
		t.Fatal("no eigenvalues")
	}
	var T, H, X, YV mat.Dense
	e.VectorsTo(&T)
	sigma := e.Values(nil)
	Y := mat.NewDense(l, n, slices.Clone(p.Y.Data))
	C := mat.NewDense(l, n, p.reference.Data)
	C.Scale(1/p.mu, Y)
	if len(p.S) > 0 {
		V := mat.NewDense(n, len(p.S), slices.Clone(p.V.Data[:n*len(p.S)]))
		YV.Mul(Y, V)
		H.Mul(T.T(), &YV)
		H.Apply(func(i, j int, v float64) float64 { // beside Y/μ
			return -v * max(sigma[i], 0) * p.S[j] / (p.mu * (max(sigma[i], 0)*p.S[j] + p.mu))
		}, &H)
		X.Mul(&T, &H)
		var XV mat.Dense
		XV.Mul(&X, V.T())
		C.Add(C, &XV)
	}
	p.referenceError = float64(10 * l)
}

// counts are the outcomes of the stress test.
type counts struct{ systems, solves, refused int }

// TestStress solves random systems by every solver, cold and warm, for a second
// L and a second K. A nil error means a residual within the tolerance, computed anew, and a
// solution near that of another library; ErrNotConverged is for tolerances below
// rounding, and for iterations that are spent. Scales to 1e±150, no NaN, no panic, and an end.
func TestStress(t *testing.T) {
	var c counts
	systems := *stress
	if systems == 0 {
		systems = 400
		if testing.Short() {
			systems = 50
		}
	}
	for seed := *stressSeed; seed < *stressSeed+systems; seed++ {
		rows := 60
		if seed%200 == 0 {
			rows = 1200
		}
		p := drawSystem(seed, rows)
		deadline.Run(t, 4*time.Minute, func() { p.solveDensely(t) })
		for _, name := range sylvester.Names() {
			if p.Y.Rows > 60 && (name == "cg" || name == "rotated") {
				continue // minutes
			}
			deadline.Run(t, 4*time.Minute, func() { p.solveBy(t, name, seed, &c) })
		}
		c.systems++
	}
	t.Logf("seeds from %d: %d systems, %d solves, %d refused", *stressSeed, c.systems, c.solves, c.refused)
}

// FuzzSolve compares one solver with the dense reference on the system that the input draws.
func FuzzSolve(f *testing.F) {
	for k := range sylvester.Names() {
		f.Add(uint64(k), uint8(k))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		p := drawSystem(seed, 8)
		p.solveDensely(t)
		p.solveBy(t, sylvester.Names()[int(which)%len(sylvester.Names())], seed, new(counts))
	})
}

func (p *randomSystem) solveBy(t *testing.T, name string, seed uint64, c *counts) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0x736f6c7665))
	s := solverNamed(t, name)
	start := blas.NewGeneral(p.Y.Rows, p.Y.Cols)
	if rng.IntN(2) == 0 {
		start = scaledBy(gaussian(rng, p.Y.Rows, p.Y.Cols), p.ey-p.ek-p.el)
	}
	q := *p
	for turn := range 4 {
		switch turn {
		case 1: // another L, from the solution; then the same again
			if len(q.S) > 0 {
				q.S = slices.Clone(q.S)
				q.S[len(q.S)-1] *= 0.5
			}
			q.reference.Data = nil
		case 3:
			s.Invalidate()
			q.K = scaledBy(p.K, -1)
		}
		tol := math.Pow(10, -2-10*rng.Float64())
		q.check(t, s, start, tol, c)
	}
}

// check solves p from C and judges what comes of it.
func (p *randomSystem) check(t *testing.T, s sylvester.Solver, C blas.General, tol float64, c *counts) {
	t.Helper()
	l := p.Y.Rows
	S := slices.Clone(p.S)
	for j := range S {
		S[j] = math.Ldexp(S[j], p.el)
	}
	K := scaledBy(p.K, p.ek)
	sys := sylvester.System{K: inDouble(K), L: &linop.Spectral{V: p.V, S: S}, Mu: math.Ldexp(p.mu, p.ek+p.el)}
	res, err := s.Solve(context.Background(), C, sys, scaledBy(p.Y, p.ey), sylvester.Options{Tol: tol})
	c.solves++
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s\n%s, tolerance %.2g: %s", p.what, s.Name(), tol, fmt.Sprintf(format, args...))
	}
	X := scaledBy(C, p.ek+p.el-p.ey)
	L := &linop.Spectral{V: p.V, S: p.S}
	r := residual(p.K, L, p.mu, X, p.Y)
	norm := blas.Frob(p.Y)
	if norm == 0 {
		norm = 1
	}
	// What rounding C to its digits and multiplying by K leave.
	top := 0.0
	if len(p.S) > 0 {
		top = p.S[0]
	}
	rounding := 0x1p-52 * (blas.Frob(p.K)*top + p.mu) * blas.Frob(X) / norm
	if !(math.Abs(r-res.Residual) <= 1e-3*r+20*rounding) {
		fail("residual %.3g, claimed %.3g (%v)", r, res.Residual, err)
	}
	switch {
	case err == nil:
		if !(res.Residual <= tol) {
			fail("residual %.3g without an error", res.Residual)
		}
		if p.reference.Data != nil {
			d := blas.Clone(X)
			blas.AddScaled(d, -1, p.reference)
			if e := blas.Frob(d) * p.mu / norm; !(e <= tol+20*rounding+p.referenceError*0x1p-52*p.condition) {
				fail("off the reference by %.3g", e)
			}
		}
	case !errors.Is(err, sylvester.ErrNotConverged):
		fail("%v", err)
	case tol < 4*rounding || res.Iter >= 10*l && slices.Contains(iterative(), res.Solver):
		c.refused++
	default:
		fail("rounding %.2g: %v", rounding, err)
	}
}
