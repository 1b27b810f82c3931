// Weights of targets, and the columns of targets as each loss takes them.

package columns

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
)

// WeightAt is the weight of a cell, in a matrix of weights of cells or, with one column, of rows; 1 in one without
// Data.
func WeightAt(W blas.General, i, j int) float64 {
	if W.Data == nil {
		return 1
	}
	return W.Data[i*W.Stride+min(j, W.Cols-1)]
}

// Multiply multiplies the weights v of cells by the weights w of cells or rows.
func Multiply(v, w blas.General) {
	for i := range v.Rows {
		row := blas.Row(v, i)
		for j := range row {
			row[j] *= WeightAt(w, i, j)
		}
	}
}

// Precision is the weights that noise of the deviations sigma makes of the targets y with the weights w: (s/σ)², with s
// the standard deviation of the target where targets are scaled and else 1, times one number that makes the mean weight
// 1.
func Precision(sigma, y, w blas.General, scaled bool) (v blas.General, err error) {
	l, n := y.Rows, y.Cols
	if !(sigma.Rows == l || sigma.Rows == 1) || !(sigma.Cols == n || sigma.Cols == 1) {
		return v, fault.Input("the standard deviations of the noise are %d×%d: want %d×1 of rows, 1×%d of outputs, or "+
			"%d×%d of cells", sigma.Rows, sigma.Cols, l, n, l, n)
	}
	scale := slices.Repeat([]float64{1}, n)
	if scaled {
		scale = MeasureWeighted(y, w).Scale
	}
	v = blas.NewGeneral(l, n)
	sum, count := 0.0, 0.0
	for i := range l {
		for j := range n {
			s := sigma.Data[min(i, sigma.Rows-1)*sigma.Stride+min(j, sigma.Cols-1)]
			observed := !math.IsNaN(y.Data[i*y.Stride+j])
			if !observed {
				continue
			}
			if !fault.Positive(s) {
				return v, fault.Input("the noise in row %d, column %d has the standard deviation %g: it must be "+
					"positive", i+1, j+1, s)
			}
			v.Data[i*n+j] = scale[j] / s * (scale[j] / s)
			sum, count = sum+v.Data[i*n+j], count+1
		}
	}
	blas.Scal(count/sum, v.Data)
	return v, nil
}

// CheckCellWeights refuses weights that are not finite and ≥ 0, no weights of the l×n targets, or all 0. It returns
// one column where all columns are equal.
func CheckCellWeights(W blas.General, l, n int) (blas.General, error) {
	if W.Rows != l || W.Cols != 1 && W.Cols != n {
		return W, fault.Input("the weights are %d×%d: want %d×1, one of each row of Y, or %d×%d, one of each cell",
			W.Rows, W.Cols, l, l, n)
	}
	positive, rowwise := false, true
	for i := range W.Rows {
		row := blas.Row(W, i)
		for j, w := range row {
			if !(w >= 0) || math.IsInf(w, 1) {
				return W, fault.Input("the weight in row %d, column %d is %g: it must be finite and not negative", i+1,
					j+1, w)
			}
			positive, rowwise = positive || w > 0, rowwise && w == row[0]
		}
	}
	if !positive {
		return W, fault.Input("all weights are 0: there is nothing to learn from")
	}
	if rowwise {
		return blas.Clone(blas.View(W, 0, 0, l, 1)), nil
	}
	return W, nil
}

// Seen is the targets Y and their weights W (as CheckCellWeights has passed them) as a fit sees them. A cell of weight
// 0 is missing, rows without any weight are without, and weights that are all 1 are none: the result has no Data then.
func Seen(Y, W blas.General) (y, w blas.General, without []int) {
	y, w = Y, blas.NewGeneral(W.Rows, W.Cols)
	blas.Fill(w, 1)
	ones, rowwise := true, true
	for i := range Y.Rows {
		first := 0.0
		for j, v := range blas.Row(Y, i) {
			switch a := WeightAt(W, i, j); {
			case a == 0:
				if &y.Data[0] == &Y.Data[0] {
					y = blas.Clone(Y)
				}
				y.Data[i*y.Stride+j] = math.NaN()
			case !math.IsNaN(v):
				if first == 0 {
					first = a
				}
				ones, rowwise = ones && a == 1, rowwise && a == first
				w.Data[i*w.Stride+min(j, w.Cols-1)] = a
			}
		}
		if slices.Max(blas.Row(W, i)) == 0 {
			without = append(without, i)
		}
		for j := range blas.Row(w, i) { // a cell that is missing stands for none
			if first > 0 && math.IsNaN(y.Data[i*y.Stride+j]) {
				w.Data[i*w.Stride+j] = first
			}
		}
	}
	switch {
	case ones:
		w = blas.General{}
	case rowwise:
		w = blas.Clone(blas.View(w, 0, 0, w.Rows, 1))
	}
	return y, w, without
}

