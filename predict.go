// Predictions by a model, and their scores.

package iokl

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
)

// Predict returns the predicted targets (t×n) for the t rows of X, which may
// have missing cells (NaN) unless Options.Missing refused them.
func (m *Model) Predict(X mat.Matrix) (*mat.Dense, error) {
	dst := new(mat.Dense)
	if err := m.PredictTo(dst, X); err != nil {
		return nil, err
	}
	return dst, nil
}

// PredictTo writes the predicted targets for the t rows of X to dst (t×n), which
// it does not read: an empty dst becomes t×n, and one of another shape panics. It works
// through blocks of rows in parallel, of which each keeps a part of K_η(X*,X) that stays in
// the caches, so that it takes a few MiB for each thread whatever t and l are, beside a copy
// of the training inputs that the first call makes and the model keeps; kernels of weight 0
// cost nothing. The cost is that of K_η(X*,X), t×l, times an l×n matrix.
// On an error dst may hold the predictions for some of the rows.
func (m *Model) PredictTo(dst *mat.Dense, X mat.Matrix) error {
	if t, _ := dims(X); t <= model.SlabRows { // labels for profiles take memory
		return m.predict(context.Background(), dst, X)
	}
	var err error
	phase.Apart(phase.Predict, func() { err = m.predict(context.Background(), dst, X) })
	return err
}

// PredictContext is [Model.PredictTo], ended early with the context's error when
// that is cancelled.
func (m *Model) PredictContext(ctx context.Context, dst *mat.Dense, X mat.Matrix) (err error) {
	alive(ctx)
	if t, _ := dims(X); t <= model.SlabRows {
		return m.predict(ctx, dst, X)
	}
	phase.Do(ctx, phase.Predict, func(ctx context.Context) { err = m.predict(ctx, dst, X) })
	return err
}

func (m *Model) predict(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	x, n := raw(X), len(m.fitted().Out.Names)
	if x.Rows == 0 {
		return fault.Input("no rows to predict")
	}
	if err := m.fitted().In.CheckWidth(x); err != nil {
		return err
	}
	if dst == nil {
		panic("iokl: PredictTo: a nil destination")
	}
	if dst.IsEmpty() {
		dst.ReuseAs(x.Rows, n)
	}
	if r, c := dst.Dims(); r != x.Rows || c != n {
		panic("iokl: PredictTo: shape mismatch")
	}
	return m.fitted().Predict(ctx, dst.RawMatrix(), x)
}

// PredictGram returns the predicted targets (t×n) of a model of Gram matrices,
// from the cross-Gram matrices k_j(x*_i, x_k), t×l, of all m kernels or of those
// of positive weight, in order.
func (m *Model) PredictGram(KX []mat.Matrix) (dst *mat.Dense, err error) {
	phase.Apart(phase.Predict, func() {
		var F blas.General
		if F, err = m.fitted().PredictGram(raws(KX)); err == nil {
			dst = blas.Dense(F)
		}
	})
	return dst, err
}

// Classify returns the class of the largest output for each row of X. The model
// must come from FitClasses.
func (m *Model) Classify(X mat.Matrix) ([]string, error) {
	if m.fitted().Out.Classes == nil {
		return nil, fault.Input("the model was not fitted on classes")
	}
	F, err := m.Predict(X)
	if err != nil {
		return nil, err
	}
	labels := make([]string, F.RawMatrix().Rows)
	for i := range labels {
		labels[i] = m.fitted().Out.Classes[floats.MaxIdx(F.RawRowView(i))]
	}
	return labels, nil
}

// PredictProba returns the probabilities of the classes (t×n), in the order of Classes, for the rows of X. They are
// those of the loss "logistic", of each class against all others divided by their sum, or, of a fit by squares,
// softmax of the outputs calibrated on held-out rows. A model of targets 0 and 1 by the loss "logistic" has the
// probability of 1 for each output. Probabilities by this loss are σ(a·f + b) of the log odds f with one pair a, b,
// calibrated on held-out rows; they are σ(f) where the fit keeps none, see Options.IntervalFolds.
func (m *Model) PredictProba(X mat.Matrix) (*mat.Dense, error) { return m.probabilities(m.Predict(X)) }

