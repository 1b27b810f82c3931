// This file is the case granger-short, and simulates the short series that it finds graphs of.

package causality

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/par"
)

func init() {
	bench.Register(bench.Case{
		Name: "granger-short",
		Does: "graphs of short simulated series of twelve kinds, which the default settings of causal graphs are " +
			"decided on",
		Run:      runShort,
		Minutes:  6,
		Conclude: concludeShort,
	})
}

// shortSystems are the kinds of systems, none with more than 250 samples and ten nodes
// but the one that is larger on purpose.
var shortSystems = []struct {
	name string
	make func(seed uint64) granger.Generated
}{
	{"genes, relaxing", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4, proteins: true}.simulate(seed)
	}},
	{"genes, relaxing, without proteins", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4}.simulate(seed)
	}},
	{"genes, perturbed for half of the time", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4, proteins: true, driven: true}.simulate(seed)
	}},
	{"30 genes, relaxing", func(seed uint64) granger.Generated {
		return genes{N: 30, replicates: 10, proteins: true}.simulate(seed)
	}},
	{"genes and proteins from random levels", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4, proteins: true, random: true}.simulate(seed)
	}},
	{"genes from random levels, proteins at theirs", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4, proteins: true, random: true, equal: true}.simulate(seed)
	}},
	{"genes from random levels, without proteins", func(seed uint64) granger.Generated {
		return genes{N: 10, replicates: 4, random: true}.simulate(seed)
	}},
	{"linear VAR", func(seed uint64) granger.Generated { return granger.LinearVAR(10, 84, 1, 2, 1, seed) }},
	{"nonlinear VAR", func(seed uint64) granger.Generated { return nonlinearVAR(10, 84, false, seed) }},
	{"nonlinear VAR with products", func(seed uint64) granger.Generated { return nonlinearVAR(10, 150, true, seed) }},
	{"Lorenz-96, F = 6", func(seed uint64) granger.Generated { return granger.Lorenz96(8, 150, 6, 0.1, 0.1, seed) }},
	{"Lorenz-96, F = 25", func(seed uint64) granger.Generated { return granger.Lorenz96(12, 250, 25, 0.1, 0.1, seed) }},
}

// shortMethods are those of all graphs, and the default's kernels without that on all nodes.
var shortMethods = append(graphMethods[:len(graphMethods):len(graphMethods)],
	graphMethod{"linear and Gaussian kernels alone", inferred(granger.DefaultKernels)},
	graphMethod{"Gaussian kernels alone", inferred(granger.DefaultKernels[1:])},
)

// runShort finds the graphs of several systems of each kind.
func runShort(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	systems := bench.Pick[int](env, 2, 12)
	var results []bench.Result
	for _, s := range shortSystems {
		graphs := make([]granger.Generated, systems)
		par.For(systems, func(k int) { graphs[k] = s.make(env.Seed + 1000*uint64(k+1)) })
		for _, m := range shortMethods {
			start := time.Now()
			auroc, aupr := make([]float64, systems), make([]float64, systems)
			for k := range graphs {
				G, err := m.find(ctx, env, &graphs[k].Data)
				if err != nil {
					return results, fmt.Errorf("%s, %s: %w", s.name, m.name, err)
				}
				scores := granger.Score(G, graphs[k].Truth)
				auroc[k], aupr[k] = scores.AUROC, scores.AUPR
			}
			r := bench.Result{Name: m.name, Params: map[string]any{
				"system": s.name, "systems": systems, "nodes": graphs[0].Truth.Rows, "rows": graphs[0].Data.X.Rows,
			}}
			r.Time([]float64{time.Since(start).Seconds() / float64(systems)})
			r.Metric("auroc", stat.Mean(auroc, nil))
			r.Metric("auroc_standard_error", stat.StdErr(stat.StdDev(auroc, nil), float64(systems)))
			r.Metric("aupr", stat.Mean(aupr, nil))
			results = append(results, r)
		}
	}
	return results, nil
}

var concludeShort = bench.Say(`
{{$all := .}}{{range names .}}{{$mine := named . $all}}{{.}}: mean AUROC {{values "auroc" $mine | mean | printf "%.3f"}}
({{range $i, $r := $mine}}{{if $i}}, {{end}}{{$r.Param "system"}} {{value "auroc" $r | printf "%.3f"}}{{end}}).
{{end}}`)

