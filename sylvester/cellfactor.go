package sylvester

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// cellFactor is the inverse of μ·(P·Φ·T·Φᵀ·P + B). With a the least eigenvalue of K, where all are known, or 0,
// B = P·(aI⊗L)·P/μ + I has a block for each row, and Φ·diag(t)·Φᵀ is (K − aI)⊗L/μ without the pairs of eigenvectors of
// K and L on which (K⊗L)/μ + I is at most 1 + cut times (aI⊗L)/μ + I. With T = diag(t) of D pairs and P = diag(√w),
//
//	(P·Φ·T·Φᵀ·P + B)⁻¹ = B⁻¹ − B⁻¹·P·Φ·(T⁻¹ + Φᵀ·P·B⁻¹·P·Φ)⁻¹·Φᵀ·P·B⁻¹,
//
// whose middle is a Cholesky factor of order D. The condition of P·(K⊗L)·P + μI behind it is at most 1 + cut whatever
// the cells are, so that conjugate gradients take about √(1+cut)/2 iterations for each factor e of the residual.
// A kernel among others that is next to 0 between different rows makes a large, where pairs alone would be nearly all.
// Eigenvectors are columns u_i⊗v_j, for column j of V those of the first count_j columns of U, whose eigenvalues
// descend. Block jk of Φᵀ·P·B⁻¹·P·Φ is
//
//	U_jᵀ·diag(d_jk)·U_k,   (d_jk)_i = v_jᵀ·(P·B⁻¹·P)_i·v_k,
//
// l·D² flops for all, and D³/3 for the factor; 4·l·q·r + 4·l·n·r + 2·D² flops for each product, and D² + l·q numbers.
// B takes about 4·n³ flops and n² numbers for each pattern of weights in a row, and 4·l·n² flops for each product.
type cellFactor struct {
	be       blas.Backend
	made     *linop.Cells    // P, of weights at most 1
	L        *linop.Spectral // of which these weights are those of the cells
	build    float64         // flops that the factor takes
	mu       float64
	base     float64 // a
	cut      float64
	inverseT []float64
	U, V     blas.General
	count    []int
	start    []int // of the pairs of column j
	factor   blas.General
	rows     []int          // by pattern
	patterns []int          // where that of each begins, and len(rows)
	inverse  []blas.General // B⁻¹ of each; none where a is 0

	b, bv, c, uc, block, byPattern, rest blas.General
}

// Constants of the choice of cut.
const (
	// factorFolds is half the number of factors e by which residuals are expected to fall before a new factor pays:
	// those of three solves to 1e-2 of where they start.
	factorFolds = 7
	// factorRows bounds D by that multiple of l, for which the factor takes the memory of an eigendecomposition.
	factorRows = 2
	// insteadMost is what D may be at any l, and the number of observed cells up to which Cholesky's factor of these is
	// considered. It is a bound of the memory, 72 MB, and not a measured value.
	insteadMost = 3000
	// leastInverse bounds T⁻¹ from below, by more than the rounding of Φᵀ·P²·Φ, whose norm is at most 1.
	leastInverse = 0x1p-44
)

// mostPairs bounds D.
func mostPairs(l int) int { return max(factorRows*l, insteadMost) }

// pairs counts the σ_i of which σ_i·ρ_j + μ is more than 1 + cut times a·ρ_j + μ, for descending σ.
func pairs(count []int, sigma, rho []float64, a, mu, cut float64) (D int) {
	for j, r := range rho {
		at := sort.Search(len(sigma), func(i int) bool { return !((sigma[i]-a*(1+cut))*r > cut*mu) })
		count[j] = at
		D += at
	}
	return D
}

// buildWork is the cost of a factor.
func buildWork(l, D int) float64 { return float64(D) * float64(D) * (float64(l) + float64(D)/3) }

// iterationWork is the cost of one product with f for D pairs of q columns of U and r of V.
func (f *cellFactor) iterationWork(D, q, r int) float64 {
	l, n := f.made.Dims()
	work := 4*float64(l)*float64(q+n)*float64(r) + 2*float64(D)*float64(D)
	if f.base > 0 { // B⁻¹
		work += 4 * float64(l) * float64(n) * float64(n)
	}
	return work
}

// eachWork is the cost of one product with f.
func (f *cellFactor) eachWork() float64 { return f.iterationWork(f.factor.Rows, f.U.Cols, f.V.Cols) }

