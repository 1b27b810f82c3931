// Package dictionary resolves SPECs to kernels on training data. For SPECs that refer to learned groups of columns it
// first learns from the targets which columns and directions matter.
package dictionary

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary/lengths"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

// Options say what SPECs may refer to, and how choices are made.
type Options struct {
	Groups  []kernel.Group // named sets of columns
	Seed    uint64         // of every random choice
	Backend blas.Backend   // nil means blas.Active()
	Start   Start          // nil: none
	Known   []Lengths      // that were learned on the same samples, or on parts of them
}

// Lengths are those that were learned, by FEATURES:KINDS of the SPEC ([kernel.Spec.Sum]).
type Lengths map[string]Point

// Point is lengths of all columns, and of the ranks of some.
type Point struct {
	lengths.Point
	ranks []int
}

// Start tells what learning for a SPEC starts from, where that is known: lengths that other samples have taught.
type Start func(context.Context, kernel.Spec) (p Point, known bool)

// Of is a [Start] from these lengths.
func (l Lengths) Of(_ context.Context, s kernel.Spec) (p Point, known bool) {
	p, known = l[nameOf(s)]
	return p, known
}

// Resolver resolves SPECs on one set of training data. It keeps median distances,
// relevances and lengths from one call to the next. Several goroutines may call Learn and Resolve at once.
type Resolver struct {
	z, y blas.General
	opt  Options
	bent func() []int // the columns of z whose ranks get lengths, too

	mu      sync.Mutex // guards what follows
	medians *kernel.Medians
	learned []kernel.Group
	lengths Lengths
	lessons map[string]*lesson
}

// NewResolver resolves on the training inputs Z, and on targets Y where they tell
// which columns are relevant; Y has no rows where they are not at hand.
func NewResolver(Z, Y blas.General, opt Options) *Resolver {
	return &Resolver{
		z: Z, y: Y, opt: opt, medians: new(kernel.Medians), lengths: Lengths{}, lessons: map[string]*lesson{},
		bent: sync.OnceValue(func() []int { return bentColumns(Z) }),
	}
}

// Resolve returns the kernels of the SPECs, the default ones for none. Constant columns
// get no kernel of their own from "each". weights are those of fixed weights: the
// SPECs share 1 equally, and the kernels of a SPEC its part, by the weights that were learned with lengths.
func (r *Resolver) Resolve(ctx context.Context, specs []string) (d kernel.Dictionary, weights []float64, err error) {
	if len(specs) == 0 {
		specs = defaults.Kernels(r.z.Cols)
	}
	if err := r.Learn(ctx, specs); err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := 0
	for _, text := range specs {
		s, err := kernel.Parse(text)
		if err != nil {
			return nil, nil, fault.From(err)
		}
		if s.Kind == kernel.Precomputed {
			return nil, nil, fault.Input("kernel %s: precomputed kernels come as Gram matrices, not with inputs", s)
		}
		before := len(d)
		for _, features := range expand(s.Features, r.z) {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			s.Features = features
			groups := r.opt.Groups
			if features != "groups" {
				groups = r.groups()
			}
			part, err := s.ResolveWith(r.z, groups, r.opt.Seed, r.medians)
			if err != nil {
				return nil, nil, fault.Mark(err)
			}
			d = append(d, part...)
		}
		if made := len(d) - before; made > 0 {
			parts++
			weights = append(weights, r.shares(s, made)...)
		}
	}
	if len(d) == 0 {
		return nil, nil, fault.Input("no kernel is left: every input column is constant")
	}
	for j := range weights {
		weights[j] /= float64(parts)
	}
	return d, weights, nil
}

// shares are the parts of so many kernels in the weight of their SPEC.
func (r *Resolver) shares(s kernel.Spec, made int) []float64 {
	p, ok := r.lengths[nameOf(s)]
	if !ok {
		return slices.Repeat([]float64{1 / float64(made)}, made)
	}
	var share []float64
	var total float64
	for term, kind := range s.Kinds() {
		each := 1
		if kind.HasWidth() {
			each = len(s.Widths)
		}
		share = append(share, slices.Repeat([]float64{p.Weights[term] / float64(each)}, each)...)
		total += p.Weights[term]
	}
	blas.Scal(1/total, share)
	return share
}

// Outline is Resolve with columns as they are where SPECs ask for learned lengths: diagonals and sizes do not depend on
// the lengths, and no diagonal of a weighted sum of kernels whose diagonals are 1.
func (r *Resolver) Outline(ctx context.Context, specs []string) (kernel.Dictionary, []float64, error) {
	var instead []kernel.Group
	for _, text := range specs {
		if s, err := kernel.Parse(text); err == nil && hasLengths(s) {
			instead = append(instead, r.standardising(ctx, s)...)
		}
	}
	outline := NewResolver(r.z, r.y, r.opt)
	outline.medians, outline.bent = r.medians, r.bent
	outline.lengths, outline.learned = nil, slices.Concat(instead, r.learned)
	d, weights, err := outline.Resolve(ctx, specs)
	r.learned = outline.learned[len(instead):]
	return d, weights, err
}

// standardising is the groups of learned lengths where all lengths are those of standardised columns times √d.
func (r *Resolver) standardising(ctx context.Context, s kernel.Spec) (groups []kernel.Group) {
	start, _ := r.start(ctx, s)
	g := r.lengthColumns(start.ranks)
	g.Name = s.Features
	m := columns.Measure(features(&g, r.z))
	g.Scale = make([]float64, len(m.Scale))
	vary := 0.0
	for c, deviation := range m.Scale {
		if !m.Constant[c] {
			g.Scale[c] = 1 / deviation
			vary++
		}
	}
	blas.Scal(1/math.Sqrt(max(vary, 1)), g.Scale)
	for term := range s.Kinds() {
		g.Sum, g.Term, g.Unit = s.Sum(), term, 1
		groups = append(groups, g)
	}
	return groups
}

