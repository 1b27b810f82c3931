package bcd

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// psd is a random positive semidefinite matrix of the given rank and mean eigenvalue scale.
func psd(rng *rand.Rand, n, rank int, scale float64) blas.General {
	Z, K := randn(rng, n, rank), blas.NewGeneral(n, n)
	blas.Gemm(blas.Active(), false, true, scale/float64(rank), Z, Z, 0, K)
	return K
}

// awkward has a repeated kernel, an all-zero one, a tiny one and one of rank 1.
func awkward(seed uint64, l, n int) (*linop.GramSum, blas.General) {
	rng := rand.New(rand.NewPCG(seed, 1))
	twin := blas.SymFrom(psd(rng, l, l, 1), blas.Float64)
	terms := []*blas.Sym{
		blas.SymFrom(psd(rng, l, 5, 1), blas.Float64), twin, twin, blas.NewSym(l, blas.Float64),
		blas.SymFrom(psd(rng, l, 8, 1e-9), blas.Float64), blas.SymFrom(psd(rng, l, 1, 3), blas.Float64),
	}
	K := linop.NewGramSum(terms, nil, blas.Float64)
	signal, Y := randn(rng, l, n), randn(rng, l, n)
	K.SetWeights([]float64{1, 0.2, 0, 0, 0, 1})
	K.Apply(Y, signal)
	blas.AddScaled(Y, 0.3, randn(rng, l, n))
	return K, Y
}

var allNorms = []regularizer.Regularizer{
	regularizer.Lp{P: 1},
	regularizer.Lp{P: 1.2},
	regularizer.Lp{P: 1.7},
	regularizer.Lp{P: 2},
	regularizer.BlockR{R: 1},
	regularizer.BlockR{R: 1.3},
	regularizer.ElasticNet{Mix: 0.5},
	regularizer.Groups{Sizes: []int{2, 3, 1}},
	regularizer.Wedge{},
}

// lowRankStart is an output kernel of rank 1, on the boundary of S(τ).
func lowRankStart(n int, tau float64) *linop.Spectral {
	L := &linop.Spectral{V: blas.NewGeneral(n, 1), S: []float64{tau}}
	L.V.Data[0] = 1
	return L
}

func TestReducedConvergesFromAnyStart(t *testing.T) {
	for _, size := range [][2]int{{20, 3}, {12, 1}, {1, 2}} {
		l, n := size[0], size[1]
		K, Y := awkward(uint64(l), l, n)
		for _, reg := range allNorms {
			for name, change := range map[string]func(p *Problem){
				"default":    func(*Problem) {},
				"rank one":   func(p *Problem) { p.L = lowRankStart(n, 3) },
				"one weight": func(p *Problem) { p.Eta = []float64{0, 0, 0, 0, 0, 1} },
				"fixed eta":  func(p *Problem) { p.Model |= Output },
				"fixed L":    func(p *Problem) { p.Model |= Weights },
			} {
				p := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: reg}
				change(p)
				res, err := Solve(context.Background(), p, Options{Tol: 1e-7, MaxOuter: 400, Sylvester: "eigen"})
				if err != nil {
					t.Errorf("l=%d n=%d %v, %s: %v (gaps %g %g)", l, n, reg, name, err, res.GapEta, res.GapL)
					continue
				}
				if !p.Model.fixEta() && math.IsInf(reg.Omega(res.Eta), 1) {
					t.Errorf("l=%d n=%d %v, %s: weights %v outside the domain", l, n, reg, name, res.Eta)
				}
				if !p.Model.fixL() && !(res.L.Trace() <= 3*(1+1e-12)) {
					t.Errorf("l=%d n=%d %v, %s: trace %g", l, n, reg, name, res.L.Trace())
				}
			}
		}
	}
}
