package update

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// Forms by exact features are those by the values of the kernel.
func TestFactored(t *testing.T) {
	const l, d, n = 200, 3, 2
	rng := rand.New(rand.NewPCG(1, 2))
	Z, U := blas.NewGeneral(l, d), blas.NewGeneral(l, n)
	for _, a := range []blas.General{Z, U} {
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
	}
	specs := []string{"linear:all", "linear:0-1", "poly:2:all:1", "gaussian:all:1", "poly:6:all:1"}
	dict, err := kernel.Build(specs, Z, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &kernels{dict: dict, Z: Z}
	for j, want := range []bool{true, true, true, false, false} {
		got, ok := s.factored(j, U, U)
		if ok != want {
			t.Errorf("%s: by features: %t", dict[j].Name, ok)
		}
		if !ok {
			continue
		}
		K, KU := blas.NewGeneral(l, l), blas.NewGeneral(l, n)
		if err := dict[j].Cross(K, Z, Z); err != nil {
			t.Fatal(err)
		}
		blas.Mul(blas.Active(), KU, false, false, K, U)
		if form := blas.Inner(U, KU); !(math.Abs(got-form) <= 1e-12*blas.Frob(U)*blas.Frob(KU)) {
			t.Errorf("%s: %g, want %g", dict[j].Name, got, form)
		}
	}
}
