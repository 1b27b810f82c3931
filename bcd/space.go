// This file declares what the solvers ask of the space that the unknown of the linear system is in.

package bcd

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
)

// Space is where the unknown of the linear system lives. [NewSamples] and
// [NewFeatures] make the two there are; every solver runs unchanged in both,
// because both systems are A_η X L + μX = B_η with μ = λl:
//
//	           unknown X        A_η               B_η
//	samples    C (l×n)          K_η               Y
//	features   W = Z_ηᵀC (D×n)  Γ_η = Z_ηᵀZ_η     H_η = Z_ηᵀY
//
// Where cells are weighted, or missing, X stands for the coefficients between the roots of the weights, see [samples].
// A Space serves one fit at a time.
type Space interface {
	// Samples is l, Outputs n, Kernels m, and Unknowns the number of rows of X.
	Samples() int
	Outputs() int
	Kernels() int
	Unknowns() int

	// check validates shapes and data.
	check() error
	// sizes are the root mean square of Y and the largest mean of a kernel's diagonal,
	// 1 where that is not known; both after check.
	sizes() (y, k float64)
	// inUnits is the space of Y/y and K_j/k, see units, and what that divides the unknown
	// by beside y, for the same coefficients of Y/y.
	inUnits(y, k float64) (Space, float64)

	// at is A_η, ready to use, in single precision for single: a hint. Weights of 0
	// are not read. It is valid until the next call.
	at(eta []float64, single bool) linop.Operator
	// rhs is B_η, valid until the next call.
	rhs(eta []float64) blas.General
	// traceOf is tr A_η, or an estimate of it.
	traceOf(eta []float64) float64
	// mixed reports whether A_η is worth taking in single precision where that is exact enough.
	mixed() bool

	// normY2 is ‖Y‖²_F.
	normY2() float64
	// rounding is how much of fit, a value of measures, may be rounding.
	rounding(fit float64) float64
	// residualScale is what a relative residual in Y is to be multiplied by for one
	// in B_η to leave the objective as near its minimum, at the most.
	residualScale(eta []float64, L *linop.Spectral, mu float64) float64
	// measure fills in the measures of pt for the coefficients that X stands for there, and c with c_j of the kernels
	// of idx.
	measure(t *task, pt *point, c []float64, idx []int)
	// norms are ‖f_j‖² of the function that X of pt stands for at its weights and L.
	norms(t *task, pt *point, L *linop.Spectral) []float64
	// rebase makes X, the solution for the weights from, a start for the weights to.
	rebase(X blas.General, from, to []float64)
	// quadratic fills in the step from L of pt at fixed X.
	quadratic(t *task, pt *point, q *quadratic)

	// inSamples is the space itself, nil where the unknown is not of samples.
	inSamples() *samples
	// probe is one number per kernel that tells dictionaries apart.
	probe() []float64

	// outputs is the matrix whose row space holds the optimal L, with NaN where no target is observed.
	outputs() blas.General
	// project is the same space with outputs·P in place of outputs (P has orthonormal
	// columns). The objective goes on counting what of Y lies outside the range of P.
	project(be blas.Backend, P blas.General) Space
	// half returns R and A with G = RᵀAR at the coefficients of pt; A is nil for the identity.
	half(t *task, pt *point) (R blas.General, A linop.Operator)
}

// measures are the numbers every objective, gradient and certificate is made of,
// for one set of coefficients C at (η, L). U is a value of the problem at f =
// K_η·C·L, or at Z_η·W·L in feature space, where C = (Y − Z_η·W·L)/μ then serves
// the bound from below (mathematics.md §2, §5.5).
type measures struct {
	fit  float64      // the loss, ‖F − Y‖²_F
	norm float64      // ‖f‖², tr(Cᵀ K_η C L)
	yc   float64      // ⟨Y,C⟩
	cc   float64      // ‖C‖²_F
	form float64      // tr(Cᵀ K_η C L): norm in sample space, and at the exact W
	G    blas.General // Cᵀ K_η C, both triangles
	// CᵀK_jC and (K_jC)ᵀK_jC of a sum, both triangles; no Data where they were not measured.
	Gs, Hs []blas.General

	rounding rounding        // of all these; 0 in sample space
	dual     *loss.Multiples // (mathematics.md §15) of a loss that is not squared
}

// conjugate is the dual value at s·C, 2s⟨Y,C⟩ − s²μ‖C‖² for the squared loss.
func (m *measures) conjugate(mu, s float64) float64 {
	switch {
	case m.dual == nil:
		return s * (2*m.yc - s*mu*m.cc)
	case s > m.dual.Most:
		return math.Inf(-1)
	}
	return m.dual.Value(s)
}

// rounding is how much the certificate allows for the rounding of its measures. c and G
// are sums of squares of differences, so that it is their roots which rounding moves.
type rounding struct {
	fit float64   // of ‖Y‖², 2⟨Y,F⟩ and ‖F‖², the terms of fit and μ·yc
	c   []float64 // of √c_j, for all kernels that are measured
	G   float64   // of √‖G‖
}

// quadratic holds the L step (1/l)‖AL − Y‖² + λ⟨B,L⟩ at fixed X.
type quadratic struct {
	AtA, AtY, B blas.General
	YY          float64 // ‖Y‖²
}

// work is scratch that evaluations share.
type work struct {
	be      blas.Backend
	columns int          // columns multiplied by A_η in evaluations
	xl      blas.General // N×n
	rot     blas.General // N×r
	tall    blas.General // N×n
	px      blas.General // N×n
}

// mulRight computes dst = X·L with the scratch of w.
func (w *work) mulRight(dst, X blas.General, L *linop.Spectral) {
	L.MulRightWith(w.be, dst, X, &w.rot)
}

// half computes X·V·diag(√S) (N×r), whose Gram matrix carries the same trace as
// X·L against X, in the scratch of w.
func (w *work) half(X blas.General, L *linop.Spectral) blas.General {
	r := L.Rank()
	w.rot = blas.Reshape(w.rot, X.Rows, r)
	if r == 0 {
		return w.rot
	}
	L.Rotate(w.be, w.rot, X)
	blas.ScaleColumns(w.rot, blas.Roots(L.S))
	return w.rot
}

func square(x float64) float64 { return x * x }