// RowWeights are the weights of the rows: that of a row, or the mean of those of its observed cells.
func RowWeights(Y, W blas.General) []float64 {
	a := make([]float64, Y.Rows)
	for i := range a {
		var count float64
		for j, y := range blas.Row(Y, i) {
			if !math.IsNaN(y) {
				a[i] += WeightAt(W, i, j)
				count++
			}
		}
		a[i] /= max(count, 1)
	}
	return a
}

// madScale turns a median absolute deviation into the standard deviation of a normal variable.
const madScale = 1.482602218505602

// adapt makes the moments those of the loss: the mean becomes the constant that has the least loss, of huber the
// median, and for huber the scale becomes robust. For the logistic loss the mean is a log odds, and the scale 1.
func (s *Scaler) adapt(Y, W blas.General, l loss.Loss) {
	for j := range s.Mean {
		switch l.Kind {
		case loss.Huber:
			if s.Constant[j] {
				continue
			}
			median := weightedQuantile(Y, W, j, 0.5, func(y float64) float64 { return y })
			mad := weightedQuantile(Y, W, j, 0.5, func(y float64) float64 { return math.Abs(y - median) })
			s.Mean[j] = median
			if mad > 0 {
				s.Scale[j] = madScale * mad
			}
		case loss.Quantile:
			s.Mean[j] = weightedQuantile(Y, W, j, l.Parameter, func(y float64) float64 { return y })
		case loss.Logistic:
			p := min(max(s.Mean[j], leastProbability), 1-leastProbability)
			s.Mean[j], s.Scale[j] = math.Log(p/(1-p)), 1
		}
	}
}

// leastProbability is what a class has that all samples, or none, are of.
const leastProbability = 1e-3

// weightedQuantile is the least value at or below which τ of the weight of column j lies, and the mean with the next
// one where exactly τ does.
func weightedQuantile(Y, W blas.General, j int, tau float64, of func(y float64) float64) float64 {
	type cell struct{ v, w float64 }
	var list []cell
	total := 0.0
	for i := range Y.Rows {
		if y, w := Y.Data[i*Y.Stride+j], WeightAt(W, i, j); w > 0 && !math.IsNaN(y) {
			list = append(list, cell{of(y), w})
			total += w
		}
	}
	if list == nil {
		return 0
	}
	slices.SortFunc(list, func(a, b cell) int { return cmp.Compare(a.v, b.v) })
	sum := 0.0
	for k, c := range list {
		switch sum += c.w; {
		case sum == tau*total && k+1 < len(list):
			return (c.v + list[k+1].v) / 2
		case sum >= tau*total:
			return c.v
		}
	}
	return list[len(list)-1].v
}

// setLoss notes the loss, and the mean loss of every target at the constant that the model predicts without kernels.
func (out *Outputs) setLoss(Y, W blas.General, l loss.Loss) {
	if out.loss = l; l.Kind == loss.Squared {
		return
	}
	out.Loss = l.String()
	if l.Kind == loss.Quantile {
		out.Quantiles = []float64{l.Parameter}
	}
	out.base = slices.Repeat([]float64{1}, Y.Cols)
	constant := make([]float64, Y.Cols)
	if out.Scaler != nil {
		constant = out.Scaler.Mean
	}
	for _, j := range out.Live {
		sum, total := 0.0, 0.0
		for i := range Y.Rows {
			if y, w := Y.Data[i*Y.Stride+j], WeightAt(W, i, j); w > 0 && !math.IsNaN(y) {
				sum += w * out.Relative(j, y, constant[j])
				total += w
			}
		}
		if sum > 0 {
			out.base[j] = sum / total
		}
	}
}

// Relative is the loss of the prediction f of target j, divided by what a constant has in the training data: for the
// squared loss (y − f)² by the variance.
func (out *Outputs) Relative(j int, y, f float64) float64 {
	if out.loss.Kind == loss.Squared {
		d := (f - y) / out.deviation[j]
		return d * d
	}
	if out.loss.Kind != loss.Logistic && out.Scaler != nil {
		mean, scale := out.Scaler.Mean[j], out.Scaler.Scale[j]
		y, f = (y-mean)/scale, (f-mean)/scale
	}
	return out.loss.Value(y, f) / out.base[j]
}

// uncross puts the quantiles of every target into ascending order.
func (out *Outputs) uncross(F blas.General) {
	if q := len(out.Quantiles); q > 1 {
		for i := range F.Rows {
			for row := blas.Row(F, i); len(row) > 0; row = row[q:] {
				slices.Sort(row[:q])
			}
		}
	}
}

