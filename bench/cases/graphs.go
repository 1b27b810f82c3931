package cases

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// network is a set of series with the graph that made them.
type network struct {
	name  string
	data  granger.Data
	truth blas.General // row = target, column = source
}

// graphMethod finds a graph.
type graphMethod struct {
	name string
	find func(ctx context.Context, env *bench.Env, d *granger.Data) (blas.General, error)
}

// graphMethods are package granger without any option, the same with linear kernels,
// and the textbook methods.
var graphMethods = []graphMethod{
	{"kernels", inferred(nil)},
	{"linear kernels, group lasso", inferred([]string{"linear:groups"})},
	{"linear ridge VAR(1)", ridgeVAR},
	{"Granger F test of each pair", pairGraph},
	{"partial correlation given parents", conditionalGraph},
	{"lagged correlation", correlationGraph},
}

func inferred(kernels []string) func(context.Context, *bench.Env, *granger.Data) (blas.General, error) {
	return func(ctx context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
		res, err := granger.Infer(ctx, d, granger.Options{
			Kernels: kernels, HoldOut: -1, Backend: env.Backend, Seed: env.Seed,
		})
		if err != nil {
			return blas.General{}, err
		}
		return res.Graph, nil
	}
}

// runNetworks scores methods on the networks, each with one setting for all.
func runNetworks(ctx context.Context, env *bench.Env, networks []network, methods ...graphMethod) error {
	for _, w := range networks {
		for _, m := range methods {
			params := map[string]any{"network": w.name, "nodes": w.truth.Rows, "rows": w.data.X.Rows}
			var graph blas.General
			r, err := env.Time(m.name, params, func() (err error) {
				graph, err = m.find(ctx, env, &w.data)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			s := granger.Score(graph, w.truth)
			r.Metric("auroc", s.AUROC)
			r.Metric("aupr", s.AUPR)
			r.Metric("auroc_all", s.AUROCAll)
			r.Metric("aupr_all", s.AUPRAll)
		}
	}
	return nil
}

// ridgeVAR regresses every series on the last values of all, λ by generalized
// cross-validation for each, and returns the magnitudes of the coefficients: row =
// target, column = source. One step back is where it does best on these systems.
func ridgeVAR(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	X, Y := pastAndPresent(d, 1)
	data.Standardise(X, blas.General{})
	data.Standardise(Y, blas.General{})
	weights, err := ridgeWeights(env, X, Y)
	if err != nil {
		return blas.General{}, err
	}
	graph := blas.NewGeneral(Y.Cols, Y.Cols)
	for i, w := range weights {
		for j, v := range w {
			blas.Row(graph, i)[j] = math.Abs(v)
		}
	}
	return graph, nil
}

// ridgeWeights are the coefficients of each column of Y on the columns of X, λ by generalized
// cross-validation for each.
func ridgeWeights(env *bench.Env, X, Y blas.General) ([][]float64, error) {
	rows, cols := X.Rows, X.Cols
	k := min(rows, cols)
	U, s, Vt := blas.NewGeneral(rows, k), make([]float64, k), blas.NewGeneral(k, cols)
	if err := env.Backend.SVD(X, s, U, Vt); err != nil {
		return nil, err
	}
	P := blas.Product(env.Backend, true, false, U, Y)
	weights := make([][]float64, Y.Cols)
	for i := range weights {
		weights[i] = gcvCoefficients(s, P, Vt, Y, i)
	}
	return weights, nil
}

// gcvCoefficients are the ridge coefficients of target i at the λ that
// minimises rows·‖y − ŷ‖²/(rows − degrees of freedom)².
func gcvCoefficients(s []float64, P, Vt, Y blas.General, i int) []float64 {
	rows := float64(Y.Rows)
	y := mat.Col(nil, i, blas.Dense(Y))
	yy := blas.Dot(y, y)
	best, w := math.Inf(1), make([]float64, Vt.Cols)
	for e := -6.0; e <= 2; e += 0.25 {
		lambda := math.Pow(10, e) * rows
		freedom, miss := 0.0, yy
		for k, v := range s {
			f, p := v*v/(v*v+lambda), P.Data[k*P.Stride+i]
			freedom += f
			miss -= (1 - (1-f)*(1-f)) * p * p
		}
		score := rows * miss / ((rows - freedom) * (rows - freedom))
		if !(score < best) {
			continue
		}
		best = score
		clear(w)
		for k, v := range s {
			blas.Axpy(v/(v*v+lambda)*P.Data[k*P.Stride+i], blas.Row(Vt, k), w)
		}
	}
	return w
}

// pastAndPresent are the lagged rows of all replicates; no window crosses one.
func pastAndPresent(d *granger.Data, lag int) (X, Y blas.General) {
	N := d.X.Cols
	var xs, ys []float64
	for i := lag; i < d.X.Rows; i++ {
		if d.Replicate != nil && d.Replicate[i] != d.Replicate[i-lag] {
			continue
		}
		for k := 1; k <= lag; k++ {
			xs = append(xs, blas.Row(d.X, i-k)...)
		}
		ys = append(ys, blas.Row(d.X, i)...)
	}
	rows := len(ys) / N
	return blas.General{Rows: rows, Cols: lag * N, Stride: lag * N, Data: xs}, blas.General{
		Rows: rows, Cols: N, Stride: N, Data: ys,
	}
}

// runLorenz96 infers the couplings of simulated Lorenz-96 systems of 20
// variables, and of the data set's ten where it is there.
func runLorenz96(ctx context.Context, env *bench.Env) error {
	var networks []network
	for _, F := range []float64{10, 40} {
		for seed := range bench.Pick[uint64](env, 1, 5) {
			g := granger.Lorenz96(20, bench.Pick(env, 250, 500), F, 0.1, 0.1, env.Seed+seed)
			networks = append(networks, network{fmt.Sprintf("simulated F=%g #%d", F, seed+1), g.Data, g.Truth})
		}
	}
	if err := runNetworks(ctx, env, networks, graphMethods...); err != nil {
		return err
	}
	if err := runLongSeries(ctx, env); err != nil {
		return err
	}
	files, err := lorenzFiles(env)
	if err != nil {
		env.Log("  %v", err) // the simulated systems stand without them
		return nil
	}
	return runNetworks(ctx, env, files[:bench.Pick(env, 1, len(files))], graphMethods...)
}

// runLongSeries infers the same couplings from series too long for kernel
// matrices, in the space of random features.
func runLongSeries(ctx context.Context, env *bench.Env) error {
	features := graphMethod{"50 random features a kernel", inferred([]string{"rff:gaussian:groups:median:50"})}
	var long []network
	for _, T := range bench.Pick(env, []int{1000}, []int{2000, 20000, 100000}) {
		g := granger.Lorenz96(20, T, 40, 0.1, 0.1, env.Seed)
		long = append(long, network{fmt.Sprintf("simulated F=40 T=%d", T), g.Data, g.Truth})
	}
	return runNetworks(ctx, env, long, features)
}

// lorenzFiles reads the data set: five series for each of two forcings.
func lorenzFiles(env *bench.Env) ([]network, error) {
	adjacency, err := data.Read(env, "lorenz96", "adjacency_target_by_source.csv")
	if err != nil {
		return nil, err
	}
	var networks []network
	for _, F := range []string{"F10", "F40"} {
		t, err := data.Read(env, "lorenz96", F+"_T500.csv")
		if err != nil {
			return nil, err
		}
		names := t.Names[2:]
		for set := 1.0; set <= 5; set++ {
			var rows []int
			for i := range t.Data.Rows {
				if blas.Row(t.Data, i)[0] == set {
					rows = append(rows, i)
				}
			}
			X := blas.Clone(blas.View(blas.TakeRows(t.Data, rows), 0, 2, len(rows), len(names)))
			networks = append(networks, network{
				fmt.Sprintf("file %s #%g", F, set),
				granger.Data{Names: names, X: X},
				adjacency.Data,
			})
		}
	}
	return networks, nil
}

// dreamSets are the networks of the data set, smallest first.
var dreamSets = []string{
	"size10_Ecoli1", "size10_Ecoli2", "size10_Yeast1", "size10_Yeast2", "size10_Yeast3",
	"size50_Ecoli2", "size100_Ecoli1", "size100_Yeast2",
}

// runDream3 infers gene networks in silico.
func runDream3(ctx context.Context, env *bench.Env) error {
	var networks []network
	for _, set := range dreamSets[:bench.Pick(env, 5, len(dreamSets))] {
		w, err := dreamNetwork(env, set)
		if err != nil {
			return err
		}
		networks = append(networks, w)
	}
	return runNetworks(ctx, env, networks, graphMethods...)
}

func dreamNetwork(env *bench.Env, set string) (network, error) {
	w := network{name: set}
	t, err := data.Read(env, "dream3", set+"_timeseries.csv")
	if err != nil {
		return w, err
	}
	w.data = granger.Data{Names: t.Names[2:], X: blas.Clone(blas.View(t.Data, 0, 2, t.Data.Rows, t.Data.Cols-2))}
	for i := range t.Data.Rows {
		w.data.Replicate = append(w.data.Replicate, int(blas.Row(t.Data, i)[0]))
	}
	edges, err := data.ReadText(env, "dream3", set+"_edges.csv")
	if err != nil {
		return w, err
	}
	var list []granger.Edge
	for _, e := range edges[1:] {
		list = append(list, granger.Edge{From: e[0], To: e[1]})
	}
	w.truth, err = granger.Truth(w.data.Names, list)
	return w, err
}

// conditioning tests conditional independence by the correlations of l samples of x(t), x(t−1), …, N series each.
type conditioning struct {
	C    blas.General
	N, l int
}

// conditioned has the correlations of the series with those so many steps back, within replicates.
func conditioned(env *bench.Env, d *granger.Data, lag int) conditioning {
	past, Y := pastAndPresent(d, lag)
	all := blas.SideBySide(Y, past)
	data.Standardise(all, blas.General{})
	c := conditioning{blas.NewGeneral(all.Cols, all.Cols), Y.Cols, Y.Rows}
	blas.Gemm(env.Backend, true, false, 1/float64(c.l), all, all, 0, c.C)
	return c
}

// graph has the strength of each edge from x_j(t−1) to x_i(t).
func (c conditioning) graph(strength func(i, j int) float64) (blas.General, error) {
	G := blas.NewGeneral(c.N, c.N)
	for i := range c.N {
		for j := range c.N {
			G.Data[i*c.N+j] = strength(i, j)
		}
	}
	return G, nil
}

// correlationGraph is the correlation of each series with the last value of each, without its sign.
func correlationGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 1)
	return c.graph(func(i, j int) float64 { return math.Abs(c.partial(i, c.N+j, nil)) })
}

