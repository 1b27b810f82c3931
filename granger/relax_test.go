package granger

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// relaxing has replicates that start from random levels: a drives b, b lowers c, and d is alone.
func relaxing(replicates int, noise float64) *Data {
	const points, inner = 21, 8
	rng := rand.New(rand.NewPCG(4, 21))
	d := &Data{Names: []string{"a", "b", "c", "d"}, X: blas.NewGeneral(replicates*points, 4)}
	advance := RungeKutta(4, func(dz, z []float64) {
		dz[0] = 0.3 * (0.2 - z[0])
		dz[1] = 0.25 * (z[0] - z[1])
		dz[2] = 0.35 * (1 - 0.9*z[1] - z[2])
		dz[3] = 0.2 * (0.5 - z[3])
	})
	z := make([]float64, 4)
	for t := range d.X.Rows {
		if t%points == 0 {
			for j := range z {
				z[j] = rng.Float64()
			}
		}
		for j := range z {
			d.X.Data[4*t+j] = z[j] + noise*rng.NormFloat64()
		}
		d.Replicate = append(d.Replicate, t/points)
		for range inner {
			advance(z, 1.0/inner)
		}
	}
	return d
}

// Relaxations are found in replicates that relax, with gaps and in any units, and nowhere else.
func TestRelaxing(t *testing.T) {
	var (
		single = relaxing(1, 0.03)
		gaps   = relaxing(6, 0.03)
		units  = relaxing(4, 0.03)
		steps  = LinearVAR(4, 84, 1, 1, 1, 3).Data // four stretches of a stationary process
	)
	for t := 12; t < gaps.X.Rows; t += 42 {
		gaps.X.Data[4*t+1] = math.NaN()
	}
	for k := range units.X.Data {
		units.X.Data[k] = 1e9 * (units.X.Data[k] + 10)
	}
	for t := range steps.X.Rows {
		steps.Replicate = append(steps.Replicate, t/21)
	}
	other := LinearVAR(10, 84, 1, 2, 1, 5).Data
	other.Replicate = steps.Replicate
	graphs := map[string]blas.General{}
	for name, c := range map[string]struct {
		d    *Data
		opt  Options
		want bool
	}{
		"relaxing": {relaxing(4, 0.03), Options{}, true}, "gaps": {gaps, Options{}, true},
		"units": {units, Options{}, true}, "no noise": {relaxing(4, 0), Options{}, false},
		"two lags": {relaxing(4, 0.03), Options{Lag: 2}, true}, "one replicate": {single, Options{}, false},
		"stationary": {&steps, Options{}, false}, "ten stationary": {&other, Options{}, false},
		"own kernels": {relaxing(4, 0.03), Options{Kernels: DefaultKernels}, false},
	} {
		c.opt.HoldOut = -1
		res, err := Infer(context.Background(), c.d, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		graphs[name] = res.Graph
		if res.Relaxing != c.want {
			t.Errorf("%s: relaxing is %t", name, res.Relaxing)
		}
		links := res.Links(0)
		if apart := res.Probability.Rows > 0; apart != c.want || links[0].Probability == nil == c.want {
			t.Errorf("%s: %d rows of probabilities, the first edge has %v", name, res.Probability.Rows,
				links[0].Probability)
		}
		for _, l := range links { // strengths are those of the kernels in any case
			eta := blas.Row(res.Joint, l.Target)[l.Source]
			for k, source := range res.Source {
				if source == l.Source {
					eta += res.Fits[l.Target].Eta[k]
				}
			}
			if !(math.Abs(l.Strength-eta) <= 1e-14) {
				t.Errorf("%s: %s → %s has strength %g, the kernels %g", name, l.From, l.To, l.Strength, eta)
			}
		}
		if !c.want {
			continue
		}
		for i := range 4 {
			for j := range 4 {
				switch v := res.Graph.Data[4*i+j]; {
				case i == j && !(v >= 1):
					t.Errorf("%s: own history of %d has %g", name, i, v)
				case i != j && (j == 0 && i == 1 || j == 1 && i == 2) != (v > 0.5):
					t.Errorf("%s: edge %d → %d has strength %g", name, j, i, v)
				}
			}
		}
	}
	for k, v := range graphs["relaxing"].Data {
		if u := graphs["units"].Data[k]; !(math.Abs(u-v) <= 1e-4) {
			t.Errorf("entry %d is %g, in other units %g", k, v, u)
		}
	}
}

// Resamples keep the edges, as the first row of each replicate is in all of them.
func TestRelaxingStability(t *testing.T) {
	s, err := NewStudy(context.Background(), relaxing(4, 0.03), Options{HoldOut: -1})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := s.Stability(context.Background(), 1, Rounds{To: 10})
	if err != nil {
		t.Fatal(err)
	}
	if f := counts.Frequency(); !(f.Data[4] >= 0.7 && f.Data[4*2+1] >= 0.7) {
		t.Errorf("the edges are selected in %g and %g of the resamples", f.Data[4], f.Data[4*2+1])
	}
}

// A filter of inputs that are linear in time is y = x − b/rate + c·exp(−rate·t) for x = a + b·t.
func TestFiltered(t *testing.T) {
	const a, b, rate, rows = 2, -0.3, 0.4, 9
	r := &relaxation{runs: []span{{0, rows}, {rows, 2 * rows}}}
	X := blas.NewGeneral(2*rows, 1)
	for k := range X.Data {
		X.Data[k] = a + b*float64(k%rows)
	}
	for _, zero := range []bool{true, false} {
		y := r.filtered(X, rate, zero)
		for k, got := range y.Data {
			start, s := a-b/rate, float64(k%rows)
			if !zero {
				start -= a
			}
			if want := a + b*s - b/rate - start*math.Exp(-rate*s); !(math.Abs(got-want) <= 1e-12*a) {
				t.Errorf("from zero %t: y(%g) = %g, want %g", zero, s, got, want)
			}
		}
	}
}

// The probabilities are those of enumerating the sets of sources with least squares for each.
func TestBeliefSets(t *testing.T) {
	const N, rows, free, target = 4, 30, 3, 1
	rng := rand.New(rand.NewPCG(7, 7))
	all := blas.NewGeneral(rows, 2*N)
	for k := range all.Data {
		all.Data[k] = rng.NormFloat64()
	}
	for t := range rows {
		all.Data[t*2*N+N+target] += 0.6*all.Data[t*2*N] - 0.4*all.Data[t*2*N+2]
	}
	b := newBelief(blas.Row(even(N), target))
	b.sets(blas.Product(blas.Active(), true, false, all, all), target, rows, free)
	var sum, least float64 = 0, math.Inf(1)
	with := make([]float64, N)
	top := b.top
	dense := mat.NewDense(rows, 2*N, all.Data)
	y := dense.ColView(N + target)
	for _, set := range [][]int{{}, {0}, {2}, {3}, {0, 2}, {0, 3}, {2, 3}} {
		explained := 0.0
		if len(set) > 0 {
			A := mat.NewDense(rows, len(set), nil)
			for k, j := range set {
				A.ColView(k).(*mat.VecDense).CopyVec(dense.ColView(j))
			}
			var beta, fit mat.VecDense
			if err := beta.SolveVec(A, y); err != nil {
				t.Fatal(err)
			}
			fit.MulVec(A, &beta)
			explained = mat.Dot(&fit, &fit)
		}
		yy, size := mat.Dot(y, y), float64(len(set))
		least = math.Min(least, (yy-explained)/(rows-free-size))
		prior := math.Pow(relaxSources/(N-relaxSources)/math.Sqrt(rows+1), size)
		v := prior * math.Exp(-0.5*relaxPower*(rows*math.Log(yy-rows/(rows+1.0)*explained)+relaxTransient*free*math.Log(
			rows))-top)
		sum += v
		for _, j := range set {
			with[j] += v
		}
	}
	near := func(what string, got, want float64) {
		if !(math.Abs(got-want) <= 1e-5*math.Abs(want)) {
			t.Errorf("%s is %g, enumerated %g", what, got, want)
		}
	}
	near("the sum", b.all, sum)
	near("the variance", b.variance, least)
	for j := range with {
		near("a source", b.with[j], with[j])
	}
}
