package cases

import (
	"context"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

// runOperator multiplies a packed Gram matrix into k columns with every backend;
// with OpenBLAS also through its own symmetric and vector routines, since a user
// of it might choose those.
func runOperator(ctx context.Context, env *bench.Env) error {
	l := bench.Pick(env, 1024, 3060)
	sum, err := data.GaussianGram(ctx, env, l)
	if err != nil {
		return err
	}
	dense := blas.NewGeneral(l, l)
	sum.Dense(dense)
	precisions := []blas.Precision{blas.Float64, blas.Float32}
	packed := map[string]blas.Packed{}
	for _, be := range blas.Backends() {
		for _, prec := range precisions {
			p := be.NewPacked(l, prec)
			if be.Name() == "openblas" {
				// by its own routines, which its operator leaves to the native kernels
				p = blas.NewDensePacked(be, l, prec)
			}
			p.Sum([]float64{1}, []*blas.Sym{sum.Term(0)})
			packed[be.Name()+prec.String()] = p
		}
	}
	for _, k := range bench.Pick(env, []int{1, 10, 102}, []int{1, 2, 4, 10, 32, 102, 204}) {
		var all []bench.Contender
		for _, prec := range precisions {
			all = append(all, multipliers(env, packed, dense, prec, k)...)
		}
		slices.SortStableFunc(all, func(a, b bench.Contender) int { // what spins last: fewer waits for it to end
			return strings.Compare(a.Name, b.Name)
		})
		params := map[string]any{"l": l, "k": k, "threads": env.Threads}
		err := env.Race(ctx, productPlan(env), params, all, func(part []bench.Result) {
			for i := range part {
				bytes := 8 * float64(l*l) // what a plain multiply reads
				if p := packed[part[i].Name+part[i].Param("precision")]; p != nil {
					bytes = float64(p.Bytes())
				}
				part[i].Rate(2*float64(l*l*k), bytes)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// multipliers are the ways to compute K·X for k columns.
func multipliers(
	env *bench.Env, packed map[string]blas.Packed, dense blas.General, prec blas.Precision, k int,
) []bench.Contender {
	l := dense.Rows
	X, Y := data.Normal(env.Rand(uint64(k)), l, k), blas.NewGeneral(l, k)
	var all []bench.Contender
	add := func(name string, run func()) {
		all = append(all, bench.Contender{
			Name: name, Params: map[string]any{"precision": prec.String()}, Run: func() error { run(); return nil },
		})
	}
	for _, be := range blas.Backends() {
		p := packed[be.Name()+prec.String()]
		add(be.Name(), func() { p.Mul(Y, X) })
		switch {
		case be.Name() != "openblas" || prec != blas.Float64:
		case k == 1:
			add("openblas dgemv", func() {
				be.Dgemv(blas.Trans, l, l, 1, dense.Data, dense.Stride, X.Data, 1, 0, Y.Data, 1)
			})
		default:
			add("openblas dsymm", func() {
				be.Dsymm(blas.Left, blas.Lower, l, k, 1, dense.Data, dense.Stride, X.Data, X.Stride, 0, Y.Data,
					Y.Stride)
			})
		}
	}
	return all
}
