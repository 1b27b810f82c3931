package features

import (
	"io"
	"slices"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
	"github.com/iokl/iokl/blas"
)

// TestFeaturePictures checks what the picture of streams shows.
func TestFeaturePictures(t *testing.T) {
	line := func(name string, seconds float64, params map[string]any) bench.Result {
		return bench.Result{
			Name: name, Seconds: seconds, Params: params, Metrics: map[string]float64{"fit_error": seconds / 2},
		}
	}
	figs := scaleFigures([]bench.Result{
		line("l = 200", 2, map[string]any{"l": int64(200), "D": 8, "seconds_after_pass": 0.5}),
		line("l = 100", 1, map[string]any{"l": int64(100), "D": 8, "seconds_after_pass": 0.25}),
	}, nil)
	if len(figs) != 1 || len(figs[0].Chart.Curves) != 2 || figs[0].Chart.Curves[0].XY[0].X != 100 ||
		figs[0].Chart.Curves[1].XY[1].Y != 0.5 {
		t.Errorf("scale: %+v", figs)
	}
	if scaleFigures(nil, nil) != nil {
		t.Error("pictures of nothing")
	}
}

// TestGenerator checks that what a pass sees depends on the seed alone.
func TestGenerator(t *testing.T) {
	env := benchtest.Quick()
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
