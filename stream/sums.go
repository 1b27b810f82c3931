package stream

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// Sums is what a pass leaves of a set of rows.
type Sums struct {
	Rows  int64        // l
	Gamma blas.General // ZᵀZ, D×D, lower triangle; 0×0 under Options.NoGamma
	H     blas.General // ZᵀY, D×n
	ZSum  []float64    // column sums of Z (D)
	YSum  []float64    // column sums of Y (n)
	YY    []float64    // sums of squares of the columns of Y (n)
}

func newSums(D, n int, noGamma bool) Sums {
	order := D
	if noGamma {
		order = 0
	}
	return Sums{
		Gamma: blas.NewGeneral(order, order), H: blas.NewGeneral(D, n),
		ZSum: make([]float64, D), YSum: make([]float64, n), YY: make([]float64, n),
	}
}

// add adds the rows of z (r×D) and y (r×n).
func (s *Sums) add(be blas.Backend, z, y blas.General) {
	D := z.Cols
	if z.Rows == 0 {
		return
	}
	s.Rows += int64(z.Rows)
	if s.Gamma.Rows > 0 {
		be.Dsyrk(blas.Lower, blas.Trans, D, z.Rows, 1, z.Data, z.Stride, 1, s.Gamma.Data, s.Gamma.Stride)
	}
	blas.Gemm(be, true, false, 1, z, y, 1, s.H)
	for i := range z.Rows {
		blas.Axpy(1, blas.Row(z, i), s.ZSum)
		row := blas.Row(y, i)
		blas.Axpy(1, row, s.YSum)
		for j, v := range row {
			s.YY[j] += v * v
		}
	}
}

// Total adds up sums, leaving out those whose index skip reports; nil skips none.
// So Total(folds, func(k int) bool { return k == 3 }) is the training set of fold 3.
func Total(sums []Sums, skip func(k int) bool) Sums {
	if len(sums) == 0 {
		panic("stream: Total of no sums")
	}
	total := newSums(sums[0].H.Rows, sums[0].H.Cols, sums[0].Gamma.Rows == 0)
	for k := range sums {
		if skip != nil && skip(k) {
			continue
		}
		total.plus(&sums[k])
	}
	return total
}

func (s *Sums) plus(t *Sums) {
	s.Rows += t.Rows
	blas.AddScaled(s.Gamma, 1, t.Gamma)
	blas.AddScaled(s.H, 1, t.H)
	blas.Axpy(1, t.ZSum, s.ZSum)
	blas.Axpy(1, t.YSum, s.YSum)
	blas.Axpy(1, t.YY, s.YY)
}

// OutputMoments is the mean of each target and its standard deviation about it (by l), 0 for
// a target that is constant up to rounding.
func (s *Sums) OutputMoments() (mean, deviation []float64) {
	mean, deviation = make([]float64, len(s.YSum)), make([]float64, len(s.YSum))
	if s.Rows == 0 {
		return mean, deviation
	}
	l := float64(s.Rows)
	for j, sum := range s.YSum {
		mean[j] = sum / l
		// The difference carries the rounding of both of its terms.
		if v := s.YY[j]/l - mean[j]*mean[j]; v > 4*l*0x1p-53*s.YY[j]/l {
			deviation[j] = math.Sqrt(v)
		}
	}
	return mean, deviation
}

// Standardized is H and ‖Y‖² for the targets (y_j − mean_j)/scale_j. Centring
// after the pass loses digits when |mean| is much larger than the deviation.
func (s *Sums) Standardized(mean, scale []float64) (H blas.General, yy float64) {
	n := len(s.YSum)
	if len(mean) != n || len(scale) != n {
		panic("stream: Standardized: one mean and scale for each target")
	}
	H = blas.Clone(s.H)
	for i, z := range s.ZSum {
		row := blas.Row(H, i)
		for j := range row {
			row[j] = (row[j] - z*mean[j]) / scale[j]
		}
	}
	l := float64(s.Rows)
	for j, c := range mean {
		yy += max(s.YY[j]-2*c*s.YSum[j]+l*c*c, 0) / (scale[j] * scale[j])
	}
	return H, yy
}

// Residual is ‖Y − Z·B‖² over the rows of the sums, for weights B (D×n): the
// error on a fold that was left out. It is ‖Y‖² − 2⟨H,B⟩ + ⟨B,ΓB⟩, 0 at least,
// and needs Gamma.
func (s *Sums) Residual(be blas.Backend, B blas.General) float64 {
	GB := blas.NewGeneral(B.Rows, B.Cols)
	blas.Or(be).Dsymm(blas.Left, blas.Lower, B.Rows, B.Cols, 1, s.Gamma.Data, s.Gamma.Stride, B.Data, B.Stride, 0, GB.Data, GB.Stride)
	var yy float64
	for _, v := range s.YY {
		yy += v
	}
	return max(yy-2*blas.Inner(s.H, B)+blas.Inner(B, GB), 0)
}