// Lengths are those that were learned for the SPECs resolved so far.
func (r *Resolver) Lengths() Lengths { return r.lengths }

// Of is a [Start] from what r has learned, or learns for it.
func (r *Resolver) Of(ctx context.Context, s kernel.Spec) (p Point, known bool) {
	if r.Learn(ctx, []string{s.String()}) != nil {
		return p, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lengths.Of(ctx, s)
}

// Groups are the sets of columns that SPECs may refer to, with those that the targets
// tell where the SPECs do.
func (r *Resolver) Groups(ctx context.Context, specs []string) ([]kernel.Group, error) {
	err := r.Learn(ctx, specs)
	return r.groups(), err
}

func (r *Resolver) groups() []kernel.Group { return slices.Concat(r.opt.Groups, r.learned) }

// expand lists the columns that "each" means; other features stay as they are.
func expand(features string, Z blas.General) []string {
	if features != "each" {
		return []string{features}
	}
	var list []string
	for _, j := range columns.Measure(Z).Varying() {
		list = append(list, strconv.Itoa(j))
	}
	return list
}

// Diagonals are the means of k_j(x,x) over some of the training inputs.
func (r *Resolver) Diagonals(d kernel.Dictionary) ([]float64, error) {
	var idx []int
	count := min(defaults.Many, r.z.Rows)
	for i := range count {
		idx = append(idx, i*r.z.Rows/count)
	}
	sample := blas.TakeRows(r.z, idx)
	mean := make([]float64, len(d))
	for j := range d {
		g, err := d[j:j+1].Grams(context.Background(), sample, kernel.GramOptions{Backend: r.opt.Backend})
		if err != nil {
			return nil, fault.From(err)
		}
		mean[j] = MeanDiagonal(g[0])
	}
	return mean, nil
}

// MeanDiagonal is the mean of k(x,x).
func MeanDiagonal(g *blas.Sym) float64 {
	diag := make([]float64, g.N)
	g.Diag(diag)
	var s float64
	for _, v := range diag {
		s += v
	}
	return s / float64(g.N)
}

// InFeatures reports whether the problem is to be solved in feature space: when
// some kernel asks for explicit features, or when all are linear on so few
// columns that their factors are much thinner than the Gram matrices, unless exact.
func InFeatures(d kernel.Dictionary, l int, exact bool) (bool, error) {
	approx, linear, width := false, true, 0
	for _, k := range d {
		approx = approx || k.Approx != nil
		linear = linear && k.Kind == kernel.Linear && !k.Unit
		if width += len(k.Columns); len(k.Columns) == 0 {
			width += k.Inputs
		}
	}
	if !approx {
		return linear && !exact && 4*width <= l, nil
	}
	if k := NeedsSamples(d); k != nil {
		return false, fault.Input("kernel %s is exact and others have explicit features: write it with rff: or "+
			"nystrom: too", k.Name)
	}
	return true, nil
}

// NeedsSamples is the first kernel that has no explicit features, nil for none.
func NeedsSamples(d kernel.Dictionary) *kernel.Kernel {
	for j, k := range d {
		if k.Approx == nil && !k.Kind.HasFeatures() {
			return &d[j]
		}
	}
	return nil
}

// Width is the number D of explicit features.
func Width(d kernel.Dictionary) int {
	D := 0
	for j, k := range d {
		if k.Approx != nil {
			D += k.Approx.Count
		} else {
			D += max(0, rff.ExactCount(&d[j]))
		}
	}
	return D
}

// Features are SPECs of the same kernels with explicit features, about D in all. Kernels
// that have few exact features take these. Those of one column share half of what is
// left, up to defaults.ColumnFeatures each, and all others the rest equally.
func (r *Resolver) Features(ctx context.Context, specs []string, D int) ([]string, error) {
	if len(specs) == 0 {
		specs = defaults.Kernels(r.z.Cols)
	}
	out := slices.Clone(specs)
	var narrow, wide []int          // SPECs of kernels that are approximated
	narrows, wides, left := 0, 0, D // numbers of their kernels, and of features for them
	for i, text := range specs {
		d, _, err := r.Resolve(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		exact := Width(d)
		switch {
		case d[0].Approx != nil || NeedsSamples(d) == nil && exact > 0 && exact <= D/4:
			left -= exact
		case d[0].Dim() == 1:
			narrow, narrows = append(narrow, i), narrows+len(d)
		default:
			wide, wides = append(wide, i), wides+len(d)
		}
	}
	approximate := func(part []int, count int) {
		for _, i := range part {
			out[i] = fmt.Sprintf("nystrom:%s:%d", specs[i], max(count, 1))
		}
	}
	share := left
	if wides > 0 {
		share /= 2
	}
	count := min(defaults.ColumnFeatures, share/max(narrows, 1))
	approximate(narrow, count)
	approximate(wide, (left-count*narrows)/max(wides, 1))
	return out, nil
}

// Exact reports whether the SPECs make Gram matrices, and no explicit features.
func Exact(specs []string) bool {
	for _, text := range specs {
		if s, err := kernel.Parse(text); err != nil || s.Approx != nil {
			return false
		}
	}
	return true
}
