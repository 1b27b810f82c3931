package sylvester

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/lapack"
	"github.com/iokl/iokl/linop"
)

// BenchmarkCosts times what costs predicts, on this machine, and prints the constants that fit it. Three rounds do,
// as by -benchtime 3x. The ratios of predicted to measured times should be alike.
func BenchmarkCosts(b *testing.B) {
	be := blas.Default()
	c, ctx, rng := costsOf(be), context.Background(), rand.New(rand.NewPCG(1, 2))
	var eigen, byVectors, factor, reduce, reflect, sketches, plain, sketched fitted
	for _, l := range []int{250, 350, 500, 700, 1000, 1400, 2000, 2800, 4000} {
		K, fl := GaussianKernel(rng, l, 10, 0.05, be), float64(l)
		two := 0.
		if l >= lapack.TwoStageFrom {
			two = 1
		}
		// run times f, and returns the least time.
		run := func(name string, f func() (predicted float64)) (least float64) {
			least = math.Inf(1)
			b.Run(fmt.Sprintf("op=%s/l=%d", name, l), func(b *testing.B) {
				predicted := 0.
				for b.Loop() {
					start := time.Now()
					predicted = f()
					least = min(least, float64(time.Since(start).Nanoseconds()))
				}
				b.ReportMetric(predicted/least, "predicted/measured")
			})
			return least
		}
		made := func(name string) Solver {
			s, err := New(name, Config{Backend: be})
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
		solve := func(s Solver, L *linop.Spectral, lambda float64) Result {
			Y := blas.NewGeneral(l, L.Dim())
			for i := range Y.Data {
				Y.Data[i] = rng.NormFloat64()
			}
			sys := System{K: K, L: L, Mu: lambda * fl}
			res, err := s.Solve(ctx, blas.NewGeneral(l, L.Dim()), sys, Y, Options{Tol: 1e-6})
			if err != nil {
				b.Fatal(err)
			}
			return res
		}
		once := linop.ScaledIdentity(1, 1)
		ns := run("eigen", func() float64 {
			if _, err := Decompose(ctx, K, be); err != nil {
				b.Fatal(err)
			}
			return c.eigendecomposition(l, 0, false)
		})
		eigen.add(ns, fl*fl, fl*fl*fl, fl*fl*fl*min(cacheExcess(l), 2))
		for _, n := range []int{1, 100} {
			for _, shifts := range []int{1, 3} {
				L := linop.ScaledIdentity(max(n, shifts), 1)
				for i := range L.S {
					L.S[i] = 1 / float64(1+i*shifts/len(L.S))
				}
				ns = run(fmt.Sprintf("cholesky/n=%d/shifts=%d", L.Dim(), shifts), func() float64 {
					solve(made("cholesky"), L, 1e-4)
					return c.cholesky(l, L.Dim(), shifts)
				})
				factor.add(ns, fl*fl, float64(shifts)*fl*fl, float64(shifts)*fl*fl*fl, fl*fl*float64(L.Dim()))
			}
		}
		tridiagonal, vectors := made("tridiagonal"), made("eigen")
		solve(tridiagonal, once, 1e-4)
		solve(vectors, once, 1e-4)
		kept := 0.
		for _, n := range []int{1, 30, 300} {
			L, r := linop.ScaledIdentity(n, 1), float64(n)
			ns = run(fmt.Sprintf("tridiagonal, kept/n=%d", n), func() float64 {
				solve(tridiagonal, L, 1e-4)
				return c.tridiagonal(l, n, true)
			})
			reflect.add(ns, fl, fl*fl*(1-two), fl*fl*two, r*fl*fl*(1-two), r*fl*fl*two)
			if n == 1 {
				kept = ns
			}
			ns = run(fmt.Sprintf("eigen, kept/n=%d", n), func() float64 {
				solve(vectors, L, 1e-4)
				return c.eigendecomposition(l, n, true)
			})
			byVectors.add(ns, r*fl*fl)
		}
		ns = run("tridiagonal/n=1", func() float64 {
			solve(made("tridiagonal"), once, 1e-4)
			return c.tridiagonal(l, 1, false)
		})
		reduce.add(ns-kept, fl, fl*fl, fl*fl*fl)
		for _, q := range []int{16, 32, 64, 128} {
			ns = run(fmt.Sprintf("sketch/q=%d", q), func() float64 {
				s := sketch{be: be, seed: 1}
				if _, err := s.grow(ctx, K, q); err != nil {
					b.Fatal(err)
				}
				return c.growth(l, q, 0, false)
			})
			fq := float64(q)
			sketches.add(ns, 1, fl*fq, fl*fl*fq, fl*fq*fq, fq*fq)
		}
		memory := min(max(fl/1000-2, 0), 1)
		for _, n := range []int{1, 3, 10, 30, 100, 300} {
			L := linop.ScaledIdentity(n, 1)
			var passes, columns float64
			ns = run(fmt.Sprintf("plain/n=%d", n), func() float64 {
				res := solve(made("rotated"), L, 1e-2)
				passes, columns = float64(res.Iter), float64(res.Columns)
				return c.plain.total(passes, columns, fl, 0)
			})
			plain.add(ns, passes, passes*fl*fl, passes*fl*fl*memory, columns*fl*fl, columns*fl)
			s := made("nystrom").(*solver)
			solve(s, L, 1e-3)
			q := float64(s.engine.(*nystrom).sk.Q.Cols)
			ns = run(fmt.Sprintf("sketched/n=%d/q=%g", n, q), func() float64 {
				res := solve(s, L, 1e-3)
				passes, columns = float64(res.Iter), float64(res.Columns)
				return c.sketched.total(passes, columns, fl, q)
			})
			sketched.add(ns, passes, passes*fl*fl, passes*fl*fl*memory, columns*fl*fl, columns*fl, passes*fl*q,
				columns*fl*q)
		}
	}
	for _, group := range []struct {
		name string
		*fitted
	}{
		{"plain: pass 0 1 2, column 0 1", &plain},
		{"sketched: pass 0 1 2, column 0 1, passSketch, columnSketch", &sketched},
		{"sketch 0 1 2 3 4", &sketches},
		{"factor 0 1 2, byFactor", &factor},
		{"reduce 0 1 2", &reduce},
		{"eigen 0 1 2", &eigen},
		{"byVectors", &byVectors},
		{"perReflector, readReflectors 0 1, byReflectors 0 1", &reflect},
	} {
		x, off := group.solve()
		fmt.Printf("%s: %.3g (off by %.2g)\n", group.name, x, off)
	}
}

// fitted is times as sums of terms with coefficients ≥ 0.
type fitted struct {
	terms [][]float64 // over the time
}

func (f *fitted) add(ns float64, terms ...float64) {
	for i := range terms {
		terms[i] /= ns
	}
	f.terms = append(f.terms, terms)
}

// solve minimizes the squares of relative errors by coordinates, and returns the root of their mean.
func (f *fitted) solve() (x []float64, off float64) {
	x = make([]float64, len(f.terms[0]))
	for range 100000 {
		for j := range x {
			var num, den float64
			for _, t := range f.terms {
				rest := 1 - blas.Dot(t, x) + t[j]*x[j]
				num, den = num+rest*t[j], den+t[j]*t[j]
			}
			x[j] = max(num/den, 0)
		}
	}
	for _, t := range f.terms {
		off += square(1 - blas.Dot(t, x))
	}
	return x, math.Sqrt(off / float64(len(f.terms)))
}

// GaussianKernel is the Gram matrix exp(−γ‖x−z‖²) of l normal points in d dimensions.
func GaussianKernel(rng *rand.Rand, l, d int, gamma float64, be blas.Backend) *linop.GramSum {
	X := blas.NewGeneral(l, d)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	K := blas.NewGeneral(l, l)
	blas.Mul(be, K, false, true, X, X)
	sq := make([]float64, l)
	for i := range sq {
		sq[i] = K.Data[i*l+i]
	}
	for i := range l {
		row := blas.Row(K, i)
		for j, v := range row {
			row[j] = math.Exp(-gamma * (sq[i] + sq[j] - 2*v))
		}
	}
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, be, blas.Float64)
	sum.SetWeights([]float64{1})
	return sum
}
