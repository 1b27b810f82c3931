// This file predicts sets of classes and class probabilities, and calibrates these.

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
// divided by the sum over them. Of a model of classes by squares that keeps folds they are softmax of slope·f.
func (m *Model) Probabilities(F blas.General) error {
	classes := m.Out.Classes != nil
	switch {
	case m.LogOdds():
		m.Out.Probabilities(F, m.Out.Calibration)
	case !classes:
		return fault.Input("the model has no probabilities: it was fitted neither on classes nor by the loss logistic")
	case m.Folds == nil:
		return fault.Input("the model has no probabilities: it keeps no folds to calibrate them by; fit it with " +
			"interval folds, or by the loss logistic")
	default:
		Y, held, W := m.heldOutOfFolds()
		softmaxes(F, F, slope(held, Y, W))
	}
	return nil
}

// LogOdds reports whether the outputs are log odds, those of the logistic loss.
func (m *Model) LogOdds() bool { return m.Out.Loss == "logistic" }

// ClassSets predicts sets of classes that hold the class of a new row with probability level or about it, by CV+
// (Romano, Sesia, Candès, doi:10.48550/arXiv.2006.02544), with the score max_k f_k − f_y of class y: class y is in the
// set of x unless level·(l + 1) or more of the samples have a lower score in the model of their fold than y has there
// at x. The class predicted is always in it. F (t×n) gets the outputs.
func (m *Model) ClassSets(ctx context.Context, F, x blas.General, level float64) (*Sets, error) {
	q := Interval{Level: level, Method: CVPlus}
	switch err := m.method(&q); {
	case m.Out.Classes == nil:
		return nil, fault.Input("the model was not fitted on classes")
	case err != nil:
		return nil, err
	}
	if err := m.Predict(ctx, F, x); err != nil {
		return nil, err
	}
	n := F.Cols
	s := &Sets{P: blas.NewGeneral(F.Rows, n), In: make([][]bool, F.Rows)}
	lower := blas.NewGeneral(F.Rows, n) // the mass of samples of a lower score
	masses, total := make([][]float64, len(m.Folds)), 0
	for k, f := range m.Folds {
		masses[k] = columns.RowWeights(f.Y, f.W)
		total += len(masses[k])
	}
	masses = m.masses(masses)
	G := blas.NewGeneral(F.Rows, n)
	for k, f := range m.Folds {
		if err := f.Predict(ctx, G, x); err != nil {
			return nil, err
		}
		scores := stepped(f.classScores(), masses[k])
		for i := range G.Rows {
			g, row := blas.Row(G, i), blas.Row(lower, i)
			top := slices.Max(g)
			for y, v := range g {
				at, _ := slices.BinarySearch(scores.v, top-v)
				row[y] += scores.upTo(at - 1) // behind −∞
			}
		}
	}
	if _, err := rank(level, total); err != nil {
		return nil, err
	}
	for i := range F.Rows {
		f, low := blas.Row(F, i), blas.Row(lower, i)
		s.In[i] = make([]bool, n)
		top := slices.Max(f)
		for y, v := range f {
			s.In[i][y] = v == top || low[y] < level*float64(total+1)
		}
	}
	blas.Copy(s.P, F)
	return s, m.Probabilities(s.P)
}

// classScores are max_k f_k − f_y of the samples left out and their class y.
func (f *Fold) classScores() []float64 {
	scores := make([]float64, f.F.Rows)
	for i := range scores {
		row := blas.Row(f.F, i)
		scores[i] = slices.Max(row) - row[class(blas.Row(f.Y, i))]
	}
	return scores
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
// b that is the most likely for the samples left out of its folds (Platt, Advances in Large Margin Classifiers, 1999).
// A cell counts by its weight. One pair for all outputs keeps the order of the classes.
func (m *Model) Calibrate() {
	var f, y, w []float64
	for _, fold := range m.Folds {
		for i := range fold.Y.Rows {
			for _, j := range m.Out.Live {
				if v := fold.Y.Data[i*fold.Y.Stride+j]; !math.IsNaN(v) {
					f, y = append(f, fold.F.Data[i*fold.F.Stride+j]), append(y, v)
					w = append(w, columns.WeightAt(fold.W, i, j))
				}
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