// pairGraph is the F statistic, with one lag, of adding source j to the target's own past, F = ρ²(l−3)/(1−ρ²) of their
// partial correlation given that past, and on the diagonal that of the own past. All pairs have the same degrees of
// freedom, so F ranks as the p-value does.
func pairGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 1)
	return c.graph(func(i, j int) float64 {
		var own []int
		if i != j {
			own = []int{c.N + i}
		}
		rho := c.partial(i, c.N+j, own)
		return rho * rho * float64(c.l-2-len(own)) / (1 - rho*rho)
	})
}

// conditionalGraph is |ρ| of x_i(t) and x_j(t−1) given the parents of both, in two stages after PCMCI
// (Runge et al., doi:10.1126/sciadv.aau4996) with partial correlations and one lag.
func conditionalGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 2)
	var before []int // x(t−1)
	for j := range c.N {
		before = append(before, c.N+j)
	}
	parents := make([][]int, c.N)
	for i := range parents {
		parents[i] = c.parents(i, before)
	}
	return c.graph(func(i, j int) float64 {
		var given []int
		for _, p := range parents[i] {
			if p != c.N+j {
				given = append(given, p)
			}
		}
		for _, p := range parents[j] {
			given = append(given, p+c.N) // a step earlier
		}
		return math.Abs(c.partial(i, c.N+j, given))
	})
}

