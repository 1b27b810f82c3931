package granger

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

// product has c driven by the product of the past of a and b, of which neither alone
// tells anything, and d by nothing.
func product(T int) *Data {
	rng := rand.New(rand.NewPCG(5, 5))
	d := &Data{Names: []string{"a", "b", "c", "d"}, X: blas.NewGeneral(T, 4)}
	for t := range T {
		x := blas.Row(d.X, t)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		if t > 0 {
			x[2] = d.X.Data[(t-1)*4]*d.X.Data[(t-1)*4+1] + 0.2*x[2]
		}
	}
	return d
}

// Sources that act by a product alone are found, and nothing else is.
func TestJoint(t *testing.T) {
	res, err := Infer(context.Background(), product(300), Options{HoldOut: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		for j, v := range blas.Row(res.Joint, i) {
			switch edge := i == 2 && j < 2; {
			case edge && !(v > 0.2):
				t.Errorf("the joint kernel gives %g to the edge %d → %d", v, j, i)
			case !edge && !(v <= 0.05):
				t.Errorf("the joint kernel gives %g to %d → %d, which is no edge", v, j, i)
			case !(v >= 0) || i == j && v != 0:
				t.Errorf("entry %d, %d is %g", i, j, v)
			}
			eta := 0.0
			for k, source := range res.Source {
				if source == j {
					eta += res.Fits[i].Eta[k]
				}
			}
			if i == j {
				eta++ // own linear history is free
			}
			if got := res.Graph.Data[4*i+j]; !(math.Abs(got-eta-v) <= 1e-14) {
				t.Errorf("entry %d, %d of the graph is %g, the weights are %g and %g", i, j, got, eta, v)
			}
		}
	}
}

// The joint kernel goes with the default dictionary of scalar nodes alone.
func TestJointOnlyByDefault(t *testing.T) {
	d := product(60)
	nodes, err := Group(d.Names, [][2]string{{"a", "x"}, {"b", "x"}, {"c", "y"}, {"d", "z"}})
	if err != nil {
		t.Fatal(err)
	}
	grouped := *d
	grouped.Nodes = nodes
	for name, c := range map[string]struct {
		d   *Data
		opt Options
	}{
		"kernels":   {d, Options{Kernels: DefaultKernels}},
		"nonlinear": {d, Options{Nonlinear: true}}, "groups": {&grouped, Options{}},
	} {
		res, err := Infer(context.Background(), c.d, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if blas.Frob(res.Joint) != 0 {
			t.Errorf("%s: the joint kernel gives %v", name, res.Joint.Data)
		}
	}
}

// Long series take random features, and find the same graph.
func TestLongSeries(t *testing.T) {
	g := LinearVAR(6, 2100, 1, 2, 1, 4)
	s, err := NewStudy(context.Background(), &g.Data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.e.maps == nil {
		t.Error("the fit is not in feature space")
	}
	res, err := s.Infer(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a := Score(res.Graph, g.Truth).AUROC; !(a == 1) {
		t.Errorf("AUROC %g", a)
	}
}

// What a source does in the model is found again after its lag and in its direction,
// and shocks that are shared within a step are named.
func TestResponses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	d := &Data{Names: []string{"a", "b", "c"}, X: blas.NewGeneral(300, 3)}
	for i := range 300 {
		x, shared := blas.Row(d.X, i), rng.NormFloat64()
		x[0], x[1], x[2] = rng.NormFloat64(), 0.3*rng.NormFloat64(), shared
		x[0] += 2 * shared
		if i > 1 {
			x[1] -= d.X.Data[(i-2)*3]
		}
	}
	for name, kernels := range map[string][]string{"exact": nil, "features": {"rff:gaussian:groups:median:60"}} {
		s, err := NewStudy(context.Background(), d, Options{Lag: 3, Kernels: kernels})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Infer(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		links := res.Links(0)
		all, err := s.Responses(context.Background(), links[:1])
		if err != nil {
			t.Fatal(err)
		}
		r := all[0]
		if r.From != "a" || r.To != "b" || r.Delay != 2 || !(r.Effect[0] > 0.5) ||
			!(r.Effect[len(r.Effect)-1] < -0.5) || !(r.At[0] < r.At[1]) {
			t.Errorf("%s: %+v", name, r)
		}
		pairs, err := s.Simultaneous(context.Background(), 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if len(pairs) != 1 || pairs[0].A != "a" || pairs[0].B != "c" || !(pairs[0].Correlation > 0.7) {
			t.Errorf("%s: together %+v", name, pairs)
		}
	}
}
