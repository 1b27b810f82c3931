// Package lengths learns a length for every input column of a kernel, or of each kernel of a sum: automatic relevance
// determination.
//
// The lengths, the weights of the kernels, the noise μ and the weight c of a linear kernel beside them maximise the
// likelihood of a Gaussian process, by a quasi-Newton method on some hundred samples. A column that the targets do not
// depend on gets a large length. With several kernels, each can have short lengths on other columns, as for a target
// that is a sum of functions of few columns each, or at other scales.
//
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006, chapter 5; Duvenaud, Nickisch and
// Rasmussen, Additive Gaussian processes, NIPS 2011.)
package lengths

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

// Features is what SPECs call columns with learned lengths, as in gaussian:ard:median.
const Features = "ard"

const (
	fewRows  = defaults.SomeSamples / 2 // that all starts are followed on
	manyRows = defaults.SomeSamples * 2 // that the best one is followed on
	// Of sums the criterion has many minima on more than fewRows. All starts are first followed for as many steps as
	// there are, and then the two best (docs/decisions/2026-11-24-numbers.md).
	starts = 8
	steps  = defaults.Many // of the quasi-Newton method, at most
	// pull is the weight of the variance of the logarithms of the lengths, in units of one sample.
	pull = 0.02
	// leastNoise bounds μ from below, where the diagonal of the kernel is 1: targets without noise have no other bound,
	// and rounding takes the factor of the matrix away some digits below.
	leastNoise = 0x1p-30
	start      = 0.1 // μ and c at the start
)

// halvings is how often the median of the distance is halved for the length of kernel b of a sum at the first start.
// The second start has the lengths of neighbours exchanged, and in further ones each column has any of them.
var halvings = [...]float64{0, 1, -1, 2}

// mostKernels is the number of kernels of a sum, at most.
const mostKernels = len(halvings)

// Point is a sum of kernels of width 1, each on columns that are multiplied by its scale, beside Linear times xᵀz/d of
// the standardised columns, and the noise, all in units of the weight of the first kernel.
type Point struct {
	// Scale is of each kernel the inverse length of each column, 0 of one that is constant. That of a linear kernel
	// standardises, and divides by √d.
	Scale [][]float64
	// Directions are of each kernel the combinations of the columns, so scaled, that it is on; nil: the columns.
	Directions [][][]float64
	Weights    []float64 // of the kernels
	Noise      float64   // μ = λ·l
	Linear     float64
}

// Options of Learn.
type Options struct {
	Seed    uint64       // of the samples that are drawn
	Backend blas.Backend // nil means blas.Active()
	Start   *Point       // of the same kinds and columns, as learned on other samples; nil: none
}

// Learn learns the lengths of the columns of Z (l×d) of each kernel of a sum for the targets Y (l×n), on at most
// manyRows samples. Errors wrap fault.ErrInput for kernels that it does not know, kernel.ErrConstant where no column of
// Z varies, kernel.ErrNotFinite, and that of a context that ends. Where no target varies it returns a start.
func Learn(ctx context.Context, kinds []kernel.Kind, Z, Y blas.General, opt Options) (Point, error) {
	s, err := newSearch(kinds, Z, Y, &opt)
	if err != nil {
		return Point{}, err
	}
	from, err := s.starts(&opt)
	if err != nil {
		return Point{}, err
	}
	if s.Y.Cols > 0 {
		few := min(fewRows, s.X.Rows)
		scales := int(math.Log2(float64(few)) / 2)
		if count := len(s.kinds) * len(s.vary); opt.Start == nil && scales*count <= steps {
			from = append(from, s.criterion(ctx, few).shorten(ctx, from[0], count, scales))
		}
		if len(from) >= starts {
			from = s.best(ctx, few, from, starts, 2)
		}
		if len(from) > 1 {
			from = s.best(ctx, few, from, steps, 1)
		}
		if few < s.X.Rows || opt.Start != nil {
			from = s.best(ctx, s.X.Rows, from, steps, 1)
		}
	}
	return s.point(from[0]), ctx.Err()
}