// PredictProbaGram is PredictProba for a model of Gram matrices by the loss "logistic", from what PredictGram takes.
// Its outputs are not known to be classes: each has the probability of 1.
func (m *Model) PredictProbaGram(KX []mat.Matrix) (*mat.Dense, error) {
	return m.probabilities(m.PredictGram(KX))
}

// probabilities turns predictions into probabilities, in place.
func (m *Model) probabilities(F *mat.Dense, err error) (*mat.Dense, error) {
	if err != nil {
		return nil, err
	}
	if err := m.fitted().Probabilities(context.Background(), F.RawMatrix()); err != nil {
		return nil, err
	}
	return F, nil
}

// Scores compare predictions with targets.
type Scores struct {
	MSE     []float64 `json:"mse"`      // mean squared error of each output
	RMSE    []float64 `json:"rmse"`     // its root
	RRMSE   []float64 `json:"rrmse"`    // √(Σ(y−ŷ)²/Σ(y−ȳ)²) with ȳ the reference mean: 1 for a constant guess
	MeanMSE float64   `json:"mean_mse"` // averages over the outputs
	ARMSE   float64   `json:"armse"`
	ARRMSE  float64   `json:"arrmse"`
	// Accuracy is the share of rows whose largest predicted output is the largest target; 0 where targets are no
	// classes, of which each row has one 1 and else 0.
	Accuracy float64 `json:"accuracy,omitzero"`
}

// NewScores compares predictions F with targets Y (both t×n). mean is what the
// relative error is measured against, usually the means of the training targets;
// nil means those of Y. An output whose targets all equal the reference counts
// as 0 when it is predicted exactly and as 1 else. Missing cells (NaN) of Y do not
// count; an output of which none is observed has errors of NaN and is left out of averages.
func NewScores(F, Y mat.Matrix, mean []float64) Scores {
	f, y := raw(F), raw(Y)
	if f.Rows != y.Rows || f.Cols != y.Cols {
		panic("iokl: NewScores: shape mismatch")
	}
	if mean == nil {
		mean = columns.Measure(y).Mean
	}
	var s Scores
	s.MSE, s.Accuracy = learn.Compare(f, y, blas.General{})
	if !columns.AreClasses(y) {
		s.Accuracy = 0
	}
	for j, mse := range s.MSE {
		var st, count float64
		for i := range y.Rows {
			if e := mean[j] - y.Data[i*y.Stride+j]; !math.IsNaN(e) {
				st += e * e
				count++
			}
		}
		if st == 0 { // 0 for exact predictions, and else 1
			st = max(mse*count, math.SmallestNonzeroFloat64)
		}
		s.RMSE, s.RRMSE = append(s.RMSE, math.Sqrt(mse)), append(s.RRMSE, math.Sqrt(mse*count/st))
	}
	s.MeanMSE, s.ARMSE, s.ARRMSE = learn.Mean(s.MSE), learn.Mean(s.RMSE), learn.Mean(s.RRMSE)
	return s
}

// Score predicts X and compares with Y; relative errors are measured against the
// means of the training targets where the model knows them.
func (m *Model) Score(X, Y mat.Matrix) (Scores, error) {
	F, err := m.Predict(X)
	if err != nil {
		return Scores{}, err
	}
	r, c := dims(Y)
	if fr, fc := F.Dims(); r != fr || c != fc {
		return Scores{}, fault.Input("predictions are %d×%d, Y is %d×%d", fr, fc, r, c)
	}
	return m.ScorePredictions(F, Y), nil
}

// ScorePredictions compares predictions F of the model with targets Y as Score does. Only a model of classes has
// an Accuracy.
func (m *Model) ScorePredictions(F, Y mat.Matrix) Scores {
	var mean []float64
	if m.fitted().Out.Scaler != nil {
		mean = m.fitted().Out.Scaler.Mean
	}
	s := NewScores(F, Y, mean)
	if m.fitted().Out.Classes == nil {
		s.Accuracy = 0
	}
	return s
}
