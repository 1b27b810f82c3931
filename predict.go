package iokl

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/kernel"
)

// sampleBasis predicts K_η(Z*, Z)·(C L) from the training inputs Z.
type sampleBasis struct {
	dict kernel.Dictionary // kernels of positive weight
	eta  []float64         // their weights
	Z    blas.General      // training inputs, scaled
	CL   blas.General      // l×live
	be   blas.Backend
}

// gramBasis predicts Σ_j η_j KX_j·(C L) from cross-Gram matrices of the caller's.
type gramBasis struct {
	CL blas.General
	be blas.Backend
}

// newBasis takes over res.C, which becomes C·L.
func newBasis(t *training, res *bcd.Result, be blas.Backend) basis {
	if t.sums != nil {
		return newFeatureBasis(t.maps, res, be)
	}
	CL := timesOutput(be, res.C, res.L)
	if t.Z.Cols == 0 {
		return &gramBasis{CL: CL, be: be}
	}
	b := &sampleBasis{Z: t.Z, CL: CL, be: be}
	for _, j := range kept(res.Eta) {
		b.dict = append(b.dict, t.dict[j])
		b.eta = append(b.eta, res.Eta[j])
	}
	return b
}

func (b *sampleBasis) evaluator() (evaluator, error) {
	c, err := b.dict.Crossing(b.eta, b.Z, b.be)
	if err != nil {
		return nil, asInput(err)
	}
	return func(dst, Z blas.General) error { return asInput(c.Mul(dst, Z, b.CL)) }, nil
}

func (b *sampleBasis) kind() string { return "samples" }
func (b *gramBasis) kind() string   { return "gram" }

func (b *gramBasis) evaluator() (evaluator, error) {
	return nil, badInput("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
}

// slabRows is how many new points are scaled, predicted and scaled back at a time.
const slabRows = 256

// predict writes the targets for the rows of x to dst.
func (m *Model) predict(ctx context.Context, dst, x blas.General) error {
	if err := m.in.checkWidth(x); err != nil {
		return err
	}
	evaluate, err := m.basis.evaluator()
	if err != nil {
		return err
	}
	type slab struct{ Z, F blas.General }
	var slabs par.Free[slab]
	fail := make([]error, (x.Rows+slabRows-1)/slabRows)
	par.Ranges(x.Rows, slabRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		s, rows := slabs.Get(), min(slabRows, x.Rows)
		if s == nil {
			s = &slab{blas.NewGeneral(rows, x.Cols), blas.NewGeneral(rows, len(m.out.Live))}
		}
		defer slabs.Put(s)
		Z, F := blas.View(s.Z, 0, 0, hi-lo, x.Cols), blas.View(s.F, 0, 0, hi-lo, s.F.Cols)
		blas.Copy(Z, blas.View(x, lo, 0, hi-lo, x.Cols))
		if _, err := m.in.scale(Z, lo); err != nil {
			fail[lo/slabRows] = err
			return
		}
		if fail[lo/slabRows] = evaluate(F, Z); fail[lo/slabRows] == nil {
			m.out.restore(blas.View(dst, lo, 0, hi-lo, dst.Cols), F)
		}
	})
	return cmp.Or(ctx.Err(), firstOf(fail))
}

// Predict returns the predicted targets (t×n) for the t rows of X, which may
// have missing cells (NaN) unless Options.Missing refused them.
func (m *Model) Predict(X mat.Matrix) (*mat.Dense, error) {
	t, _ := X.Dims()
	if t == 0 {
		return nil, badInput("no rows to predict")
	}
	dst := mat.NewDense(t, len(m.out.Names), nil)
	return dst, m.PredictTo(dst, X)
}

// PredictTo writes the predicted targets for the t rows of X to dst (t×n), which
// it does not read. It works through blocks of rows in parallel, of which each keeps
// a part of K_η(X*,X) that stays in the caches, so that it takes a few MiB for
// each thread whatever t and l are, beside a copy of the training inputs; kernels of
// weight 0 cost nothing. The cost is that of K_η(X*,X), t×l, times an l×n matrix.
// On an error dst may hold the predictions for some of the rows.
func (m *Model) PredictTo(dst *mat.Dense, X mat.Matrix) error {
	return m.PredictContext(context.Background(), dst, X)
}

