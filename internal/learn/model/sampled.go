// The noise, and how much posterior variances count beside it, from residuals without rows.

package model

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// resampled are residuals of some rows without each of them (rows×live), and the posterior deviations there for noise
// 1.
type resampled struct{ R, D blas.General }

// widths are √(1 + factor·D²).
func (r resampled) widths(factor float64) blas.General {
	W := blas.Clone(r.D)
	for i, d := range W.Data {
		W.Data[i] = math.Sqrt(1 + factor*d*d)
	}
	return W
}

// sampled has the residuals of a model of many rows: those of all rows with them, and those of some without them. Few
// rows may make most of a mean square: those of the largest residuals enter the noise one by one, and the random ones
// tell how much larger the squares of the others are without their rows.
type sampled struct {
	E             blas.General // residuals of all rows with them
	heavy, random resampled    // of the rows of largest residuals, and of random ones
	rows          []int        // the random rows
	own           []bool       // of each row: it is one of the heavy ones
}

// noise is σ_k, the root of the mean of R²/(1 + factor·D²) of output k over all rows.
func (s *sampled) noise(factor float64) []float64 {
	l, sigma := len(s.own), make([]float64, s.E.Cols)
	heavy, random := s.heavy.widths(factor), s.random.widths(factor)
	for k := range sigma {
		var sum, rest, some, refit float64
		for i, own := range s.own {
			if !own {
				rest += square(s.E.Data[i*s.E.Stride+k])
			}
		}
		for a := range heavy.Rows {
			sum += square(s.heavy.R.Data[a*heavy.Stride+k] / heavy.Data[a*heavy.Stride+k])
		}
		for a, i := range s.rows {
			if !s.own[i] {
				some += square(s.E.Data[i*s.E.Stride+k])
				refit += square(s.random.R.Data[a*random.Stride+k] / random.Data[a*random.Stride+k])
			}
		}
		if some > 0 {
			sum += rest * refit / some
		}
		sigma[k] = math.Sqrt(sum / float64(l))
	}
	return sigma
}

// densities are the negative log densities of the random rows, each without itself, summed over the outputs with noise,
// up to a constant.
func (s *sampled) densities(factor float64) []float64 {
	W, sigma, p := s.random.widths(factor), s.noise(factor), make([]float64, len(s.rows))
	for a := range p {
		for k, noise := range sigma {
			if noise > 0 {
				w := noise * W.Data[a*W.Stride+k]
				p[a] += math.Log(w) + square(s.random.R.Data[a*W.Stride+k]/w)/2
			}
		}
	}
	return p
}

// factor is the factor of the posterior variances for noise 1: of the powers of 2 that rows without themselves find
// within one standard error of the most likely, the nearest to 1 (one standard error: Breiman et al., Classification
// and Regression Trees, 1984, section 3.4.3). Variances that say where targets scatter more enter with more weight, as
// the noise is not the same everywhere; those of a model that is right keep 1.
func (s *sampled) factor() float64 {
	best, least := 1.0, math.Inf(1)
	for c := 0x1p-10; c <= 0x1p10; c *= 2 {
		if mean := stat.Mean(s.densities(c), nil); mean < least {
			best, least = c, mean
		}
	}
	p := s.densities(best)
	for c := 1.0; ; {
		worse := s.densities(c)
		for a := range worse {
			worse[a] -= p[a]
		}
		mean, deviation := stat.MeanStdDev(worse, nil)
		if c == best || mean <= stat.StdErr(deviation, float64(len(worse))) {
			return c
		}
		if c < best {
			c *= 2
		} else {
			c /= 2
		}
	}
}
