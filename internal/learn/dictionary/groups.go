// Groups of columns that are learned: ranks among quantiles, lengths, and directions along which the targets vary.

package dictionary

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary/lengths"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

// learnedFeatures are the FEATURES of a SPEC that the data tell, all but the first by their targets.
var learnedFeatures = []string{defaults.Ranks, lengths.Features, defaults.RelevantColumns, defaults.RelevantDirections}

// lesson is groups that one goroutine learns while others that need them wait.
type lesson struct {
	once   sync.Once
	groups []kernel.Group
	err    error
}

// Learn learns the ranks, the lengths and the relevant columns and directions that SPECs refer to, where the
// caller gave no group of that name and none was learned before.
func (r *Resolver) Learn(ctx context.Context, specs []string) error {
	var of []kernel.Spec
	var lessons []*lesson
	for _, text := range specs {
		s, err := kernel.Parse(text)
		if err != nil {
			return fault.From(err)
		}
		if l := r.lesson(s); l != nil {
			of, lessons = append(of, s), append(lessons, l)
		}
	}
	par.For(len(of), func(k int) {
		l := lessons[k]
		l.once.Do(func() {
			phase.Do(ctx, phase.Columns, func(ctx context.Context) { l.groups, l.err = r.learn(ctx, of[k]) })
		})
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for k, l := range lessons {
		if name := lessonName(of[k]); r.lessons[name] == l {
			r.learned = append(r.learned, l.groups...)
			delete(r.lessons, name)
		}
		err = cmp.Or(err, l.err)
	}
	return err
}

// lesson is that of the groups that the SPEC refers to, nil where there is nothing to learn.
func (r *Resolver) lesson(s kernel.Spec) *lesson {
	r.mu.Lock()
	defer r.mu.Unlock()
	means := func(g kernel.Group) bool { return s.Means(&g, 0) }
	if !slices.Contains(learnedFeatures, s.Features) || slices.ContainsFunc(r.groups(), means) {
		return nil
	}
	name := lessonName(s)
	if r.lessons[name] == nil {
		r.lessons[name] = new(lesson)
	}
	return r.lessons[name]
}

// lessonName is the same for SPECs that refer to the same groups.
func lessonName(s kernel.Spec) string {
	if hasLengths(s) {
		return nameOf(s)
	}
	return s.Features
}

// learn returns the groups that the SPEC refers to by FEATURES that the data tell.
func (r *Resolver) learn(ctx context.Context, s kernel.Spec) ([]kernel.Group, error) {
	if s.Features == defaults.Ranks {
		return []kernel.Group{ranks(r.z)}, nil
	}
	if r.y.Rows != r.z.Rows {
		return nil, fault.Input("%s is learned from targets of samples, which the checkpoint of a stream by an older "+
			"version lacks", s.Features)
	}
	if s.Features == defaults.RelevantColumns {
		return r.relevant(ctx)
	}
	return r.learnLengths(ctx, s)
}

// hasLengths reports whether the SPEC is of columns, or directions, with lengths of its kernels.
func hasLengths(s kernel.Spec) bool {
	return s.Features == lengths.Features || s.Features == defaults.RelevantDirections
}

// LearnFromTargets reports whether some of the SPECs have columns, directions or lengths that targets tell.
func LearnFromTargets(specs []string) bool {
	return slices.ContainsFunc(specs, func(text string) bool {
		s, err := kernel.Parse(text)
		return err == nil && slices.Contains(learnedFeatures[1:], s.Features)
	})
}

// learnLengths is, for each kernel of the SPEC, the group of all columns, and ranks, with their inverse lengths, and
// with directions where the SPEC is for them.
func (r *Resolver) learnLengths(ctx context.Context, s kernel.Spec) (groups []kernel.Group, err error) {
	p, err := r.point(ctx, s)
	if err != nil {
		return nil, err
	}
	g := r.lengthColumns(p.ranks)
	for term, scale := range p.Scale {
		g.Name, g.Scale, g.Sum, g.Term, g.Unit = s.Features, scale, s.Sum(), term, 1
		if p.Directions != nil {
			g.Directions = p.Directions[term]
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// nameOf is the name of what is learned for a SPEC in Lengths.
func nameOf(s kernel.Spec) string { return s.Features + ":" + s.Sum() }

// lengthsShare is the part of the time that is left for what needs lengths which learning them may take.
const lengthsShare = 1. / 2

// point is what was learned for the SPEC, on columns with lengths or on directions, now or before, or the mean of what
// parts of the samples have taught, where that is likelier than each.
func (r *Resolver) point(ctx context.Context, s kernel.Spec) (p Point, err error) {
	r.mu.Lock()
	p, ok := r.lengths.Of(ctx, s)
	r.mu.Unlock()
	if ok {
		return p, nil
	}
	start, known := r.start(ctx, s)
	p.ranks = start.ranks
	opt := lengths.Options{Seed: r.opt.Seed, Backend: r.opt.Backend}
	in, cancel := phase.Share(ctx, lengthsShare)
	defer cancel()
	z := func() blas.General {
		g := r.lengthColumns(p.ranks)
		return features(&g, r.z)
	}
	enough := false
	if parts := r.parts(s, p.ranks); parts != nil {
		p.Point, enough, err = lengths.Gather(in, s.Kinds(), z(), r.y, parts, opt)
		start.Point, known = p.Point, true
	}
	switch {
	case enough || err != nil:
	case s.Features == lengths.Features:
		if known {
			opt.Start = &start.Point
		}
		p.Point, err = lengths.Learn(in, s.Kinds(), z(), r.y, opt)
	case known && start.Directions != nil:
		p.Point, err = lengths.Turn(in, s.Kinds(), z(), r.y, start.Point, opt)
	default:
		straight := s
		straight.Features = lengths.Features
		if p, err = r.point(in, straight); err == nil {
			p.Point, err = lengths.Turn(in, s.Kinds(), z(), r.y, p.Point, opt)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil // of its share of the time: the point is the best so far
	}
	if err == nil {
		r.mu.Lock()
		r.lengths[nameOf(s)] = p
		r.mu.Unlock()
	}
	return p, err
}

// parts are what was learned for the SPEC, with lengths of these ranks, on the samples or parts of them.
func (r *Resolver) parts(s kernel.Spec, ranks []int) (list []lengths.Point) {
	for _, l := range r.opt.Known {
		if p, ok := l[nameOf(s)]; ok && slices.Equal(p.ranks, ranks) {
			list = append(list, p.Point)
		}
	}
	return list
}

// start is what learning for the SPEC starts from, or where nothing is known says which ranks have lengths.
func (r *Resolver) start(ctx context.Context, s kernel.Spec) (p Point, known bool) {
	if r.opt.Start != nil {
		p, known = r.opt.Start(ctx, s)
	}
	if !known {
		p.ranks = r.bent()
	}
	return p, known
}

// relevant is all columns with the inverse lengths of a Gaussian kernel, of which the mean square is 1.
func (r *Resolver) relevant(ctx context.Context) ([]kernel.Group, error) {
	p, err := lengths.Learn(ctx, []kernel.Kind{"gaussian"}, r.z, r.y, lengths.Options{
		Seed: r.opt.Seed, Backend: r.opt.Backend,
	})
	if err != nil {
		return nil, err
	}
	g := everyColumn(defaults.RelevantColumns, r.z)
	g.Scale = p.Scale[0]
	blas.Scal(math.Sqrt(float64(r.z.Cols))/blas.Nrm2(g.Scale), g.Scale)
	return []kernel.Group{g}, nil
}

// ranks is all columns of Z with their quantiles.
func ranks(Z blas.General) kernel.Group {
	g := everyColumn(defaults.Ranks, Z)
	for c := range Z.Cols {
		sorted := slices.Sorted(slices.Values(column(Z, c)))
		knots := make([]float64, defaults.RankKnots)
		for k := range knots {
			at, part := math.Modf(float64(k) / float64(len(knots)-1) * float64(Z.Rows-1))
			low, high := sorted[int(at)], sorted[min(int(at)+1, Z.Rows-1)]
			knots[k] = low + part*(high-low)
		}
		g.Knots = append(g.Knots, knots)
	}
	return g
}

// bent is the share of the variance of a column above which it gets a length for its ranks too: that which no line in
// the ranks explains, twice the share of a normal variable.
const bent = 2 * (1 - 3/math.Pi)

// bentColumns are the columns of Z that are far from a line in their ranks, such as columns over several decades.
func bentColumns(Z blas.General) (list []int) {
	all := ranks(Z)
	R := features(&all, Z)
	for c := range Z.Cols {
		if share := stat.Correlation(column(Z, c), column(R, c), nil); 1-share*share > bent {
			list = append(list, c)
		}
	}
	return list
}

// lengthColumns is what lengths are learned for: all columns of Z, and the ranks of some.
func (r *Resolver) lengthColumns(ranked []int) kernel.Group {
	g := everyColumn(lengths.Features, r.z)
	if len(ranked) > 0 {
		g.Columns = append(g.Columns, ranked...)
		g.Knots = append(make([][]float64, r.z.Cols), ranks(columns.Take(r.z, ranked)).Knots...)
	}
	return g
}

// features is what kernels on the group see of Z.
func features(g *kernel.Group, Z blas.General) blas.General {
	k := kernel.Kernel{Kind: kernel.Linear, Inputs: Z.Cols, Columns: g.Columns, Knots: g.Knots}
	return k.Features(Z)
}

func column(Z blas.General, c int) []float64 { return columns.Take(Z, []int{c}).Data }

// everyColumn is the group of all columns of Z.
func everyColumn(name string, Z blas.General) kernel.Group {
	g := kernel.Group{Name: name}
	for c := range Z.Cols {
		g.Columns = append(g.Columns, c)
	}
	return g
}
