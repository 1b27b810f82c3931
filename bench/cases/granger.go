package cases

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

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

// infer scores methods on the network, each with one setting for all networks.
func (w *network) infer(ctx context.Context, env *bench.Env, methods ...graphMethod) error {
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

// runNetworks scores all networks.
func runNetworks(ctx context.Context, env *bench.Env, networks []network) error {
	for i := range networks {
		if err := networks[i].infer(ctx, env, graphMethods...); err != nil {
			return err
		}
	}
	return nil
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
	if err := runNetworks(ctx, env, networks); err != nil {
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
	return runNetworks(ctx, env, files[:bench.Pick(env, 1, len(files))])
}

// runLongSeries infers the same couplings from series too long for kernel
// matrices, in the space of random features.
func runLongSeries(ctx context.Context, env *bench.Env) error {
	features := graphMethod{"50 random features a kernel", inferred([]string{"rff:gaussian:groups:median:50"})}
	for _, T := range bench.Pick(env, []int{1000}, []int{2000, 20000, 100000}) {
		g := granger.Lorenz96(20, T, 40, 0.1, 0.1, env.Seed)
		w := network{fmt.Sprintf("simulated F=40 T=%d", T), g.Data, g.Truth}
		if err := w.infer(ctx, env, features); err != nil {
			return err
		}
	}
	return nil
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
	return runNetworks(ctx, env, networks)
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