// choose sets cut to the power of 2, and base to 0 or a, whose factor, and the iterations behind it, are expected to
// cost the least, where one product with the system takes so many flops, and count to the pairs.
func (f *cellFactor) choose(sigma []float64, a, product float64, limit int) {
	rho := f.L.S
	l, n := f.made.Dims()
	f.count = make([]int, len(rho))
	least := math.Inf(1)
	top := math.Max(1, sigma[0]*rho[0]/f.mu)
	blocks := 4 * float64(len(f.patterns)-1) * math.Pow(float64(n), 3)
	if float64(len(f.patterns)-1)*float64(n)*float64(n) > float64(limit)*float64(limit) {
		a = 0
	}
	best := 0.0
	for _, f.base = range []float64{0, a} {
		for cut := math.Min(2*top, math.MaxFloat64); cut > 0.5; cut /= 2 {
			D := pairs(f.count, sigma, rho, f.base, f.mu, cut)
			if D > limit {
				break
			}
			each := product + f.iterationWork(D, slices.Max(f.count), len(rho))
			build := buildWork(l, D)
			if f.base > 0 {
				build += blocks
			}
			if work := build + factorFolds*math.Sqrt(1+cut)*each; work < least {
				least, f.cut, best, f.build = work, cut, f.base, build
			}
		}
	}
	f.base = best
	pairs(f.count, sigma, rho, f.base, f.mu, f.cut)
}

// group sorts the rows by their pattern of weights.
func (f *cellFactor) group() {
	l, _ := f.made.Dims()
	f.rows, f.patterns = f.rows[:0], f.patterns[:0]
	for i := range l {
		f.rows = append(f.rows, i)
	}
	slices.SortStableFunc(f.rows, func(i, j int) int { return slices.Compare(f.made.Row(i), f.made.Row(j)) })
	for at, i := range f.rows {
		if at == 0 || !slices.Equal(f.made.Row(i), f.made.Row(f.rows[at-1])) {
			f.patterns = append(f.patterns, at)
		}
	}
	f.patterns = append(f.patterns, l)
}

// invert computes B⁻¹. It reports false where rounding leaves none.
func (f *cellFactor) invert(be blas.Backend) bool {
	if f.inverse = f.inverse[:0]; f.base == 0 {
		return true
	}
	n := f.L.Dim()
	whole := blas.NewGeneral(n, n)
	f.L.Dense(be, whole)
	for _, at := range f.patterns[:len(f.patterns)-1] {
		E, root := blas.NewGeneral(n, n), f.made.Row(f.rows[at])
		blas.ScaleRows(E, root, whole)
		blas.ScaleColumns(E, root)
		blas.Scal(f.base/f.mu, E.Data)
		for j := range n {
			E.Data[j*E.Stride+j]++
		}
		if !be.Potrf(E) {
			return false
		}
		be.Potri(E)
		blas.MirrorLower(E)
		f.inverse = append(f.inverse, E)
	}
	return true
}

// applyRows computes dst = B⁻¹·x, on rows that lie next to each other by pattern.
func (f *cellFactor) applyRows(dst, x blas.General) {
	if f.base == 0 {
		blas.Copy(dst, x)
		return
	}
	f.byPattern = blas.Reshape(f.byPattern, 2*x.Rows, x.Cols)
	in, out := blas.View(f.byPattern, 0, 0, x.Rows, x.Cols), blas.View(f.byPattern, x.Rows, 0, x.Rows, x.Cols)
	for at, i := range f.rows {
		copy(blas.Row(in, at), blas.Row(x, i))
	}
	for p, E := range f.inverse {
		at, rows := f.patterns[p], f.patterns[p+1]-f.patterns[p]
		blas.Mul(f.be, blas.View(out, at, 0, rows, x.Cols), false, false, blas.View(in, at, 0, rows, x.Cols), E)
	}
	for at, i := range f.rows {
		copy(blas.Row(dst, i), blas.Row(out, at))
	}
}

// plan chooses the factor for the cells of t from a decomposition of its K, as large as memory allows.
func (f *cellFactor) plan(be blas.Backend, dec *Decomposition, t *cellSystem, product float64) (
	order []int, sigma []float64, err error,
) {
	var b []float64
	f.be, f.mu, f.L, f.build = be, t.near.Mu, t.near.L, 0
	if b, f.made = t.cells.ByOutput(); b != nil {
		a := t.near.L.Factor()
		blas.ScaleRows(a, blas.Roots(b), a)
		f.L = new(linop.Spectral)
		if err := factored(be, f.L, a); err != nil {
			return nil, nil, err
		}
	}
	l, _ := t.cells.Dims()
	if order, sigma = descending(dec.Sigma); len(sigma) == 0 || f.L.Rank() == 0 {
		return nil, nil, nil
	}
	a := 0.0
	if dec.whole() {
		a = math.Max(slices.Min(dec.Sigma), 0)
	}
	limit := mostPairs(l)
	for limit > 0 && memory.Check("", 8*float64(limit)*float64(limit), "") != nil {
		limit /= 2
	}
	f.group()
	f.choose(sigma, a, product, limit)
	return order, sigma, nil
}

