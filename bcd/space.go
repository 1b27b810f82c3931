package bcd

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
)

// Space is the form of the linear system of the C step. [NewSamples] and [NewFeatures] make the two forms. Every solver
// takes both, because both systems are A_η X L + μX = B_η with μ = λl:
//
//	           unknown X        A_η               B_η
//	samples    C (l×n)          K_η               Y
//	features   W = Z_ηᵀC (D×n)  Γ_η = Z_ηᵀZ_η     H_η = Z_ηᵀY
//
// Where cells are weighted or missing, C = P·X with P = diag(√w), and 0 in missing cells (mathematics.md §11, §15). A
// Space serves one fit at a time.
type Space interface {
	// Samples is l, Outputs n, Kernels m, and Unknowns the number of rows of X.
	Samples() int
	Outputs() int
	Kernels() int
	Unknowns() int

	// shared is what the spaces have alike, and system what differs.
	shared() *data
	system() system
	// with is the same kernels with other targets, or in other units.
	with(d data) Space
	// probe is one number per kernel that tells dictionaries apart.
	probe() []float64
}

// system is what the solvers need of A_η X L + μX = B_η.
type system interface {
	// at is A_η, ready to use, in single precision for single: a hint. Weights of 0
	// are not read. It is valid until the next call.
	at(eta []float64, single bool) linop.Operator
	// rhs is B_η, valid until the next call.
	rhs(eta []float64) blas.General
	// trace is tr A_η, or an estimate of it.
	trace(eta []float64) float64
	// rebase makes X, the solution for the weights from, a start for the weights to.
	rebase(X blas.General, from, to []float64)
	// measure fills in the measures of pt for the coefficients that X stands for there, and c with c_j of the kernels
	// of idx.
	measure(t *task, pt *point, c []float64, idx []int)
	// half returns R and A with G = RᵀAR at the coefficients of pt; A is nil for the identity.
	half(t *task, pt *point) (R blas.General, A linop.Operator)
	// norms are ‖f_j‖² of the function that X of pt stands for at its weights and L.
	norms(t *task, pt *point, L *linop.Spectral) []float64
	// quadratic fills in the step from L of pt at fixed X.
	quadratic(t *task, pt *point, q *quadratic)
}

// data is what both spaces have: the targets, with their cells and their loss, and units.
type data struct {
	B            blas.General // B_η at unit weights, 0 where no target is observed
	l            int          // rows with an observed target, or that those of B stand for
	yy           float64      // ‖Y‖²_F with what is dropped, or the loss of the function 0
	dropped      float64      // ‖Y‖² of what project left out, or of what no row stands for, see NewPatterns
	unit         float64      // the kernels are divided by it in all that leaves the space
	sizeY, sizeK float64      // the root mean square of Y, and the largest mean of a kernel's diagonal, 1 if unknown
	bad          error        // what the constructor saw
	features     bool         // X is W

	cells    *linop.Cells // w, at most 1; nil where all cells have the weight of their row
	rowRoots []float64    // the root of the largest weight of every row; nil for 1
	loss     *otherLoss   // nil for the squared one
	rows     blas.General // R of features that stand for the samples of a sum: C of the caller is RᵀC

	ending linop.Ending // kernels that are computed when they are needed, else nil
	mixed  bool         // A_η is worth taking in single precision where that is exact enough
	single bool         // A_η is stored in single precision
}

func (d *data) Samples() int  { return d.l }
func (d *data) Outputs() int  { return d.B.Cols }
func (d *data) Unknowns() int { return d.B.Rows }
func (d *data) shared() *data { return d }

// checkSize refuses targets of which none is observed, or whose squares overflow.
func (d *data) checkSize() error {
	switch {
	case d.l == 0 || d.cells != nil && d.cells.Count() == 0:
		return fmt.Errorf("%w: no cell of Y is observed with a weight above 0", ErrInput)
	case math.IsInf(d.yy, 1):
		return fmt.Errorf("%w: ‖Y‖² overflows: rescale Y", ErrInput)
	}
	return nil
}

