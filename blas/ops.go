// Operations on matrices and vectors that need no backend, and short forms of those that do.

package blas

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas/native"
)

// level1 serves the vector functions on every backend.
var level1 = native.New()

// Vector is x as the N×1 block of stride 1; it shares x's memory.
func Vector(x []float64) General { return General{Rows: len(x), Cols: 1, Stride: 1, Data: x} }

// NewGeneral returns the zero r×c matrix.
func NewGeneral(r, c int) General {
	return General{Rows: r, Cols: c, Stride: max(c, 1), Data: make([]float64, r*c)}
}

// Reshape returns an r×c matrix with unspecified contents, in a's memory when that is large enough.
func Reshape(a General, r, c int) General {
	if cap(a.Data) < r*c {
		return NewGeneral(r, c)
	}
	return General{Rows: r, Cols: c, Stride: max(c, 1), Data: a.Data[:r*c]}
}

// View returns the r×c part of a that starts at element (i,j); it shares a's memory.
func View(a General, i, j, r, c int) General {
	if i < 0 || j < 0 || i+r > a.Rows || j+c > a.Cols {
		panic("blas: view outside the matrix")
	}
	v := General{Rows: r, Cols: c, Stride: a.Stride}
	if r > 0 && c > 0 {
		v.Data = a.Data[i*a.Stride+j : (i+r-1)*a.Stride+j+c]
	}
	return v
}

// Raw is m as a General without a copy when m is a *mat.Dense, else a copy.
func Raw(m mat.Matrix) General {
	if d, ok := m.(mat.RawMatrixer); ok {
		return d.RawMatrix()
	}
	return mat.DenseCopyOf(m).RawMatrix()
}

// Dense is a as a *mat.Dense that shares its memory.
func Dense(a General) *mat.Dense {
	var d mat.Dense
	d.SetRawMatrix(a)
	return &d
}

// Copy copies src to dst, of the same shape.
func Copy(dst, src General) {
	sameShape(dst, src)
	for i := range src.Rows {
		copy(Row(dst, i), Row(src, i))
	}
}

// CopyScaled computes dst = alpha·src, for a dst of the shape of src, or src itself. As beta = 0 does in BLAS, and
// alpha = 0 in [Scal] and [Axpy], alpha = 0 leaves src unread: dst is 0 even where src holds NaN.
func CopyScaled(dst General, alpha float64, src General) {
	sameShape(dst, src)
	if alpha == 0 {
		Zero(dst)
		return
	}
	for i := range src.Rows {
		out := Row(dst, i)
		for j, v := range Row(src, i) {
			out[j] = alpha * v
		}
	}
}

// SideBySide is [a b], a matrix of its own.
func SideBySide(a, b General) General {
	c := NewGeneral(a.Rows, a.Cols+b.Cols)
	Copy(View(c, 0, 0, a.Rows, a.Cols), a)
	Copy(View(c, 0, a.Cols, b.Rows, b.Cols), b)
	return c
}

// Clone returns a copy of a with stride Cols.
func Clone(a General) General {
	c := NewGeneral(a.Rows, a.Cols)
	Copy(c, a)
	return c
}

// Transposed is aᵀ, a matrix of its own.
func Transposed(a General) General {
	t := NewGeneral(a.Cols, a.Rows)
	transpose(t.Data, t.Stride, a.Data, a.Stride, a.Rows, a.Cols)
	return t
}

// TakeRows returns a copy of the rows idx of a, in that order.
func TakeRows(a General, idx []int) General {
	b := NewGeneral(len(idx), a.Cols)
	for k, i := range idx {
		copy(Row(b, k), Row(a, i))
	}
	return b
}

// Fill sets every element of a to v.
func Fill(a General, v float64) {
	for i := range a.Rows {
		row := Row(a, i)
		for j := range row {
			row[j] = v
		}
	}
}

// Zero sets every element of a to 0.
func Zero(a General) {
	for i := range a.Rows {
		clear(Row(a, i))
	}
}

// Row is row i of a; it shares a's memory.
func Row(a General, i int) []float64 {
	if a.Cols == 0 {
		return nil // a matrix of no columns may have no data
	}
	return a.Data[i*a.Stride : i*a.Stride+a.Cols]
}

// Mul computes dst = op(a)·op(b).
func Mul(be Backend, dst General, tA, tB bool, a, b General) { Gemm(be, tA, tB, 1, a, b, 0, dst) }

// Product is op(a)·op(b), a matrix of its own.
func Product(be Backend, tA, tB bool, a, b General) General {
	m, n := a.Rows, b.Cols
	if tA {
		m = a.Cols
	}
	if tB {
		n = b.Rows
	}
	c := NewGeneral(m, n)
	Mul(be, c, tA, tB, a, b)
	return c
}

