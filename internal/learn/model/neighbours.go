// The posterior of models of many rows, given the rows that covary most with a point.

package model

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/sylvester"
)

const (
	// nearRows is the number of rows that a variance is conditioned on. Figures of it and of reducedFrom
	// are in docs/decisions/2026-11-27-constants.md.
	nearRows = 64
	// reducedFrom is the number of different eigenvalues of L from which K_N is reduced to a tridiagonal matrix once,
	// not factorized for each: of order nearRows, a reduction takes as long as nine factors.
	reducedFrom = 10
	// residualRows is the number of rows whose residuals are computed: of a share p of new targets, theirs then tells
	// √(p(1−p)/4000), .8 % at most. The factor of variances that they choose may be one standard error of a log density
	// worse than the best. Figures in docs/decisions/2026-11-24-rows-of-the-factor.md.
	residualRows = 4000
	// heavyRows is the number of largest residuals whose part of the noise is not sampled. The mean of the estimate
	// does not depend on it, only how much it varies.
	heavyRows = 200
)

// neighbours gives posterior variances from the training rows that, one by one, explain most of the variance at a
// point. Conditioned on fewer rows, a Gaussian process varies more: what they give is an upper bound, of which share is
// the part that all rows leave.
type neighbours struct {
	*Samples
	cross   *kernel.Crossing
	inverse []float64 // 1/k(x_i,x_i), 0 where that is 0
	rho     []float64 // eigenvalues of L,
	V       blas.General
	shifts  int // how many of rho differ
	mu      float64
	share   []float64 // what variances are multiplied by, for each of rho
	free    par.Free[nearWork]
	lists   par.Free[[SlabRows]nearest]
}

// nearWork is the scratch of the variance at a point: rows of Z, and matrices of nearRows.
type nearWork struct {
	Z, K, A, x blas.General
	reduced    sylvester.Tridiagonal
}

// nearest are the rows i of largest share k(x,x_i)²/k(x_i,x_i) of the variance at a point x, the first of equal ones,
// in their order. Until all have been offered there is room for as many again: those that take it are few, unless the
// rows come the farthest first.
type nearest struct {
	rows     []int
	k, share []float64 // k(x,x_i), and the share
	least    float64   // that a further row has to exceed
	sorted   []float64 // scratch
}

// Estimate is what neighbours tell about the rows of a model of many, in the units that the outputs were learned in.
type Estimate struct {
	R, D  blas.General // residuals of random rows without each row, and their deviations for noise 1
	Sigma []float64    // standard deviation of the noise of each live output
	Share []float64    // part of the variances by neighbours that enters deviations, for each eigenvalue of L
}

// many reports whether variances come from neighbours: of kernels that are functions of two rows alone.
func (b *Samples) many() bool {
	return b.Z.Rows > defaults.IntervalSamples &&
		!slices.ContainsFunc(b.dict, func(k kernel.Kernel) bool { return k.Center })
}

// uncertain is the posterior that deviations come from: exact, or of many rows or cells by neighbours or random
// functions.
func (m *Model) uncertain(ctx context.Context) (*known, error) {
	if m.Out.Loss != "" {
		return m.laplace(ctx, (*Model).uncertain)
	}
	b := m.oneL()
	complete := m.Y.Rows == 0 || m.AllTargets()
	if b == nil || b.Z.Data == nil || !(m.Mu > 0) || complete && !b.many() || !complete && m.cells() <= cellsAtMost {
		return m.exact(ctx)
	}
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.estimate == nil {
		estimate := m.approximate
		if !complete {
			estimate = m.trial
		}
		k, err := estimate(ctx, b)
		if err != nil {
			return nil, err
		}
		m.ends.estimate = k
	}
	return m.ends.estimate, nil
}

