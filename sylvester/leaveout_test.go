package sylvester_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// decompose is the decomposition of K, of its leading q eigenvectors when q is positive.
func decompose(t testing.TB, K blas.General, q int) *sylvester.Decomposition {
	t.Helper()
	d, err := sylvester.Decompose(context.Background(), linop.NewDense(K, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := K.Rows; q > 0 {
		d = &sylvester.Decomposition{T: blas.View(d.T, 0, l-q, l, q), Sigma: d.Sigma[l-q:]}
	}
	return d
}

// The reference refitted once without every row.
func TestLeaveOutGolden(t *testing.T) {
	z := npytest.Load(t, "leave_one_out")
	matrix := func(key string) blas.General {
		a := z[key]
		return blas.General{Rows: a.Shape[0], Cols: a.Shape[1], Stride: a.Shape[1], Data: a.Data}
	}
	K, Kx, Y := matrix("K"), matrix("Kx"), matrix("Y")
	L, err := linop.NewSpectral(blas.Active(), matrix("L"), 1e-15)
	if err != nil {
		t.Fatal(err)
	}
	l, n, points := Y.Rows, Y.Cols, Kx.Rows
	s, C, R := sylvester.NewLeaveOut(decompose(t, K, 0), nil), blas.NewGeneral(l, n), blas.NewGeneral(l, n)
	if err := s.Use(L, Y); err != nil {
		t.Fatal(err)
	}
	if err := s.At(C, 0.6); err != nil {
		t.Fatal(err)
	}
	s.Residuals(R)
	if d := distance(R, matrix("residuals")); !(d <= 1e-10) {
		t.Errorf("residuals: relative distance %g", d)
	}
	without, F := blas.NewGeneral(l, n), blas.NewGeneral(points, n)
	KC := blas.NewGeneral(points, n)
	blas.Mul(blas.Active(), KC, false, false, Kx, C)
	L.MulRight(blas.Active(), F, KC)
	ones := make([]float64, points)
	for x := range points {
		ones[x] = 1
		predictWithout(without, s, L.Rank(), blas.Row(F, x), blas.Row(Kx, x))
		for i := range l {
			for k, v := range blas.Row(without, i) {
				want := z["predictions_without"].Data[(i*points+x)*n+k]
				if !(math.Abs(v-want) <= 1e-10*(1+math.Abs(want))) {
					t.Fatalf("without row %d, point %d, output %d: %g, want %g", i, x, k, v, want)
				}
			}
		}
	}
	dev := blas.NewGeneral(points, n)
	s.Deviation(dev, Kx, ones)
	if d := distance(dev, matrix("deviation")); !(d <= 1e-10) {
		t.Errorf("deviation: relative distance %g", d)
	}
}

// refit solves the dense system of the rows kept and returns C, zero in the rows left out.
func refit(t *testing.T, K, L blas.General, mu float64, Y blas.General, out int) blas.General {
	t.Helper()
	cells := linop.NewCells(Y.Rows, Y.Cols, func(i, _ int) bool { return i != out })
	return solveDense(t, []pair{{K, L}}, mu, cells, Y)
}

// fitted is L·Cᵀ·k.
func fitted(L, C blas.General, k []float64) []float64 {
	f, kc := make([]float64, L.Rows), make([]float64, L.Rows)
	for i, v := range k {
		blas.Axpy(v, blas.Row(C, i), kc)
	}
	for a := range f {
		f[a] = blas.Dot(blas.Row(L, a), kc)
	}
	return f
}

func TestLeaveOutAgainstRefits(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, c := range []struct {
		name       string
		l, n, rank int
		kRank      int // rank of K and eigenvectors kept; 0 for all
		mus        []float64
		k, y       float64
	}{
		{"full", 14, 3, 3, 0, []float64{0.5, 1e-3, 50}, 1, 1},
		{"L of rank 1", 14, 3, 1, 0, []float64{0.5}, 1, 1},
		{"L = 0", 14, 3, 0, 0, []float64{0.5}, 1, 1},
		{"one output", 14, 1, 1, 0, []float64{0.5}, 1, 1},
		{"one row", 1, 2, 2, 0, []float64{0.5}, 1, 1},
		{"features", 14, 3, 3, 5, []float64{0.5, 0.01}, 1, 1},
		{"features, L of rank 2", 14, 3, 2, 5, []float64{0.5}, 1, 1},
		{"tiny", 14, 3, 3, 0, []float64{5e-101}, 1e-100, 1e-100},
		{"huge", 14, 3, 3, 0, []float64{5e99}, 1e100, 1e100},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := decay(c.l+1, 5*c.k, 0.7)
			if c.kRank > 0 {
				clear(s[c.kRank:])
			}
			joint := spectrum(rng, s) // of the rows and one new point
			K := blas.Clone(blas.View(joint, 0, 0, c.l, c.l))
			kx, kxx := blas.Row(joint, c.l)[:c.l], joint.Data[c.l*joint.Stride+c.l]
			spec := outputKernel(rng, c.n, decay(c.rank, 2, 0.5))
			L, Y := denseOf(spec), gaussian(rng, c.l, c.n)
			blas.Scal(c.y, Y.Data)
			lo := sylvester.NewLeaveOut(decompose(t, K, c.kRank), nil)
			if err := lo.Use(spec, Y); err != nil {
				t.Fatal(err)
			}
			for _, mu := range c.mus {
				checkLeaveOut(t, lo, spec.Rank(), K, L, mu, Y, kx, kxx)
			}
		})
	}
}