// regulator is one input of a gene: it raises or lowers the rate of transcription.
type regulator struct {
	gene                  int
	raises                bool
	half, steepest, basal float64 // concentration of half effect, Hill exponent, and the least factor of the rate
}

// genes is a system of N genes and how it is observed.
type genes struct {
	N, replicates                   int
	proteins, driven, random, equal bool
}

// simulate simulates the genes. Gene i is transcribed at the rate r_i·f_i, where f_i is the product over its zero to
// three regulators of 0.1 + 0.9h or 1 − 0.9h with the Hill function h = p^n/(K^n + p^n), and its transcripts decay:
// dx_i/dt = d_i(r_i·f_i(p) − x_i). With proteins, which are not observed, dp_i/dt = e_i(x_i − p_i); otherwise p = x.
// Each replicate has 21 points over eight mean lifetimes. It starts from the steady state times exp(0.8·N(0,1)) for
// each gene, or, driven, in the steady state with the rates of a third of the genes times exp(1.2·N(0,1)) up to the
// middle. Measurement noise of 0.04·(x_i + 0.1) is added.
//
// Random genes start from levels that are uniform on [0, 1], and so do their proteins, unless these are equal to
// them. They have up to five regulators, 0.8 to 2.4 in the mean of a system, each of which leaves 0 to half of the
// rate; in every second gene 1 − f_i is the product of theirs. Points are 0.12 to 0.4 lifetimes
// apart, and the noise is 0.05 at every level.
func (s genes) simulate(seed uint64) granger.Generated {
	const points, step, inner = 21, 0.4, 8
	N, proteins := s.N, s.proteins
	rng := rand.New(rand.NewPCG(seed, 2009))
	regulators, truth := make([][]regulator, N), blas.NewGeneral(N, N)
	// Few genes regulate many: the weight of gene j as a source falls with its place in a random order.
	place := rng.Perm(N)
	either, many := make([]bool, N), 0.0
	if s.random {
		many = 0.8 + 1.6*rng.Float64()
	}
	for i := range N {
		degree := 0
		if s.random {
			either[i] = rng.IntN(2) == 0
			for u := rng.ExpFloat64(); u < many && degree < 5; u += rng.ExpFloat64() {
				degree++
			}
		} else {
			degree = []int{0, 1, 1, 1, 2, 2, 3}[rng.IntN(7)]
		}
		for range degree {
			j := place[int(float64(N)*math.Pow(rng.Float64(), 1.7))]
			if j == i || truth.Data[i*N+j] != 0 {
				continue
			}
			truth.Data[i*N+j] = 1
			r := regulator{j, rng.Float64() < 0.6, 0.2 + 0.6*rng.Float64(), 1 + 3*rng.Float64(), 0.1}
			if s.random {
				r.half, r.basal = r.half-0.1, math.Max(0, 0.9*rng.Float64()-0.4)
			}
			regulators[i] = append(regulators[i], r)
		}
	}
	rate, decay, turnover := make([]float64, N), make([]float64, N), make([]float64, N)
	for i := range N {
		rate[i], decay[i], turnover[i] = 1, 0.5+rng.Float64(), 0.5+1.5*rng.Float64()
		if s.random {
			decay[i], turnover[i] = 0.3*math.Pow(3.3, rng.Float64()), 0.3*math.Pow(3.3, rng.Float64())
		}
	}
	flow := func(dz, z []float64) {
		x, p := z[:N], z[:N]
		if proteins {
			p = z[N:]
		}
		for i := range N {
			all, none := 1.0, 1.0
			for _, r := range regulators[i] {
				v := math.Pow(math.Max(p[r.gene], 0), r.steepest)
				h := v / (math.Pow(r.half, r.steepest) + v)
				if !r.raises {
					h = 1 - h
				}
				all *= r.basal + (1-r.basal)*h
				none *= (1 - r.basal) * (1 - h)
			}
			if either[i] && len(regulators[i]) > 0 {
				all = 1 - none
			}
			dz[i] = decay[i] * (rate[i]*all - x[i])
			if proteins {
				dz[N+i] = turnover[i] * (x[i] - p[i])
			}
		}
	}
	state := make([]float64, N)
	if proteins {
		state = make([]float64, 2*N)
	}
	for i := range state {
		state[i] = 0.5
	}
	advance := granger.RungeKutta(len(state), flow)
	pass := func(z []float64, intervals int) {
		for range intervals * inner {
			advance(z, step/inner)
		}
	}
	pass(state, 150)
	g := granger.Generated{Data: granger.Data{X: blas.NewGeneral(s.replicates*points, N)}, Truth: truth}
	for i := range N {
		g.Data.Names = append(g.Data.Names, fmt.Sprintf("g%d", i+1))
		truth.Data[i*N+i] = 1
	}
	for r := range s.replicates {
		z := slices.Clone(state)
		switch {
		case s.random:
			for i := range z {
				z[i] = rng.Float64()
			}
			if s.equal {
				copy(z[N:], z[:N])
			}
		case s.driven:
			for range max(1, N/3) {
				rate[rng.IntN(N)] = math.Exp(1.2 * rng.NormFloat64())
			}
		default:
			for i := range N {
				z[i] *= math.Exp(0.8 * rng.NormFloat64())
				if proteins {
					z[N+i] *= math.Exp(0.3 * rng.NormFloat64())
				}
			}
		}
		for t := range points {
			if t == points/2 && s.driven {
				copy(rate, slices.Repeat([]float64{1}, N))
			}
			row := blas.Row(g.Data.X, r*points+t)
			for i := range N {
				noise := 0.04 * (z[i] + 0.1)
				if s.random {
					noise = 0.05
				}
				row[i] = math.Max(0, z[i]+noise*rng.NormFloat64())
			}
			g.Data.Replicate = append(g.Data.Replicate, r)
			pass(z, 1)
		}
	}
	return g
}