// set makes the factor of [cellFactor.plan]. The error is ErrNotSPD where rounding leaves no factor, or that of ctx.
func (f *cellFactor) set(
	ctx context.Context, be blas.Backend, dec *Decomposition, t *cellSystem, product float64,
) error {
	order, sigma, err := f.plan(be, dec, t, product)
	if err != nil {
		return err
	}
	if len(sigma) == 0 {
		f.cut, f.count, f.factor = 1, nil, blas.General{}
		f.U, f.V, f.inverseT, f.base = blas.NewGeneral(dec.T.Rows, 0), blas.NewGeneral(f.L.Dim(), 0), nil, 0
		return nil
	}
	f.take(dec.T, order)
	f.inverseT = f.inverseT[:0]
	f.start = f.start[:0]
	for j, q := range f.count {
		f.start = append(f.start, len(f.inverseT))
		for i := range q {
			f.inverseT = append(f.inverseT, math.Max(f.mu/((sigma[i]-f.base)*f.L.S[j]), leastInverse))
		}
	}
	until := blas.Until(ctx, be)
	regular := f.invert(until)
	if regular {
		f.form(until)
		regular = len(f.inverseT) == 0 || until.Potrf(f.factor)
	}
	if err := ctx.Err(); err != nil {
		f.made = nil
		return err
	}
	if !regular {
		f.made = nil
		condition := sigma[0] * f.L.S[0] / f.mu
		return notPositive(condition, "the factor of %d pairs for the observed cells, at ‖K‖·‖L‖/μ = %.3g",
			len(f.inverseT), condition)
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
func (f *cellFactor) take(T blas.General, order []int) {
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
	f.V = blas.Reshape(f.V, f.L.Dim(), r)
	for i := range f.V.Rows {
		copy(blas.Row(f.V, i), blas.Row(f.L.V, i))
	}
}

// form writes T⁻¹ + Φᵀ·P·B⁻¹·P·Φ to the lower triangle of factor.
func (f *cellFactor) form(be blas.Backend) {
	D, l := len(f.inverseT), f.U.Rows
	f.factor = blas.Reshape(f.factor, D, D)
	Z, EZ, d := blas.NewGeneral(l, f.V.Rows), blas.NewGeneral(l, f.V.Rows), blas.NewGeneral(f.V.Cols, l)
	for j, qj := range f.count {
		for i := range l {
			for b, root := range f.made.Row(i) {
				Z.Data[i*Z.Stride+b] = root * f.V.Data[b*f.V.Stride+j]
			}
		}
		f.applyRows(EZ, Z)
		f.made.Project(EZ, EZ)
		blas.Mul(be, d, true, true, f.V, EZ)
		if qj > 0 {
			f.formRow(be, j, d)
		}
	}
	for a, v := range f.inverseT {
		f.factor.Data[a*f.factor.Stride+a] += v
	}
}

// formRows is the number of rows of U that are weighted at a time, few enough for caches.
const formRows = 256

// formRow writes blocks jk of [cellFactor.form], k ≤ j, for the rows d_jk of d: one product with all columns
// diag(d_jk)·U_k beside each other, since those with each alone are thin.
func (f *cellFactor) formRow(be blas.Backend, j int, d blas.General) {
	D, l := f.start[j]+f.count[j], f.U.Rows
	to := blas.View(f.factor, f.start[j], 0, f.count[j], D)
	for at := 0; at < l; at += formRows {
		rows := min(formRows, l-at)
		f.block = blas.Reshape(f.block, rows, D)
		par.For(rows, func(i int) {
			out, u := blas.Row(f.block, i), blas.Row(f.U, at+i)
			for k, q := range f.count[:j+1] {
				to, s := out[f.start[k]:], d.Data[k*d.Stride+at+i]
				for c, v := range u[:q] {
					to[c] = s * v
				}
			}
		})
		blas.Gemm(be, true, false, 1, blas.View(f.U, at, 0, rows, f.count[j]), f.block, min(1, float64(at)), to)
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
	in, out := asMatrix(x, l, n), asMatrix(dst, l, n)
	f.applyRows(out, in)
	if len(f.inverseT) > 0 {
		f.correct(out, in)
	}
	f.made.Keep(out, out)
	blas.Scal(1/f.mu, out.Data)
}

// correct takes from out = B⁻¹·x the part of the pairs.
func (f *cellFactor) correct(out, in blas.General) {
	l, n, q, r := in.Rows, in.Cols, f.U.Cols, f.V.Cols
	f.b, f.bv, f.c = blas.Reshape(f.b, l, n), blas.Reshape(f.bv, l, r), blas.Reshape(f.c, q, r)
	f.made.Project(f.b, out)
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
	f.rest = blas.Reshape(f.rest, l, n)
	blas.Copy(f.rest, in)
	blas.AddScaled(f.rest, -1, f.b)
	f.applyRows(out, f.rest)
}

// eachPair visits the pairs u_i⊗v_j in the order of the factor.
func (f *cellFactor) eachPair(visit func(at, i, j int)) {
	for j, q := range f.count {
		for i := range q {
			visit(f.start[j]+i, i, j)
		}
	}
}
