package rff

import (
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
		for _, how := range []string{"uniform", "kmeans", "leverage"} {
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
		if spec == "gaussian:all:1" && !(errs["leverage"] < errs["uniform"] && errs["kmeans"] < errs["uniform"]) {
			t.Errorf("%s: errors %v", spec, errs)
		}
	}
}

// A dense cluster, whose samples have little leverage each, still gets a landmark.
func TestLeverageCoversClusters(t *testing.T) {
	X := randomX(8, 200, 2)
	for i := range 150 {
		X.Data[2*i], X.Data[2*i+1] = 9+1e-3*X.Data[2*i], 9
	}
	k := build(t, "gaussian:all:0.3", X)[0]
	for seed := range uint64(40) {
		z, err := drawLandmarks("leverage", &k, X, 12, seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		inside, outside := 0, 0
		for i := range z.Rows {
			if z.Data[2*i] > 8 {
				inside++
			} else {
				outside++
			}
		}
		// Three in four samples are in the cluster, and most of the leverage outside.
		if inside == 0 || outside < 4 {
			t.Errorf("seed %d: %d landmarks in the cluster, %d outside", seed, inside, outside)
		}
	}
}

func TestNystromOfZeroKernel(t *testing.T) {
	X := blas.NewGeneral(5, 2)
	k := build(t, "nystrom:linear:all:3", X)[0]
	m, err := New(k, X, 1, 0)
	if err != nil || m.Dim() != 0 {
		t.Fatalf("features of the zero kernel: %v, %v", m, err)
	}
	if err := m.Transform(blas.NewGeneral(5, 0), X); err != nil {
		t.Error(err)
	}
}
