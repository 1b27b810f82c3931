// Refits of a training set without each of its samples, in closed form, and robust scales of residuals measured by
// them.

package samples

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// leaveOut is refits of a training set without each of its samples.
type leaveOut struct {
	*training
	eta []float64 // of dec
	dec *sylvester.Decomposition
	lo  *sylvester.LeaveOut
	L   *linop.Spectral // that lo uses
	raw blas.General    // targets in the units of the data
}

// LeaveOut prepares for refits without each sample.
func (t *training) LeaveOut() (learn.LeaveOut, error) {
	if t.w.Data != nil || t.opt.Columns.Loss.Kind != loss.Squared {
		return nil, fault.Input("leaving out single rows in closed form is for the squared loss without weights: use " +
			"folds")
	}
	if columns.Missing(t.Y) {
		return nil, fault.Input(
			"leaving out single rows in closed form is for targets without missing cells: use folds")
	}
	s := &leaveOut{training: t, raw: blas.NewGeneral(t.Y.Rows, len(t.out.Names))}
	t.out.Restore(s.raw, t.Y)
	return s, nil
}

func (s *leaveOut) At(ctx context.Context, eta []float64, L *linop.Spectral, mu float64) (*learn.Refits, error) {
	if s.lo == nil || !slices.Equal(eta, s.eta) {
		dec, err := s.decompose(ctx, eta)
		if err != nil {
			return nil, err
		}
		s.eta, s.dec, s.lo, s.L = slices.Clone(eta), dec.Clip(), sylvester.NewLeaveOut(dec, s.opt.Backend), nil
	}
	if s.L != L {
		if err := s.lo.Use(L, s.Y); err != nil {
			return nil, err
		}
		s.L = L
	}
	if err := s.lo.At(blas.General{}, mu); err != nil {
		return nil, err
	}
	R := blas.NewGeneral(s.Y.Rows, s.Y.Cols)
	s.lo.Residuals(R)
	r := s.refits(R)
	r.Freedom = s.lo.DegreesOfFreedom()
	return r, nil
}

// refits are those of residuals R (l×live).
func (s *leaveOut) refits(R blas.General) *learn.Refits {
	F := blas.Clone(s.Y)
	blas.AddScaled(F, -1, R)
	P := blas.Like(s.raw)
	s.out.Restore(P, F)
	judge := func(i, rows int) learn.Errors {
		some := func(a blas.General) blas.General { return blas.View(a, i, 0, rows, a.Cols) }
		return learn.Judge(some(P), some(s.raw), blas.General{}, s.out)
	}
	return &learn.Refits{Errors: judge(0, P.Rows), Row: func(i int) learn.Errors { return judge(i, 1) }}
}

func (s *leaveOut) Constant() *learn.Refits {
	R := blas.Clone(s.Y)
	if l := float64(R.Rows); s.out.Scaler != nil {
		blas.Scal(l/(l-1), R.Data) // y_i less the mean of the others, of targets of mean 0
	}
	return s.refits(R)
}

// decompose is K_η, or Z_η·Z_ηᵀ of the features.
func (s *leaveOut) decompose(ctx context.Context, eta []float64) (*sylvester.Decomposition, error) {
	be := blas.Or(s.opt.Backend)
	if K, _ := s.Kernels(); K != nil {
		K.SetWeights(eta)
		return sylvester.Decompose(ctx, K, be)
	}
	F, err := s.features(eta)
	if err != nil {
		return nil, err
	}
	D := F.Cols
	if D >= F.Rows {
		K := blas.Product(be, false, true, F, F)
		return sylvester.Decompose(ctx, linop.NewDense(K, be), be)
	}
	G := blas.Product(be, true, false, F, F)
	dec, err := sylvester.Decompose(ctx, linop.NewDense(G, be), be)
	if err != nil {
		return nil, err
	}
	// Of G = U·diag(γ)·Uᵀ, the columns of F·U/√γ are eigenvectors of F·Fᵀ. Those of γ
	// within rounding of 0 are left out.
	const rankTol = 1e-12
	q := 0
	for q < D && !(dec.Sigma[q] > rankTol*dec.Sigma[D-1]) {
		q++
	}
	T := blas.Product(be, false, false, F, blas.View(dec.T, 0, q, D, D-q))
	scale := make([]float64, D-q)
	for a, g := range dec.Sigma[q:] {
		scale[a] = 1 / math.Sqrt(g)
	}
	blas.ScaleColumns(T, scale)
	return &sylvester.Decomposition{T: T, Sigma: dec.Sigma[q:]}, nil
}

// features are Z_η.
func (s *leaveOut) features(eta []float64) (F blas.General, err error) {
	F = blas.NewGeneral(s.Z.Rows, s.maps.Dim())
	if err := s.maps.Transform(F, s.Z); err != nil {
		return F, fault.From(err)
	}
	roots := make([]float64, 0, F.Cols)
	for j, d := range s.maps.Blocks() {
		roots = append(roots, slices.Repeat([]float64{math.Sqrt(eta[j])}, d)...)
	}
	blas.ScaleColumns(F, roots)
	return F, nil
}

