package sylvester_test

import (
	"context"
	"os"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/npy"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// goldenLambda is the λ of both reference cases.
const goldenLambda = 0.02

// golden reads the matrices of testdata/name.npz.
func golden(t *testing.T, name string) map[string]blas.General {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	z, err := npy.NewArchive(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]blas.General{}
	for _, key := range z.Names() {
		a, err := z.Array(key)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = blas.General{Rows: a.Shape[0], Cols: a.Shape[1], Stride: a.Shape[1], Data: a.Data}
	}
	return out
}

// TestGolden compares every solver with an independent program's solutions.
func TestGolden(t *testing.T) {
	for _, name := range []string{"sylvester_full", "sylvester_lowrank"} {
		z := golden(t, name)
		K, Y, want := z["K"], z["Y"], z["C"]
		L, err := linop.NewSpectral(blas.Active(), z["L"], 1e-12)
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range sylvester.Names() {
			t.Run(name+"/"+solver, func(t *testing.T) {
				C := blas.NewGeneral(Y.Rows, Y.Cols)
				sys := system(K, L, goldenLambda*float64(K.Rows))
				_, err := solverNamed(t, solver).Solve(context.Background(), C, sys, Y, sylvester.Options{Tol: 1e-13})
				if err != nil {
					t.Fatal(err)
				}
				blas.AddScaled(C, -1, want)
				if e := blas.Frob(C) / blas.Frob(want); !(e <= 1e-10) {
					t.Errorf("relative error %g", e)
				}
			})
		}
	}
}
