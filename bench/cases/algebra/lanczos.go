// This file is the case lanczos: extremal eigenpairs by Lanczos iteration and by full eigendecompositions.

package algebra

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

func init() {
	bench.Register(bench.Case{
		Name:     "lanczos",
		Does:     "extremal eigenpairs by Lanczos against the full eigendecomposition",
		Run:      runLanczos,
		Conclude: concludeLanczos,
	})
}

// runLanczos finds extremal eigenpairs by Lanczos and by the full
// eigendecomposition with every backend. A multiply with a column counts as 2n²
// operations on the n² elements read, the eigendecomposition as 9n³ on the
// matrix read and written once.
func runLanczos(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	limits := env.Limits()
	var results []bench.Result
	for _, c := range []struct {
		n     int
		which lanczos.Which
		name  string
	}{
		{102, lanczos.Smallest, "smallest"},
		{500, lanczos.Smallest, "smallest"},
		{bench.Pick(env, 1000, 2000), lanczos.Smallest, "smallest"},
		{bench.Pick(env, 1000, 2000), lanczos.Largest, "largest"},
	} {
		A := data.RandomSymmetric(env, c.n)
		square := float64(c.n) * float64(c.n)
		var all []bench.Contender
		applies := map[string]func() int{} // columns multiplied
		for _, be := range blas.Backends() {
			if be.Name() == "gonum" && c.n > 500 {
				continue // tens of seconds that show nothing new
			}
			op := linop.NewDense(A, be)
			for _, tol := range []float64{1e-3, 1e-10} {
				w, last := new(lanczos.Workspace), new(lanczos.Result)
				name := fmt.Sprintf("%s, lanczos, tolerance %.0e", be.Name(), tol)
				all = append(all, bench.Contender{Name: name, Run: func() (err error) {
					*last, err = w.Eigs(ctx, op, lanczos.Options{
						Which: c.which, Tol: tol, Seed: env.Seed, Backend: be, MaxIter: 5000,
					})
					return err
				}})
				applies[name] = func() int { return last.Applies }
			}
			all = append(all, bench.Contender{Name: be.Name() + ", eigendecomposition", Run: func() error {
				return be.Syevd(blas.Clone(A), make([]float64, c.n))
			}})
		}
		plan := bench.Plan{Count: env.Repeats(5), Warm: true, MinSample: 5 * time.Millisecond, Budget: 2 * time.Second}
		part, err := bench.Race(ctx, plan, map[string]any{"n": c.n, "which": c.name, "precision": "float64"}, all)
		for i := range part {
			flops, bytes := 9*square*float64(c.n), 16*square
			if columns := applies[part[i].Name]; columns != nil {
				k := float64(columns())
				flops, bytes = 2*square*k, 8*square*k
				part[i].Metric("columns_multiplied", k)
			}
			part[i].Params["backend"], part[i].Name, _ = strings.Cut(part[i].Name, ", ")
			part[i].Rate(flops, bytes, limits.Peak("float64", env.Threads), limits.Read(8*square, env.Threads))
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// concludeLanczos looks at one backend: pairs would compare one's Lanczos with another's eigendecomposition.
var concludeLanczos = bench.Say(`
{{if .}}{{$all := where "backend" ((index . 0).Param "backend") .}}{{range $name := names $all}}
{{with ratios $name "eigendecomposition" "seconds" $all}}{{if ne $name "eigendecomposition"}}For one extremal eigenpair,
{{$name}}
takes a fraction of the full eigendecomposition's time: it is {{least . | printf "%.2g"}} to {{most . | printf "%.2g"}}
times faster.
{{end}}{{end}}{{end}}{{end}}`)