// Join is the map of several quantiles of the same targets, those of a target side by side, of the maps of each.
func Join(outs []*Outputs) *Outputs {
	q := len(outs)
	var texts []string
	all := &Outputs{loss: outs[0].loss}
	for k, out := range outs {
		all.Quantiles = append(all.Quantiles, out.Quantiles...)
		if texts = append(texts, strings.TrimPrefix(out.Loss, "quantile:")); k == 0 && out.Scaler != nil {
			n := len(out.Names) * q
			all.Scaler = &Scaler{Mean: make([]float64, n), Scale: make([]float64, n), Constant: make([]bool, n)}
			all.alone = make([]float64, n)
		}
	}
	all.Loss = "quantile:" + strings.Join(texts, ",")
	for j, name := range outs[0].Names {
		for k, out := range outs {
			all.Names = append(all.Names, fmt.Sprintf("%s_q%g", name, out.Quantiles[0]))
			all.deviation, all.base = append(all.deviation, out.deviation[j]), append(all.base, out.base[j])
			if s := all.Scaler; s != nil {
				s.Mean[j*q+k], s.Scale[j*q+k], s.Constant[j*q+k] = out.Scaler.Mean[j], out.Scaler.Scale[j],
					out.Scaler.Constant[j]
				if all.alone[j*q+k] = s.Mean[j*q+k]; out.alone != nil {
					all.alone[j*q+k] = out.alone[j]
				}
			}
		}
	}
	for _, j := range outs[0].Live {
		for k := range q {
			all.Live = append(all.Live, j*q+k)
		}
	}
	return all
}

// CheckLoss reports a loss, read from a file, that the outputs cannot have been learned by.
func (out *Outputs) CheckLoss() error {
	all, err := loss.Parse(out.Loss)
	if err != nil {
		return err
	}
	q := len(out.Quantiles)
	if (all[0].Kind == loss.Quantile) != (q > 0) || q > 0 && (q != len(all) || len(out.Names)%q != 0) {
		return fmt.Errorf("%d quantiles of %d outputs by the loss %q", q, len(out.Names), out.Loss)
	}
	if c := out.Calibration; c != nil && !(all[0].Kind == loss.Logistic && c.Slope >= 0) {
		return fmt.Errorf("a calibration of slope %g of outputs by the loss %q", c.Slope, out.Loss)
	}
	out.loss = all[0]
	return nil
}

// Platt makes calibrated probabilities σ(Slope·f + Shift) of log odds f.
type Platt struct {
	Slope float64 `json:"slope"` // ≥ 0
	Shift float64 `json:"shift"`
}

// Probabilities turns the log odds F of targets 1 into probabilities, in place: σ(f) where c is nil. Those of classes
// are divided by their sum.
func (out *Outputs) Probabilities(F blas.General, c *Platt) {
	if c == nil {
		c = &Platt{Slope: 1}
	}
	for i := range F.Rows {
		row, sum := blas.Row(F, i), 0.0
		for k, f := range row {
			row[k] = loss.Probability(c.Slope*f + c.Shift)
			sum += row[k]
		}
		if out.Classes != nil && sum > 0 {
			blas.Scal(1/sum, row)
		}
	}
}

// Targets are those of each output: a column of Y for each quantile of it.
func (out *Outputs) Targets(Y blas.General) blas.General {
	q := max(len(out.Quantiles), 1)
	if q == 1 {
		return Y
	}
	Z := blas.NewGeneral(Y.Rows, Y.Cols*q)
	for i := range Z.Rows {
		row := blas.Row(Z, i)
		for j := range row {
			row[j] = Y.Data[i*Y.Stride+j/q]
		}
	}
	return Z
}

// OfTargets lists the outputs of the targets.
func (out *Outputs) OfTargets(targets []int) (list []int) {
	q := max(len(out.Quantiles), 1)
	for _, j := range targets {
		for k := range q {
			list = append(list, j*q+k)
		}
	}
	return list
}

// Deviations are the robust standard deviations about 0 of the columns of R, by the weights W.
func Deviations(R, W blas.General) []float64 {
	s := make([]float64, R.Cols)
	for j := range s {
		s[j] = madScale * weightedQuantile(R, W, j, 0.5, math.Abs)
	}
	return s
}

// Weights are the weights W of rows, or those of cells of the targets that are learned.
func (out *Outputs) Weights(W blas.General) blas.General {
	if W.Cols <= 1 {
		return W
	}
	return Take(W, out.Live)
}

// OfAll are weights of rows, or those of cells of all targets where W has them of the targets that are learned.
func (out *Outputs) OfAll(W blas.General) blas.General {
	if W.Cols <= 1 || W.Cols == len(out.Names) {
		return W
	}
	all := blas.NewGeneral(W.Rows, len(out.Names))
	blas.Fill(all, 1)
	for k, j := range out.Live {
		blas.Copy(blas.View(all, 0, j, W.Rows, 1), blas.View(W, 0, k, W.Rows, 1))
	}
	return all
}
