// Package model evaluates learned functions and keeps them in files.
package model

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
)

// Model is f(x) = Σ_j η_j k_j(x,·) C L between a map of the inputs and one of the
// outputs. Its methods may be called from several goroutines.
type Model struct {
	In       *columns.Inputs // nil for a model of Gram matrices
	Out      *columns.Outputs
	Names    []string // of all m kernels
	Eta      []float64
	L        *linop.Spectral // between the outputs that were learned
	Basis    Basis
	Warnings []string // lines about the data that a user should see
	Origin   []byte   // what the program that fitted it noted, in JSON; nil for nothing

	Mu    float64   // μ of the linear system that C solves; 0 where it is not known
	Noise []float64 // variance of the noise of each learned output, in place of μ, of a model by likelihood
	Held  *HeldOut  // held-out predictions; nil where none are kept
	Folds []Fold    // models without some of the samples; nil where none are kept
	// Spread is the logarithm of the variance of the noise of every target, as a model that keeps models without the
	// same Folds; nil where the noise was not learned.
	Spread *Model
	Source
	Estimate *Estimate // of a model of many rows, see Prepare; nil where it is made when it is asked for

	freedom []float64 // of Prepare
	ends    ends      // what Intervals derives from the folds
	ready   atomic.Pointer[predictor]
}

// Basis is the part of a model that evaluates Σ_j η_j k_j(x,·) C L: a [Samples] or a [Features].
type Basis interface {
	// evaluator prepares for predictions.
	evaluator() (evaluator, error)
	// backend multiplies; nil means blas.Active().
	backend() blas.Backend
	// kind names the basis in model files.
	kind() string
	// members are its arrays in model files; what is no array goes into head.
	members(head *part) []member
	// kernels are those of positive weight.
	kernels() []kernel.Kernel
	// silence makes learned output k zero everywhere.
	silence(k int)
	// times makes the learned outputs F those of F·A, n×p.
	times(A blas.General) (Basis, error)
}

// Backend is that of the fit, or the active one in a model from a file.
func (m *Model) Backend() blas.Backend { return blas.Or(m.Basis.backend()) }

// UseMeans makes the model predict, for these targets, what it predicts without kernels: the
// mean of the training targets, or 0 where they are not standardised. It returns the
// names of those of them that were learned.
func (m *Model) UseMeans(targets []int) (names []string) {
	for k, j := range m.Out.Live {
		if slices.Contains(targets, j) {
			m.Basis.silence(k)
			m.Out = m.Out.Alone(j)
			names = append(names, m.Out.Names[j])
		}
	}
	return names
}

// evaluator computes the learned outputs for the rows of Z, t×live. It may run in
// several goroutines at once.
type evaluator func(dst, Z blas.General) error

// Kept lists the kernels of positive weight.
func Kept(eta []float64) []int {
	var idx []int
	for j, e := range eta {
		if e > 0 {
			idx = append(idx, j)
		}
	}
	return idx
}

// Features predicts Z(x)·B from features Z of the kernels.
type Features struct {
	maps rff.Maps // of the kernels of positive weight
	WL   blas.General
	L    []*linop.Spectral // their L_j; nil for one L of all
	be   blas.Backend
}

// FeatureWeights are the weights B (D×live) of the features in the function of a solution, whose C is overwritten. C is
// of rows Z of features, or, where Z is empty, of the features themselves: S·ZᵀC with S = diag(√η_j) over those of each
// kernel, ZᵀC where each kernel has an L_j of its own.
//
//	B = S²·ZᵀC·L,   B_j = (ZᵀC)_j·L_j.
func FeatureWeights(be blas.Backend, Z blas.General, maps rff.Maps, res *bcd.Result) blas.General {
	be = blas.Or(be)
	B, power := res.C, 0.5
	if Z.Cols > 0 {
		B, power = blas.Product(be, true, false, Z, res.C), 1
	}
	if res.Ls == nil {
		res.L.MulRight(be, B, B)
	}
	at := 0
	for j, m := range maps {
		if res.Ls != nil && m.Dim() > 0 {
			own := blas.View(B, at, 0, m.Dim(), B.Cols)
			res.Ls[j].MulRight(be, own, own)
		}
		scale := math.Pow(res.Eta[j], power)
		for i := at; i < at+m.Dim() && res.Ls == nil; i++ {
			blas.Scal(scale, blas.Row(B, i))
		}
		at += m.Dim()
	}
	return B
}