// Prepare makes a model of many rows keep its [Estimate]. freedom is, for each eigenvalue ρ of L, tr ρK_η(ρK_η + μI)⁻¹.
func (m *Model) Prepare(ctx context.Context, freedom []float64) error {
	b := m.oneL()
	if b == nil || m.Out.Loss != "" || !m.AllTargets() || !(m.Mu > 0) || !b.many() {
		return nil
	}
	m.freedom = freedom
	k, err := m.uncertain(ctx)
	if err == nil {
		m.Estimate = &Estimate{R: k.R, D: k.D, Sigma: k.sigma, Share: k.posterior.(*neighbours).share}
	}
	return err
}

// approximate is the posterior by neighbours.
func (m *Model) approximate(ctx context.Context, b *Samples) (*known, error) {
	near := &neighbours{Samples: b, rho: m.L.S, V: m.L.V, mu: m.Mu}
	near.shifts = len(slices.Compact(slices.Clone(near.rho)))
	near.share = slices.Repeat([]float64{1}, len(near.rho))
	k := &known{posterior: near, means: b.silent()}
	var err error
	if near.cross, err = b.dict.Crossing(b.eta, b.Z, b.be); err != nil {
		return nil, fault.From(err)
	}
	if err := near.invert(); err != nil {
		return nil, err
	}
	switch e := m.Estimate; {
	case e != nil:
		k.R, k.D, k.sigma, near.share = e.R, e.D, e.Sigma, e.Share
	case m.AllTargets():
		some, err := near.sample(ctx, m.Y, m.freedom)
		if err != nil {
			return nil, err
		}
		factor := some.factor()
		floats.Scale(factor, near.share)
		k.R, k.D, k.sigma = some.random.R, some.random.widths(factor), some.noise(factor)
	case m.Held != nil:
		k.R, k.rows = m.learnedResiduals(m.Held), m.Held.Rows
		return k, k.measure(ctx, m)
	}
	k.rows = drawn(b.Z.Rows)[:k.R.Rows]
	return k, nil
}

// drawn are random rows of l, residualRows of them at most.
func drawn(l int) []int { return rand.New(rand.NewPCG(uint64(l), 0)).Perm(l)[:min(l, residualRows)] }

func (s *neighbours) deviation(ctx context.Context, dst, Z blas.General) error {
	return s.each(ctx, Z, nil, func(at int, v blas.General) {
		s.outputs(blas.View(dst, at, 0, v.Rows, dst.Cols), v)
	})
}

func (s *neighbours) without(ctx context.Context, dst blas.General, rows []int, _ blas.General) error {
	v, err := s.variances(ctx, rows)
	s.outputs(dst, v)
	return err
}

// invert sets inverse.
func (s *neighbours) invert() error {
	s.inverse = make([]float64, s.Z.Rows)
	if err := s.cross.Diagonal(s.inverse, s.Z); err != nil {
		return fault.From(err)
	}
	for i, v := range s.inverse {
		if v > 0 {
			s.inverse[i] = 1 / v
		}
	}
	return nil
}