// free is the eigenvalue of a direction that is not penalised.
const free = 0x1p500

// withConstant is the decomposition of H·K_η·H, H = I − 11ᵀ/l, whose last eigenvector is the constant, with the
// eigenvalue free: that of regression with a constant. It returns K_η, and the trace of H·K_η·H.
func (s *leaveOut) withConstant(ctx context.Context, eta []float64) (
	dec *sylvester.Decomposition, K linop.Operator, trace float64, err error,
) {
	be := blas.Or(s.opt.Backend)
	if terms, _ := s.Kernels(); terms != nil {
		terms.SetWeights(eta)
		K = terms
	} else {
		F, err := s.features(eta)
		if err != nil {
			return nil, nil, 0, err
		}
		K = linop.NewDense(blas.Product(be, false, true, F, F), be)
	}
	l := K.Dim()
	D := blas.NewGeneral(l, l)
	(&linop.Centered{A: K}).Dense(D)
	trace = blas.Trace(D)
	for i := range D.Data { // an eigenvalue above all others
		D.Data[i] += 2 * max(trace, math.SmallestNonzeroFloat64) / float64(l)
	}
	if dec, err = sylvester.Decompose(ctx, linop.NewDense(D, be), be); err != nil {
		return nil, nil, 0, err
	}
	dec = dec.Clip()
	dec.Sigma[l-1] = free
	return dec, K, trace, nil
}

const (
	// residualSamples is how many samples, at most, residuals are measured on: the median of so many absolute values
	// has a standard error of 4 %. The number bounds the order of a decomposition.
	residualSamples = 1000
	// residualSteps ends an iteration whose deviations do not settle to residualTol, well below that error.
	residualSteps = 50
	residualTol   = 1e-2
)

// residuals are the robust standard deviations of the residuals of targets by fits without each sample.
type residuals struct {
	F, C      blas.General // predictions by these fits, and the coefficients of all samples
	eta       []float64
	L         *linop.Spectral // diagonal
	constants []float64       // of the learned outputs
	deviation []float64
}

// residuals does ridge regression on pseudo-observations f + clip(y − f, ±δ_j), with f the predictions by fits without
// each sample in closed form, δ_j RobustDelta robust standard deviations of y − f, and the λ of each target of least
// squared error, until the deviations settle. A missing cell is f: it then has no effect on the others. Such an
// iteration minimises the loss of Huber (Huber and Dutter 1974, the H algorithm).
func (s *leaveOut) residuals(ctx context.Context) (r *residuals, err error) {
	eta := s.Weights()
	if eta == nil {
		eta = slices.Repeat([]float64{1 / float64(len(s.names))}, len(s.names))
	}
	dec, K, trace, err := s.withConstant(ctx, eta)
	if err != nil {
		return nil, fault.From(err)
	}
	lo := sylvester.NewLeaveOut(dec, s.opt.Backend)
	l, n := s.Y.Rows, s.Y.Cols
	r = &residuals{eta: eta, F: blas.NewGeneral(l, n), C: blas.NewGeneral(l, n), L: linop.ScaledIdentity(n, 1)}
	r.deviation = columns.Deviations(s.Y, s.W)
	for j, v := range r.deviation {
		if v == 0 { // more than half of the targets are equal, and tell no scale of the others' errors
			r.deviation[j] = math.Inf(1)
		}
	}
	least := slices.Clone(r.deviation)
	floats.Scale(1/float64(l), least) // about the smallest of l normal errors, where targets are rounded
	Z, R, mus := blas.NewGeneral(l, n), blas.NewGeneral(l, n), defaults.Path(trace)
	for range residualSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.winsorize(Z, r)
		if err := lo.Use(r.L, Z); err != nil {
			return nil, fault.From(err)
		}
		best, scale := slices.Repeat([]float64{math.Inf(1)}, n), slices.Repeat([]float64{1}, n)
		for _, mu := range mus {
			if err := lo.At(blas.General{}, mu); err != nil {
				return nil, fault.From(err)
			}
			lo.Residuals(R)
			for j, e := range s.squareSums(R) {
				if !(e < best[j]) {
					continue
				}
				best[j], scale[j] = e, 1/mu
				for i := range l {
					r.F.Data[i*n+j] = Z.Data[i*n+j] - R.Data[i*n+j]
				}
			}
		}
		floats.Mul(r.L.S, scale)
		blas.Copy(R, s.Y)
		blas.AddScaled(R, -1, r.F)
		next, settled := columns.Deviations(R, s.W), true
		for j, v := range next {
			next[j] = max(v, least[j])
			settled = settled && scalar.EqualWithinRel(next[j], r.deviation[j], residualTol)
		}
		r.deviation = next
		if mus = []float64{0.1, math.Sqrt(0.1), 1, math.Sqrt(10), 10}; settled {
			break
		}
	}
	s.winsorize(Z, r)
	if err = lo.Use(r.L, Z); err == nil {
		err = lo.At(r.C, 1)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	K.Apply(R, r.C)
	r.L.MulRight(blas.Or(s.opt.Backend), R, R)
	r.constants = make([]float64, n) // the means of Z − C − F
	for i := range l {
		for j := range n {
			at := i*n + j
			r.constants[j] += (Z.Data[at] - r.C.Data[at] - R.Data[at]) / float64(l)
		}
	}
	return r, nil
}

