// Symmetric tridiagonal eigenproblems: by divide and conquer, those of small order by QR iterations.

package lapack

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/dense/vmath"
)

const (
	divideLeaf     = 32  // order below which QL iterations take over
	divideParallel = 200 // order from which halves run side by side
)

// tridiagonalEigen computes the eigendecomposition of the symmetric tridiagonal
// matrix with diagonal d and off-diagonal e by divide and conquer (Cuppen, with
// deflation; eigenvectors by Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16, 1995).
// Row r of Z, zero at entry, becomes the unit eigenvector of the eigenvalue d[r];
// c.order lists the rows in ascending order of d. e is destroyed.
func (c cuppen) tridiagonalEigen(d, e []float64, Z matrix) error {
	n := len(d)
	if !finite(d, e) {
		return notFinite(n)
	}
	_, exp := math.Frexp(max(floats.Norm(d, math.Inf(1)), floats.Norm(e, math.Inf(1))))
	scaleBy(-exp, d, e)
	if !c.divide(d, e, Z) {
		return fmt.Errorf("%w: matrix of order %d", ErrNoConvergence, n)
	}
	scaleBy(exp, d)
	return nil
}

// scaleBy multiplies by 2ᵉ, which may itself be out of range.
func scaleBy(exp int, xs ...[]float64) {
	for _, x := range xs {
		scal(math.Ldexp(1, exp/2), x)
		scal(math.Ldexp(1, exp-exp/2), x)
	}
}

// cuppen is the scratch of one subproblem of order n: n² floats each in gathered and S, and in
// left for singular vectors.
type cuppen struct {
	impl              Implementation
	order             []int
	z                 []float64
	gathered, S, left []float64
}

func newCuppen(impl Implementation, n int) cuppen {
	return cuppenOn(impl, make([]int, n), make([]float64, cuppenWork(n)))
}

// cuppenOn makes scratch of memory for len(order) ints and as many floats as cuppenWork says.
func cuppenOn(impl Implementation, order []int, work []float64) cuppen {
	n := len(order)
	return cuppen{impl: impl, order: order, z: work[:n], gathered: work[n : n+n*n], S: work[n+n*n : n+2*n*n]}
}

func cuppenWork(n int) int { return n + 2*n*n }

// part is the scratch of the subproblem of rows [lo,hi) out of n.
func (c cuppen) part(lo, hi, n int) cuppen {
	c.order, c.z = c.order[lo:hi], c.z[lo:hi]
	c.gathered, c.S = c.gathered[lo*n:hi*n], c.S[lo*n:hi*n]
	if c.left != nil {
		c.left = c.left[lo*n : hi*n]
	}
	return c
}

// divide solves the problem of d and e into the diagonal block Z and reports whether it could.
func (c cuppen) divide(d, e []float64, Z matrix) bool {
	n := len(d)
	if n <= divideLeaf {
		return c.leaf(d, e, Z)
	}
	m := n / 2
	rho := e[m-1]
	d[m-1] -= math.Abs(rho)
	d[m] -= math.Abs(rho)
	if !c.halves(n, m, func(c cuppen, lo, hi int) bool {
		return c.divide(d[lo:hi], e[lo:hi-1], view(Z, lo, lo, hi-lo, hi-lo))
	}) {
		return false
	}
	c.coupling(Z, m, rho)
	return c.merge(d, m, 2*math.Abs(rho), -1, Z, matrix{})
}

// halves calls solve for the first m rows out of n and for the others and reports whether both could.
func (c cuppen) halves(n, m int, solve func(c cuppen, lo, hi int) bool) bool {
	var ok [2]bool
	half := func(i int) {
		lo, hi := i*m, m+i*(n-m)
		ok[i] = solve(c.part(lo, hi, n), lo, hi)
	}
	if n >= divideParallel {
		par.For(2, half)
	} else {
		half(0)
		half(1)
	}
	return ok[0] && ok[1]
}

// leaf solves a small problem by QR iterations.
func (c cuppen) leaf(d, e []float64, Z matrix) bool {
	for i := range c.order {
		c.order[i] = i
		Z.Data[i*Z.Stride+i] = 1
	}
	ok := implicitQR(d, e, Z, c.S)
	sortByValue(c.order, d)
	return ok
}