// sample refits the rows of largest residuals and random rows, each without itself. freedom is that of Prepare, which
// tells the share; nil where it is not known.
func (s *neighbours) sample(ctx context.Context, Y blas.General, freedom []float64) (*sampled, error) {
	E, l := s.remainder(Y), Y.Rows
	size, bySize := make([]float64, l), make([]int, l)
	for i := range size {
		size[i], bySize[i] = blas.Nrm2(blas.Row(E, i)), i
	}
	slices.SortStableFunc(bySize, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	heavy := bySize[:min(l, heavyRows)]
	rows := drawn(l)
	ofHeavy, err := s.variances(ctx, heavy)
	if err != nil {
		return nil, err
	}
	ofRows, err := s.variances(ctx, rows)
	if err != nil {
		return nil, err
	}
	for b := range freedom {
		s.share[b] = share(columns.Take(ofRows, []int{b}).Data, freedom[b]/float64(l))
	}
	own := make([]bool, l)
	for _, i := range heavy {
		own[i] = true
	}
	return &sampled{E, s.refits(E, heavy, ofHeavy), s.refits(E, rows, ofRows), rows, own}, nil
}

func square(v float64) float64 { return v * v }

// remainder is E = Y − K·C·L: μ·C in the range of L, and Y outside.
func (s *neighbours) remainder(Y blas.General) blas.General {
	be, r := blas.Or(s.be), len(s.rho)
	W, E := blas.Product(be, false, false, Y, s.V), blas.Clone(Y)
	blas.Gemm(be, false, true, -1, W, s.V, 1, E)
	blas.Mul(be, W, false, false, s.CL, s.V)
	for i := range W.Data {
		W.Data[i] *= s.mu / s.rho[i%r]
	}
	blas.Gemm(be, false, true, 1, W, s.V, 1, E)
	return E
}

// share is the number c ≤ 1 for which the mean of cv/(1 + cv) over the variances v of rows without each, for noise 1,
// is the given one. With the variances given all other rows, that is tr ρK(ρK + μI)⁻¹/l.
func share(v []float64, mean float64) float64 {
	lo, hi := 0x1p-40, 1.0
	for range 60 {
		c, sum := math.Sqrt(lo*hi), 0.0
		for _, one := range v {
			sum += c * one / (1 + c*one) / float64(len(v))
		}
		if sum < mean {
			lo = c
		} else {
			hi = c
		}
	}
	return hi
}

// variances are those of f₋ᵢ(x_i) for noise 1 at some rows, in the coordinates of V.
func (s *neighbours) variances(ctx context.Context, rows []int) (blas.General, error) {
	V := blas.NewGeneral(len(rows), len(s.rho))
	err := s.each(ctx, blas.TakeRows(s.Z, rows), rows, func(at int, v blas.General) {
		blas.Copy(blas.View(V, at, 0, v.Rows, v.Cols), v)
	})
	return V, err
}

// refits is the residuals of some rows without each of them, E_i·V·diag(1 + v)·Vᵀ and what L does not reach of E_i
// for the variances v_b of f₋ᵢ(x_i), the share of those given, and their deviations for noise 1.
func (s *neighbours) refits(E blas.General, rows []int, v blas.General) resampled {
	be := blas.Or(s.be)
	R, D := blas.TakeRows(E, rows), blas.NewGeneral(len(rows), E.Cols)
	W := blas.Product(be, false, false, R, s.V)
	s.outputs(D, v)
	for i := range v.Rows {
		for b, w := range blas.Row(v, i) {
			W.Data[i*W.Stride+b] *= s.share[b] * w
		}
	}
	blas.Gemm(be, false, true, 1, W, s.V, 1, R)
	return resampled{R, D}
}

// outputs writes to dst (t×live) the deviations that all rows leave of variances v (t×r) in the coordinates of V.
func (s *neighbours) outputs(dst, v blas.General) {
	for i := range dst.Rows {
		for k := range dst.Cols {
			var sum float64
			for b, w := range blas.Row(v, i) {
				c := s.V.Data[k*s.V.Stride+b]
				sum += c * c * w * s.share[b]
			}
			dst.Data[i*dst.Stride+k] = math.Sqrt(sum)
		}
	}
}

// each calls f for slabs of the rows of Z, with their variances for noise 1 in the coordinates of V, which f must not
// keep. skip are the training rows that they are, which then are none of their neighbours; nil for new points.
func (s *neighbours) each(
	ctx context.Context, Z blas.General, skip []int, f func(at int, v blas.General),
) error {
	kxx := make([]float64, Z.Rows)
	if err := s.cross.Diagonal(kxx, Z); err != nil {
		return fault.From(err)
	}
	var v blas.General
	lists := s.lists.Take()
	defer s.lists.Put(lists)
	for at := 0; at < Z.Rows; at += SlabRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := blas.View(Z, at, 0, min(SlabRows, Z.Rows-at), Z.Cols)
		v = blas.Reshape(v, some.Rows, len(s.rho))
		fail := make([]error, some.Rows)
		err := s.cross.Parts(some, func(i0, j0 int, K blas.General) {
			for i := range K.Rows {
				own := -1
				if skip != nil {
					own = skip[at+i0+i]
				}
				lists[i0+i].offer(blas.Row(K, i), s.inverse[j0:], j0, own)
			}
			if j0+K.Cols == s.Z.Rows {
				par.For(K.Rows, func(i int) {
					i += i0
					fail[i] = s.variance(blas.Row(v, i), &lists[i], kxx[at+i])
				})
			}
		})
		if err := cmp.Or(err, cmp.Or(fail...)); err != nil {
			return fault.From(err)
		}
		f(at, v)
	}
	return nil
}

