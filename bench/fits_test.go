package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestFits checks fits by features against that by the Gram matrix: landmarks at
// every sample are exact, random features come nearer as they grow in number.
func TestFits(t *testing.T) {
	ctx, env := context.Background(), quickEnv()
	f, err := newFits(env, 300)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := f.byGram(ctx, env, "gaussian:all:median")
	if err != nil {
		t.Fatal(err)
	}
	miss := map[string]float64{}
	for _, spec := range []string{"nystrom:gaussian:all:median:300:uniform", "rff:gaussian:all:median:64", "rff:gaussian:all:median:2048"} {
		r, err := f.byFeatures(ctx, env, "features", spec)
		if err != nil {
			t.Fatal(err)
		}
		miss[spec] = r.Metrics["fit_error"]
		if strings.HasPrefix(spec, "nystrom") {
			if !(miss[spec] <= 0.01) || !(r.Metrics["r2"]-exact.Metrics["r2"] <= 0.01 && exact.Metrics["r2"]-r.Metrics["r2"] <= 0.01) {
				t.Errorf("landmarks at every sample: %v, the kernel itself: %v", r.Metrics, exact.Metrics)
			}
		}
	}
	if few, many := miss["rff:gaussian:all:median:64"], miss["rff:gaussian:all:median:2048"]; !(few > 0 && many < few/2) {
		t.Errorf("64 random features miss the exact fit by %g, 2048 by %g", few, many)
	}
}

// TestRFF checks which lines the case has: every kernel and sampler, and the fits.
func TestRFF(t *testing.T) {
	env := quickEnv()
	results, err := runRFF(context.Background(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range featureKernels {
		for _, sampler := range samplers(kind) {
			errors := map[string]float64{}
			for _, r := range results {
				if r.Name == sampler && param(r, "kernel") == kind {
					errors[param(r, "D")] = r.Metrics["kernel_error"]
				}
			}
			// D^{-1/2}: a quarter of the variance, half of the error.
			if few, many := errors["64"], errors["256"]; !(many > 0 && many < 0.75*few) {
				t.Errorf("%s, %s: kernel error %g with 64 features, %g with 256", kind, sampler, few, many)
			}
		}
	}
	figs := featureFigures(results)
	if len(figs) != len(featureKernels) {
		t.Fatalf("%d pictures of %d kernels", len(figs), len(featureKernels))
	}
	for k, fig := range figs {
		curves := samplers(featureKernels[k])
		if len(fig.curves) != len(curves)+1 {
			t.Errorf("%s: %d curves for %d samplers and the rate", fig.name, len(fig.curves), len(curves))
		}
		for _, c := range fig.curves {
			if len(c.xy) != 2 || c.xy[0].X != 64 || c.xy[1].X != 256 || !(c.xy[1].Y < c.xy[0].Y) {
				t.Errorf("%s, %s: %v", fig.name, c.name, c.xy)
			}
		}
	}
	text := concludeFeatures(results)
	for _, kind := range []string{"gaussian", "laplacian", "matern32"} {
		if !slices.ContainsFunc(text, func(s string) bool { return strings.Contains(s, "256 orthogonal features of the "+kind+" kernel") }) {
			t.Errorf("nothing is concluded about fits by the %s kernel: %q", kind, text)
		}
	}
}

// TestFeaturePictures checks what the pictures of streams and landmarks show.
func TestFeaturePictures(t *testing.T) {
	line := func(name string, seconds float64, params map[string]any) Result {
		return Result{Name: name, Seconds: seconds, Params: params, Metrics: map[string]float64{"fit_error": seconds / 2}}
	}
	figs := scaleFigures([]Result{
		line("l = 200", 2, map[string]any{"l": int64(200), "D": 8, "seconds_after_pass": 0.5}),
		line("l = 100", 1, map[string]any{"l": int64(100), "D": 8, "seconds_after_pass": 0.25}),
	})
	if len(figs) != 1 || len(figs[0].curves) != 2 || figs[0].curves[0].xy[0].X != 100 || figs[0].curves[1].xy[1].Y != 0.5 {
		t.Errorf("scale: %+v", figs)
	}
	figs = wayFigures([]Result{
		line(exactKernel, 9, nil), line("rff", 1, map[string]any{"features": "rff:gaussian:all:median:10"}),
		line("nystrom", 3, map[string]any{"features": "nystrom:gaussian:all:median:10:kmeans"}), line("nystrom", 4, map[string]any{"features": "nystrom:gaussian:all:median:10:uniform"}),
	})
	var names []string
	for _, c := range figs[0].curves {
		names = append(names, c.name)
	}
	if !slices.Equal(names, []string{"rff", "nystrom, kmeans", "nystrom, uniform"}) {
		t.Errorf("nystrom: %q", names)
	}
	if scaleFigures(nil) != nil || featureFigures(nil) != nil {
		t.Error("pictures of nothing")
	}
}