func checkLeaveOut(
	t *testing.T, lo *sylvester.LeaveOut, rank int, K, L blas.General, mu float64, Y blas.General, kx []float64,
	kxx float64,
) {
	t.Helper()
	l, n := Y.Rows, Y.Cols
	const tol = 1e-9
	C, R, without := blas.NewGeneral(l, n), blas.NewGeneral(l, n), blas.NewGeneral(l, n)
	if err := lo.At(C, mu); err != nil {
		t.Fatal(err)
	}
	all := refit(t, K, L, mu, Y, -1)
	if d := distance(C, all); !(d <= tol) {
		t.Errorf("μ = %g: C is off by %g", mu, d)
	}
	lo.Residuals(R)
	predictWithout(without, lo, rank, fitted(L, C, kx), kx)
	wantR, wantF := blas.NewGeneral(l, n), blas.NewGeneral(l, n)
	for i := range l {
		c := refit(t, K, L, mu, Y, i)
		copy(blas.Row(wantF, i), fitted(L, c, kx))
		copy(blas.Row(wantR, i), blas.Row(Y, i))
		blas.Axpy(-1, fitted(L, c, blas.Row(K, i)), blas.Row(wantR, i))
	}
	if d := distance(R, wantR); !(d <= tol) {
		t.Errorf("μ = %g: residuals are off by %g", mu, d)
	}
	if d := distance(without, wantF); !(d <= tol) {
		t.Errorf("μ = %g: predictions without a row are off by %g", mu, d)
	}
	checkLeverages(t, lo, K, L, mu)
	checkDeviation(t, lo, K, L, mu, kx, kxx)
}

// inverse is (K⊗L + μI)⁻¹, in units of 1/μ.
func inverse(t *testing.T, K, L blas.General, mu float64) *mat.Dense {
	t.Helper()
	at := cellsOf(linop.NewCells(K.Rows, L.Rows, func(int, int) bool { return true }))
	A := observedSystem([]pair{{K, L}}, mu, at)
	A.ScaleSym(1/mu, A)
	var inv mat.Dense
	if err := inv.Inverse(A); err != nil && !errors.As(err, new(mat.Condition)) {
		t.Fatal(err)
	}
	return &inv
}

// The matrix that maps Y to the fitted values is I − μA⁻¹.
func checkLeverages(t *testing.T, lo *sylvester.LeaveOut, K, L blas.General, mu float64) {
	t.Helper()
	inv, got := inverse(t, K, L, mu), blas.NewGeneral(K.Rows, L.Rows)
	lo.Leverages(got)
	var sum float64
	for p, h := range got.Data {
		sum += h
		if want := 1 - inv.At(p, p); !(math.Abs(h-want) <= 1e-9) || h < 0 || h > 1 {
			t.Errorf("μ = %g: leverage of cell %d is %g, want %g", mu, p, h, want)
		}
	}
	if df := lo.DegreesOfFreedom(); !(math.Abs(df-sum) <= 1e-9*float64(len(got.Data))) {
		t.Errorf("μ = %g: %g degrees of freedom, leverages sum to %g", mu, df, sum)
	}
}

// checkDeviation compares with (1/μ)[k(x,x)·L − κᵀ(K⊗L + μI)⁻¹κ], κ = k(x)⊗L.
func checkDeviation(t *testing.T, lo *sylvester.LeaveOut, K, L blas.General, mu float64, kx []float64, kxx float64) {
	t.Helper()
	l, n := K.Rows, L.Rows
	inv, got := inverse(t, K, L, mu), blas.NewGeneral(1, n)
	lo.Deviation(got, blas.General{Rows: 1, Cols: l, Stride: l, Data: kx}, []float64{kxx})
	for k := range n {
		kappa, v := mat.NewVecDense(l*n, nil), mat.NewVecDense(l*n, nil)
		for p := range l * n {
			kappa.SetVec(p, kx[p/n]/mu*L.Data[p%n*n+k])
		}
		v.MulVec(inv, kappa)
		want := kxx/mu*L.Data[k*n+k] - mat.Dot(kappa, v)
		if prior := kxx / mu * L.Data[k*n+k]; !(math.Abs(got.Data[k]*got.Data[k]-want) <= 1e-8*prior) {
			t.Errorf("μ = %g: variance of output %d is %g, want %g", mu, k, got.Data[k]*got.Data[k], want)
		}
	}
}

func TestLeaveOutErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	K, L, Y := spectrum(rng, decay(6, 3, 0.5)), outputKernel(rng, 2, []float64{2, 1}), gaussian(rng, 6, 2)
	negative := blas.Clone(K)
	blas.Scal(-1, negative.Data)
	bad := blas.Clone(Y)
	bad.Data[3] = math.NaN()
	lo := sylvester.NewLeaveOut(decompose(t, K, 0), nil)
	if err := lo.Use(L, bad); !errors.Is(err, sylvester.ErrNotFinite) {
		t.Errorf("NaN in Y: %v", err)
	}
	if err := lo.Use(outputKernel(rng, 2, []float64{1, -1}), Y); !errors.Is(err, sylvester.ErrNotSPD) {
		t.Errorf("L indefinite: %v", err)
	}
	if err := lo.Use(L, Y); err != nil {
		t.Fatal(err)
	}
	for _, mu := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := lo.At(blas.General{}, mu); !errors.Is(err, sylvester.ErrNotSPD) {
			t.Errorf("μ = %g: %v", mu, err)
		}
	}
	indefinite := sylvester.NewLeaveOut(decompose(t, negative, 0), nil)
	if err := indefinite.Use(L, Y); err != nil {
		t.Fatal(err)
	}
	if err := indefinite.At(blas.General{}, 1); !errors.Is(err, sylvester.ErrNotSPD) {
		t.Errorf("K negative: %v", err)
	}
	nan := blas.Clone(K)
	nan.Data[0] = math.NaN()
	if _, err := sylvester.Decompose(context.Background(), linop.NewDense(nan, nil), nil); !errors.Is(err,
		sylvester.ErrNotFinite) {
		t.Errorf("NaN in K: %v", err)
	}
	for _, c := range []struct {
		name string
		call func()
	}{
		{"At first", func() { _ = sylvester.NewLeaveOut(decompose(t, K, 0), nil).At(blas.General{}, 1) }},
		{"not set", func() { lo.Residuals(Y) }}, // the last At failed
		{"shape", func() { _ = lo.Use(L, blas.NewGeneral(5, 2)) }},
		{"new point", func() {
			_ = lo.At(blas.General{}, 1)
			predictWithout(Y, lo, L.Rank(), make([]float64, 2), make([]float64, 5))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.call()
		})
	}
}

// BenchmarkLeaveOut times one decomposition and leave-one-out residuals of 20 values of μ after it.
func BenchmarkLeaveOut(b *testing.B) {
	for _, size := range []struct{ l, n int }{{1000, 30}, {3060, 102}} {
		be := blas.Active()
		rng := rand.New(rand.NewPCG(1, 2))
		K := sylvester.GaussianKernel(rng, size.l, 10, 0.05, be)
		Y, R := gaussian(rng, size.l, size.n), blas.NewGeneral(size.l, size.n)
		L := outputKernel(rng, size.n, decay(size.n, 0.3*float64(size.n), 0.7))
		var dec *sylvester.Decomposition
		where := fmt.Sprintf("l=%d/n=%d/impl=%s", size.l, size.n, be.Name())
		b.Run("op=decompose/"+where, func(b *testing.B) {
			for b.Loop() {
				var err error
				if dec, err = sylvester.Decompose(context.Background(), K, be); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("op=path20/"+where, func(b *testing.B) {
			if dec == nil {
				dec, _ = sylvester.Decompose(context.Background(), K, be)
				b.ResetTimer()
			}
			for b.Loop() {
				lo := sylvester.NewLeaveOut(dec, be)
				if err := lo.Use(L, Y); err != nil {
					b.Fatal(err)
				}
				for k := range 20 {
					if err := lo.At(blas.General{}, float64(size.l)*math.Pow(10, -0.3*float64(k))); err != nil {
						b.Fatal(err)
					}
					lo.Residuals(R)
				}
			}
		})
	}
}

// predictWithout writes f₋ᵢ(x) to the rows of dst, for the k = [k(x, x_1) … k(x, x_l)] of a point x and the prediction
// f of the fit to all rows.
func predictWithout(dst blas.General, lo *sylvester.LeaveOut, rank int, f, k []float64) {
	U := blas.NewGeneral(rank, len(k))
	lo.Smoothers(U, blas.General{Rows: 1, Cols: len(k), Stride: len(k), Data: k})
	lo.Changes(dst, U, 0)
	for i := range dst.Rows {
		row := blas.Row(dst, i)
		for j, v := range row {
			row[j] = f[j] - v
		}
	}
}
