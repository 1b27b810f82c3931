package granger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

var bg = context.Background()

// One default setting finds the graphs of three kinds of systems.
func TestKnownSystems(t *testing.T) {
	for _, c := range []struct {
		name             string
		g                granger.Generated
		auroc, auprAll   float64
		aurocAll         float64
		rmseBelowOwnPart bool
	}{
		{"Lorenz-96, F = 10", granger.Lorenz96(20, 500, 10, 0.1, 0.1, 0), .98, .98, .99, true},
		{"Lorenz-96, F = 40", granger.Lorenz96(20, 500, 40, 0.1, 0.1, 0), .96, .93, .97, true},
		{"Lotka-Volterra", lotkaVolterra(4, 2, 600, 1), .95, .95, .95, true},
		{"linear VAR", granger.LinearVAR(10, 400, 1, 2, 1, 3), .95, .93, .95, true},
	} {
		if testing.Short() && len(c.g.Data.Names) == 20 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			res, err := granger.Infer(bg, &c.g.Data, granger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := granger.Score(res.Graph, c.g.Truth)
			if !(s.AUROC >= c.auroc) || !(s.AUROCAll >= c.aurocAll) || !(s.AUPRAll >= c.auprAll) {
				t.Errorf("%+v", s)
			}
			var rmse, own float64
			for _, f := range res.Fits {
				if f.RelativeGap > 0.005 && f.Iter < 50 {
					t.Errorf("node %s: gap %g after %d iterations", f.Node, f.RelativeGap, f.Iter)
				}
				rmse, own = rmse+f.RMSE, own+f.RMSEOwn
			}
			if c.rmseBelowOwnPart && !(rmse < own) {
				t.Errorf("mean RMSE %g, of the own past alone %g", rmse/float64(len(res.Fits)),
					own/float64(len(res.Fits)))
			}
			t.Logf("%+v, RMSE %.3f, own past alone %.3f", s, rmse/float64(len(res.Fits)), own/float64(len(res.Fits)))
		})
	}
}

// Nodes of several series, with the output kernel learned.
func TestGroups(t *testing.T) {
	g := granger.LinearVAR(3, 300, 1, 1, 1, 11)
	// Every variable appears twice, the second time with noise.
	rng := rand.New(rand.NewPCG(1, 1))
	d := granger.Data{X: blas.NewGeneral(300, 6)}
	for i := range 3 {
		d.Names = append(d.Names, fmt.Sprint("a", i), fmt.Sprint("b", i))
		d.Nodes = append(d.Nodes, granger.Node{Name: fmt.Sprint("node", i), Series: []int{2 * i, 2*i + 1}})
		for t := range 300 {
			v := g.Data.X.Data[t*3+i]
			d.X.Data[t*6+2*i], d.X.Data[t*6+2*i+1] = v, v+0.3*rng.NormFloat64()
		}
	}
	for _, fixL := range []bool{false, true} {
		res, err := granger.Infer(bg, &d, granger.Options{FixL: fixL})
		if err != nil {
			t.Fatal(err)
		}
		if s := granger.Score(res.Graph, g.Truth); !(s.AUROC == 1) {
			t.Errorf("graph %v, truth %v", res.Graph.Data, g.Truth.Data)
		}
		for _, f := range res.Fits {
			if f.L == nil || !(math.Abs(f.L.Trace()-2) <= 1e-8 || !fixL && f.L.Trace() < 2) {
				t.Errorf("L of %s: %+v", f.Node, f.L)
			}
		}
		if b, err := json.Marshal(res); err != nil || !strings.Contains(string(b), `"l":[[`) {
			t.Errorf("JSON: %v", err)
		}
	}
}

// An edge is the sum over the kernels of its source: of their weights, and of the norms
// of their parts. Own linear history that is free adds 1 to the diagonal.
func TestGraphAddsKernelsUp(t *testing.T) {
	g := granger.LinearVAR(3, 120, 1, 1, 1, 4)
	res, err := granger.Infer(bg, &g.Data, granger.Options{Kernels: []string{
		"gaussian:groups:median*0.5,2",
		"linear:groups",
	}, Lambda: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Kernels) != 9 {
		t.Fatalf("kernels %v", res.Kernels)
	}
	several := false
	for i, f := range res.Fits {
		weights, norms := make([]float64, 3), make([]float64, 3)
		weights[i] = 1
		kept := make([]int, 3)
		for k, source := range res.Source {
			weights[source] += f.Eta[k]
			norms[source] += f.Norms[k]
			if f.Eta[k] > 1e-3 {
				kept[source]++
			}
		}
		several = several || slices.Max(kept) > 1
		for j := range 3 {
			if d := math.Abs(res.Graph.Data[3*i+j] - weights[j]); !(d <= 1e-14) {
				t.Errorf("G[%d,%d] is off the sum of weights by %g", i, j, d)
			}
			if d := math.Abs(res.Norms.Data[3*i+j] - norms[j]); !(d <= 1e-14) {
				t.Errorf("norm [%d,%d] is off the sum by %g", i, j, d)
			}
		}
	}
	if !several {
		t.Errorf("no source has two kernels of weight, the test says nothing")
	}
}

func TestCrossValidation(t *testing.T) {
	g := granger.LinearVAR(4, 200, 1, 1, 1, 2)
	for _, perNode := range []bool{false, true} {
		res, err := granger.Infer(bg, &g.Data, granger.Options{Lambdas: []float64{1e-7, 0.1, 1e5}, PerNode: perNode})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Fits {
			if f.Lambda != 0.1 {
				t.Errorf("per node %v: λ = %g of node %s", perNode, f.Lambda, f.Node)
			}
		}
	}
}

func TestSameForAnyThreads(t *testing.T) {
	g := granger.Lorenz96(6, 120, 10, 0.1, 0.1, 1)
	var want *granger.Result
	for _, threads := range []int{1, 3} {
		old := runtime.GOMAXPROCS(threads)
		res, err := granger.Infer(bg, &g.Data, granger.Options{})
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = res
		}
		for k, v := range res.Graph.Data {
			if v != want.Graph.Data[k] {
				t.Fatalf("%d threads: entry %d is %g, want %g", threads, k, v, want.Graph.Data[k])
			}
		}
	}
}
