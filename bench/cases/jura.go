package cases

import (
	"context"
	"math"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

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
