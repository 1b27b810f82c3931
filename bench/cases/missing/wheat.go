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
		Does:      "genomic prediction of wheat yields in four environments: whole lines hidden (cv1), cells of all (cv2) or of one (one)",
		Run:       runWheat,
		Minutes:   20,
		Parts:     []string{"cv1", "cv2", "one"},
		Conclude:  concludeWheat,
		Published: wheatTable,
	})
}

// Names of the lines of the case.
const (
	wheatOurs  = "iokl, pedigree and markers"
	wheatAlone = "iokl, each environment alone"
)

// wheatSplits is how often 30 % of all cells are hidden, and wheatEach how often those of each environment.
const (
	wheatSplits = 50
	wheatEach   = 15
)

// runWheat predicts the yields of 599 lines from pedigree and markers. The score is the
// correlation of predicted and observed yields of an environment: over all lines, each
// predicted without its fold, or over the hidden cells of a split, averaged over splits. A split
// hides 30 % of all cells, or 30 % of those of one environment, each in turn. λ is chosen for
// every split on what it shows.
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
		opt := iokl.Options{Norm: "lp:2", Learn: m.learn, Standardize: "y", Seed: env.Seed, Backend: env.Backend, Tol: 1e-3, IntervalFolds: -1}
		opt.CV = iokl.CVOptions{Lambdas: wheatLambdas, Folds: 5}
		start := time.Now()
		var r []float64
		if hide == "cv1" {
			r, err = wheatLines(ctx, env, grams, Y, folds, opt)
		} else {
			r, err = wheatCells(ctx, env, grams, Y, opt, hide == "one")
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
var wheatLambdas = []float64{5e-3, 2.5e-3, 1.2e-3, 6e-4, 3e-4}

// wheatData returns the Gram matrices, of mean diagonal 1, of pedigree, markers, markers by two
// Gaussians, and the lines themselves, whose yields the others do not explain in full;
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
	grams = []mat.Matrix{blas.Dense(tables["A.npy"]), &linear}
	for _, width := range []float64{0.5, 2} {
		K := new(mat.Dense)
		K.Apply(func(_, _ int, d float64) float64 { return math.Exp(-d / (width * median)) }, square)
		grams = append(grams, K)
	}
	grams = append(grams, one)
	for k, K := range grams {
		var scaled mat.Dense
		scaled.Scale(float64(l)/mat.Trace(K), K)
		grams[k] = &scaled
	}
	return grams, Y, folds, nil
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

// wheatCells hides 30 % of the cells at random, of one environment at a time where one says so.
func wheatCells(ctx context.Context, env *bench.Env, grams []mat.Matrix, Y blas.General, opt iokl.Options, one bool) ([]float64, error) {
	opt.CV.Hide = "cells"
	sum, splits := make([]float64, Y.Cols), bench.Pick(env, 2, wheatSplits)
	if one {
		splits = bench.Pick(env, 1, wheatEach)
	}
	for s := range splits {
		rng, r := rand.New(rand.NewPCG(env.Seed, uint64(s))), make([]float64, Y.Cols)
		for first := range Y.Cols {
			Z, each := blas.Clone(Y), 1
			if one {
				each = Y.Cols
			}
			cells := len(Z.Data) / each
			for _, c := range rng.Perm(cells)[:3*cells/10] {
				Z.Data[c*each+first] = math.NaN()
			}
			F, err := wheatFit(ctx, grams, Z, opt)
			if err != nil {
				return nil, err
			}
			found := correlations(F.RawMatrix(), Y, func(i, j int) bool { return math.IsNaN(blas.Row(Z, i)[j]) })
			if !one {
				r = found
				break
			}
			r[first] = found[first]
		}
		for j, v := range r {
			sum[j] += v / float64(splits)
		}
		env.Log("  split %d: %.3f", s+1, r)
	}
	return sum, nil
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
var wheatSchemes = map[string]string{"cv1": "whole lines", "cv2": "30 % of the cells", "one": "30 % of one environment"}

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
		Source: "Published: Crossa and others, Genetics 186, 2010; Cuevas and others, G3 7, 2017. That the latter hide 30 % of all cells is inferred from their gains.",
	}
	row := func(scheme, name string, r func(j int) float64) {
		line := []string{wheatSchemes[scheme], name}
		for j := range 4 {
			line = append(line, fmt.Sprintf("%.3f", r(j)))
		}
		t.Rows = append(t.Rows, line)
	}
	for _, scheme := range []string{"cv1", "cv2", "one"} {
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
		if list == nil {
			list = published["cv2"]
		}
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
