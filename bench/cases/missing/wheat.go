// Package missing measures learning from targets with missing cells.
package missing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Register(bench.Case{
		Name:      "wheat",
		Does:      "genomic prediction of wheat yields in four environments: whole lines hidden (cv1), or cells (cv2)",
		Run:       runWheat,
		Minutes:   10,
		Parts:     []string{"cv1", "cv2"},
		Conclude:  concludeWheat,
		Published: wheatTable,
	})
}

// Names of the lines of the case.
const (
	wheatOurs  = "iokl, pedigree and markers"
	wheatAlone = "iokl, each environment alone"
)

// wheatSplits is how often 30 % of the cells are hidden.
const wheatSplits = 50

// runWheat predicts the yields of 599 lines from pedigree and markers. The score is the
// correlation of predicted and observed yields of an environment: over all lines, each
// predicted without its fold, or over the hidden cells of a split, averaged over splits.
// λ is chosen for every split on what it shows.
func runWheat(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	grams, Y, folds, err := wheatData(env)
	if err != nil {
		return nil, err
	}
	hide := env.Part
	var results []bench.Result
	for _, m := range []struct {
		name  string
		learn string
	}{{wheatAlone, "eta"}, {wheatOurs, "eta,l"}} {
		opt := iokl.Options{Norm: "lp:1.33", Learn: m.learn, Standardize: "y", Seed: env.Seed, Backend: env.Backend, Tol: 1e-3, IntervalFolds: -1}
		opt.CV = iokl.CVOptions{Lambdas: wheatLambdas, Folds: 5}
		start := time.Now()
		var r []float64
		if hide == "cv1" {
			r, err = wheatLines(ctx, env, grams, Y, folds, opt)
		} else {
			r, err = wheatCells(ctx, env, grams, Y, opt)
		}
		if err != nil {
			return results, fmt.Errorf("%s: %w", m.name, err)
		}
		res := bench.Result{Name: m.name, Params: map[string]any{"scheme": hide, "lines": Y.Rows}}
		res.Time([]float64{time.Since(start).Seconds()})
		for j, v := range r {
			res.Metric(fmt.Sprintf("r%d", j+1), v)
		}
		env.Log("  %s, %s: %.3f", hide, m.name, r)
		results = append(results, res)
	}
	return results, nil
}

// wheatLambdas are the values of λ to choose from, for kernels of mean diagonal 1.
var wheatLambdas = []float64{2.5e-3, 1.2e-3, 6e-4, 3e-4, 1.5e-4, 7e-5}

// wheatData returns the Gram matrices, centred and of mean diagonal 1, of pedigree, of markers by two
// Gaussians, and of the lines themselves, whose yields the others do not explain in full;
// the yields, and the fold of every line.
func wheatData(env *bench.Env) (grams []mat.Matrix, Y blas.General, folds []int, err error) {
	tables := map[string]blas.General{}
	for _, name := range []string{"A.npy", "X.csv.gz", "Y.csv", "sets.csv"} {
		t, err := data.Read(env, "wheat", name)
		if err != nil {
			return nil, Y, nil, err
		}
		tables[name] = t.Data
	}
	Y = tables["Y.csv"]
	for i := range Y.Rows {
		folds = append(folds, int(blas.Row(tables["sets.csv"], i)[0]))
	}
	X, l := tables["X.csv.gz"], Y.Rows
	for i, mean := 0, data.Means(X); i < l; i++ {
		blas.Axpy(-1, mean, blas.Row(X, i))
	}
	var linear mat.Dense
	linear.Mul(blas.Dense(X), blas.Dense(X).T())
	square := mat.NewDense(l, l, nil) // distances
	var all []float64
	for i := range l {
		for j := range l {
			d := linear.At(i, i) + linear.At(j, j) - 2*linear.At(i, j)
			square.Set(i, j, d)
			if i < j {
				all = append(all, d)
			}
		}
	}
	median := bench.Median(all)
	one := mat.NewDense(l, l, nil)
	for i := range l {
		one.Set(i, i, 1)
	}
	grams = []mat.Matrix{centred(blas.Dense(tables["A.npy"]))}
	for _, width := range []float64{0.5, 1} {
		K := new(mat.Dense)
		K.Apply(func(_, _ int, d float64) float64 { return math.Exp(-d / (width * median)) }, square)
		grams = append(grams, centred(K))
	}
	return append(grams, one), Y, folds, nil
}

// centred is K with rows and columns of mean 0, and mean diagonal 1.
func centred(K *mat.Dense) *mat.Dense {
	l, _ := K.Dims()
	means := data.Means(K.RawMatrix())
	mean := stat.Mean(means, nil)
	C := new(mat.Dense)
	C.Apply(func(i, j int, v float64) float64 { return v - means[i] - means[j] + mean }, K)
	C.Scale(float64(l)/mat.Trace(C), C)
	return C
}

// wheatLines predicts each line by a fit without its fold.
func wheatLines(ctx context.Context, env *bench.Env, grams []mat.Matrix, Y blas.General, folds []int, opt iokl.Options) ([]float64, error) {
	opt.CV.Hide = "rows"
	P := blas.NewGeneral(Y.Rows, Y.Cols)
	for f := 1; f <= bench.Pick(env, 2, 10); f++ {
		Z := blas.Clone(Y)
		for i := range Z.Rows {
			if folds[i] == f {
				for j := range Z.Cols {
					blas.Row(Z, i)[j] = math.NaN()
				}
			}
		}
		F, err := wheatFit(ctx, grams[:len(grams)-1], Z, opt)
		if err != nil {
			return nil, err
		}
		for i := range Z.Rows {
			if folds[i] == f {
				copy(blas.Row(P, i), F.RawRowView(i))
			}
		}
	}
	tested := func(i, _ int) bool { return folds[i] <= bench.Pick(env, 2, 10) }
	return correlations(P, Y, tested), nil
}