// complete reports whether X is that of samples all of whose cells have the weight of their row. Only then do the
// outputs decouple in the eigenvectors of L.
func (d *data) complete() bool { return !d.features && d.cells == nil }

// until makes kernels that are computed when they are needed end with ctx, which is then to be looked at.
func (d *data) until(ctx context.Context) {
	if d.ending != nil {
		d.ending.Until(ctx)
	}
}

// rounding is how much of fit, a value of measures, may be rounding: F and Y are exact to their own, but in feature
// space ‖F − Y‖² = ‖Y‖² − 2⟨H, WL⟩ + ⟨WL, ΓWL⟩.
func (d *data) rounding(fit float64) float64 {
	if d.features {
		fit = d.yy
	}
	return 0x1p-50 * math.Sqrt(fit*d.yy)
}

// inUnits is d for Y/y and K_j/k, and what that divides the unknown by beside y, for the same coefficients of Y/y.
func (d *data) inUnits(y, k float64) (in data, root float64) {
	in, root = *d, 1
	in.unit = k
	if d.loss != nil {
		return in, root
	}
	in.B = blas.Clone(d.B)
	blas.Scal(1/y, in.B.Data)
	in.dropped = d.dropped / y / y
	in.yy = square(blas.Frob(in.B)) + in.dropped
	if d.features {
		root = math.Sqrt(k)
		blas.Scal(1/root, in.B.Data)
		in.yy = d.yy / y / y
	}
	return in, root
}

// project is d with Y·P in place of Y, for P of orthonormal columns. The objective goes on counting what of Y lies
// outside the range of P.
func (d *data) project(be blas.Backend, P blas.General) data {
	in := *d
	in.B, in.dropped = blas.Product(be, false, false, d.B, P), 0
	// more than rounding
	if left := d.yy - square(blas.Frob(in.B)); !d.features && left > float64(P.Rows)*0x1p-52*d.yy {
		in.dropped = left
	}
	return in
}

// targets is B with NaN in the missing cells.
func (d *data) targets() blas.General {
	if d.cells == nil {
		return d.B
	}
	Y := blas.Clone(d.B)
	for i := range Y.Rows {
		row := blas.Row(Y, i)
		for j, root := range d.cells.Row(i) {
			if root == 0 {
				row[j] = math.NaN()
			}
		}
	}
	return Y
}

// outward turns X for all outputs, which it overwrites, into what the caller takes for it; inward does the reverse.
func (d *data) outward(be blas.Backend, X blas.General) blas.General {
	if d.cells != nil && d.loss == nil {
		d.cells.Project(X, X)
	}
	if d.rowRoots != nil {
		blas.ScaleRows(X, d.rowRoots, X)
	}
	if d.rows.Data != nil {
		return blas.Product(be, true, false, d.rows, X)
	}
	return X
}

func (d *data) inward(be blas.Backend, C blas.General) blas.General {
	if d.rows.Data != nil { // which are orthogonal
		C = blas.Product(be, false, false, d.rows, C)
	}
	for i := range C.Rows {
		row := blas.Row(C, i)
		switch {
		case d.rowRoots != nil:
			blas.Scal(1/d.rowRoots[i], row)
		case d.rows.Data != nil && blas.Nrm2(blas.Row(d.rows, i)) > 0:
			blas.Scal(1/square(blas.Nrm2(blas.Row(d.rows, i))), row)
		}
		if d.cells == nil {
			continue
		}
		for j, root := range d.cells.Row(i) {
			if row[j] /= root; root == 0 {
				row[j] = 0
			}
		}
	}
	return C
}

// coefficients are P·X, in the scratch of w.
func (d *data) coefficients(w *work, X blas.General) blas.General {
	if d.cells == nil {
		return X
	}
	w.px = blas.Reshape(w.px, X.Rows, X.Cols)
	d.cells.Project(w.px, X)
	return w.px
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

func (q *quadratic) reshape(n int) {
	for _, a := range []*blas.General{&q.AtA, &q.AtY, &q.B} {
		*a = blas.Reshape(*a, n, n)
	}
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
