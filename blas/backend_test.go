package blas_test

import (
	"fmt"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/blastest"
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/internal/base/race"
)

func TestConformance(t *testing.T) {
	for _, be := range blas.Backends() {
		if be.Name() == "gonum" && race.Enabled {
			continue // the race detector is for our goroutines
		}
		t.Run(be.Name(), func(t *testing.T) { blastest.Run(t, be) })
	}
}

// TestLevels runs the suite on the native backend at every level but the default one.
func TestLevels(t *testing.T) {
	for _, l := range native.Levels()[1:] {
		be, err := blas.NewNativeLevel(l)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(l.String(), func(t *testing.T) { blastest.Run(t, be) })
	}
}

// The backend beside another multiplies by the same kernels.
func TestBeside(t *testing.T) {
	for _, be := range blas.Backends() {
		other := blas.Beside(be)
		got, want := fmt.Sprintf("%T", other.NewPacked(2, blas.Float64)),
			fmt.Sprintf("%T", be.NewPacked(2, blas.Float64))
		if got != want || other.Name() != be.Name() && be.Name() != "openblas" {
			t.Errorf("beside %s: %s with %s, want %s", be.Name(), other.Name(), got, want)
		}
	}
}