// nonlinearVAR simulates x_i(t) = 0.4x_i(t−1) + Σ ±w·f(x_j(t−1)) + 0.5ε with two sources j of
// each i and f one of tanh(2x), 2x²/(1+x²) − 1, x·exp(−x²/2) and |x| − 1, or, with
// products, w·tanh(x_j)·tanh(x_k)·2 of both sources for every second node.
func nonlinearVAR(N, T int, products bool, seed uint64) granger.Generated {
	const burn = 100
	shapes := []func(x float64) float64{
		func(x float64) float64 { return math.Tanh(2 * x) },
		func(x float64) float64 { return 2*x*x/(1+x*x) - 1 },
		func(x float64) float64 { return 2 * x * math.Exp(-x*x/2) },
		func(x float64) float64 { return math.Min(math.Abs(x), 3) - 1 },
	}
	rng := rand.New(rand.NewPCG(seed, 1978))
	g := granger.Generated{Data: granger.Data{X: blas.NewGeneral(T, N)}, Truth: blas.NewGeneral(N, N)}
	type term struct {
		source, shape int
		weight        float64
	}
	terms := make([][2]term, N)
	for i := range N {
		g.Data.Names = append(g.Data.Names, fmt.Sprintf("x%d", i+1))
		g.Truth.Data[i*N+i] = 1
		k := 0
		for _, j := range rng.Perm(N) {
			if j == i || k == 2 {
				continue
			}
			terms[i][k] = term{j, rng.IntN(len(shapes)), math.Copysign(0.3+0.4*rng.Float64(), rng.Float64()-0.5)}
			g.Truth.Data[i*N+j] = 1
			k++
		}
	}
	x, next := make([]float64, N), make([]float64, N)
	for t := range T + burn {
		for i := range N {
			next[i] = 0.4*x[i] + 0.5*rng.NormFloat64()
			a, b := terms[i][0], terms[i][1]
			if products && i%2 == 0 {
				next[i] += 2 * a.weight * math.Tanh(x[a.source]) * math.Tanh(x[b.source]) / 0.5
				continue
			}
			next[i] += a.weight*shapes[a.shape](x[a.source]) + b.weight*shapes[b.shape](x[b.source])
		}
		copy(x, next)
		if t >= burn {
			copy(blas.Row(g.Data.X, t-burn), x)
		}
	}
	return g
}
