// This file fits by explicit features beside the exact kernel, and draws their errors.

package features

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/picture"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
)

// fits are fits of the same samples by an exact kernel and by features of it, with
// one kernel and L = I, measured on the same held-out samples.
type fits struct {
	X, Y, Xt, Yt blas.General
	exact        blas.General // held-out predictions of the exact kernel
}

// exactKernel names the fits that the others are compared with.
const exactKernel = "exact kernel"

// fitsLambda regularizes all of them alike.
const fitsLambda = 1e-4

// newFits draws the samples: l to learn from and 2000 held out.
func newFits(env *bench.Env, l int) (*fits, error) {
	var f fits
	var err error
	if f.X, f.Y, err = collect(newGenerator(env, int64(l), 31)); err != nil {
		return nil, err
	}
	f.Xt, f.Yt, err = collect(newGenerator(env, 2000, 32))
	return &f, err
}

// byGram fits by the Gram matrix of a kernel, which features are compared with from then on.
func (f *fits) byGram(ctx context.Context, env *bench.Env, spec string) (bench.Result, error) {
	r := bench.Result{Name: exactKernel, Params: map[string]any{"l": f.X.Rows, "n": f.Y.Cols}}
	start := time.Now()
	dict, err := kernel.Build([]string{spec}, f.X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	grams, err := dict.Grams(ctx, f.X, kernel.GramOptions{Backend: env.Backend})
	if err != nil {
		return r, err
	}
	res, err := f.solve(ctx, env, bcd.NewSamples(linop.NewGramSum(grams, env.Backend, blas.Float64), f.Y))
	if err != nil {
		return r, err
	}
	r.Time([]float64{time.Since(start).Seconds()})
	K := blas.NewGeneral(f.Xt.Rows, f.X.Rows)
	if err := dict.CrossSum(K, res.Eta, f.Xt, f.X); err != nil {
		return r, err
	}
	f.exact = blas.NewGeneral(f.Yt.Rows, f.Yt.Cols)
	blas.Mul(env.Backend, f.exact, false, false, K, res.C) // L = I
	r.Metric("r2", data.R2(f.exact, f.Yt))
	r.Objective = bench.Num(res.Objective)
	return r, nil
}

// byFeatures fits by features of the kernel that byGram had before.
func (f *fits) byFeatures(ctx context.Context, env *bench.Env, name, spec string) (bench.Result, error) {
	r := bench.Result{Name: name, Params: map[string]any{"l": f.X.Rows, "n": f.Y.Cols}}
	start := time.Now()
	dict, err := kernel.Build([]string{spec}, f.X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	maps, err := rff.NewMaps(ctx, dict, f.X, env.Seed)
	if err != nil {
		return r, err
	}
	sums, err := data.FeatureSums(ctx, env, maps, f.X, f.Y)
	if err != nil {
		return r, err
	}
	res, err := f.solve(ctx, env, data.FeatureSpace(env, maps, sums))
	if err != nil {
		return r, err
	}
	r.Time([]float64{time.Since(start).Seconds()})
	P, err := data.FeaturePredictions(env, maps, f.Xt, res.C)
	if err != nil {
		return r, err
	}
	r.Metric("r2", data.R2(P, f.Yt))
	blas.AddScaled(P, -1, f.exact)
	r.Metric("fit_error", blas.Frob(P)/blas.Frob(f.exact)) // ‖P − P_K‖_F/‖P_K‖_F
	r.Objective = bench.Num(res.Objective)
	return r, nil
}

func (f *fits) solve(ctx context.Context, env *bench.Env, space bcd.Space) (*bcd.Result, error) {
	p := &bcd.Problem{Space: space, Lambda: fitsLambda, Tau: float64(f.Y.Cols), Model: bcd.Neither}
	return bcd.Solve(ctx, p, bcd.Options{Tol: 1e-4, Backend: env.Backend, Seed: env.Seed})
}

// concludeFits compares the fits by the most orthogonal features with those by Gram matrices.
var concludeFits = bench.Say(`
{{$all := .}}{{range $exact := named "exact kernel" .}}
{{with where "kernel" ($exact.Param "kernel") $all | named "fit, orthogonal"}}{{$r := last .}}With {{$r.Param "D"}}
orthogonal features of the {{$r.Param "kernel"}} kernel a fit of {{$r.Param "l"}} samples takes
{{printf "%.2g" $r.Seconds}} s in place of {{printf "%.2g" $exact.Seconds}} s; its predictions are
{{value "fit_error" $r | mul 100.0 | printf "%.2g"}} % away from the exact kernel's, with an R² of
{{value "r2" $r | printf "%.3f"}} in place of {{value "r2" $exact | printf "%.3f"}}.
{{end}}{{end}}`)

// featureFigures show, for each kernel, how its error falls with the number of features.
func featureFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	var figs []picture.Figure
	for _, kind := range featureKernels {
		fig := picture.Chart{
			Title: "rff, " + kind + " kernel: relative error against the number of features",
			X:     "features D (logarithmic)", Y: "‖ZZᵀ − K‖/‖K‖ (logarithmic)", LogX: true, LogY: true,
		}
		for _, r := range group {
			if e := r.Metrics["kernel_error"]; e > 0 && r.Param("kernel") == kind {
				fig.Point(r.Name, r.Number("D"), e)
			}
		}
		if len(fig.Curves) > 0 {
			fig.Curves = append(fig.Curves, rateCurve(fig.Curves[0]))
			figs = append(figs, fig.Figures("rff-error-"+strings.ReplaceAll(kind, ":", "-"))...)
		}
	}
	return figs
}

// rateCurve is the rate of all ways to draw features, through the first point of a curve.
func rateCurve(c picture.Curve) picture.Curve {
	first, last := c.XY[0], c.XY[len(c.XY)-1]
	return picture.Curve{
		Name: "falling as D^(−1/2)", Line: true,
		XY: plotter.XYs{first, {X: last.X, Y: first.Y * math.Sqrt(first.X/last.X)}},
	}
}

// scaleFigures show how the pass and what follows it grow with the number of rows.
func scaleFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	fig := picture.Chart{
		Title: "scale: seconds against the number of rows",
		X:     "rows l (logarithmic)", Y: "seconds (logarithmic)", LogX: true, LogY: true,
	}
	for _, r := range group {
		l := r.Number("l")
		fig.Point(fmt.Sprintf("the pass, D = %s", r.Param("D")), l, r.Seconds)
		if s := r.Number("seconds_after_pass"); s > 0 {
			fig.Point("the fit after it", l, s)
		}
	}
	return fig.Figures("scale-growth")
}