// NewFeatures predicts from the features of the kernels of positive weight, B being the weights of all.
func NewFeatures(maps rff.Maps, res *bcd.Result, B blas.General, be blas.Backend) *Features {
	b := &Features{be: be}
	var rows []int
	at := 0
	for j, m := range maps {
		if res.Eta[j] > 0 {
			b.maps = append(b.maps, m)
			for i := range m.Dim() {
				rows = append(rows, at+i)
			}
			if res.Ls != nil {
				b.L = append(b.L, res.Ls[j])
			}
		}
		at += m.Dim()
	}
	b.WL = blas.TakeRows(B, rows)
	return b
}

func (b *Features) evaluator() (evaluator, error) {
	var scratch par.Free[blas.General]
	return func(dst, Z blas.General) error {
		if b.WL.Rows == 0 {
			blas.Zero(dst)
			return nil
		}
		F := scratch.Take()
		defer scratch.Put(F)
		*F = blas.Reshape(*F, Z.Rows, b.WL.Rows)
		if err := b.maps.Transform(*F, Z); err != nil {
			return fault.From(err)
		}
		blas.Mul(blas.Or(b.be), dst, false, false, *F, b.WL)
		return nil
	}, nil
}

func (b *Features) backend() blas.Backend { return b.be }
func (b *Features) kind() string          { return "features" }

func (b *Features) silence(k int) { blas.Zero(blas.View(b.WL, 0, k, b.WL.Rows, 1)) }

func (b *Features) kernels() []kernel.Kernel {
	var list []kernel.Kernel
	for _, f := range b.maps {
		list = append(list, f.Kernel)
	}
	return list
}

// SlabRows is how many new points are scaled, predicted and scaled back at a time.
const SlabRows = 256

// Predict writes the targets for the rows of x to dst, by slabs in parallel.
func (m *Model) Predict(ctx context.Context, dst, x blas.General) error {
	p, err := m.predictor(x)
	if err != nil {
		return err
	}
	if x.Rows <= SlabRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.predict(dst, x, 0)
	}
	fail := make([]error, (x.Rows+SlabRows-1)/SlabRows)
	par.Ranges(x.Rows, SlabRows, func(lo, hi int) {
		if ctx.Err() == nil {
			fail[lo/SlabRows] = p.predict(blas.View(dst, lo, 0, hi-lo, dst.Cols), blas.View(x, lo, 0, hi-lo, x.Cols),
				lo)
		}
	})
	return cmp.Or(ctx.Err(), cmp.Or(fail...))
}

// predictor is a model that is ready to predict a slab at a time.
type predictor struct {
	m        *Model
	evaluate evaluator
	slabs    par.Free[slab]
}

// slab is the inputs of at most SlabRows new points as kernels see them, and outputs as they were learned.
type slab struct{ Z, F blas.General }

// predictor prepares for rows as those of x, once.
func (m *Model) predictor(x blas.General) (*predictor, error) {
	p := m.ready.Load()
	if p == nil {
		evaluate, err := m.Basis.evaluator()
		if err != nil {
			return nil, err
		}
		p = &predictor{m: m, evaluate: evaluate}
		m.ready.Store(p)
	}
	return p, m.In.CheckWidth(x)
}

// predict writes the targets for the rows of x, SlabRows at most, to those of dst. at is the number of the first, for
// messages.
func (p *predictor) predict(dst, x blas.General, at int) error {
	s := p.slabs.Take()
	defer p.slabs.Put(s)
	s.Z, s.F = blas.Reshape(s.Z, x.Rows, x.Cols), blas.Reshape(s.F, x.Rows, len(p.m.Out.Live))
	blas.Copy(s.Z, x)
	if err := p.m.In.Scale(s.Z, at, nil); err != nil {
		return err
	}
	if err := p.evaluate(s.F, s.Z); err != nil {
		return err
	}
	p.m.Out.Restore(blas.View(dst, 0, 0, x.Rows, dst.Cols), s.F)
	return nil
}

