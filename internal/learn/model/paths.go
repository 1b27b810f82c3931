// The posterior given many missing or weighted cells, by random functions.

package model

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

const (
	// pathCount is the number of random functions: their mean square tells a deviation to 1/√128, 9 %.
	pathCount = 64
	// pathTol is the relative residual of what they are solved to, far below that.
	pathTol = 1e-4
)

// paths are errors of the model's predictions of random functions f from the Gaussian process that it has for prior,
// observed with noise in its cells: posterior variances are their mean squares (Wilson et al., Pathwise Conditioning of
// Gaussian Processes, JMLR 2021). With K = RRᵀ over the l training rows and t = R⁻¹·k(x), f(x) is tᵀΦ, for a random Φ
// of covariance I⊗L, beside an independent part of covariance (k(x,x) − tᵀt)·L, and its prediction is tᵀRᵀ·(C·L).
type paths struct {
	be  blas.Backend
	R   blas.General   // lower triangle, l×l
	E   []blas.General // Φ − Rᵀ·C·L, l×n each
	own []float64      // diagonal of L
	mu  float64

	cross *kernel.Crossing
	Z, W  blas.General // training inputs, and weights of the cells; without Data 1
}

// trial is the posterior of targets with missing or weighted cells by random functions.
func (m *Model) trial(ctx context.Context, b *Samples) (*known, error) {
	l, n := b.Z.Rows, m.L.Dim()
	if l > linop.KeepBoth {
		return nil, fault.Input("deviations of targets with missing or weighted cells are for models of at most %d "+
			"rows, and this one has %d", linop.KeepBoth, l)
	}
	be := blas.Or(b.be)
	p := &paths{be: be, own: make([]float64, n), mu: m.Mu, Z: b.Z, W: m.W}
	c := &known{posterior: p, means: b.silent(), sigma: make([]float64, n)}
	var err error
	if p.cross, err = b.dict.Crossing(b.eta, b.Z, b.be); err != nil {
		return nil, fault.From(err)
	}
	K := blas.NewGeneral(l, l)
	if err := p.cross.Sum(K, b.Z); err != nil {
		return nil, fault.From(err)
	}
	if err := p.factor(K); err != nil {
		return nil, err
	}
	cells := linop.WeightedCells(l, n, func(i, j int) float64 {
		if math.IsNaN(m.Y.Data[i*m.Y.Stride+j]) {
			return 0
		}
		return columns.WeightAt(m.W, i, j)
	})
	solver, err := sylvester.New("auto", sylvester.Config{Backend: be})
	if err != nil {
		return nil, fault.From(err)
	}
	system := sylvester.System{K: linop.NewDense(K, be), L: m.L, Mu: m.Mu, Cells: cells}
	solve := func(Y blas.General) (X blas.General, err error) {
		X = blas.NewGeneral(l, n)
		cells.Project(Y, Y)
		_, err = solver.Solve(ctx, X, system, Y, sylvester.Options{Tol: pathTol})
		return X, err
	}
	X, err := solve(blas.Clone(m.Y))
	if err != nil {
		return nil, fault.From(err)
	}
	square := blas.NewGeneral(l, n) // Σ X∘X, of which the mean is the diagonal of the inverse of the system
	rng := rand.New(rand.NewPCG(uint64(l), uint64(n)))
	for range pathCount {
		S, err := p.draw(rng, m.L, solve, cells)
		if err != nil {
			return nil, fault.From(err)
		}
		for i, v := range S.Data {
			square.Data[i] += v * v
		}
	}
	one := m.Out.Axis != nil && m.Out.Axis.Kernel != "" // the outputs are one process
	for j := range c.sigma {
		lo, hi := j, j+1
		if one {
			lo, hi = 0, n
		}
		c.sigma[j] = math.Sqrt(m.Mu * withoutCells(X, square, cells, lo, hi))
	}
	c.R = blas.NewGeneral(l, n)
	for i := range c.R.Data {
		c.R.Data[i] = math.NaN()
		if s := square.Data[i]; cells.Has(i/n, i%n) && s > 0 {
			c.R.Data[i] = X.Data[i] * (pathCount - 2) / s
		}
	}
	for k := range n {
		for a, rho := range m.L.S {
			v := m.L.V.Data[k*m.L.V.Stride+a]
			p.own[k] += rho * v * v
		}
	}
	return c, nil
}

// withoutCells is 1/μ times the mean, over the cells i of outputs [lo, hi), of the squared residual without the cell in
// units of its variance for noise 1. With the matrix A of the system over the cells that is x_i²/(A⁻¹)_ii. square is
// the sum of pathCount estimates of (A⁻¹)_ii.
func withoutCells(X, square blas.General, cells *linop.Cells, lo, hi int) float64 {
	sum, count := 0.0, 0
	for i := range X.Rows {
		for j := lo; j < hi; j++ {
			at := i*X.Cols + j
			if s := square.Data[at]; cells.Has(i, j) && s > 0 {
				sum += X.Data[at] * X.Data[at] * (pathCount - 2) / s // the mean of 1/χ² of so many
				count++
			}
		}
	}
	return sum / float64(max(count, 1))
}

