package iokl

import (
	"context"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/stream"
)

// targets is what a set of sums says about the outputs: which are learned, and how they are scaled.
type targets struct {
	live        []int
	mean, scale []float64 // 0 and 1 where targets are learned as they are
	variance    []float64
	constant    []bool
}

// newTargets takes them from the sums; scale says whether outputs are to be centred and scaled.
func newTargets(s *stream.Sums, scale bool) *targets {
	n := len(s.YSum)
	mean, dev := s.OutputMoments()
	t := &targets{mean: mean, scale: make([]float64, n), variance: make([]float64, n), constant: make([]bool, n)}
	for j, d := range dev {
		t.scale[j], t.variance[j], t.constant[j] = d, d*d, d == 0
		if d == 0 || !scale {
			t.scale[j] = 1
		}
		if !scale {
			t.mean[j] = 0
		}
		if d > 0 || !scale {
			t.live = append(t.live, j)
		}
	}
	return t
}

// of is H and the sums of squares of the targets that are learned, as they are learned.
func (t *targets) of(s *stream.Sums) (H blas.General, yy []float64) {
	all, _ := s.Standardized(t.mean, t.scale)
	l := float64(s.Rows)
	yy = make([]float64, len(t.live))
	for k, j := range t.live {
		c := t.mean[j]
		yy[k] = max(s.YY[j]-2*c*s.YSum[j]+l*c*c, 0) / (t.scale[j] * t.scale[j])
	}
	return columns(all, t.live), yy
}

// space is the learning problem of the sums, and the operator behind it where Γ is not stored.
func (p *pass) space(ctx context.Context, s *stream.Sums, t *targets) (bcd.Space, *stream.Gram) {
	H, squares := t.of(s)
	var yy float64
	for _, v := range squares {
		yy += v
	}
	if !p.so.NoGamma {
		return bcd.NewFeatures(s.Gamma, H, yy, int(s.Rows), p.maps.Blocks(), p.opt.Backend), nil
	}
	gram := stream.NewGram(p.maps, func() (stream.Source, error) { return p.open(ctx) }, p.so)
	var op linop.Operator = gram
	if p.opt.Ranks != nil {
		op = &jointGram{gram, p.opt.Ranks}
	}
	return bcd.NewFeaturesOperator(op, H, yy, int(s.Rows), p.maps.Blocks()), gram
}

// jointGram adds up the products of the ranks, which all must ask for the same.
type jointGram struct {
	*stream.Gram
	ranks Ranks
}

func (g *jointGram) Apply(dst, x blas.General) {
	g.Gram.Apply(dst, x)
	sum := blas.Clone(dst)
	if g.ranks.Allreduce(sum.Data) != nil {
		for i := range sum.Data {
			sum.Data[i] = math.NaN()
		}
	}
	blas.Copy(dst, sum)
}

// choose finds λ, and the norm when none is given, by cross-validation on the
// sums of the folds: each is left out in turn, and the error on it is
// ‖Y − ZB‖² = ‖Y‖² − 2⟨H,B⟩ + ⟨B,ΓB⟩.
func (p *pass) choose(ctx context.Context) error {
	opt := p.opt.Options
	if opt.CV.Metric != "" && opt.CV.Metric != "nmse" {
		return badInput("metric %q: streamed data are cross-validated by nmse", opt.CV.Metric)
	}
	g := &grid{CVOptions: opt.CV, splits: make([]Split, len(p.sums))}
	g.Metric, g.Kernels, g.Taus = "nmse", [][]string{opt.Kernels}, []float64{opt.Tau}
	if g.Tol == 0 {
		g.Tol = max(1e-3, opt.Tol)
	}
	switch {
	case opt.Regularizer != nil:
		g.Norms = []string{opt.Regularizer.String()}
	case opt.Norm != "":
		g.Norms = []string{opt.Norm}
	case !opt.learns("eta"):
		g.Norms = []string{"lp:1"}
	default:
		g.Norms = DefaultNorms()
	}
	if err := g.check(); err != nil {
		return err
	}
	branches, err := p.branches(g)
	if err != nil {
		return err
	}
	for f := range p.sums {
		if err := p.fold(ctx, g, branches, f); err != nil {
			return err
		}
		opt.notify("cross-validation: %d of %d folds", f+1, len(p.sums))
	}
	r, err := g.summarize(branches)
	if err != nil {
		return err
	}
	p.opt.Options = r.settle(p.opt.Options)
	return nil
}