// PredictGram writes the targets to dst from the cross-Gram matrices, t×l, of all m
// kernels or of those of positive weight, in order.
func (m *Model) PredictGram(cross []blas.General) (dst blas.General, err error) {
	l := coefficients(m.Basis)
	if m.In != nil {
		return dst, fault.Input("the model was fitted on inputs, not on Gram matrices")
	}
	idx, all := Kept(m.Eta), slices.Clone(cross) // all is of all kernels
	if len(cross) == len(idx) {
		all = make([]blas.General, len(m.Eta))
		for k, j := range idx {
			all[j] = cross[k]
		}
	}
	if len(all) != len(m.Eta) {
		return dst, fault.Input("%d cross-Gram matrices for %d kernels (%d of positive weight)", len(cross), len(m.Eta),
			len(idx))
	}
	t := 0
	if len(cross) > 0 {
		t = cross[0].Rows
	}
	if t == 0 {
		return dst, fault.Input("no rows to predict")
	}
	for j, k := range cross {
		if k.Rows != t || k.Cols != l {
			return dst, fault.Input("cross-Gram matrix %d is %d×%d, want %d×%d", j+1, k.Rows, k.Cols, t, l)
		}
		if err := kernel.FiniteData(k, nil); err != nil {
			return dst, fault.Input("cross-Gram matrix %d: %v", j+1, err)
		}
	}
	dst = blas.NewGeneral(t, len(m.Out.Names))
	return dst, m.Cross(dst, func(eta []float64) (blas.General, error) {
		K := blas.NewGeneral(t, l)
		for j, e := range eta {
			if e > 0 {
				blas.AddScaled(K, e, all[j])
			}
		}
		return K, nil
	})
}

// Relevance is how much the targets vary with each input column, relative to the
// column of which that is largest, as the kernels on relevant columns and directions
// learned it; by weight where there are several. It is nil without such kernels of positive weight.
func (m *Model) Relevance() []float64 {
	kernels := m.Basis.kernels()
	var sum []float64
	for k, j := range Kept(m.Eta) {
		if k >= len(kernels) {
			break
		}
		length := lengths(&kernels[k])
		if length == nil {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(m.In.Names))
		}
		top := slices.Max(length)
		for c, v := range length {
			if len(kernels[k].Columns) > 0 {
				c = kernels[k].Columns[c]
			}
			sum[c] += m.Eta[j] * v / top
		}
	}
	if sum != nil {
		blas.Scal(1/slices.Max(sum), sum)
	}
	return sum
}

// lengths are the factors of the columns of k; with directions, those of the metric along each column.
func lengths(k *kernel.Kernel) []float64 {
	if len(k.Directions) == 0 {
		return k.Scale
	}
	out := make([]float64, len(k.Directions[0]))
	for _, row := range k.Directions {
		for c, v := range row {
			if len(k.Scale) > 0 {
				v *= k.Scale[c]
			}
			out[c] = math.Hypot(out[c], v)
		}
	}
	return out
}

// At is the model of outputs at points of the axis of those of m, a row each, without what updates and intervals need;
// see [columns.Outputs.At]. Its L is AᵀLA.
func (m *Model) At(points blas.General, silent []int) (*Model, error) {
	out, A, err := m.Out.At(points, silent)
	if err != nil {
		return nil, fault.From(err)
	}
	at := &Model{In: m.In, Out: out, Names: m.Names, Eta: m.Eta, Warnings: m.Warnings}
	L, err := congruent(m.Backend(), A, []*linop.Spectral{m.L})
	if err != nil {
		return nil, err
	}
	at.L = L[0]
	at.Basis, err = m.Basis.times(A)
	return at, err
}

// congruent are the AᵀLA of a list; nil for nil.
func congruent(be blas.Backend, A blas.General, list []*linop.Spectral) (_ []*linop.Spectral, err error) {
	of := slices.Clone(list)
	for k, L := range list {
		R := blas.Product(be, true, false, L.V, A)
		for b, s := range L.S {
			blas.Scal(math.Sqrt(s), blas.Row(R, b))
		}
		B := blas.Product(be, true, false, R, R)
		if of[k], err = linop.NewSpectral(be, B, 0); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func (b *Features) times(A blas.General) (Basis, error) {
	at := *b
	at.WL = blas.NewGeneral(b.WL.Rows, A.Cols)
	blas.Mul(blas.Or(b.be), at.WL, false, false, b.WL, A)
	var err error
	at.L, err = congruent(blas.Or(b.be), A, b.L)
	return &at, err
}