// merge joins the solutions of the two halves, T = diag(T₁,T₂) + |rho|·u·uᵀ with
// u = e_m + sign(rho)·e_{m+1}: in their eigenvectors' coordinates, the
// eigenproblem of diag(d) + ρ·z·zᵀ. With left vectors U it joins singular value decompositions, see bisect.
func (c cuppen) merge(d []float64, m int, rho float64, null int, Z, U matrix) bool {
	sorted := mergeOrders(d, c.order[:m], c.order[m:], m)
	f := deflate(d, c.z, sorted, m, rho, null, Z, U)
	if len(f.kept) == 0 {
		copy(c.order, sorted)
		sortByValue(c.order, d)
		return true
	}
	s, roots, ok := c.roots(d, f, null >= 0)
	if !ok {
		return false
	}
	k := len(f.kept)
	S := head(c.S, k, k)
	var left matrix
	if null >= 0 {
		left = head(c.left, k, k)
	}
	coefficients(f, s.d, s.consistent(S), S, left)
	c.update(Z, m, f, S)
	if null >= 0 {
		c.update(U, m, f, left)
	}
	// Rows 0…k−1 of Z and U are now the new vectors, the deflated ones follow.
	values := c.z
	copy(values, roots)
	for i, r := range f.deflated {
		values[k+i] = d[r]
	}
	copy(d, values)
	for i := range c.order {
		c.order[i] = i
	}
	sortByValue(c.order, d)
	return true
}

// coupling sets z to u in the coordinates of the halves' eigenvectors, with ‖z‖ = 1.
func (c cuppen) coupling(Z matrix, m int, rho float64) {
	for i := range c.z {
		if i < m {
			c.z[i] = Z.Data[i*Z.Stride+m-1] * math.Sqrt2 / 2
		} else {
			c.z[i] = math.Copysign(math.Sqrt2/2, rho) * Z.Data[i*Z.Stride+m]
		}
	}
}

// mergeOrders merges the sorted rows of the first half with those of the second, which count from shift.
func mergeOrders(d []float64, first, second []int, shift int) []int {
	out := make([]int, 0, len(d))
	i, j := 0, 0
	for i < len(first) || j < len(second) {
		if j == len(second) || i < len(first) && d[first[i]] <= d[second[j]+shift] {
			out = append(out, first[i])
			i++
		} else {
			out = append(out, second[j]+shift)
			j++
		}
	}
	return out
}

// roots solves the secular equation of the kept rows and leaves D_j − λ_i in row i of c.S.
func (c cuppen) roots(d []float64, f deflation, squared bool) (s secular, roots []float64, ok bool) {
	k := len(f.kept)
	s = secular{d: make([]float64, k), z: make([]float64, k), squared: squared, rhoInv: 1 / f.rho}
	var sq float64
	for j, r := range f.kept {
		s.d[j], s.z[j] = d[r], c.z[r]
		sq += c.z[r] * c.z[r]
	}
	s.reach = f.rho * sq
	roots = make([]float64, k)
	delta := head(c.S, k, k)
	good := make([]bool, k)
	par.Ranges(k, rowsEach(k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			roots[i], good[i] = s.root(i, row(delta, i))
		}
	})
	return s, roots, !slices.Contains(good, false)
}

// coefficients replaces the differences D_j − λ_i in S by the coefficients z_j/(D_j − λ_i) of the new
// vectors, their columns in the order of f.position. Those of left singular vectors are
// d_j·z_j/(D_j − λ_i), and −1 for the null row, which is the first.
func coefficients(f deflation, d, z []float64, S, left matrix) {
	k := len(z)
	par.Ranges(k, rowsEach(k), func(lo, hi int) {
		v := make([]float64, k)
		for i := lo; i < hi; i++ {
			out := row(S, i)
			for j, dl := range out {
				v[f.position[j]] = z[j] / dl
			}
			if left.Rows > 0 {
				u := row(left, i)
				for j, p := range f.position {
					u[p] = d[j] * v[p]
				}
				u[f.position[0]] = -1
				scal(1/nrm2(u), u)
			}
			scale := 1 / nrm2(v)
			for j := range out {
				out[j] = v[j] * scale
			}
		}
	})
}

// consistent returns the z for which the computed roots are exact, from
// Löwner's formula; with it the vectors are orthogonal to working accuracy
// however close the roots lie. delta holds D_j − λ_i in row i.
func (s *secular) consistent(delta matrix) []float64 {
	k := len(s.d)
	z := make([]float64, k)
	par.Ranges(k, rowsEach(k), func(lo, hi int) {
		w := z[lo:hi]
		for j := range w {
			w[j] = 1
		}
		for i := range k {
			di := s.d[i]
			dl := row(delta, i)[lo:hi]
			for j, dj := range s.d[lo:hi] {
				if lo+j == i {
					w[j] *= dl[j]
				} else {
					w[j] *= dl[j] / s.apart(dj, di)
				}
			}
		}
		for j := range w {
			w[j] = math.Copysign(math.Sqrt(math.Abs(w[j])), s.z[lo+j])
		}
	})
	return z
}