// branches lists the paths of λ, which start from the mean diagonal of K_η at equal weights.
func (p *pass) branches(g *grid) ([]*branch, error) {
	var size, rows float64
	for k := range p.sums {
		s := &p.sums[k]
		rows += float64(s.Rows)
		for i := range s.Gamma.Rows {
			size += s.Gamma.Data[i*s.Gamma.Stride+i]
		}
	}
	size /= max(rows, 1) * float64(len(p.maps))
	var all []*branch
	for _, norm := range g.Norms {
		total, err := startWeight(norm, &p.opt.Options, p.fixed, len(p.maps))
		if err != nil {
			return nil, err
		}
		b := &branch{norm: norm, tau: p.opt.Tau, lambdas: g.Lambdas}
		if b.lambdas == nil {
			b.lambdas = lambdaPath(size * total * relative(p.opt.Tau, p.data.Outputs))
		}
		b.init(len(p.sums))
		all = append(all, b)
	}
	return all, nil
}

// fold follows all paths with the rows of one fold left out.
func (p *pass) fold(ctx context.Context, g *grid, branches []*branch, f int) error {
	train := stream.Total(p.sums, func(k int) bool { return k == f })
	if train.Rows < 2 || p.sums[f].Rows == 0 {
		return badInput("fold %d trains on %d rows and tests on %d", f+1, train.Rows, p.sums[f].Rows)
	}
	t := newTargets(&train, p.opt.scaleY())
	if len(t.live) == 0 {
		return badInput("every target column is constant without fold %d", f+1)
	}
	space, _ := p.space(ctx, &train, t)
	for _, b := range branches {
		if err := p.follow(ctx, g, b, f, space, t); err != nil {
			return err
		}
	}
	return nil
}

// follow goes down one path of λ.
func (p *pass) follow(ctx context.Context, g *grid, b *branch, f int, space bcd.Space, t *targets) error {
	opt := p.opt.Options
	opt.Trace, opt.Tol, opt.Norm, opt.Tau = nil, g.Tol, b.norm, b.tau
	so := opt.solverOptions()
	best, above := math.Inf(1), 0
	for i, lambda := range b.lambdas {
		opt.Lambda = lambda
		res, err := bcd.Solve(ctx, opt.problem(space, p.fixed), so)
		if res == nil || ctx.Err() != nil {
			return asInput(err)
		}
		so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: res.C}
		e := p.heldOut(&p.sums[f], t, p.weights(res))
		b.errors[i][f] = e
		best = math.Min(best, e)
		if above++; e <= rising*best {
			above = 0
		}
		if above == 2 && g.Lambdas == nil {
			return nil
		}
	}
	return nil
}

// weights are those of the features, S·W·L with S = diag(√η_j).
func (p *pass) weights(res *bcd.Result) blas.General {
	B := times(p.opt.Backend, res.C, res.L)
	at := 0
	for j, m := range p.maps {
		for i := at; i < at+m.Dim(); i++ {
			blas.Scal(math.Sqrt(res.Eta[j]), blas.Row(B, i))
		}
		at += m.Dim()
	}
	return B
}

// heldOut is the mean over the outputs of the squared error on the rows of s,
// divided by the variance in training.
func (p *pass) heldOut(s *stream.Sums, t *targets, B blas.General) float64 {
	H, yy := t.of(s)
	GB := blas.NewGeneral(B.Rows, B.Cols)
	blas.Or(p.opt.Backend).Dsymm(blas.Left, blas.Lower, B.Rows, B.Cols, 1, s.Gamma.Data, s.Gamma.Stride, B.Data, B.Stride, 0, GB.Data, GB.Stride)
	for i := range B.Rows {
		h, gb := blas.Row(H, i), blas.Row(GB, i)
		for k, v := range blas.Row(B, i) {
			yy[k] += v * (gb[k] - 2*h[k])
		}
	}
	var sum, count float64
	for k, j := range t.live {
		if t.constant[j] {
			continue
		}
		sum += max(yy[k], 0) * t.scale[j] * t.scale[j] / (t.variance[j] * float64(s.Rows))
		count++
	}
	return sum / count
}
