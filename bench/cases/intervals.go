package cases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// runIntervals runs one part of the case.
func runIntervals(ctx context.Context, env *bench.Env) error {
	parts := map[string]func(context.Context, *bench.Env) error{
		"coverage": intervalCoverage, "regions": intervalRegions, "speed": intervalSpeed,
	}
	return parts[env.Part](ctx, env)
}

// noises are the distributions of the noise at inputs x, of variance about .25.
var noises = []struct {
	name string
	draw func(rng *rand.Rand, x []float64) float64
}{
	{"normal", func(rng *rand.Rand, _ []float64) float64 { return 0.5 * rng.NormFloat64() }},
	{"heavy tails", func(rng *rand.Rand, _ []float64) float64 { // Student's t of 3 degrees of freedom
		var chi float64
		for range 3 {
			z := rng.NormFloat64()
			chi += z * z
		}
		return 0.29 * rng.NormFloat64() / math.Sqrt(chi/3)
	}},
	{"heteroscedastic", func(rng *rand.Rand, x []float64) float64 {
		return (0.1 + 0.5*math.Abs(x[0])) * rng.NormFloat64()
	}},
}

// simulated are l samples of 3 inputs and outputs that are mixtures of two functions with noise.
func simulated(rng *rand.Rand, l int, mix *mat.Dense, noise func(*rand.Rand, []float64) float64) (X, Y *mat.Dense) {
	n := mix.RawMatrix().Rows
	X, Y = mat.NewDense(l, 3, nil), mat.NewDense(l, n, nil)
	for i := range l {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		f, g := math.Sin(2*x[0])+x[1]/2, x[1]*math.Exp(-x[2]*x[2])
		for j := range n {
			Y.Set(i, j, mix.At(j, 0)*f+mix.At(j, 1)*g+noise(rng, x))
		}
	}
	return X, Y
}

// coverage has, by the name of a kind of interval or region, the share of new targets in it and its mean width on each
// data set.
type coverage struct {
	names          []string // in the order in which they were found
	shares, widths map[string][]float64
}

func (c *coverage) add(name string, share, width float64) {
	if c.shares[name] == nil {
		c.names = append(c.names, name)
	}
	c.shares[name], c.widths[name] = append(c.shares[name], share), append(c.widths[name], width)
}

// simulation fits models to simulated data sets of l samples and n outputs, and looks at 1000 new samples of each.
type simulation struct {
	l, n, sets int
	stream     uint64 // of random numbers, of the first set
	draw       func(rng *rand.Rand, l int, mix *mat.Dense) (X, Y *mat.Dense)
	measure    func(ctx context.Context, m *iokl.Model, found *coverage, X, Y, Xt, Yt *mat.Dense) error
}

// run adds a result with these parameters for each of the names that measure finds, with figures of all sets.
func (s simulation) run(
	ctx context.Context, env *bench.Env, params map[string]any,
	figures func(r *bench.Result, shares, widths []float64),
) error {
	found := &coverage{nil, map[string][]float64{}, map[string][]float64{}}
	for set := range s.sets {
		rng := env.Rand(s.stream + uint64(set)*1_000_000)
		mix := mat.NewDense(s.n, 2, nil) // weights of two functions in the outputs
		mix.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() + 1 }, mix)
		X, Y := s.draw(rng, s.l, mix)
		Xt, Yt := s.draw(rng, 1000, mix)
		m, err := iokl.Fit(ctx, X, Y, iokl.Options{
			Kernels: []string{"gaussian:all:median*0.5,1,2", "gaussian:each:median"}, Norm: "lp:1", Tol: 1e-2,
			IntervalFolds: 5, Seed: env.Seed, Backend: env.Backend,
			CV: iokl.CVOptions{Lambdas: []float64{0.3, 0.1, 0.03, 0.01, 0.003}, Folds: 5, Repeats: 1},
		})
		if err == nil {
			err = s.measure(ctx, m, found, X, Y, Xt, Yt)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", params, err)
		}
	}
	for _, name := range found.names {
		r := bench.Result{Name: name, Params: maps.Clone(params)}
		r.Params["l"], r.Params["n"], r.Params["sets"] = s.l, s.n, s.sets
		figures(&r, found.shares[name], found.widths[name])
		env.Add(r)
	}
	env.Log("  %v, %d samples, %d outputs", params, s.l, s.n)
	return nil
}