// winsorize writes the pseudo-observations to Z.
func (s *leaveOut) winsorize(Z blas.General, r *residuals) {
	for i := range Z.Rows {
		f, z := blas.Row(r.F, i), blas.Row(Z, i)
		for j, y := range blas.Row(s.Y, i) {
			if z[j] = f[j]; !math.IsNaN(y) && columns.WeightAt(s.W, i, j) > 0 {
				z[j] += clip(y-f[j], loss.RobustDelta*r.deviation[j])
			}
		}
	}
}

func clip(v, most float64) float64 { return max(-most, min(v, most)) }

// squareSums are the sums of squares of the observed cells of each column of R.
func (s *leaveOut) squareSums(R blas.General) []float64 {
	sum := make([]float64, R.Cols)
	for i := range R.Rows {
		for j, v := range blas.Row(R, i) {
			if !math.IsNaN(s.Y.Data[i*s.Y.Stride+j]) && columns.WeightAt(s.W, i, j) > 0 {
				sum[j] += v * v
			}
		}
	}
	return sum
}

// robustResiduals measures residuals of the targets on some of the samples of all, fewer where ctx has a deadline, by
// fits with the kernels of the SPECs and the loss of Huber, and makes its δ, where the caller gave none, RobustDelta
// robust standard deviations of them, of which the median is taken. It returns the residuals with the training set that
// they are of.
func (o *observed) robustResiduals(
	ctx context.Context, all learn.Parts, specs []string,
) (*training, *residuals, error) {
	rows, most := rand.New(rand.NewPCG(o.opt.Seed, uint64(o.y.Rows))).Perm(o.y.Rows), residualSamples
	if _, bounded := ctx.Deadline(); bounded {
		most = defaults.SomeSamples
	}
	rows = rows[:min(len(rows), most)]
	slices.Sort(rows)
	some, err := all.Sample(rows)
	if err == nil {
		some, err = some.Parts.ByLoss(loss.Loss{Kind: loss.Huber, Parameter: loss.RobustDelta})
	}
	if err != nil {
		return nil, nil, err
	}
	set, err := some.Train(ctx, specs, learn.Nothing, learn.All)
	if err != nil {
		return nil, nil, err
	}
	t := set.Set.(*training)
	r, err := (&leaveOut{training: t}).residuals(ctx)
	if err != nil || len(r.deviation) == 0 {
		return nil, nil, err
	}
	sorted := slices.Sorted(slices.Values(r.deviation))
	if s := sorted[len(sorted)/2]; o.opt.Columns.FindDelta && !math.IsInf(s, 1) {
		o.opt.Columns.Loss.Parameter = loss.RobustDelta * s
	}
	return t, r, nil
}

// Winsorize finds the δ of the loss of Huber.
func (g *Grams) Winsorize(ctx context.Context, specs []string) error {
	if !g.opt.Columns.FindDelta {
		return nil
	}
	_, _, err := g.robustResiduals(ctx, g, specs)
	return err
}

// Winsorize finds the δ of the loss of Huber, and makes the pseudo-observations by kernels of medium length at first.
// It does nothing for losses on which the effect of gross errors is not bounded.
func (r *Rows) Winsorize(ctx context.Context, specs []string) error {
	bounded := r.Loss().Kind == loss.Huber || r.Loss().Kind == loss.Quantile
	if !bounded || !r.opt.Columns.FindDelta && specs != nil && !dictionary.LearnFromTargets(specs) {
		return nil
	}
	first := []string{defaults.GaussianKernel}
	if specs == nil {
		specs = first
	}
	if r.pseudo.Data == nil && !slices.Equal(specs, first) {
		if err := r.Winsorize(ctx, nil); err != nil {
			return err
		}
	}
	t, res, err := r.robustResiduals(ctx, r, specs)
	if err != nil || res == nil {
		return err
	}
	m := t.Model(&bcd.Result{Eta: res.eta, L: res.L, C: res.C, Constants: res.constants})
	r.pseudo = blas.Like(r.y)
	if err := m.Predict(ctx, r.pseudo, r.x); err != nil {
		return err
	}
	width := make([]float64, r.y.Cols)
	for k, j := range t.out.Live {
		width[j] = loss.RobustDelta * res.deviation[k]
		if t.out.Scaler != nil {
			width[j] *= t.out.Scaler.Scale[j]
		}
	}
	for i := range r.y.Rows {
		z := blas.Row(r.pseudo, i)
		for j, y := range blas.Row(r.y, i) {
			z[j] += clip(y-z[j], width[j]) // NaN where y is
		}
	}
	r.all, r.parts = nil, make([]*coded, len(r.splits))
	return nil
}
