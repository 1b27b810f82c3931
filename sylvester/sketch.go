package sylvester

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// sketch is a randomized Nyström approximation of K that can grow. With a random
// orthonormal basis Q of q columns, drawn near the range of K by one power
// iteration, Q = orth(K·Ω) for a Gaussian Ω, and Z = K·Q,
//
//	K ≈ Z·(QᵀZ)⁻¹·Zᵀ = U·diag(s)·Uᵀ
//
// (Frangella, Tropp, Udell, arXiv:2110.02820, algorithm 2.1). On Gram matrices
// the power iteration brings the error from about ten times the next eigenvalue
// to about twice, which a plain Gaussian Q reaches with four times the rank. It
// costs 2q columns of K and O(l·q²); memory 3·l·q.
type sketch struct {
	be   blas.Backend
	seed uint64
	unit float64 // relative rounding of the products with K that made it
	Q, Z blas.General
	low  lowRank

	whole bool // Q has the range of K, to rounding
}

// reset forgets the sketch.
func (k *sketch) reset() {
	k.Q, k.Z = blas.General{}, blas.General{}
	k.low, k.unit, k.whole = lowRank{}, 0, false
}

// rounding is the relative rounding of a product with K.
func rounding(K linop.Operator) float64 {
	if linop.PrecisionOf(K) == blas.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// coarse reports whether rounding has cut eigenvalues off that products with K
// would show.
func (k *sketch) coarse(K linop.Operator) bool {
	return k.exhausted() && k.unit > rounding(K)
}

// exhausted reports whether eigenvalues of the sketch were below rounding: more
// columns would show no more of K.
func (k *sketch) exhausted() bool { return k.whole || k.low.rank() == 0 || k.low.rank() < k.Q.Cols }

// grow extends the sketch to q columns, multiplying K by the new ones only, and
// factors it. It reports false when K is too far from positive semidefinite.
func (k *sketch) grow(ctx context.Context, K linop.Operator, q int) (ok bool, err error) {
	l, old := K.Dim(), k.Q.Cols
	X, Y := blas.NewGeneral(l, q-old), blas.NewGeneral(l, q-old)
	rng := rand.New(rand.NewPCG(k.seed, uint64(old)))
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	if err := products(ctx, K, Y, X); err != nil || !finite(sum(Y)) {
		return false, err
	}
	Q := k.orthonormalize(ctx, Y)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	k.whole = Q.Cols < Y.Cols
	if k.Q.Cols+Q.Cols == 0 {
		return false, nil
	}
	X = blas.View(X, 0, 0, l, Q.Cols)
	if err := products(ctx, K, X, Q); err != nil {
		return false, err
	}
	k.unit = max(k.unit, rounding(K))
	if old > 0 {
		Q, X = blas.SideBySide(k.Q, Q), blas.SideBySide(k.Z, X)
	}
	k.Q, k.Z = Q, X
	return k.factor(ctx), ctx.Err()
}

// basisColumns of the basis are multiplied between two looks at the context: at most the third part of a second for
// 50,000 rows and 2000 columns, at 10¹¹ multiplications a second.
const basisColumns = 256

// productColumns of a K beyond the order linop.KeepBoth are multiplied between two looks at the context.
const productColumns = 16

// products computes dst = K·x, for a large K a few columns at a time until ctx ends.
func products(ctx context.Context, K linop.Operator, dst, x blas.General) error {
	each := max(x.Cols, 1)
	if x.Rows > linop.KeepBoth {
		each = productColumns
	}
	for j := 0; j < x.Cols && ctx.Err() == nil; j += each {
		k := min(each, x.Cols-j)
		K.Apply(blas.View(dst, 0, j, x.Rows, k), blas.View(x, 0, j, x.Rows, k))
	}
	return ctx.Err()
}

// mul computes dst = op(A)·B, basisColumns at a time until ctx ends.
func (k *sketch) mul(ctx context.Context, dst blas.General, trans bool, A, B blas.General) {
	for j := 0; j < B.Cols && ctx.Err() == nil; j += basisColumns {
		c := min(basisColumns, B.Cols-j)
		blas.Mul(k.be, blas.View(dst, 0, j, dst.Rows, c), trans, false, A, blas.View(B, 0, j, B.Rows, c))
	}
}

// orthonormalize makes the columns of Y orthonormal and orthogonal to Q, by
// Cholesky's factor of YᵀY or, where that is singular, by Householder
// reflections; the second pass repairs what the first leaves by rounding. Columns that are rounding errors beside the
// others are left out of what it returns. It ends early with ctx.
func (k *sketch) orthonormalize(ctx context.Context, Y blas.General) blas.General {
	least := 0x1p-52 * blas.Frob(Y)
	for pass := 0; pass < 2 && Y.Cols > 0 && ctx.Err() == nil; pass++ {
		if k.Q.Cols > 0 {
			T := blas.NewGeneral(k.Q.Cols, Y.Cols)
			k.mul(ctx, T, true, k.Q, Y)
			blas.Gemm(k.be, false, false, -1, k.Q, T, 1, Y)
		}
		G := blas.NewGeneral(Y.Cols, Y.Cols)
		blas.GramOf(k.be, G, Y)
		if ctx.Err() != nil {
			return Y
		}
		if k.be.Potrf(G) {
			k.be.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, Y.Rows, Y.Cols, 1, G.Data, G.Stride, Y.Data,
				Y.Stride)
		} else {
			k.be.QR(Y, G)
			Y = columnsAbove(Y, G, least)
		}
		least = 0x1p-40 // of columns that had norm 1
	}
	return Y
}

