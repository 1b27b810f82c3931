package cases

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/base/order"
)

// bySingle is the name of the box that holds each output apart.
const bySingle = "box of single 90 % intervals"

// region holds a sample whose errors have sizes of at most bound.
type region struct {
	name      string
	sizes     func(errors []float64) []float64
	bound     float64
	logVolume float64 // of the errors of size 1
}

func (r *region) holds(errors []float64) bool { return slices.Max(r.sizes(errors)) <= r.bound }

// side is the side of a cube of the volume of r.
func (r *region) side(n int) float64 { return r.bound * math.Exp(r.logVolume/float64(n)) }

// regionsOf are regions of errors around predictions that hold 90 % of the held-out errors E, l×n, with the
// correction for the sample that is to come (Lei et al. 2018): boxes whose sides are standard deviations, and
// ellipsoids of the covariance.
func regionsOf(E *mat.Dense) ([]region, error) {
	l, n := E.Dims()
	var S mat.SymDense
	stat.CovarianceMatrix(&S, E, nil)
	var chol mat.Cholesky
	if !chol.Factorize(&S) {
		return nil, fmt.Errorf("held-out errors of %d samples have no covariance of full rank", l)
	}
	sd := make([]float64, n)
	var cube float64
	for j := range sd {
		sd[j] = math.Sqrt(S.At(j, j))
		cube += math.Log(2 * sd[j])
	}
	single := func(e []float64) []float64 {
		sizes := make([]float64, n)
		for j, v := range e {
			sizes[j] = math.Abs(v) / sd[j]
		}
		return sizes
	}
	lgamma, _ := math.Lgamma(float64(n)/2 + 1)
	regions := []region{
		{name: bySingle, sizes: single, logVolume: cube},
		{
			name:      "box, by the largest error",
			sizes:     func(e []float64) []float64 { return []float64{slices.Max(single(e))} },
			logVolume: cube,
		},
		{
			name: "ellipsoid",
			sizes: func(e []float64) []float64 {
				v := mat.NewVecDense(n, e)
				var w mat.VecDense
				if chol.SolveVecTo(&w, v) != nil {
					return []float64{math.Inf(1)}
				}
				return []float64{math.Sqrt(mat.Dot(v, &w))}
			},
			logVolume: float64(n)/2*math.Log(math.Pi) - lgamma + chol.LogDet()/2,
		},
	}
	for k := range regions {
		r := &regions[k]
		var sizes []float64
		for i := range l {
			sizes = append(sizes, r.sizes(E.RawRowView(i))...)
		}
		r.bound = order.Select(sizes, min(order.IntervalRank(0.9, len(sizes)), len(sizes))-1)
	}
	return regions, nil
}

// intervalRegions measures how many of 1000 new samples of each of some 30 data sets are in regions for their five
// outputs, which held-out errors of the model tell, and how large the regions are. A part of the variance of the noise
// is shared by the outputs.
func intervalRegions(ctx context.Context, env *bench.Env) error {
	for _, shared := range []float64{0, 0.5, 0.8} {
		for _, l := range bench.Pick(env, []int{60}, []int{60, 300}) {
			s := simulation{
				l: l, n: 5, sets: bench.Pick(env, 1, 10), stream: uint64(1000*l + 7),
				draw: func(rng *rand.Rand, l int, mix *mat.Dense) (X, Y *mat.Dense) {
					X, Y = simulated(rng, l, mix, func(*rand.Rand, []float64) float64 { return 0 })
					for i := range l {
						common := math.Sqrt(shared) * rng.NormFloat64()
						for j, y := range Y.RawRowView(i) {
							Y.Set(i, j, y+0.5*(common+math.Sqrt(1-shared)*rng.NormFloat64()))
						}
					}
					return X, Y
				},
				measure: regionsHold,
			}
			params := map[string]any{"shared": shared}
			if err := s.run(ctx, env, params, func(r *bench.Result, shares, sides []float64) {
				r.Metric("joint coverage", stat.Mean(shares, nil))
				r.Metric("volume^(1/n)", stat.GeometricMean(sides, nil))
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// regionsHold adds the share of the new samples that regions of held-out errors hold, and their sides.
func regionsHold(ctx context.Context, m *iokl.Model, found *coverage, _, _, Xt, Yt *mat.Dense) error {
	H, err := m.HeldOut(ctx)
	if err != nil {
		return err
	}
	var E mat.Dense
	E.Sub(H.Targets, H.Predictions)
	regions, err := regionsOf(&E)
	if err != nil {
		return err
	}
	F, err := m.Predict(Xt)
	if err != nil {
		return err
	}
	F.Sub(Yt, F)
	t, n := F.Dims()
	for _, r := range regions {
		share := 0.0
		for i := range t {
			if r.holds(F.RawRowView(i)) {
				share += 1 / float64(t)
			}
		}
		found.add(r.name, share, r.side(n))
	}
	return nil
}
