package lanczos

import (
	"math"

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
		W := s.narrow(s.W, from)
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
		x := blas.View(s.narrow(s.X, 1), 0, 0, s.n, 1)
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
	for i := range keep {
		s.H.Data[i*s.H.Stride] = s.theta[s.column(i)]
	}
	s.compress(blas.View(s.Q, 0, 0, s.n, keep), keep)
	for c := range s.next {
		for i := range s.n {
			row := blas.Row(s.Q, i)
			row[keep+c] = row[s.dim+c]
		}
	}
	blas.Zero(s.T)
	for i := range keep {
		s.T.Data[i*s.T.Stride+i] = s.H.Data[i*s.H.Stride]
	}
	s.dim, s.last = keep, 0
	s.res.Restarts++
}

// compress computes dst = Q·S for the first k wanted columns of S, a few rows at
// a time: dst may be the front of Q itself.
func (s *eigs) compress(dst blas.General, k int) {
	first := s.column(0)
	if s.opt.Which == Largest {
		first = s.column(k - 1)
	}
	S := blas.View(s.S, 0, first, s.dim, k)
	for lo := 0; lo < s.n; lo += chunkRows {
		rows := min(chunkRows, s.n-lo)
		out := blas.View(s.chunk, 0, 0, rows, k)
		blas.Mul(s.be, out, false, false, blas.View(s.Q, lo, 0, rows, s.dim), S)
		for i := range rows {
			row := blas.Row(dst, lo+i)
			for j, v := range blas.Row(out, i) {
				if s.opt.Which == Largest {
					row[k-1-j] = v // S ascends
				} else {
					row[j] = v
				}
			}
		}
	}
}

func column(a blas.General, j int) blas.General { return blas.View(a, 0, j, a.Rows, 1) }

func dot(x, y blas.General) float64 {
	var s float64
	for i := range x.Rows {
		s += x.Data[i*x.Stride] * y.Data[i*y.Stride]
	}
	return s
}

func axpy(alpha float64, x, y blas.General) {
	for i := range x.Rows {
		y.Data[i*y.Stride] += alpha * x.Data[i*x.Stride]
	}
}

// norm is ‖x‖₂, safe from overflow.
func norm(x blas.General) float64 {
	var m float64
	for i := range x.Rows {
		m = max(m, math.Abs(x.Data[i*x.Stride]))
	}
	if !(m > 0) || math.IsInf(m, 0) {
		return m
	}
	var s float64
	for i := range x.Rows {
		v := x.Data[i*x.Stride] / m
		s += v * v
	}
	return m * math.Sqrt(s)
}
