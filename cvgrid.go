package iokl

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// grid is what is tried, with defaults filled in.
type grid struct {
	CVOptions
	splits []Split
}

// round is the number of splits of one repeat.
func (g *grid) round() int { return len(g.splits) / max(g.Repeats, 1) }

func (s *study) grid(opt *Options, folds int) (*grid, error) {
	g := &grid{CVOptions: opt.CV}
	if err := g.fill(opt, metrics); err != nil {
		return nil, err
	}
	if g.Folds == 0 {
		g.Folds = min(folds, s.Y.Rows)
	}
	if g.TimeOrdered {
		g.Repeats = 1
	}
	var err error
	g.splits, err = Folds(s.Y.Rows, g.Folds, g.Repeats, g.Groups, g.TimeOrdered, opt.Seed)
	if err != nil {
		return nil, err
	}
	return g, g.check()
}

// candidates are the dictionaries, norms and things to learn to try: those that
// screening finds where nothing is asked for.
func (s *study) candidates(ctx context.Context, g *grid, opt *Options) ([]candidate, error) {
	var all []candidate
	switch {
	case s.grams != nil:
		all = []candidate{{}}
	case g.Kernels != nil:
		for _, k := range g.Kernels {
			all = append(all, candidate{kernels: k})
		}
	case len(opt.Kernels) > 0:
		all = []candidate{{kernels: opt.Kernels}}
	default:
		// One matrix of the largest fold is the least that learning will take.
		if p := opt.gramPlan(1, s.X.Rows-s.X.Rows/max(g.Folds, 2), s.Y.Cols); p.bytes > opt.limit() {
			return nil, opt.announce(p)
		}
		ranking, err := s.screen(ctx, g, *opt)
		if err != nil {
			return nil, err
		}
		if all, err = s.affordable(ctx, g, ranking, opt); err != nil {
			return nil, err
		}
	}
	for k := range all {
		c := &all[k]
		if c.learn == nil {
			c.learn = []string{cmp.Or(opt.Learn, "eta,l")}
		}
		c.norms = g.norms(opt, c.norms)
	}
	return all, nil
}

// fill puts the defaults of metric, τ and tolerance in place.
func (g *grid) fill(opt *Options, known []string) error {
	if err := choose("metric", &g.Metric, known); err != nil {
		return err
	}
	if g.Taus == nil {
		g.Taus = []float64{opt.Tau}
	}
	if g.Tol == 0 {
		g.Tol = max(1e-2, opt.Tol)
	}
	return nil
}

// norms are those to try: what is asked for, else the given ones, else the defaults.
func (g *grid) norms(opt *Options, given []string) []string {
	switch {
	case opt.Regularizer != nil:
		return []string{opt.Regularizer.String()}
	case g.Norms != nil:
		return g.Norms
	case opt.Norm != "":
		return []string{opt.Norm}
	case !opt.learns("eta"):
		return DefaultNorms()[:1] // of fixed weights, all norms are the same
	case given != nil:
		return given
	}
	return DefaultNorms()
}

func (g *grid) check() error {
	for _, v := range g.Lambdas {
		if !positive(v) {
			return badInput("λ = %g: it must be positive", v)
		}
	}
	for _, v := range g.Taus {
		if v != 0 && !positive(v) {
			return badInput("τ = %g: it must be positive", v)
		}
	}
	for _, n := range g.Norms {
		if _, err := bcd.ParseNorm(n); err != nil {
			return &wrapped{err, ErrInput}
		}
	}
	g.Lambdas = slices.Clone(g.Lambdas)
	slices.Sort(g.Lambdas)
	slices.Reverse(g.Lambdas)
	return nil
}

// branch is a path of falling λ at one dictionary, norm, choice of what is learned, and τ.
type branch struct {
	kernels []string
	norm    string
	learn   string
	tau     float64
	exact   bool // solved by one factorisation for all λ
	lambdas []float64
	errors  [][]float64 // of each λ, of each fold; NaN where the fold did not get there
	dropped []bool      // values of λ that later folds need not try
}

func (b *branch) init(folds int) {
	b.dropped = make([]bool, len(b.lambdas))
	for range b.lambdas {
		b.errors = append(b.errors, unknown(folds))
	}
}

// open reports whether some λ is still to be tried.
func (b *branch) open() bool { return slices.Contains(b.dropped, false) }

