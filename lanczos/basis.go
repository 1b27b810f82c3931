// The Lanczos basis: orthogonalization, and compression at restarts.

package lanczos

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas"
)

// negligible is the size, relative to a vector before orthogonalization, below
// which what is left of it counts as rounding error.
const negligible = 1e-14

// orthonormalize makes the next block of `next` columns behind the basis out of
// the first `from` columns of W (all of them when from is 0), and R with
// W = Q_next·R. A column that depends on those before it leaves no coupling; a
// random vector takes its place, so the basis goes on growing in the directions
// it has not seen.
func (s *eigs) orthonormalize(from int) {
	b := s.next
	first := from == 0
	if first {
		from = b
	}
	blas.Zero(s.R)
	made := 0
	scale := s.size
	if first {
		scale = 1 // the length of W's columns
	}
	for j := 0; j < from; j++ {
		W := blas.Reshape(s.W, s.n, from)
		norm := s.project(column(W, j), made, j)
		if !first && norm < 1e-6*scale {
			norm = s.projectAll(column(W, j), made) // what is left is mostly rounding error: orthogonalize it afresh
		}
		if made == b || !(norm > negligible*scale) {
			continue
		}
		s.R.Data[made*s.R.Stride+j] = norm
		s.accept(column(W, j), norm, made)
		made++
	}
	// Random vectors for the columns that were lost.
	for tries := 0; made < b && tries < 3*b; tries++ {
		x := blas.Reshape(s.W, s.n, 1)
		for i := range s.n {
			x.Data[i] = s.rng.NormFloat64()
		}
		if norm := s.projectAll(x, made); norm > 1e-8*math.Sqrt(float64(s.n)) {
			s.accept(x, norm, made)
			made++
		}
	}
	s.next = made
}

// project removes from w its components along the `made` vectors of the next
// block, adds them to column j of R, and returns the norm left.
func (s *eigs) project(w blas.General, made, j int) float64 {
	for range 2 {
		for c := range made {
			q := column(s.Q, s.dim+c)
			h := dot(q, w)
			axpy(-h, q, w)
			s.R.Data[c*s.R.Stride+j] += h
		}
	}
	return norm(w)
}

// projectAll removes from x its components along the basis and the next block so far.
func (s *eigs) projectAll(x blas.General, made int) float64 {
	Q := blas.View(s.Q, 0, 0, s.n, s.dim+made)
	if Q.Cols > 0 {
		H := blas.View(s.H, 0, 0, Q.Cols, 1)
		for range 3 {
			s.mul(true, 1, Q, x, 0, H)
			s.mul(false, -1, Q, H, 1, x)
		}
	}
	return norm(x)
}

// accept appends w/norm as column c of the next block.
func (s *eigs) accept(w blas.General, norm float64, c int) {
	q := column(s.Q, s.dim+c)
	for i := range s.n {
		q.Data[i*q.Stride] = w.Data[i*w.Stride] / norm
	}
}

// restart keeps the Ritz vectors at the wanted end, about half of the basis, and
// the next block behind them.
func (s *eigs) restart() {
	keep := min(max(s.opt.K+s.opt.Block, s.opt.MaxDim/2), s.opt.MaxDim-s.opt.Block, s.dim)
	blas.Zero(s.T)
	for i := range keep {
		s.T.Data[i*s.T.Stride+i] = s.sign * s.theta[i]
	}
	S := blas.View(s.S, 0, 0, s.dim, keep)
	if s.opt.Block == 1 {
		s.tri.vectors(S)
		S = s.chain(S)
	} else {
		s.last = 0
	}
	s.compress(blas.View(s.Q, 0, 0, s.n, keep), S)
	for c := range s.next {
		for i := range s.n {
			row := blas.Row(s.Q, i)
			row[keep+c] = row[s.dim+c]
		}
	}
	if s.opt.Block == 1 {
		blas.Copy(s.X, column(s.Q, keep-1))
	}
	s.dim = keep
	s.res.Restarts++
}

// chain turns the columns of S, whose Ritz values stand on the diagonal of T, so that T
// is tridiagonal and the next column is coupled to the last of them alone: the
// Householder reduction of the Ritz values bordered by the couplings, which keeps
// the last unit vector. It returns S times that rotation, and sets T and R.
func (s *eigs) chain(S blas.General) blas.General {
	k := S.Cols
	B := blas.View(s.turn, 0, 0, k+1, k+1)
	blas.Zero(B)
	for i := range k {
		B.Data[i*B.Stride+i] = s.T.Data[i*s.T.Stride+i]
		B.Data[i*B.Stride+k] = s.R.Data[0] * S.Data[(S.Rows-1)*S.Stride+i]
	}
	d, e, tau := s.work[:k+1], s.work[k+1:2*k+1], s.work[2*k+1:3*k+1]
	work := s.work[3*k+1:]
	s.small.Dsytrd(blas.Upper, k+1, B.Data, B.Stride, d, e, tau, work, len(work))
	s.small.Dorgtr(blas.Upper, k+1, B.Data, B.Stride, tau, work, len(work))
	for i := range k {
		s.T.Data[i*s.T.Stride+i] = d[i]
		if i < k-1 {
			s.T.Data[i*s.T.Stride+i+1], s.T.Data[(i+1)*s.T.Stride+i] = e[i], e[i]
		}
	}
	s.R.Data[0] = e[k-1]
	P := blas.View(s.turned, 0, 0, S.Rows, k)
	blas.Mul(s.be, P, false, false, S, blas.View(B, 0, 0, k, k))
	return P
}

// compress computes dst = Q·S a few rows at a time: dst may be the front of Q itself.
func (s *eigs) compress(dst, S blas.General) {
	for lo := 0; lo < s.n; lo += chunkRows {
		rows := min(chunkRows, s.n-lo)
		out := blas.View(s.chunk, 0, 0, rows, S.Cols)
		blas.Mul(s.be, out, false, false, blas.View(s.Q, lo, 0, rows, s.dim), S)
		blas.Copy(blas.View(dst, lo, 0, rows, S.Cols), out)
	}
}

func column(a blas.General, j int) blas.General { return blas.View(a, 0, j, a.Rows, 1) }

var level1 gonum.Implementation

func dot(x, y blas.General) float64 { return level1.Ddot(x.Rows, x.Data, x.Stride, y.Data, y.Stride) }

func axpy(alpha float64, x, y blas.General) {
	level1.Daxpy(x.Rows, alpha, x.Data, x.Stride, y.Data, y.Stride)
}

// norm is ‖x‖₂, by scaling only where the squares leave the range: that divides by every element.
func norm(x blas.General) float64 {
	if s := dot(x, x); s > 0x1p-900 && s < 0x1p900 {
		return math.Sqrt(s)
	}
	return level1.Dnrm2(x.Rows, x.Data, x.Stride)
}
