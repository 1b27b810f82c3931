package sylvester

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// diagonal is the operator diag(s). Conjugate gradients and sketches from random vectors do on it what they do on any
// matrix of these eigenvalues.
func diagonal(s []float64) linop.Operator {
	return linop.Func{N: len(s), F: func(dst, x blas.General) {
		for i, v := range s {
			out := blas.Row(dst, i)
			for j, x := range blas.Row(x, i) {
				out[j] = v * x
			}
		}
	}}
}

// misleading are spectra of order l that a look at a part of K, or at the first iterations, judges wrongly.
func misleading(l int) map[string][]float64 {
	all := map[string][]float64{}
	add := func(name string, value func(i int) float64) {
		s := make([]float64, l)
		for i := range s {
			s[i] = value(i)
		}
		all[name] = s
	}
	step := func(rank int, low float64) func(int) float64 {
		return func(i int) float64 {
			if i < rank {
				return 1 - 0.5*float64(i)/float64(rank)
			}
			return low
		}
	}
	add("identity", func(int) float64 { return 1 })
	add("zero", func(int) float64 { return 0 })
	for _, rank := range []int{3, 15, 17, 20, 33, 40, 130} {
		add(fmt.Sprintf("rank %d", rank), step(rank, 0))
		add(fmt.Sprintf("plateau of %d", rank), step(rank, 1e-3))
	}
	add("plateaus", func(i int) float64 { return math.Pow(10, -float64(i/60)) })
	add("smooth", func(i int) float64 { return math.Exp(-float64(i) / 8) })
	add("rough", func(i int) float64 { return math.Pow(float64(i+1), -1.2) })
	add("flat and one", func(i int) float64 { return 1e-4 + 1/math.Pow(float64(i+1), 8) })
	add("clusters", func(i int) float64 { return math.Pow(2, -float64(i%12)) * (1 + 1e-9*float64(i)) })
	add("spread evenly", func(i int) float64 { return float64(i+1) / float64(l) })
	add("log spaced", func(i int) float64 { return math.Pow(10, -8*float64(i)/float64(l)) })
	return all
}

// work is what a solve by nystrom costs whose sketch has q columns from the start, and stays so; +Inf beyond most.
func work(q int, sys System, Y blas.General, opt Options, most float64) float64 {
	it := newNystrom(Config{Backend: blas.Default()}, q)
	it.credit, it.limit = math.Inf(-1), most
	s := &solver{frame: frame{own: blas.Default()}, engine: it}
	if _, err := s.Solve(context.Background(), blas.Like(Y), sys, Y, opt); err != nil {
		return math.Inf(1)
	}
	if q == 0 {
		return it.spent
	}
	return it.spent + nativeCosts.growth(Y.Rows, q, 0, false)
}

// TestGuarantee holds the work of a first solve by auto, less one iteration, to what its comment promises beside the
// best of all methods: the cheapest direct method, and iterations behind a sketch of each rank.
func TestGuarantee(t *testing.T) {
	const l = 300
	rng := rand.New(rand.NewPCG(71, 72))
	var all []float64
	for name, s := range misleading(l) {
		for _, n := range []int{1, 80} {
			for _, mu := range []float64{1e-2, 1e-5, 1e-16} {
				for _, tol := range []float64{1e-3, 1e-8} {
					Y := blas.NewGeneral(l, n)
					for i := range Y.Data {
						Y.Data[i] = rng.NormFloat64()
					}
					L := linop.ScaledIdentity(n, 1)
					for j := range L.S {
						L.S[j] = math.Pow(0.9, float64(j))
					}
					sys := System{K: diagonal(s), L: L, Mu: mu}
					opt := Options{Tol: tol}
					chooser := newAuto(Config{Backend: blas.Default()}).(*auto)
					auto := &solver{frame: frame{own: blas.Default()}, engine: chooser}
					direct, D := chooser.direct(&nativeCosts, sys, n, tol)
					res, err := auto.Solve(context.Background(), blas.Like(Y), sys, Y, opt)
					if err != nil && mu > 1e-10 {
						t.Fatalf("%s, %d outputs, μ = %g, tolerance %g: %v", name, n, mu, tol, err)
					}
					spent := chooser.sketched.spent
					if res.Solver == direct.Name() {
						spent += D
					}
					best := D
					for q := 0; q <= l/2; q = max(2*q, firstRank) {
						best = min(best, work(q, sys, Y, Options{Tol: tol}, best))
					}
					one := nativeCosts.sketched.total(1, float64(n), l, l/2)
					limit := 2 * D
					if best <= D/2 {
						limit = 2.2 * best
					}
					if spent > limit+one {
						t.Errorf("%s, %d outputs, μ = %g, tolerance %g: %s takes %.3g, best %.3g, direct %.3g", name, n,
							mu, tol, res.Solver, spent, best, D)
					}
					all = append(all, (spent-one)/best)
				}
			}
		}
	}
	t.Logf("at worst %.3g times the best of all methods, on average %.3g times", slices.Max(all), stat.Mean(all, nil))
}