// atOnce is how many folds the memory limit lets run side by side.
func (s *study) atOnce(ctx context.Context, g *grid, candidates []candidate, opt *Options) (int, error) {
	l := 0
	for _, split := range g.splits {
		l = max(l, len(split.Train))
	}
	need := opt.gramPlan(len(s.grams), l, s.Y.Cols)
	for _, c := range candidates {
		if s.grams != nil {
			break
		}
		d, _, _, err := s.dictionary(ctx, c.kernels, opt)
		if err != nil {
			return 0, err
		}
		p, err := opt.planFor(d, l, s.Y.Cols)
		if err != nil {
			return 0, err
		}
		if p.bytes > need.bytes {
			need = p
		}
	}
	if err := opt.announce(need); err != nil {
		return 0, err
	}
	return int(max(1, min(int64(par.Threads()), opt.limit()/need.bytes))), nil
}

// dictionary is that of the SPECs on all samples, its fixed weights, and the
// inputs as it sees them.
func (s *study) dictionary(ctx context.Context, specs []string, opt *Options) (d kernel.Dictionary, weights []float64, Z blas.General, err error) {
	in, _, err := newInputs(s.X, opt)
	if err != nil {
		return nil, nil, Z, err
	}
	if Z, _, err = in.apply(s.X, 0); err != nil {
		return nil, nil, Z, err
	}
	_, Y, _, err := newOutputs(s.Y, opt)
	if err != nil {
		return nil, nil, Z, err
	}
	with := *opt
	with.Kernels = specs
	d, weights, err = dictionary(ctx, Z, Y, &with, new(kernel.Medians))
	return d, weights, Z, err
}

// whole measures the kernels that the SPECs make of all samples.
type whole struct {
	kernels int
	weights []float64 // where they are fixed; nil: as the norm starts
	diag    []float64 // mean diagonal of each
}

func (s *study) whole(ctx context.Context, specs []string, opt *Options) (w whole, err error) {
	if s.grams != nil {
		for _, k := range s.grams {
			w.diag = append(w.diag, meanDiagonal(k))
		}
	} else {
		d, weights, Z, err := s.dictionary(ctx, specs, opt)
		if err != nil {
			return w, err
		}
		w.weights = weights
		if w.diag, err = diagonals(d, Z); err != nil {
			return w, err
		}
	}
	w.kernels = len(w.diag)
	return w, nil
}

// size is the mean diagonal of K_η where learning starts, where default paths of λ start.
func (w *whole) size(norm string, opt *Options) (float64, error) {
	if w.weights != nil && !opt.learns("eta") {
		return blas.Dot(w.weights, w.diag), nil
	}
	total, err := startWeight(norm, opt, nil, w.kernels)
	var mean float64
	for _, v := range w.diag {
		mean += v / float64(w.kernels)
	}
	return total * mean, err
}

// branches lists the paths to follow.
func (s *study) branches(ctx context.Context, g *grid, candidates []candidate, opt *Options) ([]*branch, error) {
	var all []*branch
	for _, c := range candidates {
		w, err := s.whole(ctx, c.kernels, opt)
		if err != nil {
			return nil, err
		}
		for _, norm := range c.norms {
			for _, tau := range g.Taus {
				for _, learn := range c.learn {
					with := *opt
					with.Learn = learn
					size, err := w.size(norm, &with)
					if err != nil {
						return nil, err
					}
					b := &branch{kernels: c.kernels, norm: norm, learn: learn, tau: tau, lambdas: g.Lambdas}
					if b.lambdas == nil {
						b.lambdas = lambdaPath(size * relative(tau, s.Y.Cols))
						if c.last > 0 {
							b.lambdas = b.lambdas[c.first:c.last]
						}
					}
					b.exact = learn == "none" && s.grams == nil && exact(c.kernels)
					b.init(len(g.splits))
					all = append(all, b)
				}
			}
		}
	}
	return all, nil
}

// startWeight is the sum of the weights that the norm starts m kernels from, or of fixed ones.
func startWeight(norm string, opt *Options, fixed []float64, m int) (float64, error) {
	if fixed != nil && !opt.learns("eta") {
		return sumOf(fixed), nil
	}
	with := *opt
	with.Norm = norm
	reg := with.regularizer()
	if err := reg.Check(m); err != nil {
		return 0, &wrapped{err, ErrInput}
	}
	eta := make([]float64, m)
	reg.Start(eta)
	return sumOf(eta), nil
}

func sumOf(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// relative is τ/n: the path of λ moves with it, since only λ/τ matters.
func relative(tau float64, n int) float64 {
	if tau == 0 {
		return 1
	}
	return tau / float64(n)
}

func unknown(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}