// wheatCells hides cells as [wheatHidden] does.
func wheatCells(ctx context.Context, env *bench.Env, grams []mat.Matrix, Y blas.General, opt iokl.Options) ([]float64, error) {
	opt.CV.Hide = "cells"
	sum, splits := make([]float64, Y.Cols), bench.Pick(env, 2, wheatSplits)
	for s := range splits {
		Z := wheatHidden(Y, rand.New(rand.NewPCG(env.Seed, uint64(s))))
		F, err := wheatFit(ctx, grams, Z, opt)
		if err != nil {
			return nil, err
		}
		r := correlations(F.RawMatrix(), Y, func(i, j int) bool { return math.IsNaN(blas.Row(Z, i)[j]) })
		for j, v := range r {
			sum[j] += v / float64(splits)
		}
		env.Log("  split %d: %.3f", s+1, r)
	}
	return sum, nil
}

// wheatHidden hides 30 % of the cells of each environment, spread as evenly over the lines as they go, so
// that the other environments of a line stay: each line lacks one or two of four.
func wheatHidden(Y blas.General, rng *rand.Rand) blas.General {
	Z, each := blas.Clone(Y), 3*Y.Rows/10
	var lines []int
	for len(lines) < (each+1)*Y.Cols {
		lines = append(lines, rng.Perm(Y.Rows)...)
	}
	for j := range Y.Cols {
		for hidden := 0; hidden < each; lines = lines[1:] {
			if cell := &blas.Row(Z, lines[0])[j]; !math.IsNaN(*cell) {
				*cell = math.NaN()
				hidden++
			}
		}
	}
	return Z
}

// wheatFit predicts all lines.
func wheatFit(ctx context.Context, grams []mat.Matrix, Z blas.General, opt iokl.Options) (*mat.Dense, error) {
	m, err := iokl.FitGram(ctx, grams, blas.Dense(Z), opt)
	if err != nil {
		return nil, err
	}
	return m.PredictGram(grams)
}

// correlations are those of predictions P with Y in each column, over some of the cells.
func correlations(P, Y blas.General, of func(i, j int) bool) []float64 {
	r := make([]float64, Y.Cols)
	for j := range r {
		var p, y []float64
		for i := range Y.Rows {
			if of(i, j) {
				p, y = append(p, blas.Row(P, i)[j]), append(y, blas.Row(Y, i)[j])
			}
		}
		r[j] = stat.Correlation(p, y, nil)
	}
	return r
}

// wheatSchemes are what the parts of the case hide.
var wheatSchemes = map[string]string{"cv1": "whole lines", "cv2": "30 % of the cells"}

// published holds mean correlations in environments 1 to 4.
var published = map[string][]struct {
	name string
	r    [4]float64
}{
	"cv1": {
		{"GBLUP, numpy", [4]float64{.503, .466, .376, .462}},
		{"Gaussian kernel at the median, numpy", [4]float64{.575, .473, .433, .525}},
		{"M-RKHS (Crossa and others 2010)", [4]float64{.601, .494, .445, .524}},
		{"PM-RKHS, pedigree and markers (Crossa and others 2010)", [4]float64{.608, .497, .478, .524}},
	},
	"cv2": {
		{"factor analytic (Cuevas and others 2017)", [4]float64{.553, .611, .585, .510}},
		{"GBLUP, model 3 (Cuevas and others 2017)", [4]float64{.543, .720, .694, .525}},
		{"Gaussian, model 3 (Cuevas and others 2017)", [4]float64{.606, .713, .694, .572}},
	},
}

func wheatTable(group []bench.Result) *bench.Table {
	t := &bench.Table{
		Title: "Wheat: correlation of predicted and observed yields", Head: []string{"hidden", "model", "E1", "E2", "E3", "E4"},
		Source: "Published: Crossa and others, Genetics 186, 2010; Cuevas and others, G3 7, 2017. Splits as in programs that the group of the latter has published: 30 % of each environment, spread over the lines.",
	}
	row := func(scheme, name string, r func(j int) float64) {
		line := []string{wheatSchemes[scheme], name}
		for j := range 4 {
			line = append(line, fmt.Sprintf("%.3f", r(j)))
		}
		t.Rows = append(t.Rows, line)
	}
	for _, scheme := range []string{"cv1", "cv2"} {
		var ours []bench.Result
		for _, r := range group {
			if r.Param("scheme") == scheme {
				ours = append(ours, r)
			}
		}
		if ours == nil {
			continue
		}
		for _, p := range published[scheme] {
			row(scheme, p.name, func(j int) float64 { return p.r[j] })
		}
		for _, r := range ours {
			row(scheme, r.Name, func(j int) float64 { return r.Metrics[fmt.Sprintf("r%d", j+1)] })
		}
	}
	return t
}

func concludeWheat(group []bench.Result) []string {
	var out []string
	for _, r := range group {
		if r.Name != wheatOurs {
			continue
		}
		list := published[r.Param("scheme")]
		best, count := list[len(list)-1], 0
		for j, v := range best.r {
			if r.Metrics[fmt.Sprintf("r%d", j+1)] >= v {
				count++
			}
		}
		out = append(out, fmt.Sprintf("Wheat with %s hidden: correlations %.3f, %.3f, %.3f, %.3f, at least those of %s in %d of 4 environments.", wheatSchemes[r.Param("scheme")],
			r.Metrics["r1"], r.Metrics["r2"], r.Metrics["r3"], r.Metrics["r4"], best.name, count))
	}
	return out
}