// columnsAbove are the columns of Y whose element on the diagonal of R exceeds least in size.
func columnsAbove(Y, R blas.General, least float64) blas.General {
	kept := 0
	for j := range Y.Cols {
		if !(math.Abs(R.Data[j*R.Stride+j]) > least) {
			continue
		}
		for i := range Y.Rows {
			row := blas.Row(Y, i)
			row[kept] = row[j]
		}
		kept++
	}
	return blas.View(Y, 0, 0, Y.Rows, kept)
}

// factor computes U and s. The small multiple ν of the identity that keeps the
// Cholesky factorization of Qᵀ(K + νI)Q safe is taken off the eigenvalues again.
func (k *sketch) factor(ctx context.Context) bool {
	q := k.Z.Cols
	norm := blas.Frob(k.Z)
	if !(norm > 0) || !finite(norm) {
		return false
	}
	unit := max(k.unit, 0x1p-52) * norm
	B, G := blas.NewGeneral(k.Z.Rows, q), blas.NewGeneral(q, q)
	for nu := unit; nu > 0 && nu < max(2e-9*norm, 1e3*unit); nu *= 100 { // at most four
		blas.Copy(B, k.Z)
		blas.AddScaled(B, nu, k.Q)
		k.mul(ctx, G, true, k.Q, B)
		if ctx.Err() != nil {
			return false
		}
		if !k.be.Potrf(G) {
			continue
		}
		k.be.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, B.Rows, q, 1, G.Data, G.Stride, B.Data, B.Stride)
		return ctx.Err() == nil && k.eigen(ctx, B, G, nu)
	}
	return false
}

// eigen sets U and s from K + νI ≈ B·Bᵀ; G is q×q scratch.
func (k *sketch) eigen(ctx context.Context, B, G blas.General, nu float64) bool {
	q := B.Cols
	theta := make([]float64, q)
	blas.GramOf(k.be, G, B)
	if err := k.be.Syevd(G, theta); err != nil {
		return false
	}
	T := linop.Leading(G, theta, 2*(nu+1e-13*theta[q-1]))
	keep := T.Rank()
	if keep == 0 {
		return false
	}
	s, inverse := make([]float64, keep), make([]float64, keep)
	for c, v := range T.S {
		s[c], inverse[c] = v-nu, 1/math.Sqrt(v)
	}
	blas.ScaleColumns(T.V, inverse)
	U := blas.NewGeneral(B.Rows, keep)
	k.mul(ctx, U, false, B, T.V)
	k.low = lowRank{U: U, s: s, tail: s[keep-1]}
	return true
}

