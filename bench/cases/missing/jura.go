// This file is the case jura: cadmium in the soil from metals that are cheaper to measure.

package missing

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Register(bench.Case{
		Name:      "jura",
		Topic:     bench.Fields,
		Does:      "cadmium in the soil of 100 sites from nickel and zinc there and 259 other sites",
		Run:       runJura,
		Conclude:  concludeJura,
		Published: juraTable,
	})
}

// Names of the lines of the case.
const (
	juraJoint = "iokl, Cd, Ni and Zn"
	juraAlone = "iokl, Cd alone"
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
		for _, name := range []string{juraAlone, juraJoint} {
			Z := blas.Clone(Y)
			if scale == "logarithm" {
				for i, v := range Z.Data {
					Z.Data[i] = math.Log(v)
				}
			}
			for i := range hidden {
				blas.Row(Z, Z.Rows-hidden+i)[0] = math.NaN()
			}
			if name == juraAlone {
				Z = blas.Clone(blas.View(Z, 0, 0, Z.Rows, 1))
			}
			start := time.Now()
			m, err := iokl.Fit(ctx, blas.Dense(X), blas.Dense(Z), iokl.Options{
				Kernels: juraKernels, Norm: "lp:1",
				Learn: "eta,l", Seed: env.Seed, Backend: env.Backend, IntervalFolds: -1,
			})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			F, err := m.Predict(blas.Dense(X))
			if err != nil {
				return err
			}
			var mae float64
			for i := Y.Rows - hidden; i < Y.Rows; i++ {
				f := F.At(i, 0)
				if scale == "logarithm" {
					f = math.Exp(f)
				}
				mae += math.Abs(f-blas.Row(Y, i)[0]) / float64(hidden)
			}
			r := bench.Result{Name: name, Params: map[string]any{"scale": scale, "sites": Y.Rows, "hidden": hidden}}
			r.Time([]float64{time.Since(start).Seconds()})
			r.Metric("mae", mae)
			env.Log("  %s, %s: mean absolute error %.3f mg/kg", name, scale, mae)
			env.Add(r)
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

// juraPublished holds mean absolute errors of Cd in mg/kg; those of Gaussian processes and cokriging are read
// from a published plot.
var juraPublished = []struct {
	name, scale string
	mae         float64
}{
	{"training mean", "mg/kg", .566},
	{"independent Gaussian process", "mg/kg", .566},
	{"ordinary cokriging", "mg/kg", .510},
	{"convolved Gaussian process", "mg/kg", .447},
	{"least squares on Ni and Zn", "mg/kg", .469},
	{"least squares on Ni and Zn", "logarithm", .414},
}

func juraTable(group []bench.Result) *bench.Table {
	t := &bench.Table{
		Title: "Jura: mean absolute error of cadmium at 100 sites, mg/kg", Head: []string{
			"method", "fitted to", "error",
		},
		Source: "Goovaerts, Geostatistics for Natural Resources Evaluation, 1997; Álvarez and Lawrence, JMLR 12, " +
			"2011; values of their plot read by eye.",
	}
	for _, p := range juraPublished {
		t.Rows = append(t.Rows, []string{p.name, p.scale, fmt.Sprintf("%.3f", p.mae)})
	}
	for _, r := range group {
		t.Rows = append(t.Rows, []string{r.Name, r.Param("scale"), fmt.Sprintf("%.3f", r.Metrics["mae"])})
	}
	return t
}

var concludeJura = bench.Say(`
{{range named "iokl, Cd, Ni and Zn" .}}Cadmium in the Jura, fitted to {{.Param "scale"}}: mean absolute error
{{value "mae" . | printf "%.3f"}} mg/kg.
{{end}}`)
