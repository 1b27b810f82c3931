package reml

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// mixedData is l samples of n outputs drawn from the mixed model with two kernels of low rank, output kernels
// L_j and noise of variance 1/2, of which a share of the cells is missing.
func mixedData(l, n int, missing float64, seed uint64) (grams []blas.General, Y blas.General, Ls []*mat.SymDense) {
	rng := rand.New(rand.NewPCG(seed, 5))
	Y = blas.NewGeneral(l, n)
	for i := range Y.Data {
		Y.Data[i] = 3 + rng.NormFloat64()*math.Sqrt(0.5)
	}
	for range 2 {
		Z, A := blas.NewGeneral(l, l/4), blas.NewGeneral(n, n)
		for i := range Z.Data {
			Z.Data[i] = rng.NormFloat64() / math.Sqrt(float64(Z.Cols))
		}
		for i := range A.Data {
			A.Data[i] = rng.NormFloat64()
		}
		U := blas.NewGeneral(Z.Cols, n)
		for i := range U.Data {
			U.Data[i] = rng.NormFloat64()
		}
		UA, K := blas.NewGeneral(Z.Cols, n), blas.NewGeneral(l, l)
		blas.Mul(blas.Active(), UA, false, true, U, A)
		blas.Gemm(blas.Active(), false, false, 1, Z, UA, 1, Y)
		blas.Mul(blas.Active(), K, false, true, Z, Z)
		var L mat.SymDense
		L.SymOuterK(1, blas.Dense(A))
		grams, Ls = append(grams, K), append(Ls, &L)
	}
	for i := range Y.Data {
		if rng.Float64() < missing {
			Y.Data[i] = math.NaN()
		}
	}
	return grams, Y, Ls
}

func separate(grams []blas.General) linop.Separate {
	var syms []*blas.Sym
	for _, K := range grams {
		S := blas.NewSym(K.Rows, blas.Float64)
		for b := range S.Panels() {
			row, rows, cols, _ := S.Panel(b)
			S.SetPanel(b, row, 0, rows, cols, K.Data[row*K.Stride:], K.Stride)
		}
		syms = append(syms, S)
	}
	return linop.NewGramSum(syms, blas.Active(), blas.Float64)
}

