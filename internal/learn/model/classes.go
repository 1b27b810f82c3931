package model

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
)

// Sets says which classes each row may be of, and how probable each class is.
type Sets struct {
	P  blas.General // probabilities, t×n
	In [][]bool     // whether the class is in the set of the row, t×n
}

// Probabilities turns outputs F (t×n) into probabilities, in place. By the logistic loss each output f is the log odds
// of its class against all others, or of a target 1: σ(f), or σ(a·f + b) as [Model.Calibrate] has it, of classes
// divided by the sum over them. Of a model of classes by squares they are softmax of slope·f, by held-out rows.
func (m *Model) Probabilities(ctx context.Context, F blas.General) error {
	switch {
	case m.LogOdds():
		m.Out.Probabilities(F, m.Out.Calibration)
	case m.Out.Classes == nil:
		return fault.Input("the model has no probabilities: it was fitted neither on classes nor by the loss logistic")
	default:
		h, err := m.HeldOut(ctx)
		if err != nil {
			return err
		}
		softmaxes(F, F, slope(h.F, h.Y, h.W))
	}
	return nil
}

// LogOdds reports whether the outputs are log odds, those of the logistic loss.
func (m *Model) LogOdds() bool { return m.Out.Loss == "logistic" }

// ClassSets predicts sets of classes that hold the class of a new row with probability level or about it, with the
// score max_k f_k − f_y of class y (Romano, Sesia, Candès, doi:10.48550/arXiv.2006.02544): class y is in the set of x
// unless its score there is above that of rank ⌈level·(l + 1)⌉ of the held-out rows and their classes. The class
// predicted is always in it. F (t×n) gets the outputs.
func (m *Model) ClassSets(ctx context.Context, F, x blas.General, level float64) (*Sets, error) {
	switch {
	case m.Out.Classes == nil:
		return nil, fault.Input("the model was not fitted on classes")
	case !(level > 0 && level < 1):
		return nil, fault.Input("sets of level %g: it must lie between 0 and 1", level)
	}
	h, err := m.HeldOut(ctx)
	if err != nil {
		return nil, err
	}
	held := make([]float64, h.F.Rows)
	for i := range held {
		row := blas.Row(h.F, i)
		held[i] = slices.Max(row) - row[class(blas.Row(h.Y, i))]
	}
	r, err := rank(level, len(held))
	if err != nil {
		return nil, err
	}
	most := ofRank(held, meanOne(columns.RowWeights(h.Y, h.W), h.W), r)
	if err := m.Predict(ctx, F, x); err != nil {
		return nil, err
	}
	s := &Sets{P: blas.Clone(F), In: make([][]bool, F.Rows)}
	for i := range F.Rows {
		f := blas.Row(F, i)
		top := slices.Max(f)
		for _, v := range f {
			s.In[i] = append(s.In[i], top-v <= most)
		}
	}
	return s, m.Probabilities(ctx, s.P)
}

// class is the one whose target is 1.
func class(targets []float64) int { return slices.Index(targets, slices.Max(targets)) }

// softmax writes exp(slope·f_k)/Σ exp(slope·f) to p.
func softmax(p, f []float64, slope float64) {
	top, sum := slices.Max(f), 0.0
	for k, v := range f {
		p[k] = math.Exp(slope * (v - top))
		sum += p[k]
	}
	blas.Scal(1/sum, p)
}

// Probabilities are those of the classes for held-out predictions F of targets Y (l×n) with the weights W, as
// [Model.ClassSets] has them.
func Probabilities(F, Y, W blas.General) blas.General {
	P := blas.NewGeneral(F.Rows, F.Cols)
	softmaxes(P, F, slope(F, Y, W))
	return P
}

// softmaxes writes softmax of slope·f for the rows f of F to P, which may be F.
func softmaxes(P, F blas.General, slope float64) {
	for i := range F.Rows {
		softmax(blas.Row(P, i), blas.Row(F, i), slope)
	}
}

// slope is the one number of the calibrated probabilities, softmax of slope·f: the most likely for held-out
// predictions F of targets Y (l×n) with the weights W, with a share of 1/(w + 2) of the weight of each
// spread over all classes, which keeps it finite. One slope for all classes changes no class predicted.
func slope(F, Y, W blas.General) float64 {
	weights := columns.RowWeights(Y, W)
	p := make([]float64, F.Cols)
	spread := 1 / (floats.Sum(weights) + 2)
	// rises reports whether the likelihood, concave, rises at a.
	rises := func(a float64) bool {
		var derivative float64
		for i := range F.Rows {
			row, y := blas.Row(F, i), class(blas.Row(Y, i))
			softmax(p, row, a)
			derivative += weights[i] * (1 - spread) * row[y]
			for k, v := range row {
				derivative += weights[i] * (spread/float64(len(row)) - p[k]) * v
			}
		}
		return derivative > 0
	}
	lo, hi := 0.0, 1.0
	for hi < 1e6 && rises(hi) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-4*hi {
		if mid := (lo + hi) / 2; rises(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// Calibrate makes the probabilities of a model of the logistic loss σ(a·f + b) of its log odds f, with the pair a ≥ 0,
// b that is the most likely for its held-out rows (Platt, Advances in Large Margin Classifiers, 1999).
// A cell counts by its weight. One pair for all outputs keeps the order of the classes.
func (m *Model) Calibrate() {
	var f, y, w []float64
	for i := range m.Held.Y.Rows {
		for _, j := range m.Out.Live {
			if v := m.Held.Y.Data[i*m.Held.Y.Stride+j]; !math.IsNaN(v) {
				f, y = append(f, m.Held.F.Data[i*m.Held.F.Stride+j]), append(y, v)
				w = append(w, columns.WeightAt(m.Held.W, i, j))
			}
		}
	}
	m.Out.Calibration = platt(f, y, w)
}

// platt maximises Σ w·(t·log p + (1−t)·log(1−p)), p = σ(a·f + b), over a ≥ 0 and b. The targets t are (N₁+1)/(N₁+2) in
// the place of y = 1 and 1/(N₀+2) in that of 0, N₁ and N₀ being the weights of these, which keeps a and b finite.
func platt(f, y, w []float64) *columns.Platt {
	ones := floats.Dot(w, y)
	zeros := floats.Sum(w) - ones
	t := make([]float64, len(y))
	for i, v := range y {
		if t[i] = 1 / (zeros + 2); v == 1 {
			t[i] = (ones + 1) / (ones + 2)
		}
	}
	logistic, all := loss.Loss{Kind: loss.Logistic}, floats.Sum(w)
	unit := max(floats.Norm(f, 2)/math.Sqrt(float64(max(len(f), 1))), math.SmallestNonzeroFloat64) // of log odds
	// It ends at the gradient that is asked for, or where rounding lets no step improve.
	result, _ := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) (sum float64) {
			for i, v := range f {
				sum += w[i] / all * logistic.Value(t[i], x[0]*v/unit+x[1])
			}
			return sum
		},
		Grad: func(grad, x []float64) {
			clear(grad)
			for i, v := range f {
				down, _ := logistic.Slope(t[i], x[0]*v/unit+x[1])
				grad[0] -= w[i] / all * down * v / unit
				grad[1] -= w[i] / all * down
			}
		},
	}, []float64{unit, 0}, nil, &optimize.BFGS{})
	if result.X[0] < 0 {
		p := stat.Mean(t, w)
		return &columns.Platt{Shift: math.Log(p / (1 - p))}
	}
	return &columns.Platt{Slope: result.X[0] / unit, Shift: result.X[1]}
}