// PredictContext is [Model.PredictTo], ended early with the context's error when
// that is cancelled.
func (m *Model) PredictContext(ctx context.Context, dst *mat.Dense, X mat.Matrix) error {
	x := raw(X)
	if r, c := dst.Dims(); r != x.Rows || c != len(m.out.Names) {
		panic("iokl: PredictTo: shape mismatch")
	}
	if m.in == nil {
		return badInput("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	var err error
	phase.Apart(phase.Predict, func() { err = m.predict(ctx, dst.RawMatrix(), x) })
	return err
}

// PredictGram returns the predicted targets (t×n) of a model of Gram matrices,
// from the cross-Gram matrices k_j(x*_i, x_k), t×l, of all m kernels or of those
// of positive weight, in order.
func (m *Model) PredictGram(KX []mat.Matrix) (*mat.Dense, error) {
	b, ok := m.basis.(*gramBasis)
	if !ok {
		return nil, badInput("the model was fitted on inputs, not on Gram matrices")
	}
	eta := m.eta
	if idx := kept(eta); len(KX) == len(idx) && len(KX) != len(eta) {
		eta = make([]float64, len(idx))
		for k, j := range idx {
			eta[k] = m.eta[j]
		}
	}
	if len(KX) != len(eta) {
		return nil, badInput("%d cross-Gram matrices for %d kernels (%d of positive weight)", len(KX), len(eta), len(kept(eta)))
	}
	t, _ := KX[0].Dims()
	if t == 0 {
		return nil, badInput("no rows to predict")
	}
	K := blas.NewGeneral(t, b.CL.Rows)
	for j, kx := range KX {
		if r, c := kx.Dims(); r != t || c != b.CL.Rows {
			return nil, badInput("cross-Gram matrix %d is %d×%d, want %d×%d", j+1, r, c, t, b.CL.Rows)
		}
		k := raw(kx)
		if err := kernel.FiniteData(k, nil); err != nil {
			return nil, badInput("cross-Gram matrix %d: %v", j+1, err)
		}
		if eta[j] > 0 {
			blas.AddScaled(K, eta[j], k)
		}
	}
	F := blas.NewGeneral(t, len(m.out.Live))
	phase.Apart(phase.Predict, func() { blas.Mul(blas.Or(b.be), F, false, false, K, b.CL) })
	dst := mat.NewDense(t, len(m.out.Names), nil)
	m.out.restore(dst.RawMatrix(), F)
	return dst, nil
}

// Classify returns the class of the largest output for each row of X. The model
// must come from FitClasses.
func (m *Model) Classify(X mat.Matrix) ([]string, error) {
	if m.out.Classes == nil {
		return nil, badInput("the model was not fitted on classes")
	}
	F, err := m.Predict(X)
	if err != nil {
		return nil, err
	}
	labels := make([]string, F.RawMatrix().Rows)
	for i := range labels {
		labels[i] = m.out.Classes[largest(F.RawRowView(i))]
	}
	return labels, nil
}

// largest is the index of the first largest element.
func largest(row []float64) int {
	best := 0
	for j, v := range row {
		if v > row[best] {
			best = j
		}
	}
	return best
}

// Scores compare predictions with targets.
type Scores struct {
	MSE      []float64 `json:"mse"`      // mean squared error of each output
	RMSE     []float64 `json:"rmse"`     // its root
	RRMSE    []float64 `json:"rrmse"`    // √(Σ(y−ŷ)²/Σ(y−ȳ)²) with ȳ the reference mean: 1 for a constant guess
	MeanMSE  float64   `json:"mean_mse"` // averages over the outputs
	ARMSE    float64   `json:"armse"`
	ARRMSE   float64   `json:"arrmse"`
	Accuracy float64   `json:"accuracy"` // share of rows whose largest predicted output is the largest target
}

// NewScores compares predictions F with targets Y (both t×n). mean is what the
// relative error is measured against, usually the means of the training targets;
// nil means those of Y. An output whose targets all equal the reference counts
// as 0 when it is predicted exactly and as 1 else.
func NewScores(F, Y mat.Matrix, mean []float64) Scores {
	f, y := raw(F), raw(Y)
	if f.Rows != y.Rows || f.Cols != y.Cols {
		panic("iokl: NewScores: shape mismatch")
	}
	if mean == nil {
		mean = newScaler(y).Mean
	}
	var s Scores
	for j := range y.Cols {
		var se, st float64
		for i := range y.Rows {
			d, e := f.Data[i*f.Stride+j]-y.Data[i*y.Stride+j], mean[j]-y.Data[i*y.Stride+j]
			se += d * d
			st += e * e
		}
		s.MSE = append(s.MSE, se/float64(y.Rows))
		s.RRMSE = append(s.RRMSE, relativeError(se, st))
	}
	right := 0
	for i := range y.Rows {
		if largest(blas.Row(f, i)) == largest(blas.Row(y, i)) {
			right++
		}
	}
	s.Accuracy = float64(right) / float64(max(y.Rows, 1))
	s.average()
	return s
}

func relativeError(se, st float64) float64 {
	switch {
	case st > 0:
		return math.Sqrt(se / st)
	case se > 0:
		return 1
	}
	return 0
}

// average fills in what follows from MSE and RRMSE.
func (s *Scores) average() {
	n := float64(len(s.MSE))
	s.RMSE = slices.Clone(s.MSE)
	for j, v := range s.MSE {
		s.RMSE[j] = math.Sqrt(v)
		s.MeanMSE += v / n
		s.ARMSE += s.RMSE[j] / n
		s.ARRMSE += s.RRMSE[j] / n
	}
}

// Score predicts X and compares with Y; relative errors are measured against the
// means of the training targets where the model knows them.
func (m *Model) Score(X, Y mat.Matrix) (Scores, error) {
	F, err := m.Predict(X)
	if err != nil {
		return Scores{}, err
	}
	r, c := Y.Dims()
	if fr, fc := F.Dims(); r != fr || c != fc {
		return Scores{}, badInput("predictions are %d×%d, Y is %d×%d", fr, fc, r, c)
	}
	return m.ScorePredictions(F, Y), nil
}

// ScorePredictions compares predictions F of the model with targets Y as Score does.
func (m *Model) ScorePredictions(F, Y mat.Matrix) Scores {
	var mean []float64
	if m.out.Scaler != nil {
		mean = m.out.Scaler.Mean
	}
	return NewScores(F, Y, mean)
}