// Sketcher is a solver that can show the low-rank approximation of K by which it preconditions.
type Sketcher interface {
	// Sketch returns U (l×q) with orthonormal columns and s > 0 in descending order, with K ≈ U·diag(s)·Uᵀ, if a solve
	// with the same arguments would be preconditioned by them; the solve then uses them. Otherwise, and for systems
	// with cells, s is empty. Both lie in the solver's memory and are valid until its next call. The columns that
	// Sketch multiplies by K are counted in the Result of the next solve, which also reports invalid arguments.
	Sketch(ctx context.Context, sys System, Y blas.General, opt Options) (U blas.General, s []float64)
}

// surveyor is an engine that may sketch K before it solves; the sketch is nil where it does not.
type surveyor interface {
	sketch(ctx context.Context, f *frame) (*lowRank, error)
}

func (s *solver) Sketch(
	ctx context.Context, sys System, Y blas.General, opt Options,
) (U blas.General, sigma []float64) {
	engine, ok := s.engine.(surveyor)
	if !ok || sys.Cells != nil || s.begin(Y, sys, Y, opt) != nil {
		return blas.General{}, nil
	}
	s.opt = s.opt.filled()
	s.res.Iter, s.res.Columns = s.billed.Iter, s.billed.Columns
	low, err := engine.sketch(ctx, &s.frame)
	s.billed = s.res
	if low == nil || err != nil {
		return blas.General{}, nil
	}
	return low.U, low.s
}

// lowRank is an approximation K ≈ U·diag(s)·Uᵀ with orthonormal columns of U and
// s > 0 in descending order. As a preconditioner of every shifted system it is
//
//	P_j⁻¹ = I + U·diag(d_j)·Uᵀ,   d_ij = (ρ_j·t + μ)/(ρ_j·s_i + μ) − 1
//
// (mathematics.md §5.2; Frangella, Tropp, Udell, arXiv:2110.02820): it maps the
// eigenvalues it knows to ρ_j·t + μ and leaves the others alone.
type lowRank struct {
	U    blas.General // l×q
	s    []float64
	tail float64 // t, about the largest of the other eigenvalues: s_q, or 0 where U has the range of K
}

// rank is q.
func (p *lowRank) rank() int { return len(p.s) }

// weigh turns W = Uᵀ·R into diag(d_j)·Uᵀ·r_j, column by column, and writes
// r_jᵀ·P_j⁻¹·r_j to rz, given rr_j = ‖r_j‖². The part of r_j outside the range of
// U is taken as rr_j − ‖Uᵀr_j‖², which keeps the sum positive. inside is scratch.
func (p *lowRank) weigh(W blas.General, rho []float64, mu float64, rr, rz, inside []float64) {
	clear(rz)
	clear(inside)
	for i, s := range p.s {
		row := blas.Row(W, i)
		for a, w := range row {
			ratio := (rho[a]*p.tail + mu) / (rho[a]*s + mu)
			inside[a] += w * w
			rz[a] += ratio * w * w
			row[a] = (ratio - 1) * w
		}
	}
	for a, sq := range inside {
		rz[a] += max(rr[a]-sq, 0)
	}
}

// guess writes to X0 the solutions of the systems with U·diag(s)·Uᵀ in the place
// of K:
//
//	x_j = b_j/μ + U·diag(1/(ρ_j·s + μ) − 1/μ)·Uᵀ·b_j
//
// work is scratch, which grows to q×r.
func (p *lowRank) guess(be blas.Backend, X0, B blas.General, work *blas.General, rho []float64, mu float64) {
	blas.CopyScaled(X0, 1/mu, B)
	if p.rank() == 0 {
		return
	}
	*work = blas.Reshape(*work, p.rank(), B.Cols)
	blas.Mul(be, *work, true, false, p.U, B)
	for i, s := range p.s {
		row := blas.Row(*work, i)
		for j := range row {
			row[j] *= -(rho[j] * s / mu) / (rho[j]*s + mu)
		}
	}
	blas.Gemm(be, false, false, 1, p.U, *work, 1, X0)
}
