// This file fits all nodes of one series together, by the closed form of the weights.

package granger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
)

// target is one regression of the stacked fits: y on the kernels, with the span
// of the border unpenalized.
type target struct {
	y      []float64    // on the samples of the job, projected off the border, ‖y‖² = their number
	border blas.General // orthonormal columns
	lambda float64
	allow  []bool // kernels that may be used; nil means all

	eta   []float64
	c     []float64 // coefficients, orthogonal to the border
	beta  []float64 // what the border adds to the fit: (K_η + μI)c + U·beta = y
	value float64   // h(η) = λ⟨y,c⟩, the objective
	gap   float64   // bounds value − min h
	forms []float64 // c_j = cᵀK_j c
	iter  int
}

// start makes all allowed weights equal; with nothing to explain they are zero.
func (f *target) start(m int) {
	f.eta, f.forms = make([]float64, m), make([]float64, m)
	n := 0
	for j := range m {
		if f.allow == nil || f.allow[j] {
			f.eta[j] = 1
			n++
		}
	}
	if blas.Nrm2(f.y) == 0 {
		clear(f.eta)
		return
	}
	blas.Scal(1/float64(max(n, 1)), f.eta)
}

// job is a set of targets on the same samples.
type job struct {
	s       *stack
	be      blas.Backend
	idx     []int // the samples, which may repeat
	r       int   // one more than the largest of them
	targets []*target
	tol     float64
	maxIter int
	K       []blas.General // scratch of a batch
}

// batchBytes bounds the memory of the matrices K_η that exist at once.
const batchBytes = 256 << 20

// run fits every target: alternately c from (K_η + μI)c ⊥-projected = y and the
// closed form η_j ∝ η_j·√(cᵀK_j c) of the p = 1 norm, until the relative gap
// λ(max_j c_j − Σ η_j c_j)/h is at most tol. h falls at every iteration.
func (b *job) run(ctx context.Context) error {
	var active []*target
	for _, f := range b.targets {
		f.start(b.s.m)
		active = append(active, f)
	}
	each := 8 * int64(b.r) * int64(b.r)
	if !slices.Equal(b.idx, sequence(0, b.r)) {
		each += 8 * int64(len(b.idx)) * int64(len(b.idx)) // solve gathers the samples
	}
	size := int(max(1, batchBytes/each))
	for len(active) > 0 {
		for lo := 0; lo < len(active); lo += size {
			if err := b.iterate(ctx, active[lo:min(len(active), lo+size)]); err != nil {
				return err
			}
		}
		var left []*target
		for _, f := range active {
			f.iter++
			if !(f.gap <= b.tol*f.value) && f.iter < b.maxIter {
				left = append(left, f)
			}
		}
		phase.Do(ctx, phase.Eta, func(context.Context) {
			for _, f := range left {
				f.update()
			}
		})
		active = left
	}
	return nil
}

// iterate computes c, the objective, the forms and the gap at the weights of each target.
func (b *job) iterate(ctx context.Context, batch []*target) error {
	K := make([]blas.General, len(batch))
	for a := range batch {
		if a == len(b.K) {
			b.K = append(b.K, blas.NewGeneral(b.r, b.r))
		}
		K[a] = b.K[a]
	}
	phase.Do(ctx, phase.FormK, func(ctx context.Context) { b.s.sums(ctx, K, weights(batch), b.r) })
	full, errs := make([][]float64, len(batch)), make([]error, len(batch))
	phase.Do(ctx, phase.CSolve, func(context.Context) {
		par.For(len(batch), func(a int) {
			if ctx.Err() != nil {
				return
			}
			if errs[a] = batch[a].solve(b.be, K[a], b.idx); errs[a] == nil {
				full[a] = b.scatter(batch[a].c)
			}
		})
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	out := make([]float64, len(batch)*b.s.m)
	phase.Do(ctx, phase.Certificate, func(ctx context.Context) {
		if ctx.Err() != nil {
			return
		}
		b.s.forms(ctx, out, full, b.r)
		for a, f := range batch {
			copy(f.forms, out[a*b.s.m:])
			f.certify()
		}
	})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("granger: %w", err)
	}
	return nil
}

// weights are η of each target, one after the other.
func weights(targets []*target) (eta []float32) {
	for _, f := range targets {
		for _, v := range f.eta {
			eta = append(eta, float32(v))
		}
	}
	return eta
}

// scatter adds the coefficients of repeated samples up on the samples of the stack.
func (b *job) scatter(c []float64) []float64 {
	full := make([]float64, b.r)
	for i, k := range b.idx {
		full[k] += c[i]
	}
	return full
}

// solve computes the c with P(K_η + μI)c = y and c = P·c, where P projects off
// the border U: with A = K_η + μI it is A⁻¹y − A⁻¹U(UᵀA⁻¹U)⁻¹UᵀA⁻¹y.
func (f *target) solve(be blas.Backend, K blas.General, idx []int) error {
	n, k := len(idx), f.border.Cols
	A := K
	if !slices.Equal(idx, sequence(0, K.Rows)) {
		A = blas.NewGeneral(n, n)
		for i, p := range idx {
			for j, q := range idx[:i+1] {
				A.Data[i*n+j] = K.Data[max(p, q)*K.Stride+min(p, q)]
			}
		}
	}
	mu := f.lambda * float64(n)
	for i := range n {
		A.Data[i*A.Stride+i] += mu
	}
	if !be.Potrf(A) {
		return tooSmall(f.lambda)
	}
	both := blas.SideBySide(f.border, blas.Vector(f.y))
	AU, Ay := blas.View(both, 0, 0, n, k), blas.View(both, 0, k, n, 1)
	blas.Potrs(be, A, both)
	S := blas.Product(be, true, false, f.border, AU)
	w := blas.Product(be, true, false, f.border, Ay)
	if !be.Potrf(S) {
		return tooSmall(f.lambda)
	}
	blas.Potrs(be, S, w)
	c := blas.Clone(Ay)
	blas.Gemm(be, false, false, -1, AU, w, 1, c)
	f.beta, f.c = w.Data, c.Data
	return nil
}

// tooSmall says why a system of kernels, positive semidefinite but for rounding, is not definite.
func tooSmall(lambda float64) error {
	return fmt.Errorf("%w: λ = %g is too small for kernels in single precision: K_η + λl·I is not positive definite",
		ErrOption, lambda)
}

// certify computes the objective and the gap over the allowed kernels.
func (f *target) certify() {
	f.value = f.lambda * blas.Dot(f.y, f.c)
	var top, mean float64
	for j, v := range f.forms {
		f.forms[j] = math.Max(v, 0)
		if f.allow == nil || f.allow[j] {
			top = math.Max(top, f.forms[j])
		}
		mean += f.eta[j] * f.forms[j]
	}
	f.gap = f.lambda * math.Max(top-mean, 0)
}

// update is the closed form η_j = α_j/Σα with α_j = η_j·√c_j.
func (f *target) update() {
	var sum float64
	for j := range f.eta {
		f.eta[j] *= math.Sqrt(f.forms[j])
		sum += f.eta[j]
	}
	if sum > 0 {
		blas.Scal(1/sum, f.eta)
	}
}