// Gemm computes c = alpha·op(a)·op(b) + beta·c, where op transposes when its flag is set. Any dimension may be 0.
func Gemm(be Backend, tA, tB bool, alpha float64, a, b General, beta float64, c General) {
	m, k, kb, n := a.Rows, a.Cols, b.Rows, b.Cols
	opA, opB := NoTrans, NoTrans
	if tA {
		m, k, opA = k, m, Trans
	}
	if tB {
		kb, n, opB = n, kb, Trans
	}
	if k != kb || c.Rows != m || c.Cols != n {
		panic("blas: Gemm: shape mismatch")
	}
	if m == 0 || n == 0 || k == 0 { // matrices without elements may have no data
		if beta == 0 {
			Zero(c)
		} else if beta != 1 {
			CopyScaled(c, beta, c)
		}
		return
	}
	be.Dgemm(opA, opB, m, n, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

// Potrs overwrites B by (F·Fᵀ)⁻¹·B, where F is the factor of [Backend].Potrf.
func Potrs(be Backend, F, B General) {
	be.Dtrsm(Left, Lower, NoTrans, NonUnit, B.Rows, B.Cols, 1, F.Data, F.Stride, B.Data, B.Stride)
	be.Dtrsm(Left, Lower, Trans, NonUnit, B.Rows, B.Cols, 1, F.Data, F.Stride, B.Data, B.Stride)
}

// GramOf computes dst = aᵀ·a, both triangles, for the r×c a and the c×c dst.
func GramOf(be Backend, dst, a General) {
	if dst.Rows != a.Cols || dst.Cols != a.Cols {
		panic("blas: GramOf: shape mismatch")
	}
	be.Dsyrk(Lower, Trans, a.Cols, a.Rows, 1, a.Data, a.Stride, 0, dst.Data, dst.Stride)
	MirrorLower(dst)
}

// MirrorLower copies the lower triangle of the square a over its upper one.
func MirrorLower(a General) {
	for i := range a.Rows {
		for j := range i {
			a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
		}
	}
}

// Symmetrize replaces the square a by (a + aᵀ)/2.
func Symmetrize(a General) {
	for i := range a.Rows {
		for j := range i {
			v := (a.Data[i*a.Stride+j] + a.Data[j*a.Stride+i]) / 2
			a.Data[i*a.Stride+j], a.Data[j*a.Stride+i] = v, v
		}
	}
}

// ScaleColumns multiplies column j of a by s[j].
func ScaleColumns(a General, s []float64) {
	if len(s) != a.Cols {
		panic("blas: ScaleColumns: shape mismatch")
	}
	for i := range a.Rows {
		for j, v := range Row(a, i) {
			a.Data[i*a.Stride+j] = v * s[j]
		}
	}
}

// Dot returns xᵀy.
func Dot(x, y []float64) float64 { return level1.Ddot(len(x), x, 1, y[:len(x)], 1) }

// Axpy computes y += alpha·x; y stays as it is for alpha = 0.
func Axpy(alpha float64, x, y []float64) { level1.Daxpy(len(x), alpha, x, 1, y[:len(x)], 1) }

// Scal computes x *= alpha; x is 0 for alpha = 0, whatever it holds.
func Scal(alpha float64, x []float64) { level1.Dscal(len(x), alpha, x, 1) }

// Nrm2 returns ‖x‖₂ without undue overflow.
func Nrm2(x []float64) float64 { return level1.Dnrm2(len(x), x, 1) }

// Inner returns ⟨a,b⟩ = tr(aᵀb).
func Inner(a, b General) float64 {
	sameShape(a, b)
	var s float64
	for i := range a.Rows {
		s += Dot(Row(a, i), Row(b, i))
	}
	return s
}

// Frob returns ‖a‖_F.
func Frob(a General) float64 {
	if a.Stride == a.Cols {
		return Nrm2(a.Data[:a.Rows*a.Cols])
	}
	rows := make([]float64, a.Rows)
	for i := range rows {
		rows[i] = Nrm2(Row(a, i))
	}
	return Nrm2(rows)
}

// AddScaled computes dst += alpha·a.
func AddScaled(dst General, alpha float64, a General) {
	sameShape(dst, a)
	for i := range a.Rows {
		Axpy(alpha, Row(a, i), Row(dst, i))
	}
}

func sameShape(a, b General) {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		panic("blas: shape mismatch")
	}
}

// Like is a zero matrix of a's shape.
func Like(a General) General { return NewGeneral(a.Rows, a.Cols) }

// ScaleRows computes dst = diag(s)·src; dst may be src.
func ScaleRows(dst General, s []float64, src General) {
	for i := range dst.Rows {
		out, c := Row(dst, i), s[i]
		for j, v := range Row(src, i) {
			out[j] = c * v
		}
	}
}

// Roots returns the square roots of s, 0 for negative elements.
func Roots(s []float64) []float64 {
	r := make([]float64, len(s))
	for i, v := range s {
		r[i] = math.Sqrt(max(v, 0))
	}
	return r
}

// Resize returns a slice of length n with unspecified contents, in s's memory when that is large enough.
func Resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// Trace is tr a.
func Trace(a General) (t float64) {
	for i := range a.Rows {
		t += a.Data[i*a.Stride+i]
	}
	return t
}

// Forms returns vᵀAv for the columns v of V. It allocates a matrix of the shape of V.
func Forms(be Backend, V, A General) []float64 {
	T, out := Product(be, false, false, A, V), make([]float64, V.Cols)
	for b := range out {
		for i := range V.Rows {
			out[b] += V.Data[i*V.Stride+b] * T.Data[i*T.Stride+b]
		}
	}
	return out
}