// variance writes to v the posterior variances for noise 1, (ρ/μ)·(k(x,x) − k_Nᵀ(K_N + (μ/ρ)I)⁻¹·k_N), given the
// neighbours N.
func (s *neighbours) variance(v []float64, near *nearest, kxx float64) error {
	w := s.free.Take()
	defer s.free.Put(w)
	near.cut()
	size := len(near.rows)
	w.Z, w.K = blas.Reshape(w.Z, size, s.Z.Cols), blas.Reshape(w.K, size, size)
	w.A, w.x = blas.Reshape(w.A, size, size), blas.Reshape(w.x, size, 1)
	for a, i := range near.rows {
		copy(blas.Row(w.Z, a), blas.Row(s.Z, i))
	}
	if err := s.cross.Among(w.K, w.Z); err != nil {
		return fault.From(err)
	}
	be, reduces := blas.Or(s.be), s.shifts >= reducedFrom
	if reduces {
		w.reduced.Reduce(context.Background(), be, w.K)
		copy(w.x.Data, near.k)
		w.reduced.ToQ(w.x)
	}
	for b, rho := range s.rho {
		if b > 0 && rho == s.rho[b-1] {
			v[b] = v[b-1]
			continue
		}
		var explained float64 // 0 where rounding leaves K_N indefinite: the prior variance is an upper bound
		if reduces {
			explained, _ = w.reduced.Quadratic(w.x.Data, s.mu/rho)
		} else {
			explained = w.byFactor(be, near.k, s.mu/rho)
		}
		v[b] = rho / s.mu * max(0, kxx-explained)
	}
	return nil
}

// byFactor is kᵀ(K + σI)⁻¹k, 0 where rounding leaves that indefinite.
func (w *nearWork) byFactor(be blas.Backend, k []float64, sigma float64) float64 {
	blas.Copy(w.A, w.K)
	for a := range w.A.Rows {
		w.A.Data[a*w.A.Stride+a] += sigma
	}
	if !be.Potrf(w.A) {
		return 0
	}
	copy(w.x.Data, k)
	blas.Potrs(be, w.A, w.x)
	return blas.Dot(k, w.x.Data)
}

// offer takes what is among the largest of the rows from j0 on, of values k and reciprocal variances inverse, but for
// the row skip. j0 = 0 begins a list.
func (n *nearest) offer(k, inverse []float64, j0, skip int) {
	if j0 == 0 {
		n.rows, n.k, n.share, n.least = n.rows[:0], n.k[:0], n.share[:0], math.Inf(-1)
	}
	for i, value := range k {
		share := value * value * inverse[i]
		if !(share > n.least) || j0+i == skip {
			continue
		}
		n.rows, n.k, n.share = append(n.rows, j0+i), append(n.k, value), append(n.share, share)
		if len(n.rows) == 2*nearRows {
			n.cut()
		}
	}
}

// cut keeps nearRows of the list.
func (n *nearest) cut() {
	if len(n.rows) <= nearRows {
		return
	}
	n.sorted = append(n.sorted[:0], n.share...)
	n.least = order.Select(n.sorted, len(n.sorted)-nearRows)
	equal, kept := nearRows, 0
	for _, v := range n.share {
		if v > n.least {
			equal--
		}
	}
	for a, v := range n.share {
		if v < n.least || v == n.least && equal == 0 {
			continue
		}
		if v == n.least {
			equal--
		}
		n.rows[kept], n.k[kept], n.share[kept] = n.rows[a], n.k[a], v
		kept++
	}
	n.rows, n.k, n.share = n.rows[:kept], n.k[:kept], n.share[:kept]
}
