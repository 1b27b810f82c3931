package cases

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

const (
	scaleInputs  = 20
	scaleOutputs = 20
	scaleBlock   = 4096
)

// generator hands out l random rows: standard normal inputs, and targets that are
// smooth functions of them with noise.
type generator struct {
	l, at int64
	rng   *rand.Rand
	mix   blas.General
	be    blas.Backend
	X, Y  blas.General
}

func newGenerator(env *bench.Env, l int64, stream uint64) *generator {
	g := &generator{l: l, rng: env.Rand(stream), be: env.Backend}
	g.X, g.Y = blas.NewGeneral(scaleBlock, scaleInputs), blas.NewGeneral(scaleBlock, scaleOutputs)
	g.mix = data.Normal(env.Rand(99), scaleInputs, scaleOutputs) // the same function whatever the rows
	blas.Scal(1/math.Sqrt(scaleInputs), g.mix.Data)
	return g
}

// Next makes the next block of rows.
func (g *generator) Next() (stream.Block, error) {
	if g.at == g.l {
		return stream.Block{}, io.EOF
	}
	rows := int(min(scaleBlock, g.l-g.at))
	X, Y := blas.View(g.X, 0, 0, rows, scaleInputs), blas.View(g.Y, 0, 0, rows, scaleOutputs)
	for i := range X.Data {
		X.Data[i] = g.rng.NormFloat64()
	}
	blas.Mul(g.be, Y, false, false, X, g.mix)
	for i := range Y.Data {
		Y.Data[i] = math.Sin(Y.Data[i]) + 0.3*g.rng.NormFloat64()
	}
	b := stream.Block{X: X, Y: Y, Row: g.at, Source: "generated"}
	g.at += int64(rows)
	return b, nil
}

// scaleMaps are four Gaussian kernels of different width with so many features each.
func scaleMaps(ctx context.Context, env *bench.Env, features int) (rff.Maps, error) {
	probe, err := newGenerator(env, 1000, 3).Next()
	if err != nil {
		return nil, err
	}
	d, err := kernel.Build([]string{fmt.Sprintf("rff:gaussian:all:median*0.5,1,2,4:%d", features)}, probe.X, nil,
		env.Seed)
	if err != nil {
		return nil, err
	}
	return rff.NewMaps(ctx, d, probe.X, env.Seed, env.Backend)
}

// runScale streams more and more rows through random features and fits what is
// left of them, whose cost does not depend on how many there were.
func runScale(ctx context.Context, env *bench.Env) error {
	maps, err := scaleMaps(ctx, env, bench.Pick(env, 125, 500))
	if err != nil {
		return err
	}
	for _, l := range bench.Pick(env, []int64{4096, 16384, 65536}, []int64{1e4, 1e5, 1e6}) {
		before := gemmRates(env, maps.Dim())
		bench.ResetPeakRSS()
		var sums []stream.Sums
		r, err := env.Time(fmt.Sprintf("l = %d", l), map[string]any{
			"l": l, "D": maps.Dim(), "n": scaleOutputs, "d": scaleInputs, "m": len(maps),
		}, func() (err error) {
			acc := stream.New(maps, scaleInputs, scaleOutputs, stream.Options{Seed: env.Seed, Backend: env.Backend})
			if err = acc.Run(ctx, newGenerator(env, l, 17)); err == nil {
				sums, err = acc.Sums()
			}
			return err
		})
		if err != nil {
			return err
		}
		start := time.Now()
		res, err := fitSums(ctx, env, maps, sums[0])
		if err != nil {
			return err
		}
		r.Params["seconds_after_pass"] = time.Since(start).Seconds()
		r.Metric("rows_per_second", float64(l)/r.Seconds)
		r.Objective, r.RelativeGap, r.PeakRSS = bench.Num(res.Objective), bench.Num(res.RelativeGap), bench.PeakRSS()
		D := float64(maps.Dim())
		r.Rate(float64(l)*(D*D+2*D*scaleOutputs+D*scaleInputs), 0)
		gemm := bench.Median(append(before, gemmRates(env, maps.Dim())...))
		r.Metric("gemm_gflops", gemm)
		r.Metric("of_gemm", r.GFlops/gemm)
		env.Log("  l = %d: %.1f s", l, r.Seconds)
	}
	return nil
}

// gemmRates are the GFLOP/s of some products of order n, taken just before and
// after a pass so that both see the machine in the same state.
func gemmRates(env *bench.Env, n int) []float64 {
	a, c := blas.General{Rows: n, Cols: n, Stride: n, Data: pattern[float64](n * n)}, blas.NewGeneral(n, n)
	rates := make([]float64, bench.Pick(env, 3, 5))
	for i := range rates {
		start := time.Now()
		blas.Mul(env.Backend, c, true, false, a, a)
		rates[i] = 2 * math.Pow(float64(n), 3) / time.Since(start).Seconds() / 1e9
	}
	return rates
}

// fitSums learns kernels and outputs from the sums alone.
func fitSums(ctx context.Context, env *bench.Env, maps rff.Maps, s stream.Sums) (*bcd.Result, error) {
	s.Recenter(nil)
	p := &bcd.Problem{
		Space:  bcd.NewFeatures(s.Gamma, s.H, floats.Sum(s.YY), int(s.Rows), maps.Blocks(), env.Backend),
		Lambda: 1e-4, Tau: scaleOutputs, Norm: regularizer.Lp{P: 1.5},
	}
	return bcd.Solve(ctx, p, bcd.Options{Tol: 1e-3, Backend: env.Backend, Seed: env.Seed})
}
