// This file is the case intervals: coverage, width and speed of prediction intervals.

package regression

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

func init() {
	bench.Register(bench.Case{
		Name:  "intervals",
		Topic: bench.Intervals,
		Does: "coverage and width of 90 % intervals on simulated data, volume of joint regions of several outputs, " +
			"and the rate of intervals beside that of predictions",
		Run:      runIntervals,
		Minutes:  7,
		Parts:    []string{"coverage", "regions", "speed"},
		Conclude: concludeIntervals,
		Figures: bench.Dots(picture.Chart{
			Title: "coverage of 90 % intervals", X: "noise, rows and outputs", Y: "share of new targets inside",
		}, "coverage", "noise", "l", "n"),
	})
}

// runIntervals runs one part of the case.
func runIntervals(ctx context.Context, env *bench.Env) error {
	switch env.Part {
	case "speed":
		return intervalSpeed(ctx, env)
	case "regions":
		return intervalRegions(ctx, env)
	}
	return intervalCoverage(ctx, env)
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

// simulated are l samples of 3 inputs and n outputs: mixtures of two functions, and noise.
func simulated(rng *rand.Rand, l, n int, mix *mat.Dense, noise func(*rand.Rand, []float64) float64) (X, Y *mat.Dense) {
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

// Names of the intervals that are compared.
const (
	byCVPlus    = "cv+"
	byJackknife = "jackknife+"
	byLocal     = "cv+, local widths"
	byGaussian  = "Gaussian process, its own word"
	byResiduals = "± 1.645 residual deviations"
)

var byAll = []string{byCVPlus, byJackknife, byLocal, byGaussian, byResiduals}

// coverage has, by the name of a kind of interval or region, the share of new targets in it and its mean width on each
// data set.
type coverage struct{ shares, widths map[string][]float64 }

func newCoverage() coverage { return coverage{map[string][]float64{}, map[string][]float64{}} }

func (c coverage) add(name string, share, width float64) {
	c.shares[name], c.widths[name] = append(c.shares[name], share), append(c.widths[name], width)
}

// intervalCoverage makes 90 % intervals for 1000 new samples of each of some 200 data sets. The function
// has scale 1, the noise a variance of a quarter of that.
func intervalCoverage(ctx context.Context, env *bench.Env) error {
	sets := bench.Pick(env, 1, 17)
	for _, noise := range noises {
		for _, l := range bench.Pick(env, []int{60}, []int{60, 300}) {
			for _, n := range []int{1, 5} {
				found := newCoverage()
				for s := range sets {
					if err := ctx.Err(); err != nil {
						return err
					}
					rng := env.Rand(uint64(1000*l + 10*n + s*1_000_000))
					mix := mixture(rng, n)
					X, Y := simulated(rng, l, n, mix, noise.draw)
					Xt, Yt := simulated(rng, 1000, n, mix, noise.draw)
					if err := intervalsOf(ctx, env, found, X, Y, Xt, Yt); err != nil {
						return fmt.Errorf("%s, %d samples, %d outputs: %w", noise.name, l, n, err)
					}
				}
				for _, name := range byAll {
					r := bench.Result{Name: name, Params: map[string]any{
						"noise": noise.name, "l": l, "n": n, "sets": sets,
					}}
					r.Metric("coverage", stat.Mean(found.shares[name], nil))
					r.Metric("least coverage of a set", slices.Min(found.shares[name]))
					r.Metric("mean width", stat.Mean(found.widths[name], nil))
					env.Add(r)
				}
				env.Log("  %s noise, %d samples, %d outputs", noise.name, l, n)
			}
		}
	}
	return nil
}

// mixture are the weights of two functions in n outputs.
func mixture(rng *rand.Rand, n int) *mat.Dense {
	mix := mat.NewDense(n, 2, nil)
	mix.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() + 1 }, mix)
	return mix
}

// intervalModel is how models of simulated data are fitted.
func intervalModel(env *bench.Env) iokl.Options {
	return iokl.Options{
		Kernels: []string{"gaussian:all:median*0.5,1,2", "gaussian:each:median"}, Norm: "lp:1", Tol: 1e-2,
		IntervalFolds: 5, Seed: env.Seed, Backend: env.Backend,
		CV: iokl.CVOptions{Lambdas: []float64{0.3, 0.1, 0.03, 0.01, 0.003}, Folds: 5, Repeats: 1},
	}
}

