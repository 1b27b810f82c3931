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
	n := len(s.Center)
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
	all, squares := s.Standardized(t.mean, t.scale)
	yy = make([]float64, len(t.live))
	for k, j := range t.live {
		yy[k] = squares[j]
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