// denseLikelihood is −log p of the observed cells by its definition, on error contrasts: the density of Qᵀy with Q
// the orthonormal complement of the intercepts H, less ½log|HᵀH| by which it differs from the usual form.
func denseLikelihood(grams []blas.General, Y blas.General, L []mat.Symmetric, noise []float64) float64 {
	type cell struct{ i, k int }
	var cells []cell
	var y []float64
	for i := range Y.Rows {
		for k, v := range blas.Row(Y, i) {
			if !math.IsNaN(v) {
				cells, y = append(cells, cell{i, k}), append(y, v)
			}
		}
	}
	N := len(y)
	V, H := mat.NewSymDense(N, nil), mat.NewDense(N, Y.Cols, nil)
	for p, a := range cells {
		H.Set(p, a.k, 1)
		for q, b := range cells[:p+1] {
			v := 0.0
			for j, K := range grams {
				v += K.Data[a.i*K.Stride+b.i] * L[j].At(a.k, b.k)
			}
			if p == q {
				v += noise[a.k]
			}
			V.SetSym(p, q, v)
		}
	}
	var svd mat.SVD
	svd.Factorize(H, mat.SVDFullU)
	var U mat.Dense
	svd.UTo(&U)
	Q := U.Slice(0, N, Y.Cols, N)
	var VQ, S mat.Dense
	VQ.Mul(V, Q)
	S.Mul(Q.T(), &VQ)
	sym := mat.NewSymDense(N-Y.Cols, nil)
	for p := range N - Y.Cols {
		for q := range p + 1 {
			sym.SetSym(p, q, (S.At(p, q)+S.At(q, p))/2)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(sym) {
		return math.NaN()
	}
	var z, Sz mat.VecDense
	z.MulVec(Q.T(), mat.NewVecDense(N, y))
	if err := chol.SolveVecTo(&Sz, &z); err != nil {
		return math.NaN()
	}
	var hh mat.Dense
	hh.Mul(H.T(), H)
	return (chol.LogDet()+mat.Dot(&z, &Sz)+float64(N-Y.Cols)*math.Log(2*math.Pi))/2 + math.Log(mat.Det(&hh))/2
}

// densePrior is −log of the prior density of output kernels, but for a constant, of outputs and
// kernels that are scaled to variance and
// mean diagonal 1: an inverse Wishart density with n+1 degrees of freedom and its mode at 0.5/m·I.
func densePrior(L []mat.Symmetric) (v float64) {
	for _, S := range L {
		n := float64(S.SymmetricDim())
		var inverse mat.Dense
		if err := inverse.Inverse(S); err != nil {
			return math.NaN()
		}
		det, _ := mat.LogDet(S)
		degrees, scale := n+1, (n+1+n+1)*0.5/float64(len(L))
		v += (degrees+n+1)/2*det + scale*mat.Trace(&inverse)/2
	}
	return v
}

// inUnits returns output kernels for outputs over their deviations and kernels over their mean diagonals.
func inUnits(L []mat.Symmetric, grams []blas.General, Y blas.General) (out []mat.Symmetric) {
	dev := make([]float64, Y.Cols)
	for k := range dev {
		var y []float64
		for i := range Y.Rows {
			if v := Y.Data[i*Y.Stride+k]; !math.IsNaN(v) {
				y = append(y, v)
			}
		}
		dev[k] = stat.PopStdDev(y, nil)
	}
	for j, S := range L {
		D := mat.NewSymDense(Y.Cols, nil)
		for a := range Y.Cols {
			for b := range a + 1 {
				D.SetSym(a, b, S.At(a, b)*mat.Trace(blas.Dense(grams[j]))/float64(Y.Rows)/dev[a]/dev[b])
			}
		}
		out = append(out, D)
	}
	return out
}

// The likelihood is that of error contrasts, and the gradient that of finite differences.
func TestLikelihoodDerivatives(t *testing.T) {
	for seed := range uint64(4) {
		grams, Y, _ := mixedData(20, 3, []float64{0, 0.1, 0.3, 0.5}[seed], seed)
		for i := range Y.Data {
			Y.Data[i] *= math.Pow(10, float64(i%3))
		}
		f, err := newMixed(separate(grams), Y, Options{})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 6))
		x := f.start()
		for i := range x {
			x[i] += 0.3 * rng.NormFloat64()
		}
		V, W := blas.NewGeneral(len(f.y), len(f.y)), blas.NewGeneral(len(f.y), len(f.y))
		pt := f.evaluate(x, V)
		var L []mat.Symmetric
		var noise []float64
		for j := range grams {
			K := f.kernel(pt, j)
			L = append(L, mat.NewSymDense(f.n, K.Data))
		}
		for k, s := range pt.s {
			noise = append(noise, s*s*f.dev[k]*f.dev[k])
		}
		if v, want := pt.value-pt.prior, denseLikelihood(grams, Y, L,
			noise); !(math.Abs(v-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("seed %d: −log p = %.12g, of error contrasts %.12g", seed, v, want)
		}
		if want := densePrior(inUnits(L, grams, Y)); !(math.Abs(pt.prior-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("seed %d: −log of the prior %.12g, by its definition %.12g", seed, pt.prior, want)
		}
		g, _, _ := f.derivatives(pt, W)
		size := math.Sqrt(blas.Dot(g, g))
		for i := range x {
			const h = 1e-5
			var v [2]float64
			for side, sign := range []float64{-1, 1} {
				z := append([]float64(nil), x...)
				z[i] += sign * h
				v[side] = f.evaluate(z, W).value
			}
			if d := (v[1] - v[0]) / (2 * h); !(math.Abs(d-g[i]) <= 1e-6*size) {
				t.Errorf("seed %d: derivative %d is %.9g, by differences %.9g", seed, i, g[i], d)
			}
		}
	}
}

// A fit raises the likelihood times the prior at each step up to a stationary point, where it is
// above that of the truth,
// and finds components near those the data were drawn with.
func TestLikelihoodRecovers(t *testing.T) {
	grams, Y, truth := mixedData(240, 2, 0.2, 3)
	var values []float64
	res, c, err := Fit(t.Context(), separate(grams), Y, Options{Tol: 1e-6, Trace: func(s bcd.Step) error {
		values = append(values, s.Objective)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range values[1:] {
		if !(values[i+1] < values[i]) {
			t.Errorf("step %d: the objective rises from %g to %g", i+1, values[i], values[i+1])
		}
	}
	var L []mat.Symmetric
	for j, S := range res.Ls {
		D := blas.NewGeneral(2, 2)
		S.Dense(blas.Active(), D)
		for i, v := range D.Data {
			if want := truth[j].At(i/2, i%2); !(math.Abs(v-want) <= 0.5*mat.Trace(truth[j])) {
				t.Errorf("L_%d = %.3g, drawn with %.3g", j, D.Data, mat.Formatted(truth[j]))
				break
			}
		}
		L = append(L, mat.NewSymDense(2, D.Data))
	}
	value := func(L []mat.Symmetric, noise []float64) float64 {
		return denseLikelihood(grams, Y, L, noise) + densePrior(inUnits(L, grams, Y))
	}
	if v := denseLikelihood(grams, Y, L, c.Noise); !(math.Abs(v+c.LogLikelihood) <= 1e-8*math.Abs(v)) {
		t.Errorf("log p is %.12g, at the components returned %.12g", c.LogLikelihood, -v)
	}
	if v := value(L, c.Noise); !(math.Abs(v-res.Objective) <= 1e-8*math.Abs(v)) {
		t.Errorf("the objective is %.12g, at the components returned %.12g", res.Objective, v)
	}
	if v := value([]mat.Symmetric{truth[0], truth[1]}, []float64{0.5, 0.5}); !(res.Objective < v) {
		t.Errorf("the objective is %g, at the truth %g", res.Objective, v)
	}
	for k, v := range c.Noise {
		if !(v > 0.25 && v < 0.8) {
			t.Errorf("noise of output %d: %.3g, drawn with 0.5", k, v)
		}
		share := 0.0
		for _, s := range c.Shares {
			share += s[k]
		}
		if !(math.Abs(share-1) < 1e-12) || !(math.Abs(c.Intercept[k]-3) < 1) {
			t.Errorf("output %d: shares add up to %g, intercept %.3g of 3", k, share, c.Intercept[k])
		}
	}
	// C solves Σ K_jCL_j + noise·C = Y − intercepts on the observed cells.
	F := blas.NewGeneral(Y.Rows, 2)
	for j, S := range res.Ls {
		CL := blas.NewGeneral(Y.Rows, 2)
		S.MulRight(blas.Active(), CL, res.C)
		blas.Gemm(blas.Active(), false, false, 1, grams[j], CL, 1, F)
	}
	for i, y := range Y.Data {
		v, k := res.C.Data[i], i%2
		switch {
		case math.IsNaN(y):
			if v != 0 {
				t.Fatalf("coefficient %g of a missing cell", v)
			}
		case !(math.Abs(F.Data[i]+c.Noise[k]*v+c.Intercept[k]-y) < 1e-8):
			t.Fatalf("cell %d: %g where %g is observed", i, F.Data[i]+c.Noise[k]*v+c.Intercept[k], y)
		}
	}
}

// Components at their bound, kernels that say the same and more kernels than the data tell apart give finite numbers.
func TestLikelihoodBoundary(t *testing.T) {
	grams, Y, _ := mixedData(60, 2, 0.3, 8)
	one := blas.NewGeneral(60, 60)
	for i := range 60 {
		one.Data[i*61] = 1
	}
	rng := rand.New(rand.NewPCG(1, 2))
	noise := blas.Clone(Y)
	for i := range noise.Data {
		noise.Data[i] += 100 * rng.NormFloat64()
	}
	for name, c := range map[string]struct {
		grams []blas.General
		Y     blas.General
	}{
		"identity":   {append(grams[:2:2], one), Y},
		"same twice": {[]blas.General{grams[0], grams[0]}, Y},
		"no signal":  {grams, noise},
	} {
		t.Run(name, func(t *testing.T) {
			res, got, err := Fit(t.Context(), separate(c.grams), c.Y, Options{Tol: 1e-3})
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(res.Eta, res.Objective, *got, res.C.Data)
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%.300s", text)
			}
			if !(got.Gain <= 1e-3) {
				t.Errorf("the next step gains %g", got.Gain)
			}
		})
	}
}

// Data that no likelihood can be computed from are refused.
func TestLikelihoodRefuses(t *testing.T) {
	grams, Y, _ := mixedData(12, 2, 0, 1)
	few, negative := blas.Clone(Y), blas.Clone(grams[0])
	for i := 1; i < 12; i++ {
		few.Data[2*i+1] = math.NaN()
	}
	for i := range negative.Data {
		negative.Data[i] = -1e3
	}
	for i := range 12 {
		negative.Data[i*13] = 1
	}
	for name, c := range map[string]struct {
		K    blas.General
		Y    blas.General
		want error
	}{"one cell": {grams[0], few, bcd.ErrInput}, "indefinite": {negative, Y, bcd.ErrNotPSD}} {
		if _, _, err := Fit(t.Context(), separate([]blas.General{c.K}), c.Y, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, limit := range []int64{16*24*24 - 1, 1 << 20, -1} { // bytes; two matrices of 24 cells take 16·24² alone
		if _, _, err := Fit(t.Context(), separate(grams), Y, Options{Tol: 1, MaxBytes: limit}); errors.Is(err,
			memory.ErrTooLarge) != (limit == 16*24*24-1) {
			t.Errorf("%d bytes: %v", limit, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if res, _, err := Fit(ctx, separate(grams), Y, Options{}); !errors.Is(err, context.Canceled) || res == nil {
		t.Errorf("cancelled: %v, %v", res, err)
	}
}

// The number of threads does not change a bit.
func TestLikelihoodThreads(t *testing.T) {
	grams, Y, _ := mixedData(150, 3, 0.2, 4) // 360 cells, beyond one block of the inverse
	t.Cleanup(func() { par.SetThreads(0) })
	var want string
	for _, threads := range []int{1, 2, 5} {
		par.SetThreads(threads)
		res, c, err := Fit(t.Context(), separate(grams), Y, Options{Tol: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%b %b %b %b", res.Objective, res.Eta, *c, res.C.Data)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d threads give %.80s…, one %.80s…", threads, got, want)
		}
	}
}