// intervalsOf adds the coverage of every kind of interval on one data set.
func intervalsOf(ctx context.Context, env *bench.Env, found coverage, X, Y, Xt, Yt *mat.Dense) error {
	m, err := iokl.Fit(ctx, X, Y, intervalModel(env))
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name string
		how  iokl.IntervalOptions
	}{
		{byCVPlus, iokl.IntervalOptions{Method: "cv+"}},
		{byJackknife, iokl.IntervalOptions{Method: "jackknife+"}},
		{byLocal, iokl.IntervalOptions{Method: "cv+", Local: true}},
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
	sd := make([]float64, Y.RawMatrix().Cols)
	for j := range sd {
		res := mat.Col(nil, j, Y)
		for i := range res {
			res[i] -= F.At(i, j)
		}
		sd[j] = stat.StdDev(res, nil)
	}
	around := func(name string, P *mat.Dense, half func(i, j int) float64) {
		lo, hi := mat.DenseCopyOf(P), mat.DenseCopyOf(P)
		lo.Apply(func(i, j int, v float64) float64 { return v - half(i, j) }, lo)
		hi.Apply(func(i, j int, v float64) float64 { return v + half(i, j) }, hi)
		found.covered(name, lo, hi, Yt)
	}
	around(byResiduals, P, func(_, j int) float64 { return 1.645 * sd[j] })
	mean, deviation, err := gaussianProcess(ctx, X, Y, Xt)
	if err != nil {
		return err
	}
	around(byGaussian, mean, func(i, j int) float64 { return 1.645 * deviation.At(i, j) })
	return nil
}

// covered adds the share of Y in the intervals and their mean width, over all outputs.
func (c coverage) covered(name string, lo, hi, Y *mat.Dense) {
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
	best := slices.Repeat([]float64{math.Inf(-1)}, n)
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
		W := blas.Product(blas.Active(), false, false, Kx, dec.T)
		for j := range n {
			y := mat.Col(nil, j, Y)
			center := stat.Mean(y, nil)
			u := make([]float64, l) // Tᵀ(y − center)
			for i, v := range y {
				blas.Axpy(v-center, blas.Row(dec.T, i), u)
			}
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
					f, v := center, 1+mu
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
	runs := []struct { // each makes the matrices that it returns
		name string
		run  func() error
	}{
		{"predictions", func() error { _, err := m.Predict(Xt); return err }},
		{"intervals by cv+", func() error {
			_, err := m.PredictInterval(ctx, Xt, iokl.IntervalOptions{Method: "cv+"})
			return err
		}},
	}
	var variants []bench.Variant
	for _, r := range runs {
		if err := r.run(); err != nil { // lists of residuals are made once
			return err
		}
		variants = append(variants, bench.Variant{Run: r.run})
	}
	samples, err := bench.Interleave(ctx, bench.Plan{Count: env.Repeats(3)}, variants)
	if err != nil {
		return err
	}
	for i, run := range runs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := run.run(); err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		r := bench.Result{Name: run.name, Params: map[string]any{
			"t": t, "l": l, "d": d, "n": n, "folds": m.IntervalFolds(),
		}}
		r.Time(samples[i])
		r.Metric("rows a second", float64(t)/r.Seconds)
		r.Metric("allocated MB", float64(after.TotalAlloc-before.TotalAlloc)/1e6)
		if i > 0 {
			r.Metric("share of the rate of predictions", bench.Median(samples[0])/r.Seconds)
		}
		env.Add(r)
	}
	return nil
}

// concludeIntervals says the mean coverage of each kind of interval and the least of a set.
var concludeIntervals = bench.Say(`
{{$all := .}}{{range $name := names .}}{{with named $name $all | having "coverage"}}90 % intervals by {{$name}} hold
{{values "coverage" . | mean | printf "%.3f"}} of new targets on average,
{{values "least coverage of a set" . | least | printf "%.3f"}} in the worst data set, at a mean width of
{{values "mean width" . | mean | printf "%.3f"}}.
{{end}}{{end}}{{range $name := names .}}{{with named $name $all | having "joint coverage"}}For five outputs at once the
{{$name}} holds {{values "joint coverage" . | mean | printf "%.3f"}} of new samples, in the volume of a cube of side
{{values "volume^(1/n)" . | mean | printf "%.3f"}}.
{{end}}{{end}}{{range values "share of the rate of predictions" .}}Intervals come at {{printf "%.2f" .}} of the rate of
predictions.
{{end}}`)
