package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// gramKernels are those whose Gram matrices are built.
var gramKernels = []string{"linear", "gaussian", "laplacian", "matern32", "chi2"}

// runGram builds the Gram matrices of single kernels with every backend, in turn
// with the lower triangle of X·Xᵀ alone, which goes to memory that is there already. The
// matrices are made in new memory each time, as by a fit, and in old memory too.
// Operations are counted as the product counts them, two for each
// feature of each pair of samples, whatever the kernel does with a pair, so that
// rates compare; bytes are those of the samples read and the matrix written.
func runGram(ctx context.Context, env *Env) ([]Result, error) {
	l := pick(env, 1024, 3060)
	limits := env.Limits()
	var results []Result
	for _, d := range pick(env, []int{40}, []int{10, 40, 100}) {
		rng := env.rng(5)
		X := blas.NewGeneral(l, d)
		for i := range X.Data {
			X.Data[i] = math.Abs(rng.NormFloat64())
		}
		all, err := gramContenders(ctx, env, X)
		if err != nil {
			return results, err
		}
		plan := Plan{Count: env.count(7), Warm: true, Follow: true, MinSample: 10 * time.Millisecond, Budget: 2 * time.Second}
		part, err := race(ctx, plan, map[string]any{"l": l, "d": d, "precision": "float64"}, all)
		product := map[any]float64{} // seconds, by backend
		for i := range part {
			r := &part[i]
			bytes := float64(blas.SymBytes(l, blas.Float64)) + 8*float64(l*d)
			r.rate(float64(l*l)*float64(d), bytes, limits.Peak("float64", env.Threads), limits.Read(bytes, env.Threads))
			r.metric("million_elements_per_second", float64(l)*float64(l+1)/2/r.Seconds/1e6)
			if r.Params["kernel"] == "product" {
				product[r.Params["backend"]] = r.Seconds
			}
			r.metric("of_product", product[r.Params["backend"]]/r.Seconds)
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// gramContenders are the backends computing X·Xᵀ and the Gram matrices of X.
func gramContenders(ctx context.Context, env *Env, X blas.General) ([]contender, error) {
	var all []contender
	add := func(be blas.Backend, kernel, memory string, run func() error) {
		all = append(all, contender{name: be.Name(), params: map[string]any{"kernel": kernel, "memory": memory}, run: run})
	}
	l, d := X.Rows, X.Cols
	G := blas.NewGeneral(l, l)
	for _, be := range blas.Backends() {
		add(be, "product", "old", func() error {
			be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1, X.Data, d, 0, G.Data, l)
			return nil
		})
	}
	into := []*blas.Sym{blas.NewSym(l, blas.Float64)}
	for _, spec := range gramKernels {
		dict, err := kernel.Build([]string{spec + ":all"}, X, nil, env.Seed)
		if err != nil {
			return nil, err
		}
		for _, be := range blas.Backends() {
			add(be, spec, "new", func() error {
				_, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: be})
				return err
			})
			add(be, spec, "old", func() error {
				_, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: be, Into: into})
				return err
			})
		}
	}
	return all, nil
}

