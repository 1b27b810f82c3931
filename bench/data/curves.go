package data

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext/prng"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

// Curves are learning curves Y (l×n), a row for the settings in each row of X, and Z, which is Y with NaN in the tails
// that are cut off.
type Curves struct{ X, Y, Z blas.General }

// LCBench reads a set of learning curves and cuts a share of them at epochs that are drawn uniformly, as Lin et al.
// do: Scalable Gaussian Processes with Latent Kronecker Structure, ICML 2025.
func LCBench(env *bench.Env, set string, share float64) (*Curves, error) {
	t, err := ReadAll(env, "lcbench", set+".npz:X", set+".npz:Y")
	if err != nil {
		return nil, err
	}
	return newCurves(t[0], t[1], share), nil
}

// newCurves cuts curves and standardises the settings. The unit of targets is the deviation of those in the last
// column that are left, and 0 is their mean.
func newCurves(X, Y blas.General, share float64) *Curves {
	c := &Curves{blas.Clone(X), blas.Clone(Y), blas.Clone(Y)}
	l, n := Y.Rows, Y.Cols
	g := legacy{prng.NewMT19937()}
	g.Seed(2025)
	for _, i := range g.permutation(l)[:int(share*float64(l))] {
		tail := blas.Row(c.Z, i)[g.upTo(n-1):]
		for k := range tail {
			tail[k] = math.NaN()
		}
	}
	var last []float64
	for i := range l {
		if v := blas.Row(c.Z, i)[n-1]; !math.IsNaN(v) {
			last = append(last, v)
		}
	}
	mean, deviation := stat.PopMeanStdDev(last, nil)
	for _, a := range []blas.General{c.Y, c.Z} {
		for i, v := range a.Data {
			a.Data[i] = (v - mean) / deviation
		}
	}
	Standardise(c.X, blas.General{})
	return c
}

// legacy draws the numbers that numpy.random.RandomState draws.
type legacy struct{ *prng.MT19937 }

// upTo is a number from 0 to most.
func (g legacy) upTo(most int) int {
	mask := uint32(1)<<bits.Len(uint(most)) - 1
	for {
		if v := int(g.Uint32() & mask); v <= most {
			return v
		}
	}
}

func (g legacy) permutation(l int) []int {
	p := make([]int, l)
	for i := range p {
		p[i] = i
	}
	for i := l - 1; i > 0; i-- {
		j := g.upTo(i)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// MadeCurves draws l settings of five numbers and curves of n epochs that saturate: start, limit and rate are smooth
// functions of the settings, of which each curve departs in its own way, and every cell has noise.
func MadeCurves(rng *rand.Rand, l, n int, share float64) *Curves {
	X, Y := Normal(rng, l, 5), blas.NewGeneral(l, n)
	for i := range l {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		limit := math.Tanh(x[0]) + 0.5*math.Sin(2*x[1]) - 0.3*x[2]*x[2] + 0.15*rng.NormFloat64()
		start := -1.5 + 0.3*x[2]
		rate := math.Exp(0.7*math.Sin(x[3]+x[0]) + 0.2*rng.NormFloat64() - 1)
		wander := 0.0
		for k := range y {
			wander = 0.8*wander + 0.03*rng.NormFloat64()
			y[k] = limit + (start-limit)*math.Pow(1+float64(k), -rate) + wander + 0.02*rng.NormFloat64()
		}
	}
	return newCurves(X, Y, share)
}

// Score is that of predictions in the missing cells.
func (c *Curves) Score(F, D blas.General) (rmse, density float64) {
	return Score(F, D, c.Y, func(i, k int) bool { return math.IsNaN(blas.Row(c.Z, i)[k]) })
}

// LastValue is each curve with its last value in the place of those missing, and the mean of the column for curves
// without any.
func (c *Curves) LastValue() blas.General {
	F := blas.Clone(c.Z)
	sum, count := make([]float64, F.Cols), make([]float64, F.Cols)
	for i := range F.Rows {
		for k, v := range blas.Row(c.Z, i) {
			if !math.IsNaN(v) {
				sum[k], count[k] = sum[k]+v, count[k]+1
			}
		}
	}
	for i := range F.Rows {
		row := blas.Row(F, i)
		for k, v := range row {
			switch {
			case !math.IsNaN(v):
			case k > 0 && !math.IsNaN(c.Z.Data[i*c.Z.Stride]):
				row[k] = row[k-1]
			default:
				row[k] = sum[k] / count[k]
			}
		}
	}
	return F
}
