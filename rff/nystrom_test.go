package rff

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// With as many landmarks as samples the Nyström features are exact; with fewer,
// better chosen ones do better on clustered data.
func TestNystrom(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	X := randomX(8, 120, 3)
	for i := range X.Rows { // 90 samples in one tight cluster, 30 spread out
		for f := range 3 {
			if i < 90 {
				X.Data[3*i+f] = 4 + 0.05*rng.NormFloat64()
			}
		}
	}
	for _, spec := range []string{"gaussian:all:1", "poly:2:0,2", "laplacian:all:2", "gaussian:1,2:0.5"} {
		base := build(t, spec, X)[0]
		want := gramOf(t, base, X)
		errs := map[string]float64{}
		for _, how := range []string{"uniform", "kmeans"} {
			k := build(t, "nystrom:"+spec+":120:"+how, X)[0]
			if how != "kmeans" {
				if e := rmsError(approximate(t, k, X, 1), want); !(e <= 1e-6) {
					t.Errorf("%s, all landmarks, %s: error %g", spec, how, e)
				}
			}
			k.Approx = &kernel.Approximation{Method: Nystrom, Count: 20, Sampler: how}
			for seed := range uint64(8) {
				errs[how] += rmsError(approximate(t, k, X, seed), want)
			}
		}
		if spec == "gaussian:all:1" && !(errs["kmeans"] < errs["uniform"]) {
			t.Errorf("%s: errors %v", spec, errs)
		}
	}
}

func TestNystromOfZeroKernel(t *testing.T) {
	X := blas.NewGeneral(5, 2)
	k := build(t, "nystrom:linear:all:3", X)[0]
	m, err := New(t.Context(), k, X, 1, 0, nil)
	if err != nil || m.Dim() != 0 {
		t.Fatalf("features of the zero kernel: %v, %v", m, err)
	}
	if err := m.Transform(blas.NewGeneral(5, 0), X); err != nil {
		t.Error(err)
	}
}

// A regular Gram matrix is projected by a triangle, a singular one by its
// eigenvectors; both give the same approximation, in blocks as in one piece.
func TestNystromProjections(t *testing.T) {
	X := randomX(21, 1500, 4)
	k := build(t, "nystrom:gaussian:all:1:300:uniform", X)[0]
	m, err := New(t.Context(), k, X, 3, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !isUpper(m.Projection.general()) {
		t.Fatal("a regular Gram matrix is not projected by a triangle")
	}
	local := onOwnColumns(k)
	g, err := local.Gram(m.Landmarks.general(), blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	u, w := blas.NewGeneral(300, 300), make([]float64, 300)
	g.Dense(u)
	if err := blas.Active().Syevd(u, w); err != nil {
		t.Fatal(err)
	}
	for j, v := range w {
		for i := range u.Rows {
			u.Data[i*u.Stride+j] /= math.Sqrt(v)
		}
	}
	// Z Zᵀ of the eigenvectors, from the definition.
	K, V := blas.NewGeneral(X.Rows, 300), blas.NewGeneral(X.Rows, 300)
	if err := local.Cross(K, X, m.Landmarks.general()); err != nil {
		t.Fatal(err)
	}
	blas.Mul(blas.Active(), V, false, false, K, u)
	want, got := blas.NewGeneral(X.Rows, X.Rows), blas.NewGeneral(X.Rows, X.Rows)
	blas.Mul(blas.Active(), want, false, true, V, V)
	Z := blas.NewGeneral(X.Rows, m.Dim())
	if err := m.Transform(Z, X); err != nil {
		t.Fatal(err)
	}
	blas.Mul(blas.Active(), got, false, true, Z, Z)
	if e := rmsError(got, want); !(e <= 1e-9) {
		t.Errorf("the triangle's approximation is %.2g off", e)
	}
	part := blas.NewGeneral(7, m.Dim())
	if err := m.Transform(part, blas.View(X, 1111, 0, 7, 4)); err != nil {
		t.Fatal(err)
	}
	blas.AddScaled(part, -1, blas.View(Z, 1111, 0, 7, Z.Cols))
	if e := blas.Frob(part); !(e <= 1e-10) {
		t.Errorf("rows alone differ by %.2g from those among others", e)
	}
	twice := blas.NewGeneral(2*X.Rows, 4) // every landmark twice: singular
	blas.Copy(blas.View(twice, 0, 0, X.Rows, 4), X)
	blas.Copy(blas.View(twice, X.Rows, 0, X.Rows, 4), X)
	k.Approx.Count = 2 * X.Rows
	small := blas.View(twice, X.Rows-20, 0, 40, 4)
	blas.Copy(blas.View(small, 20, 0, 20, 4), blas.View(small, 0, 0, 20, 4))
	m, err = New(t.Context(), k, small, 3, 0, nil)
	if err != nil || m.Dim() != 20 {
		t.Errorf("20 landmarks, each twice: %d features, %v", m.Dim(), err)
	}
}