// intervalCoverage makes 90 % intervals for 1000 new samples of each of some 200 data sets. The function
// has scale 1, the noise a variance of a quarter of that.
func intervalCoverage(ctx context.Context, env *bench.Env) error {
	for _, noise := range noises {
		for _, l := range bench.Pick(env, []int{60}, []int{60, 300}) {
			for _, n := range []int{1, 5} {
				err := simulation{
					l: l, n: n, sets: bench.Pick(env, 1, 17), stream: uint64(1000*l + 10*n),
					draw: func(rng *rand.Rand, l int, mix *mat.Dense) (X, Y *mat.Dense) {
						return simulated(rng, l, mix, noise.draw)
					},
					measure: intervalsOf,
				}.run(ctx, env, map[string]any{"noise": noise.name}, func(r *bench.Result, shares, widths []float64) {
					r.Metric("coverage", stat.Mean(shares, nil))
					r.Metric("least coverage of a set", slices.Min(shares))
					r.Metric("mean width", stat.Mean(widths, nil))
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// intervalsOf adds the coverage of every kind of interval on one data set.
func intervalsOf(ctx context.Context, m *iokl.Model, found *coverage, X, Y, Xt, Yt *mat.Dense) error {
	for _, kind := range []struct {
		name string
		how  iokl.IntervalOptions
	}{
		{"held-out", iokl.IntervalOptions{}},
		{"held-out, local widths", iokl.IntervalOptions{Local: true}},
		{"cv+", iokl.IntervalOptions{Method: "cv+"}},
		{"jackknife+", iokl.IntervalOptions{Method: "jackknife+"}},
		{"cv+, local widths", iokl.IntervalOptions{Method: "cv+", Local: true}},
	} {
		r, err := m.PredictInterval(ctx, Xt, kind.how)
		if err != nil {
			return err
		}
		found.covered(kind.name, r.Low, r.High, Yt)
	}
	F, err := m.Predict(X)
	if err != nil {
		return err
	}
	P, err := m.Predict(Xt)
	if err != nil {
		return err
	}
	var residuals mat.Dense
	residuals.Sub(Y, F)
	sd := make([]float64, Y.RawMatrix().Cols)
	for j := range sd {
		sd[j] = stat.StdDev(mat.Col(nil, j, &residuals), nil)
	}
	around := func(name string, P *mat.Dense, half func(i, j int) float64) {
		lo, hi := mat.DenseCopyOf(P), mat.DenseCopyOf(P)
		lo.Apply(func(i, j int, v float64) float64 { return v - half(i, j) }, lo)
		hi.Apply(func(i, j int, v float64) float64 { return v + half(i, j) }, hi)
		found.covered(name, lo, hi, Yt)
	}
	mean, deviation, err := gaussianProcess(ctx, X, Y, Xt)
	if err != nil {
		return err
	}
	around("Gaussian process, its own word", mean, func(i, j int) float64 { return 1.645 * deviation.At(i, j) })
	around("± 1.645 residual deviations", P, func(_, j int) float64 { return 1.645 * sd[j] })
	return nil
}

// covered adds the share of Y in the intervals and their mean width, over all outputs.
func (c *coverage) covered(name string, lo, hi, Y *mat.Dense) {
	t, n := Y.Dims()
	var share, width float64
	for i := range t {
		for j := range n {
			if lo.At(i, j) <= Y.At(i, j) && Y.At(i, j) <= hi.At(i, j) {
				share += 1 / float64(t*n)
			}
			width += (hi.At(i, j) - lo.At(i, j)) / float64(t*n)
		}
	}
	c.add(name, share, width)
}

// gaussianProcess predicts each output by a Gaussian process with a Gaussian kernel of which width, scale and noise
// are the most likely of a grid, and says the standard deviation of a new observation.
func gaussianProcess(ctx context.Context, X, Y, Xt *mat.Dense) (mean, deviation *mat.Dense, err error) {
	l, n := Y.Dims()
	t, d := Xt.Dims()
	mean, deviation = mat.NewDense(t, n, nil), mat.NewDense(t, n, nil)
	best, means := slices.Repeat([]float64{math.Inf(-1)}, n), data.Means(Y.RawMatrix())
	var centred mat.Dense
	centred.Apply(func(_, j int, v float64) float64 { return v - means[j] }, Y)
	for _, width := range []float64{0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6} {
		k := kernel.Kernel{Kind: kernel.Gaussian, Inputs: d, Width: width}
		K, Kx := blas.NewGeneral(l, l), blas.NewGeneral(t, l)
		if err := cmp.Or(k.Cross(K, X.RawMatrix(), X.RawMatrix()),
			k.Cross(Kx, Xt.RawMatrix(), X.RawMatrix())); err != nil {
			return nil, nil, err
		}
		dec, err := sylvester.Decompose(ctx, linop.NewDense(K, nil), nil)
		if err != nil {
			return nil, nil, err
		}
		W, U := blas.Product(blas.Active(), false, false, Kx, dec.T), new(mat.Dense)
		U.Mul(blas.Dense(dec.T).T(), &centred)
		for j := range n {
			u := mat.Col(nil, j, U)
			for _, mu := range []float64{1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3} {
				var form, logDet float64
				for a, s := range dec.Sigma {
					form += u[a] * u[a] / (max(s, 0) + mu)
					logDet += math.Log(max(s, 0) + mu)
				}
				scale := form / float64(l) // of the kernel, the most likely
				likelihood := -float64(l)*math.Log(scale) - logDet
				if likelihood <= best[j] {
					continue
				}
				best[j] = likelihood
				for i := range t {
					f, v := means[j], 1+mu
					for a, w := range blas.Row(W, i) {
						s := max(dec.Sigma[a], 0) + mu
						f += w * u[a] / s
						v -= w * w / s
					}
					mean.Set(i, j, f)
					deviation.Set(i, j, math.Sqrt(scale*max(v, 0)))
				}
			}
		}
	}
	return mean, deviation, nil
}

// intervalSpeed measures intervals by cv+, with the folds that a fit keeps by default, beside predictions.
func intervalSpeed(ctx context.Context, env *bench.Env) error {
	l, t := bench.Pick(env, 500, 2000), bench.Pick(env, 8192, 100_000)
	const d, n = 20, 20
	rng := env.Rand(22)
	X, Xt := blas.Dense(data.Normal(rng, l, d)), blas.Dense(data.Normal(rng, t, d))
	Y := mat.NewDense(l, n, nil)
	Y.Mul(X, blas.Dense(data.Normal(rng, d, n)))
	Y.Apply(func(_, _ int, v float64) float64 { return v + rng.NormFloat64() }, Y)
	m, err := iokl.Fit(ctx, X, Y, iokl.Options{
		Kernels: []string{"gaussian:all:median"}, Lambda: 1e-2, Learn: "none",
		IntervalFolds: iokl.CVOptions{}.ForFit(l).Folds, Backend: env.Backend, Seed: env.Seed,
	})
	if err != nil {
		return err
	}
	runs := []bench.Contender{ // each makes the matrices that it returns
		{Name: "predictions", Run: func() error { _, err := m.Predict(Xt); return err }},
		{Name: "intervals by cv+", Run: func() error {
			_, err := m.PredictInterval(ctx, Xt, iokl.IntervalOptions{Method: "cv+"})
			return err
		}},
	}
	allocated := make([]float64, len(runs))
	for i, r := range runs { // lists of residuals are made once
		for range 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := r.Run(); err != nil {
				return err
			}
			runtime.ReadMemStats(&after)
			allocated[i] = float64(after.TotalAlloc - before.TotalAlloc)
		}
	}
	params := map[string]any{"t": t, "l": l, "d": d, "n": n, "folds": m.IntervalFolds(), "backend": env.Backend.Name()}
	return env.Race(ctx, bench.Plan{Count: env.Repeats(3)}, params, runs, func(part []bench.Result) {
		for i := range part {
			r := &part[i]
			r.Metric("rows a second", float64(t)/r.Seconds)
			r.Metric("allocated MB", allocated[i]/1e6)
			if i > 0 {
				r.Metric("share of the rate of predictions", part[0].Seconds/r.Seconds)
			}
		}
	})
}