// factor sets R for K with its diagonal raised by rounding until there is one.
func (p *paths) factor(K blas.General) error {
	top := 0.0
	for i := range K.Rows {
		top = math.Max(top, K.Data[i*K.Stride+i])
	}
	for raise := 0x1p-52 * float64(K.Rows) * top; raise <= top; raise *= 16 {
		p.R = blas.Clone(K)
		for i := range K.Rows {
			p.R.Data[i*p.R.Stride+i] += raise
		}
		if p.be.Potrf(p.R) {
			return nil
		}
	}
	return fault.Input("the kernel of the model is not positive semidefinite")
}

// draw adds a random function to p, and returns the coefficients X that it gives.
func (p *paths) draw(
	rng *rand.Rand, L *linop.Spectral, solve func(blas.General) (blas.General, error), cells *linop.Cells,
) (X blas.General, err error) {
	l, n := cells.Dims()
	Phi, F := blas.NewGeneral(l, L.Rank()), blas.NewGeneral(l, n)
	for i := range l {
		for a, v := 0, blas.Row(Phi, i); a < len(v); a++ {
			v[a] = math.Sqrt(L.S[a]) * rng.NormFloat64()
		}
	}
	E := blas.Product(p.be, false, true, Phi, L.V)
	blas.Copy(F, E)
	p.be.Dtrmm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, l, n, 1, p.R.Data, p.R.Stride, F.Data, F.Stride)
	cells.Each(func(i, j int, root float64) { // observed as y = f + ε, Var ε = μ/w
		F.Data[i*n+j] += math.Sqrt(p.mu) / root * rng.NormFloat64()
	})
	if X, err = solve(F); err != nil {
		return X, err
	}
	CL := blas.NewGeneral(l, n)
	cells.Project(CL, X)
	L.MulRight(p.be, CL, CL)
	p.be.Dtrmm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, l, n, 1, p.R.Data, p.R.Stride, CL.Data, CL.Stride)
	blas.AddScaled(E, -1, CL)
	p.E = append(p.E, E)
	return X, nil
}

// without takes the targets of the row out of the deviation s there with them: s²/(1 − w·s²), as for one output.
func (p *paths) without(ctx context.Context, dst blas.General, rows []int, _ blas.General) error {
	err := p.deviation(ctx, dst, blas.TakeRows(p.Z, rows))
	for a, i := range rows {
		row := blas.Row(dst, a)
		for j, s := range row {
			w := columns.WeightAt(p.W, i, j)
			row[j] = s / math.Sqrt(max(1-w*s*s, 0x1p-52))
		}
	}
	return err
}

// deviation writes to dst (t×n) the posterior deviation for noise 1 at t points.
func (p *paths) deviation(ctx context.Context, dst, Z blas.General) error {
	for at := 0; at < Z.Rows; at += SlabRows {
		rows := min(SlabRows, Z.Rows-at)
		some, KX, kxx := blas.View(Z, at, 0, rows, Z.Cols), blas.NewGeneral(rows, p.R.Rows), make([]float64, rows)
		if err := cmp.Or(p.cross.Sum(KX, some), p.cross.Diagonal(kxx, some)); err != nil {
			return fault.From(err)
		}
		if err := p.project(ctx, blas.View(dst, at, 0, rows, dst.Cols), KX, kxx); err != nil {
			return err
		}
	}
	return nil
}

// project is deviation for the kernels KX (t×l) of the points with the training rows, which it overwrites, and those
// with themselves, kxx.
func (p *paths) project(ctx context.Context, dst, KX blas.General, kxx []float64) error {
	t, n := dst.Rows, dst.Cols
	p.be.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, t, KX.Cols, 1, p.R.Data, p.R.Stride, KX.Data,
		KX.Stride)
	out, sum := blas.NewGeneral(t, n), blas.NewGeneral(t, n)
	for _, E := range p.E {
		if err := ctx.Err(); err != nil {
			return err
		}
		blas.Mul(p.be, out, false, false, KX, E)
		for i, v := range out.Data {
			sum.Data[i] += v * v / pathCount
		}
	}
	for i := range t {
		row := blas.Row(KX, i)
		rest := math.Max(0, kxx[i]-blas.Dot(row, row))
		for j := range n {
			dst.Data[i*dst.Stride+j] = math.Sqrt((sum.Data[i*n+j] + rest*p.own[j]) / p.mu)
		}
	}
	return nil
}
