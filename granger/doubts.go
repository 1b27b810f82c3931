// This file tests the assumptions behind p-values of edges.

package granger

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iokl/iokl/blas"
)

// Doubt is an assumption behind the p-values of edges that a series violates.
type Doubt struct {
	Series string  `json:"series"`
	What   string  `json:"what"`    // one of the constants below
	PValue float64 `json:"p_value"` // of the assumption, times the number of series
}

// What a series may violate. That two move together within a step is told by [Study.Simultaneous].
const (
	// what the model leaves is correlated in time: the past matters beyond the lag, or is measured with noise
	Memory = "memory"
	Spread = "spread" // the spread of what the model leaves changes in time
	Wander = "wander" // the series wanders, or has a trend
)

// Doubts lists the violations whose p-value, times the number of series, is at most level.
// Memory is tested by the autocorrelations of the residuals (Ljung and Box, doi:10.1093/biomet/65.2.297),
// Spread by the correlation of their magnitudes with time, and Wander by a regression of
// changes on levels that does not reject a root of one (Dickey and Fuller,
// doi:10.1080/01621459.1979.10482531); its p-value is left at 1.
func (s *Study) Doubts(ctx context.Context, level float64) ([]Doubt, error) {
	models, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.e.leaveResiduals(ctx, models); err != nil {
		return nil, err
	}
	var out []Doubt
	tests, at := float64(s.e.Y.Cols), s.e.sampleAt()
	for k, node := range s.e.data.Nodes {
		for c, j := range node.Series {
			left := make([]float64, s.e.l)
			for i := range left {
				left[i] = models[k].residual.Data[i*models[k].residual.Stride+c]
			}
			for what, p := range map[string]float64{Memory: s.e.memory(left, at), Spread: spread(left, s.e.share)} {
				if p *= tests; p <= level {
					out = append(out, Doubt{s.e.data.Names[j], what, p})
				}
			}
			if s.e.wanders(j) {
				out = append(out, Doubt{s.e.data.Names[j], Wander, 1})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.PValue, b.PValue), cmp.Compare(a.Series, b.Series))
	})
	return out, nil
}

// memory is the p-value of Q = l(l+2)·Σ_k r_k²/(l−k) over five lags k; at is [design.sampleAt].
func (g *design) memory(left []float64, at map[int]int) float64 {
	const lags = 5
	l, ss, q := float64(g.l), blas.Dot(left, left), 0.0
	if ss == 0 || g.l <= 2*lags {
		return 1
	}
	for k := 1; k <= lags; k++ {
		sum := 0.0
		for i, t := range g.rows {
			if b, known := at[t-k]; known && g.data.Replicate[t] == g.data.Replicate[t-k] {
				sum += left[i] * left[b]
			}
		}
		q += l * (l + 2) * square(sum/ss) / (l - float64(k))
	}
	return distuv.ChiSquared{K: lags}.Survival(q)
}

// spread is the p-value of the correlation of |left| with time.
func spread(left, time []float64) float64 {
	size := make([]float64, len(left))
	for i, v := range left {
		size[i] = math.Abs(v)
	}
	r, n := stat.Correlation(size, time, nil), float64(len(left))
	if !(math.Abs(r) < 1) || n < 4 {
		return 1
	}
	return 2 * distuv.UnitNormal.Survival(math.Abs(math.Atanh(r))*math.Sqrt(n-3))
}

// wanders reports whether −2.86, the quantile of the test at .05, is not reached by the t of a in
// x_t − x_{t−1} = a·x_{t−1} + b.
func (g *design) wanders(j int) bool {
	const critical = -2.86
	var level, change []float64
	for _, t := range g.rows {
		before, now := g.data.X.Data[(t-1)*g.data.X.Stride+j], g.data.X.Data[t*g.data.X.Stride+j]
		level, change = append(level, before), append(change, now-before)
	}
	n := float64(len(level))
	b, a := stat.LinearRegression(level, change, nil, false)
	var rss float64
	for i, v := range level {
		rss += square(change[i] - b - a*v)
	}
	return !(a/math.Sqrt(rss/(n-2)/(stat.Variance(level, nil)*(n-1))) <= critical)
}
