package cases

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// filler predicts all cells from those of Z that are not NaN.
type filler func(Z blas.General) (*mat.Dense, error)

// runWheat predicts the yields of 599 lines from pedigree and markers. The score is the
// correlation of predicted and observed yields of an environment: over all lines, each
// predicted without its fold, or over the hidden cells of a split, averaged over splits.
// Variance components are those of the cells that a split shows.
func runWheat(ctx context.Context, env *bench.Env) error {
	grams, Y, folds, err := wheatData(env)
	if err != nil {
		return err
	}
	opt := iokl.Options{Learn: "likelihood", Seed: env.Seed, Backend: env.Backend, Tol: 1e-2}
	splits := wheatSplits(env, Y, folds)
	for _, c := range []struct {
		name    string
		predict filler
	}{
		{"iokl, pedigree and markers", func(Z blas.General) (*mat.Dense, error) { return fill(ctx, grams, Z, opt) }},
		{"iokl, each environment alone", func(Z blas.General) (*mat.Dense, error) {
			F := mat.NewDense(Z.Rows, Z.Cols, nil)
			for j := range Z.Cols {
				one, err := fill(ctx, grams, blas.View(Z, 0, j, Z.Rows, 1), opt)
				if err != nil {
					return nil, err
				}
				F.SetCol(j, one.RawMatrix().Data)
			}
			return F, nil
		}},
	} {
		found := make([][]float64, Y.Cols) // correlations in each split
		r, err := env.Time(c.name, map[string]any{"scheme": env.Part, "lines": Y.Rows}, func() error {
			for s, parts := range splits {
				one, err := correlations(Y, parts, c.predict)
				if err != nil {
					return err
				}
				for j, v := range one {
					found[j] = append(found[j], v)
				}
				env.Log("  split %d: %.3f", s+1, one)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for j, v := range found {
			mean, deviation := stat.MeanStdDev(v, nil)
			r.Metric(fmt.Sprintf("r%d", j+1), mean)
			if len(v) > 1 {
				r.Metric(fmt.Sprintf("standard error of r%d", j+1), stat.StdErr(deviation, float64(len(v))))
			}
		}
		env.Log("  %s, %s: %.3f", env.Part, c.name, r.Metrics)
	}
	return nil
}

// wheatSplits are the yields with cells hidden: all lines, fold by fold, or 50 times 30 % of the cells.
func wheatSplits(env *bench.Env, Y blas.General, folds []int) (splits [][]blas.General) {
	if env.Part == "cv1" {
		splits = [][]blas.General{nil}
		for f := range bench.Pick(env, 2, 10) {
			splits[0] = append(splits[0], withoutFold(Y, folds, f+1))
		}
		return splits
	}
	for s := range bench.Pick[uint64](env, 2, 50) {
		splits = append(splits, []blas.General{wheatHidden(Y, rand.New(rand.NewPCG(env.Seed, s)))})
	}
	return splits
}

// wheatWeights are those of pedigree, linear kernel, Gaussian and Gaussian of standardised markers in their mean.
var wheatWeights = [...]float64{0.5, 0.5, 1, 1}

// wheatData returns the Gram matrices of the mean of the kernels, centred and of mean diagonal 1, and of
// the lines themselves; the yields, and the fold of every line.
func wheatData(env *bench.Env) (grams []mat.Matrix, Y blas.General, folds []int, err error) {
	t, err := data.ReadAll(env, "wheat", "A.npy", "X.csv.gz", "Y.csv", "sets.csv")
	if err != nil {
		return nil, Y, nil, err
	}
	pedigree, X, Y, sets := t[0], t[1], t[2], t[3]
	scaled, means := blas.Clone(X), data.Means(X)
	var linear mat.Dense
	for i := range X.Rows {
		for j, p := range means { // a marker is 0 or 1, of variance p(1 − p)
			blas.Row(X, i)[j] -= p
			blas.Row(scaled, i)[j] = blas.Row(X, i)[j] / math.Sqrt(p*(1-p))
		}
	}
	linear.Mul(blas.Dense(X), blas.Dense(X).T())
	kernels := []*mat.Dense{centred(blas.Dense(pedigree)), centred(&linear)}
	for _, Z := range []blas.General{X, scaled} {
		gaussian, err := kernel.Build([]string{"gaussian:all:median*0.5"}, Z, nil, env.Seed)
		if err != nil {
			return nil, Y, nil, err
		}
		G := blas.NewGeneral(Z.Rows, Z.Rows)
		if err := gaussian[0].Cross(G, Z, Z); err != nil {
			return nil, Y, nil, err
		}
		kernels = append(kernels, centred(blas.Dense(G)))
	}
	K, one := mat.NewDense(Y.Rows, Y.Rows, nil), mat.NewDense(Y.Rows, Y.Rows, nil)
	for i := range Y.Rows {
		one.Set(i, i, 1)
	}
	for j, w := range wheatWeights {
		blas.AddScaled(K.RawMatrix(), w, kernels[j].RawMatrix())
	}
	return []mat.Matrix{centred(K), one}, Y, data.Ints(sets.Data), nil
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

// fill predicts all cells by a fit to those of Z.
func fill(ctx context.Context, grams []mat.Matrix, Z blas.General, opt iokl.Options) (*mat.Dense, error) {
	m, err := iokl.FitGram(ctx, grams, blas.Dense(Z), opt)
	if err != nil {
		return nil, err
	}
	return m.PredictGram(grams)
}

// withoutFold is Y without the lines of fold f.
func withoutFold(Y blas.General, folds []int, f int) blas.General {
	Z := blas.Clone(Y)
	for i := range Z.Rows {
		if folds[i] == f {
			blas.Fill(blas.View(Z, i, 0, 1, Z.Cols), math.NaN())
		}
	}
	return Z
}

// wheatHidden hides 30 % of the cells of each environment that Y shows, spread as evenly over the lines as they go, so
// that the other environments of a line stay: each line lacks one or two of four.
func wheatHidden(Y blas.General, rng *rand.Rand) blas.General {
	Z := blas.Clone(Y)
	var lines []int
	for j := range Y.Cols {
		shown := 0
		for i := range Y.Rows {
			if !math.IsNaN(blas.Row(Y, i)[j]) {
				shown++
			}
		}
		for hidden := 0; hidden < 3*shown/10; lines = lines[1:] {
			if len(lines) == 0 {
				lines = rng.Perm(Y.Rows)
			}
			if cell := &blas.Row(Z, lines[0])[j]; !math.IsNaN(*cell) {
				*cell = math.NaN()
				hidden++
			}
		}
	}
	return Z
}

// correlations are those of the yields Y with their predictions in each column, over the cells that some part hides.
func correlations(Y blas.General, parts []blas.General, predict filler) ([]float64, error) {
	p, y := make([][]float64, Y.Cols), make([][]float64, Y.Cols)
	for _, Z := range parts {
		F, err := predict(Z)
		if err != nil {
			return nil, err
		}
		for i := range Y.Rows {
			for j, v := range blas.Row(Y, i) {
				if math.IsNaN(blas.Row(Z, i)[j]) {
					p[j], y[j] = append(p[j], F.At(i, j)), append(y[j], v)
				}
			}
		}
	}
	r := make([]float64, Y.Cols)
	for j := range r {
		r[j] = stat.Correlation(p[j], y[j], nil)
	}
	return r, nil
}

// runJura takes the concentrations of Cd, Ni and Zn at 359 sites as targets, of which Cd is
// missing at the 100 validation sites, and the coordinates as inputs. The score is the
// mean absolute error there, in mg/kg; fits are of the concentrations, or of their logarithms.
func runJura(ctx context.Context, env *bench.Env) error {
	X, Y, hidden, err := juraData(env)
	if err != nil {
		return err
	}
	for _, scale := range []string{"mg/kg", "logarithm"} {
		Z := blas.Clone(Y)
		if scale == "logarithm" {
			for i, v := range Z.Data {
				Z.Data[i] = math.Log(v)
			}
		}
		for i := range hidden {
			blas.Row(Z, Z.Rows-hidden+i)[0] = math.NaN()
		}
		for _, m := range []struct {
			name    string
			targets int
		}{{"iokl, Cd alone", 1}, {"iokl, Cd, Ni and Zn", 3}} {
			var F blas.General
			params := map[string]any{"scale": scale, "sites": Y.Rows, "hidden": hidden}
			r, err := env.Time(m.name, params, func() (err error) {
				F, err = data.FitPredict(ctx, env, X, blas.View(Z, 0, 0, Z.Rows, m.targets), X, iokl.Options{
					Kernels: juraKernels, Norm: "lp:1", Learn: "eta,l", IntervalFolds: -1,
				})
				return err
			})
			if err != nil {
				return err
			}
			var mae float64
			for i := Y.Rows - hidden; i < Y.Rows; i++ {
				f := blas.Row(F, i)[0]
				if scale == "logarithm" {
					f = math.Exp(f)
				}
				mae += math.Abs(f-blas.Row(Y, i)[0]) / float64(hidden)
			}
			r.Metric("mae", mae)
			env.Log("  %s, %s: mean absolute error %.3f mg/kg", m.name, scale, mae)
		}
	}
	return nil
}

// juraKernels are Gaussian and Matérn kernels of the distance of two sites, and one that is 1 for a site
// with itself and next to 0 for others: what is not smooth in space, and common to the metals.
var juraKernels = []string{"gaussian:all:median*0.1,0.3,1", "matern32:all:median*0.1,0.3,1", "gaussian:all:0.001"}

// juraData returns coordinates and concentrations of Cd, Ni and Zn, and how many
// sites, the last ones, are for validation.
func juraData(env *bench.Env) (X, Y blas.General, hidden int, err error) {
	X.Cols, X.Stride, Y.Cols, Y.Stride = 2, 2, 3, 3
	for _, file := range []string{"prediction.csv", "validation.csv"} {
		t, err := data.Read(env, "jura", file, "Xloc", "Yloc", "Cd", "Ni", "Zn")
		if err != nil {
			return X, Y, 0, err
		}
		hidden = t.Data.Rows
		X.Rows, Y.Rows = X.Rows+hidden, Y.Rows+hidden
		for i := range hidden {
			row := blas.Row(t.Data, i)
			X.Data, Y.Data = append(X.Data, row[:2]...), append(Y.Data, row[2:]...)
		}
	}
	return X, Y, hidden, nil
}