// parents are the candidates that depend on i given any of the strongest 0, 1, 2, … others,
// the strongest first.
func (c conditioning) parents(i int, candidates []int) []int {
	const alpha = 0.2
	for size := 0; size < len(candidates); size++ {
		strength := map[int]float64{}
		var kept []int
		for k, j := range candidates {
			others := slices.Concat(candidates[:k], candidates[k+1:])
			rho := math.Abs(c.partial(i, j, others[:min(size, len(others))]))
			z := math.Atanh(math.Min(rho, 1-1e-12)) * math.Sqrt(math.Max(float64(c.l-size-3), 1))
			if 2*distuv.UnitNormal.Survival(z) <= alpha {
				kept, strength[j] = append(kept, j), rho
			}
		}
		slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(strength[b], strength[a]) })
		candidates = kept
	}
	return candidates
}

// partial is the correlation of a and b given others: −P_ab/√(P_aa·P_bb) of the inverse P of
// their correlation matrix, 0 where that is singular.
func (c conditioning) partial(a, b int, given []int) float64 {
	idx := append([]int{a, b}, given...)
	S := mat.NewSymDense(len(idx), nil)
	for p, i := range idx {
		for q, j := range idx[:p+1] {
			S.SetSym(p, q, c.C.Data[i*c.C.Stride+j])
		}
	}
	var chol mat.Cholesky
	P := mat.NewSymDense(len(idx), nil)
	if !chol.Factorize(S) || chol.InverseTo(P) != nil {
		return 0
	}
	return -P.At(0, 1) / math.Sqrt(P.At(0, 0)*P.At(1, 1))
}
