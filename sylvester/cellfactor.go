// This file preconditions systems with missing cells by leading eigenvectors of K and L, cut down to the cells.

package sylvester

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// cellFactor is the inverse of P·Φ·T·Φᵀ·P·μ + μI, where Φ·diag(t)·Φᵀ is K⊗L/μ without its eigenvalues up to cut.
// With T = diag(t) of D pairs and P = diag(√w),
//
//	(P·Φ·T·Φᵀ·P + I)⁻¹ = I − P·Φ·(T⁻¹ + Φᵀ·P²·Φ)⁻¹·Φᵀ·P,
//
// whose middle is a Cholesky factor of order D. The condition of P·(K⊗L)·P + μI behind it is at most 1 + cut whatever
// the cells are, so that conjugate gradients take about √(1+cut)/2 iterations for each factor e of the residual.
// Eigenvectors are columns u_i⊗v_j, for column j of V those of the first count_j columns of U, whose eigenvalues
// descend. Block jk of Φᵀ·P²·Φ is
//
//	U_jᵀ·diag(d_jk)·U_k,   d_jk = P²·(v_j∘v_k),
//
// l·D² flops for all, and D³/3 for the factor; 4·l·q·r + 4·l·n·r + 2·D² flops for each product, and D² + l·q numbers.
type cellFactor struct {
	be       blas.Backend
	made     *linop.Cells // P
	cells    *linop.Cells // outside of which a product is 0
	mu       float64
	cut      float64
	inverseT []float64
	U, V     blas.General
	count    []int
	start    []int // of the pairs of column j
	factor   blas.General

	b, bv, c, uc, block blas.General
}

// Constants of the choice of cut.
const (
	// factorFolds is half the number of factors e by which residuals are expected to fall before a new factor pays:
	// those of three solves to 1e-2 of where they start.
	factorFolds = 7
	// factorRows bounds D by that multiple of l, for which the factor takes the memory of an eigendecomposition.
	factorRows = 2
	// leastInverse bounds T⁻¹ from below, by more than the rounding of Φᵀ·P²·Φ, whose norm is at most 1.
	leastInverse = 0x1p-44
)

// pairs counts the eigenvalues σ_i·ρ_j/μ above cut, for descending σ.
func pairs(count []int, sigma, rho []float64, mu, cut float64) (D int) {
	for j, r := range rho {
		at := sort.Search(len(sigma), func(i int) bool { return !(sigma[i]*r > cut*mu) })
		count[j] = at
		D += at
	}
	return D
}

// buildWork is the cost of a factor.
func buildWork(l, D int) float64 { return float64(D) * float64(D) * (float64(l) + float64(D)/3) }

// iterationWork is the cost of one product with f, for r columns of V.
func (f *cellFactor) iterationWork(l int) float64 {
	D := float64(f.factor.Rows)
	return 4*float64(l)*float64(f.U.Cols+f.V.Rows)*float64(f.V.Cols) + 2*D*D
}

// remaining is what conjugate gradients behind f are expected to cost for the given number of factors e.
func (f *cellFactor) remaining(product, folds float64) float64 {
	return folds * math.Sqrt(1+f.cut) / 2 * (product + f.iterationWork(f.U.Rows))
}

// choose sets cut to the power of 2 whose factor, and the iterations behind it, are expected to cost the least,
// and count to the pairs above it.
func (f *cellFactor) choose(sigma []float64, sys System, product float64, limit int) {
	rho := sys.L.S
	l, n := f.made.Dims()
	f.count = make([]int, len(rho))
	least, top := math.Inf(1), 1.0
	for _, r := range rho {
		top = math.Max(top, sigma[0]*r/sys.Mu)
	}
	for cut := math.Min(2*top, math.MaxFloat64); cut > 0.5; cut /= 2 {
		D := pairs(f.count, sigma, rho, sys.Mu, cut)
		if D > limit {
			break
		}
		each := product + 4*float64(l)*float64(slices.Max(f.count)+n)*float64(len(rho)) + 2*float64(D)*float64(D)
		if work := buildWork(l, D) + factorFolds*math.Sqrt(1+cut)*each; work < least {
			least, f.cut = work, cut
		}
	}
	pairs(f.count, sigma, rho, sys.Mu, f.cut)
}

// set makes the factor for the cells of sys from a decomposition of its K, for a product with the system that costs
// the given number of flops, as large as memory allows. The error is ErrNotSPD where rounding leaves no factor, or that
// of ctx.
func (f *cellFactor) set(
	ctx context.Context, be blas.Backend, dec *Decomposition, sys System, cells *linop.Cells, product float64,
) error {
	f.be, f.made, f.mu = be, cells, sys.Mu
	l, _ := cells.Dims()
	order, sigma := descending(dec.Sigma)
	if len(sigma) == 0 || sys.L.Rank() == 0 {
		f.cut, f.count, f.factor = 1, nil, blas.General{}
		f.U, f.V, f.inverseT = blas.NewGeneral(l, 0), blas.NewGeneral(sys.L.Dim(), 0), nil
		return nil
	}
	limit := max(factorRows*l, insteadMost)
	for limit > 0 && memory.Check("", 8*float64(limit)*float64(limit), "") != nil {
		limit /= 2
	}
	f.choose(sigma, sys, product, limit)
	f.take(dec.T, order, sys.L)
	f.inverseT = f.inverseT[:0]
	f.start = f.start[:0]
	for j, q := range f.count {
		f.start = append(f.start, len(f.inverseT))
		for i := range q {
			f.inverseT = append(f.inverseT, math.Max(sys.Mu/(sigma[i]*sys.L.S[j]), leastInverse))
		}
	}
	until := blas.Until(ctx, be)
	f.form(until)
	regular := len(f.inverseT) == 0 || until.Potrf(f.factor)
	if err := ctx.Err(); err != nil {
		f.made = nil
		return err
	}
	if !regular {
		f.made = nil
		return fmt.Errorf("%w: the factor of %d pairs for the observed cells", ErrNotSPD, len(f.inverseT))
	}
	return nil
}

