package cases

import (
	"io"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
)

// TestGenerator checks that what a pass sees depends on the seed alone.
func TestGenerator(t *testing.T) {
	env := quickEnv()
	X1, Y1, err := collect(newGenerator(env, 5000, 1))
	if err != nil || X1.Rows != 5000 {
		t.Fatal(X1.Rows, err)
	}
	X2, Y2, err := collect(newGenerator(env, 5000, 1))
	if err != nil || !slices.Equal(X1.Data, X2.Data) || !slices.Equal(Y1.Data, Y2.Data) {
		t.Errorf("two generators of one seed differ: %v", err)
	}
}

// collect collects all rows of a generator.
func collect(g *generator) (X, Y blas.General, err error) {
	X, Y = blas.NewGeneral(int(g.l), scaleInputs), blas.NewGeneral(int(g.l), scaleOutputs)
	for at := 0; ; {
		b, err := g.Next()
		if err == io.EOF {
			return X, Y, nil
		}
		if err != nil {
			return X, Y, err
		}
		blas.Copy(blas.View(X, at, 0, b.X.Rows, scaleInputs), b.X)
		blas.Copy(blas.View(Y, at, 0, b.Y.Rows, scaleOutputs), b.Y)
		at += b.X.Rows
	}
}