// runLanczos finds extremal eigenpairs by Lanczos and by the full
// eigendecomposition with every backend. A multiply with a column counts as 2n²
// operations on the n² elements read, the eigendecomposition as 9n³ on the
// matrix read and written once.
func runLanczos(ctx context.Context, env *Env) ([]Result, error) {
	limits := env.Limits()
	var results []Result
	for _, c := range []struct {
		n     int
		which lanczos.Which
		name  string
	}{
		{102, lanczos.Smallest, "smallest"},
		{500, lanczos.Smallest, "smallest"},
		{pick(env, 1000, 2000), lanczos.Smallest, "smallest"},
		{pick(env, 1000, 2000), lanczos.Largest, "largest"},
	} {
		A := randomSymmetric(env, c.n)
		square := float64(c.n) * float64(c.n)
		var all []contender
		applies := map[string]func() int{} // columns multiplied
		for _, be := range blas.Backends() {
			if be.Name() == "gonum" && c.n > 500 {
				continue // tens of seconds that show nothing new
			}
			op := linop.NewDense(A, be)
			for _, tol := range []float64{1e-3, 1e-10} {
				w, last := new(lanczos.Workspace), new(lanczos.Result)
				name := fmt.Sprintf("%s, lanczos, tolerance %.0e", be.Name(), tol)
				all = append(all, contender{name: name, run: func() (err error) {
					*last, err = w.Eigs(ctx, op, lanczos.Options{Which: c.which, Tol: tol, Seed: env.Seed, Backend: be, MaxIter: 5000})
					return err
				}})
				applies[name] = func() int { return last.Applies }
			}
			all = append(all, contender{name: be.Name() + ", eigendecomposition", run: func() error {
				return be.Syevd(blas.Clone(A), make([]float64, c.n))
			}})
		}
		plan := Plan{Count: env.count(5), Warm: true, MinSample: 5 * time.Millisecond, Budget: 2 * time.Second}
		part, err := race(ctx, plan, map[string]any{"n": c.n, "which": c.name, "precision": "float64"}, all)
		for i := range part {
			flops, bytes := 9*square*float64(c.n), 16*square
			if columns := applies[part[i].Name]; columns != nil {
				k := float64(columns())
				flops, bytes = 2*square*k, 8*square*k
				part[i].metric("columns_multiplied", k)
			}
			part[i].Params["backend"], part[i].Name, _ = strings.Cut(part[i].Name, ", ")
			part[i].rate(flops, bytes, limits.Peak("float64", env.Threads), limits.Read(8*square, env.Threads))
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// randomSymmetric has standard normal elements.
func randomSymmetric(env *Env, n int) blas.General {
	rng := env.rng(uint64(n))
	A := blas.NewGeneral(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			A.Data[i*n+j], A.Data[j*n+i] = v, v
		}
	}
	return A
}

// factorization is a LAPACK routine with the flops it is customary to count.
type factorization struct {
	name  string
	flops func(n float64) float64
	run   func(be blas.Backend, a blas.General) error
}

var factorizations = []factorization{
	{"cholesky", func(n float64) float64 { return n * n * n / 3 }, func(be blas.Backend, a blas.General) error {
		for i := range a.Rows {
			a.Data[i*a.Stride+i] += 4 * float64(a.Rows) // positive definite
		}
		if !be.Potrf(a) {
			return fmt.Errorf("cholesky of order %d: not positive definite", a.Rows)
		}
		return nil
	}},
	{"tridiagonal reduction", func(n float64) float64 { return 4 * n * n * n / 3 }, func(be blas.Backend, a blas.General) error {
		be.Sytrd(a, make([]float64, a.Rows), make([]float64, a.Rows-1), make([]float64, a.Rows-1))
		return nil
	}},
	{"eigendecomposition", func(n float64) float64 { return 9 * n * n * n }, func(be blas.Backend, a blas.General) error {
		return be.Syevd(a, make([]float64, a.Rows))
	}},
}

// runEigen measures the factorizations behind the exact solvers with every
// backend. The share of the memory bandwidth is what moving the matrix once in
// and once out would take: far below 1, so that what limits them is elsewhere.
func runEigen(ctx context.Context, env *Env) ([]Result, error) {
	limits := env.Limits()
	var results []Result
	for _, n := range pick(env, []int{300, 600}, []int{500, 1000, 1500, 3000}) {
		A := randomSymmetric(env, n)
		for _, f := range factorizations {
			var all []contender
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" && n > pick(env, 300, 1000) {
					continue // tens of seconds that show nothing new
				}
				all = append(all, contender{name: be.Name(), run: func() error { return f.run(be, blas.Clone(A)) }})
			}
			plan := Plan{Count: env.count(5), Warm: n < 1000, Budget: 3 * time.Second}
			part, err := race(ctx, plan, map[string]any{"routine": f.name, "n": n, "precision": "float64"}, all)
			for i := range part {
				bytes := 16 * float64(n) * float64(n) // the matrix, read and written once
				part[i].rate(f.flops(float64(n)), bytes, limits.Peak("float64", env.Threads), limits.Read(bytes/2, env.Threads))
			}
			results = append(results, part...)
			if err != nil {
				return results, err
			}
		}
	}
	return results, nil
}