// descending are the positive eigenvalues from the largest on, and where they stand.
func descending(all []float64) (order []int, sigma []float64) {
	for i, s := range all {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b], all[a]) })
	for _, i := range order {
		sigma = append(sigma, all[i])
	}
	return order, sigma
}

// take copies the columns of T and L.V that have a pair.
func (f *cellFactor) take(T blas.General, order []int, L *linop.Spectral) {
	q := slices.Max(f.count)
	f.U = blas.Reshape(f.U, T.Rows, q)
	for i := range T.Rows {
		out, in := blas.Row(f.U, i), blas.Row(T, i)
		for c := range out {
			out[c] = in[order[c]]
		}
	}
	r := len(f.count)
	for r > 0 && f.count[r-1] == 0 {
		r--
	}
	f.count = f.count[:r]
	f.V = blas.Reshape(f.V, L.V.Rows, r)
	for i := range L.V.Rows {
		copy(blas.Row(f.V, i), blas.Row(L.V, i))
	}
}

// form writes T⁻¹ + Φᵀ·P²·Φ to the lower triangle of factor.
func (f *cellFactor) form(be blas.Backend) {
	D, l := len(f.inverseT), f.U.Rows
	f.factor = blas.Reshape(f.factor, D, D)
	vv, d := blas.NewGeneral(f.V.Cols, f.V.Rows), blas.NewGeneral(f.V.Cols, l)
	squares := blas.NewGeneral(l, f.V.Rows)
	f.made.Each(func(i, b int, root float64) { squares.Data[i*squares.Stride+b] = root * root })
	for j, qj := range f.count {
		for b := range f.V.Rows {
			v := blas.Row(f.V, b)
			for k := range v {
				vv.Data[k*vv.Stride+b] = v[j] * v[k]
			}
		}
		blas.Mul(be, d, false, true, vv, squares)
		for k, qk := range f.count[:j+1] {
			if qj == 0 || qk == 0 {
				continue
			}
			f.block = blas.Reshape(f.block, l, qk)
			blas.ScaleRows(f.block, blas.Row(d, k), blas.View(f.U, 0, 0, l, qk))
			to := blas.View(f.factor, f.start[j], f.start[k], qj, qk)
			blas.Mul(be, to, true, false, blas.View(f.U, 0, 0, l, qj), f.block)
		}
	}
	for a, v := range f.inverseT {
		f.factor.Data[a*f.factor.Stride+a] += v
	}
}

// Dim is l·n.
func (f *cellFactor) Dim() int {
	l, n := f.made.Dims()
	return l * n
}

// Apply computes dst ≈ (P·(K⊗L)·P + μI)⁻¹·x for one contiguous column that is zero outside of the cells.
func (f *cellFactor) Apply(dst, x blas.General) {
	l, n := f.made.Dims()
	in := blas.General{Rows: l, Cols: n, Stride: n, Data: x.Data}
	out := blas.General{Rows: l, Cols: n, Stride: n, Data: dst.Data}
	if len(f.inverseT) == 0 {
		blas.Copy(out, in)
		blas.Scal(1/f.mu, out.Data)
		return
	}
	q, r := f.U.Cols, f.V.Cols
	f.b, f.bv, f.c = blas.Reshape(f.b, l, n), blas.Reshape(f.bv, l, r), blas.Reshape(f.c, q, r)
	f.made.Project(f.b, in)
	blas.Mul(f.be, f.bv, false, false, f.b, f.V)
	blas.Mul(f.be, f.c, true, false, f.U, f.bv)
	f.uc = blas.Reshape(f.uc, len(f.inverseT), 1)
	f.eachPair(func(at, i, j int) { f.uc.Data[at] = f.c.Data[i*f.c.Stride+j] })
	blas.Potrs(f.be, f.factor, f.uc)
	blas.Zero(f.c)
	f.eachPair(func(at, i, j int) { f.c.Data[i*f.c.Stride+j] = f.uc.Data[at] })
	blas.Mul(f.be, f.bv, false, false, f.U, f.c)
	blas.Mul(f.be, f.b, false, true, f.bv, f.V)
	f.made.Project(f.b, f.b)
	blas.Copy(out, in)
	blas.AddScaled(out, -1, f.b)
	f.cells.Keep(out, out)
	blas.Scal(1/f.mu, out.Data)
}

// eachPair visits the pairs u_i⊗v_j in the order of the factor.
func (f *cellFactor) eachPair(visit func(at, i, j int)) {
	for j, q := range f.count {
		for i := range q {
			visit(f.start[j]+i, i, j)
		}
	}
}