// update replaces the rows of Z by the new vectors S·Z_kept, followed by the deflated
// rows. Only the nonzero halves of the kept rows enter the products.
func (c cuppen) update(Z matrix, m int, f deflation, S matrix) {
	n, k := Z.Rows, len(f.kept)
	upper, lower := f.top+f.mixed, k-f.top
	G1 := head(c.gathered, upper, m)
	G2 := head(c.gathered[upper*m:], lower, n-m)
	rest := head(c.gathered[upper*m+lower*(n-m):], len(f.deflated), n)
	for j, r := range f.kept {
		p := f.position[j]
		if p < upper {
			copy(row(G1, p), row(Z, r)[:m])
		}
		if p >= f.top {
			copy(row(G2, p-f.top), row(Z, r)[m:])
		}
	}
	for i, r := range f.deflated {
		copy(row(rest, i), row(Z, r))
	}
	c.impl.product(view(S, 0, 0, k, upper), G1, view(Z, 0, 0, k, m))
	c.impl.product(view(S, 0, f.top, k, lower), G2, view(Z, 0, m, k, n-m))
	copyMatrix(view(Z, k, 0, n-k, n), rest)
}

// product computes dst = a·b, zero when a has no columns.
func (impl Implementation) product(a, b, dst matrix) {
	if a.Cols == 0 {
		for i := range dst.Rows {
			clear(row(dst, i))
		}
		return
	}
	impl.gemm(nt, nt, 1, a, b, 0, dst)
}

// implicitQR overwrites d by the eigenvalues, in no order, of the symmetric
// tridiagonal matrix T = Q·diag(d)·Qᵀ with diagonal d and off-diagonal e, and Z by
// Qᵀ·Z. The rest is as for [IterateQR].
func implicitQR(d, e []float64, Z matrix, work []float64) bool {
	n := len(d)
	for lo, hi := 0, 0; lo < n; lo, hi = hi+1, hi+1 {
		for hi < n-1 && !decoupled(d, e, hi) {
			hi++
		}
		// Graded matrices keep the accuracy of their small eigenvalues when the large elements come first.
		if math.Abs(d[lo]) < math.Abs(d[hi]) {
			reverse(d[lo:hi+1], e[lo:hi], view(Z, lo, 0, hi+1-lo, Z.Cols))
		}
		if !IterateQR(d[lo:hi+1], e[lo:hi], work, func(first int, c, s []float64) {
			vmath.Rotate(c, s, Z.Data[(lo+first)*Z.Stride:], Z.Stride, Z.Cols)
		}) {
			return false
		}
	}
	return true
}

// sweepsEach bounds the QR sweeps for an eigenvalue, of which about two are needed.
const sweepsEach = 30

// IterateQR overwrites d by the eigenvalues, in no order, of the symmetric tridiagonal
// matrix with diagonal d and off-diagonal e: implicit QR iterations with Wilkinson's shift
// (Golub and Van Loan, §8.3). rotate is called for each sweep with its rotations of the rows
// first+k and first+k+1, as [vmath.Rotate] takes them. It reports whether the iterations converge.
// The elements are of order one at most; e is destroyed; work is scratch of 2n − 2 floats.
func IterateQR(d, e, work []float64, rotate func(first int, c, s []float64)) bool {
	n := len(d)
	c, s := work[:n-1], work[n-1:2*n-2]
	sweeps := sweepsEach * n
	for end := n - 1; end > 0; {
		first := end
		for first > 0 && !decoupled(d, e, first-1) {
			first--
		}
		if first == end {
			end--
			continue
		}
		if sweeps--; sweeps < 0 {
			return false
		}
		m := end - first
		qrSweep(d[first:end+1], e[first:end], c[:m], s[:m])
		rotate(first, c[:m], s[:m])
	}
	return true
}

// decoupled reports whether e[i] is negligible beside its neighbours on the diagonal, and makes it zero then.
func decoupled(d, e []float64, i int) bool {
	if e[i]*e[i] > eps*math.Abs(d[i])*(eps*math.Abs(d[i+1]))+0x1p-1022 {
		return false
	}
	e[i] = 0
	return true
}

// reverse turns T and the rows of Z end to end.
func reverse(d, e []float64, Z matrix) {
	slices.Reverse(d)
	slices.Reverse(e)
	for i, j := 0, Z.Rows-1; i < j; i, j = i+1, j-1 {
		swap(row(Z, i), row(Z, j))
	}
}

// qrSweep overwrites the unreduced T by GᵀTG, G the product of the rotations (c_k, s_k) of
// rows k and k+1 that one QR step takes.
func qrSweep(d, e, c, s []float64) {
	m := len(e)
	g := (d[m-1] - d[m]) / (2 * e[m-1])
	g = d[0] - d[m] + e[m-1]/(g+math.Copysign(math.Hypot(g, 1), g)) // less Wilkinson's shift
	ck, sk, p := 1.0, 1.0, 0.0
	for k, ek := range e {
		f, b := sk*ek, ck*ek
		r := f*f + g*g
		if r > 0x1p-900 {
			r = math.Sqrt(r)
			ck, sk = g/r, f/r
		} else {
			ck, sk, r = gonum.Implementation{}.Dlartg(g, f)
		}
		if k > 0 {
			e[k-1] = r
		}
		g = d[k] - p
		r = (d[k+1]-g)*sk + 2*ck*b
		p = sk * r
		d[k] = g + p
		g = ck*r - b
		c[k], s[k] = ck, sk
	}
	d[m] -= p
	e[m-1] = g
}