// Gather is the mean of points that were learned on parts of the samples, or on all of them, and true, where it is
// likelier than each, and else the likeliest. The mean is that of the logarithms, and of directions. Errors are those
// of Learn.
func Gather(
	ctx context.Context, kinds []kernel.Kind, Z, Y blas.General, points []Point, opt Options,
) (p Point, mean bool, err error) {
	s, err := newSearch(kinds, Z, Y, &opt)
	if err != nil || len(points) == 1 {
		return points[0], true, err
	}
	s.turned = slices.ContainsFunc(points, func(p Point) bool { return p.Directions != nil })
	var middle []float64
	for k := range points {
		q := s.parameters(&points[k])
		if middle == nil {
			middle = make([]float64, len(q))
		}
		blas.Axpy(1/float64(len(points)), q, middle)
	}
	p = s.point(middle)
	if s.Y.Cols == 0 {
		return p, true, nil
	}
	c := s.criterion(ctx, s.X.Rows)
	least := c.pulled(middle, nil)
	mean = true
	for k := range points {
		if value := c.pulled(s.parameters(&points[k]), nil); value < least {
			p, least, mean = points[k], value, false
		}
	}
	return p, mean, ctx.Err()
}

func known() string {
	var names []string
	for k := range shapes {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// search holds the samples that lengths are learned on, in random order.
type search struct {
	layout
	terms []int // the numbers of the kernels with lengths in the sum
	count int   // of the kernels of the sum
	be    blas.Backend
	X, Y  blas.General // columns that vary, standardised
	scale []float64    // standard deviations of all columns of Z, 1 of constant ones
	vary  []int        // the columns of X
}

func newSearch(kinds []kernel.Kind, Z, Y blas.General, opt *Options) (*search, error) {
	if len(kinds) > mostKernels {
		return nil, fault.Input("lengths are learned for at most %d kernels of a sum", mostKernels)
	}
	for term, kind := range kinds {
		if _, ok := shapes[kind]; !ok && (kind != kernel.Linear || term == 0) {
			return nil, fault.Input("kernel %s: lengths of columns are learned for %s", kind, known())
		}
	}
	if err := kernel.FiniteData(Z, nil); err != nil {
		return nil, fault.From(err)
	}
	idx := rand.New(rand.NewPCG(opt.Seed, manyRows)).Perm(Z.Rows)[:min(Z.Rows, manyRows)]
	s := &search{count: len(kinds), be: opt.Backend}
	for term, kind := range kinds {
		if kind != kernel.Linear {
			s.kinds, s.terms = append(s.kinds, kind), append(s.terms, term)
		}
	}
	s.X, s.scale, s.vary = standardised(blas.TakeRows(Z, idx))
	s.Y, _, _ = standardised(blas.TakeRows(Y, idx))
	if s.vary == nil {
		return nil, fault.Mark(fmt.Errorf("kernel %s on learned lengths: %w", kinds[0], kernel.ErrConstant))
	}
	s.d = len(s.vary)
	return s, nil
}

// standardised is the columns of a that vary, with mean 0 and variance 1, and the deviations of all, 1 of constant
// ones.
func standardised(a blas.General) (_ blas.General, deviation []float64, vary []int) {
	m := columns.Measure(a)
	m.Apply(a)
	vary = m.Varying()
	return columns.Take(a, vary), m.Scale, vary
}

// starts are the points to start from: the one that is known, or two of equal lengths and, of sums on many rows, others
// of lengths at random. [criterion.shorten] adds one.
func (s *search) starts(opt *Options) (list [][]float64, err error) {
	if opt.Start != nil {
		return [][]float64{s.parameters(opt.Start)}, nil
	}
	var specs []string
	for _, kind := range s.kinds {
		specs = append(specs, string(kind)+":all:median")
	}
	built, err := kernel.Build(specs, s.X, nil, opt.Seed)
	if err != nil {
		return nil, fault.From(err)
	}
	count := 2
	if len(s.kinds) > 1 && s.X.Rows > fewRows {
		count = starts
	}
	rng := rand.New(rand.NewPCG(opt.Seed, starts))
	for k := range count {
		list = append(list, s.fresh(func(b int) float64 {
			of := b ^ k
			if k > 1 {
				of = rng.IntN(mostKernels)
			}
			return math.Exp2(-halvings[of]) * built[b].Width
		}))
	}
	return list, nil
}

// parameters are those of a point. Columns that were constant where it was learned have lengths of 1.
func (s *search) parameters(known *Point) []float64 {
	p, d := s.fresh(func(int) float64 { return 1 }), len(s.vary)
	for b, term := range s.terms {
		for k, c := range s.vary {
			if v := known.Scale[term][c] * s.scale[c]; fault.Positive(v) {
				p[b*d+k] = 2 * math.Log(v)
			}
		}
		if b > 0 {
			p[len(s.kinds)*d+b-1] = math.Log(known.Weights[term])
		}
	}
	noise := max(known.Noise-leastNoise, leastNoise*leastNoise)
	p[len(p)-2], p[len(p)-1] = math.Log(noise), math.Log(known.Linear)
	s.turnTo(p, known)
	return p
}

// fresh is a point of equal weights at which a column has a length for kernel b.
func (s *search) fresh(length func(b int) float64) (p []float64) {
	for b := range s.kinds {
		for range s.vary {
			p = append(p, -2*math.Log(length(b)))
		}
	}
	p = append(p, make([]float64, len(s.kinds)-1)...)
	for _, kind := range s.kinds {
		p = append(p, make([]float64, s.turnSize(kind))...)
	}
	return append(p, math.Log(start), math.Log(start))
}

// point is p in units of the columns of Z.
func (s *search) point(p []float64) Point {
	d := len(s.vary)
	weights := append([]float64{0}, p[len(s.kinds)*d:]...) // their logarithms
	known := Point{Noise: leastNoise + math.Exp(p[len(p)-2]), Linear: math.Exp(p[len(p)-1])}
	for range s.count { // as linear kernels
		scale := make([]float64, len(s.scale))
		for _, c := range s.vary {
			scale[c] = 1 / (s.scale[c] * math.Sqrt(float64(d)))
		}
		known.Scale, known.Weights = append(known.Scale, scale), append(known.Weights, known.Linear)
	}
	for b, term := range s.terms {
		known.Weights[term] = math.Exp(weights[b])
		for k, c := range s.vary {
			known.Scale[term][c] = math.Exp(p[b*d+k]/2) / s.scale[c]
		}
	}
	known.Directions = s.directions(p)
	return known
}

// best follows the criterion on the first rows down from every point for so many steps, and returns the best ends.
func (s *search) best(ctx context.Context, rows int, from [][]float64, steps, count int) (ends [][]float64) {
	c := s.criterion(ctx, rows)
	var values []float64
	for _, p := range from {
		end, value := c.minimize(ctx, p, steps, math.Inf(1))
		at, _ := slices.BinarySearch(values, value)
		values, ends = slices.Insert(values, at, value), slices.Insert(ends, at, end)
	}
	return ends[:count]
}

// criterion is that on the first rows, whose evaluations end with ctx.
func (s *search) criterion(ctx context.Context, rows int) *criterion {
	first := func(a blas.General) blas.General { return blas.View(a, 0, 0, rows, a.Cols) }
	c := newCriterion(s.kinds, s.turned, first(s.X), first(s.Y), s.be)
	c.be, c.ended = blas.Until(ctx, c.be), func() bool { return ctx.Err() != nil }
	return c
}

// shorten is p with its first lengths, each in turn, at the one of least value among them and 1/4, 1/16, … of them, for
// so many scales: down to about the distance between rows along one column. Functions of high frequency have minima
// that descent from lengths of the size of the data does not find.
func (c *criterion) shorten(ctx context.Context, p []float64, lengths, scales int) []float64 {
	p = slices.Clone(p)
	value := c.evaluate(p, nil)
	for at := 0; at < lengths && ctx.Err() == nil; at++ {
		best := p[at]
		for range scales {
			p[at] += 2 * 2 * math.Ln2 // p is log 1/length²
			if next := c.evaluate(p, nil); next < value {
				best, value = p[at], next
			}
		}
		p[at] = best
	}
	return p
}

// pulled is the criterion with a weak pull of the logarithms of the lengths to their mean, which bounds those of
// columns that do not matter, and of directions to the columns, and with μ above leastNoise. It writes its gradient,
// unless that is nil.
func (c *criterion) pulled(p, grad []float64) (value float64) {
	q, l := slices.Clone(p), float64(c.X.Rows)
	mu := len(p) - 2
	noise := math.Exp(p[mu])
	q[mu] = math.Log(leastNoise + noise)
	value = c.evaluate(q, grad)
	if grad == nil {
		grad = make([]float64, len(p)) // is not asked for
	}
	grad[mu] *= noise / (leastNoise + noise)
	for b := range c.terms {
		theta, g := p[b*c.d:(b+1)*c.d], grad[b*c.d:(b+1)*c.d]
		mean := stat.Mean(theta, nil)
		for k, v := range theta {
			value += pull * (v - mean) * (v - mean) / l
			g[k] += 2 * pull * (v - mean) / l
		}
	}
	turns := c.turns(grad)
	for b, turn := range c.turns(p) {
		for k, v := range turn {
			value += pull * v * v / l
			turns[b][k] += 2 * pull * v / l
		}
	}
	return value
}
