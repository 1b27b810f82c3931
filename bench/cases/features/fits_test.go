package features

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
)

// TestFits checks fits by features against that by the Gram matrix: landmarks at
// every sample are exact, random features come nearer as they grow in number.
func TestFits(t *testing.T) {
	ctx, env := context.Background(), benchtest.Quick()
	f, err := newFits(env, 300)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := f.byGram(ctx, env, "gaussian:all:median")
	if err != nil {
		t.Fatal(err)
	}
	miss := map[string]float64{}
	for _, spec := range []string{
		"nystrom:gaussian:all:median:300:uniform", "rff:gaussian:all:median:64", "rff:gaussian:all:median:2048",
	} {
		r, err := f.byFeatures(ctx, env, "features", spec)
		if err != nil {
			t.Fatal(err)
		}
		miss[spec] = r.Metrics["fit_error"]
		if strings.HasPrefix(spec, "nystrom") {
			if !(miss[spec] <= 0.01) || !(r.Metrics["r2"]-exact.Metrics["r2"] <= 0.01 &&
				exact.Metrics["r2"]-r.Metrics["r2"] <= 0.01) {
				t.Errorf("landmarks at every sample: %v, the kernel itself: %v", r.Metrics, exact.Metrics)
			}
		}
	}
	if few, many := miss["rff:gaussian:all:median:64"], miss["rff:gaussian:all:median:2048"]; !(few > 0 &&
		many < few/2) {
		t.Errorf("64 random features miss the exact fit by %g, 2048 by %g", few, many)
	}
}

// TestRFF checks which lines the case has: every kernel and sampler, and the fits.
func TestRFF(t *testing.T) {
	env := benchtest.Quick()
	results, err := runRFF(context.Background(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range featureKernels {
		for _, sampler := range samplers(kind) {
			errors := map[string]float64{}
			for _, r := range results {
				if r.Name == sampler && r.Param("kernel") == kind {
					errors[r.Param("D")] = r.Metrics["kernel_error"]
				}
			}
			// D^{-1/2}: a quarter of the variance, half of the error.
			if few, many := errors["64"], errors["256"]; !(many > 0 && many < 0.75*few) {
				t.Errorf("%s, %s: kernel error %g with 64 features, %g with 256", kind, sampler, few, many)
			}
		}
	}
	figs := featureFigures(results, nil)
	if len(figs) != len(featureKernels) {
		t.Fatalf("%d pictures of %d kernels", len(figs), len(featureKernels))
	}
	for k, fig := range figs {
		curves := samplers(featureKernels[k])
		if len(fig.Chart.Curves) != len(curves)+1 {
			t.Errorf("%s: %d curves for %d samplers and the rate", fig.Name, len(fig.Chart.Curves), len(curves))
		}
		for _, c := range fig.Chart.Curves {
			if len(c.XY) != 2 || c.XY[0].X != 64 || c.XY[1].X != 256 || !(c.XY[1].Y < c.XY[0].Y) {
				t.Errorf("%s, %s: %v", fig.Name, c.Name, c.XY)
			}
		}
	}
	text := concludeFeatures(results)
	for _, kind := range []string{"gaussian", "laplacian", "matern32"} {
		if !slices.ContainsFunc(text, func(s string) bool {
			return strings.Contains(s, "256 orthogonal features of the "+kind+" kernel")
		}) {
			t.Errorf("nothing is concluded about fits by the %s kernel: %q", kind, text)
		}
	}
}

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
	if scaleFigures(nil, nil) != nil || featureFigures(nil, nil) != nil {
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
