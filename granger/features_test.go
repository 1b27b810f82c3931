package granger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
)

// sampleStudy is a study in sample space, whatever the kernels.
func sampleStudy(t *testing.T, d *Data, opt Options) *Study {
	t.Helper()
	s, err := NewStudy(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	g := s.e.design
	terms, err := g.grams(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s.e = &engine{design: g, terms: terms}
	return s
}

// Linear kernels have exact features: both spaces find the same fits, forecasts,
// resamples and gains, for scalar nodes and for groups.
func TestFeatureSpaceIsSampleSpace(t *testing.T) {
	g := LinearVAR(6, 150, 2, 1, 1, 5)
	groups := g.Data
	for i := range 3 {
		groups.Nodes = append(groups.Nodes, Node{Name: fmt.Sprint("n", i), Series: []int{2 * i, 2*i + 1}})
	}
	for name, d := range map[string]*Data{"scalar": &g.Data, "groups": &groups} {
		t.Run(name, func(t *testing.T) {
			opt := Options{
				Lag: 2, Kernels: []string{"linear:groups"}, Tol: 1e-5, MaxIter: 5000, Lambda: 0.05, FixL: true,
			}
			features, err := NewStudy(context.Background(), d, opt)
			if err != nil {
				t.Fatal(err)
			}
			if features.e.maps == nil {
				t.Fatal("linear kernels on 12 columns are not fitted in feature space")
			}
			samples := sampleStudy(t, d, opt)
			compareStudies(t, features, samples)
		})
	}
}

func compareStudies(t *testing.T, features, samples *Study) {
	t.Helper()
	bg := context.Background()
	a, err := features.Infer(bg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := samples.Infer(bg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Fits {
		f, s := a.Fits[i], b.Fits[i]
		if !(f.RelativeGap <= 1e-5) || !(math.Abs(f.Objective-s.Objective) <= 3e-5*s.Objective) {
			t.Errorf("node %d: objectives %.8g and %.8g, gap %.2g", i, f.Objective, s.Objective, f.RelativeGap)
		}
		if !(math.Abs(f.RMSE-s.RMSE) <= 2e-3*s.RMSE) || f.RMSEOwn != s.RMSEOwn {
			t.Errorf("node %d: RMSE %.6g and %.6g, own %.6g and %.6g", i, f.RMSE, s.RMSE, f.RMSEOwn, s.RMSEOwn)
		}
	}
	for k, v := range a.Graph.Data {
		if !(math.Abs(v-b.Graph.Data[k]) <= 0.02) ||
			!(math.Abs(a.Norms.Data[k]-b.Norms.Data[k]) <= 0.02*(1+b.Norms.Data[k])) {
			t.Errorf("entry %d: strengths %.4g and %.4g, norms %.4g and %.4g", k, v, b.Graph.Data[k], a.Norms.Data[k],
				b.Norms.Data[k])
		}
	}
	own, err := features.Improvement(bg)
	if err != nil {
		t.Fatal(err)
	}
	want, err := samples.Improvement(bg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range own {
		if !(math.Abs(own[i].Own-want[i].Own) <= 2e-3*want[i].Own) {
			t.Errorf("node %d: own past %.6g and %.6g", i, own[i].Own, want[i].Own)
		}
	}
	for _, run := range []func(s *Study) (Counts, error){
		func(s *Study) (Counts, error) { return s.Stability(bg, 1, Rounds{To: 3}) },
		func(s *Study) (Counts, error) { return s.Null(bg, Rounds{To: 3}) },
	} {
		x, err := run(features)
		if err != nil {
			t.Fatal(err)
		}
		y, err := run(samples)
		if err != nil {
			t.Fatal(err)
		}
		differ := 0.0
		for k, v := range x.Count.Data {
			if b.Norms.Data[k] > 0.1*slices.Max(b.Norms.Data) { // near ties of small ones may fall either way
				differ += math.Abs(v - y.Count.Data[k])
			}
		}
		if differ > 1 {
			t.Errorf("%s: counts %v and %v", x.Of, x.Count.Data, y.Count.Data)
		}
	}
}

// Random features find the graph that the exact kernels find, the better the more there are.
func TestRandomFeatures(t *testing.T) {
	g := Lorenz96(6, 200, 10, 0.1, 0.1, 1)
	exact, err := Infer(context.Background(), &g.Data, Options{Kernels: []string{"gaussian:groups:median"}})
	if err != nil {
		t.Fatal(err)
	}
	distance := func(count int) float64 {
		opt := Options{Kernels: []string{fmt.Sprintf("rff:gaussian:groups:median:%d", count)}, Seed: 3}
		random, err := Infer(context.Background(), &g.Data, opt)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range random.Fits {
			if !(math.Abs(f.RMSE-exact.Fits[i].RMSE) <= 0.05*f.RMSE) {
				t.Errorf("%d features, node %d: RMSE %.4f, with the exact kernels %.4f", count, i, f.RMSE,
					exact.Fits[i].RMSE)
			}
		}
		var sum float64
		for k, v := range random.Graph.Data {
			sum += math.Abs(v-exact.Graph.Data[k]) / float64(len(random.Graph.Data))
		}
		return sum
	}
	few, many := distance(16), distance(160)
	if t.Logf("mean difference of strengths %.4f with 16 features, %.4f with 160", few, many); !(many <= 0.03) ||
		!(many <= few/1.5) {
		t.Errorf("mean difference of strengths %.4f with 16 features, %.4f with 160", few, many)
	}
	opt := Options{Kernels: []string{"rff:gaussian:groups:median:60"}, Seed: 3}
	opt.MaxBytes = 1 << 20
	if _, err := Infer(context.Background(), &g.Data, opt); !errors.Is(err, ErrMemory) {
		t.Errorf("360 features in 1 MiB: %v", err)
	}
	opt = Options{Kernels: []string{"rff:gaussian:groups:median:60", "gaussian:groups"}}
	if _, err := Infer(context.Background(), &g.Data, opt); !errors.Is(err, ErrOption) {
		t.Errorf("exact kernels beside random features: %v", err)
	}
	// A series that its own past explains leaves nothing.
	for i := range g.Data.X.Rows {
		blas.Row(g.Data.X, i)[0] = float64(i)
	}
	opt.Kernels = opt.Kernels[:1]
	res, err := Infer(context.Background(), &g.Data, opt)
	if err != nil || res.Graph.Data[0] != 1 || res.Graph.Data[1] != 0 || !(res.Fits[0].RMSE <= 1e-9) {
		t.Errorf("%v: strengths %v", err, blas.Row(res.Graph, 0))
	}
}
