package iokl

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Where no kernels are given, dictionaries are screened first: with weights that
// are fixed and L = (τ/n)·I, one factorisation serves all values of λ, so
// that dozens can be compared on held-out samples before anything is learned.
const (
	screenRows = 1000 // samples that screening looks at, at most
	united     = 3    // the best dictionaries, whose union is learned on
	above      = 3    // steps of the path of λ that are tried before the best of them
	below      = 3    // and after
)

// screened is how a dictionary did.
type screened struct {
	kernels []string
	score   float64   // at the best λ
	errors  []float64 // of each fold there
	step    int       // of that λ on the path
}

// screen compares the base dictionaries on the first repeat of the splits and
// returns them, the best first.
func (s *study) screen(ctx context.Context, g *grid, opt Options) ([]screened, error) {
	all := baseDictionaries(s.X)
	if _, _, _, err := s.dictionary(ctx, all[0], &opt); err != nil { // with the names of the columns
		return nil, err
	}
	opt.Trace, opt.InputNames, opt.OutputNames = nil, nil, nil
	splits := g.splits[:g.round()]
	opt.notify("screening %d dictionaries on %d folds of %d samples", len(all), len(splits), min(s.Y.Rows, screenRows))
	errs := make([][][]float64, len(splits)) // of each split, dictionary and λ
	fail := make([]error, len(splits))
	keep := s.sample(opt.Seed)
	par.For(len(splits), func(f int) {
		errs[f], fail[f] = s.screenSplit(ctx, g, opt, keep(splits[f]), all)
	})
	if err := errors.Join(ctx.Err(), firstOf(fail)); err != nil {
		return nil, err
	}
	var ranking []screened
	for k, kernels := range all {
		best := screened{kernels: kernels, score: math.Inf(1)}
		for i := range pathPoints {
			var column []float64
			for f := range splits {
				column = append(column, errs[f][k][i])
			}
			if v := g.score(column); v < best.score {
				best.score, best.step, best.errors = v, i, column
			}
		}
		ranking = append(ranking, best)
	}
	slices.SortStableFunc(ranking, func(a, b screened) int { return cmp.Compare(a.score, b.score) })
	return ranking, nil
}

func (s *study) screenSplit(ctx context.Context, g *grid, opt Options, split Split, all [][]string) ([][]float64, error) {
	if len(split.Train) < 2 || len(split.Test) == 0 {
		return nil, badInput("a fold trains on %d samples and tests on %d", len(split.Train), len(split.Test))
	}
	r, err := s.ridge(split, &opt)
	if err != nil {
		return nil, err
	}
	r.sums = map[string]blas.General{}
	errs := make([][]float64, len(all))
	for k, specs := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		K, err := r.cross(ctx, specs)
		if err != nil {
			return nil, err
		}
		errs[k] = make([]float64, pathPoints)
		r.errors(ctx, errs[k], K, lambdaPath(r.size(K)*relative(opt.Tau, r.Y.Cols)), g.Metric)
	}
	return errs, ctx.Err()
}

// sample returns a function that thins a split out to screenRows samples in all.
func (s *study) sample(seed uint64) func(Split) Split {
	l := s.Y.Rows
	if l <= screenRows {
		return func(split Split) Split { return split }
	}
	in := make([]bool, l)
	for _, i := range rand.New(rand.NewPCG(seed, screenRows)).Perm(l)[:screenRows] {
		in[i] = true
	}
	thin := func(idx []int) []int {
		return slices.DeleteFunc(slices.Clone(idx), func(i int) bool { return !in[i] })
	}
	return func(split Split) Split { return Split{thin(split.Train), thin(split.Test)} }
}

// united are the best dictionaries, without those that are worse than the best beyond doubt.
func (g *grid) united(ranking []screened) []screened {
	return slices.DeleteFunc(slices.Clone(ranking[:min(united, len(ranking))]), func(r screened) bool {
		return g.worse(r.errors, ranking[0].errors)
	})
}

// promising lists what is worth learning on after screening: the union of the
// best dictionaries, as it is and with weights and, for several outputs, L
// learned, and two dictionaries that leave more to the weights: smoothness, and columns.
// The union does better than the single best, which is the best by chance too, as
// long as what it adds may be as good.
func (g *grid) promising(ranking []screened, Z blas.General, outputs int, learn string, seed uint64) []candidate {
	first, last := pathPoints, 0
	var union []string
	for _, r := range g.united(ranking) {
		first, last = min(first, r.step), max(last, r.step)
		for _, k := range r.kernels {
			if !slices.Contains(union, k) {
				union = append(union, k)
			}
		}
	}
	few := DefaultNorms()[:1]
	first, last = max(0, first-above), min(pathPoints, last+below+1)
	weights := []string{"eta", "eta,l"}
	if outputs > 1 {
		weights = weights[1:]
	}
	all := []candidate{
		{kernels: union, norms: few, learn: []string{"none", "l", "eta", "eta,l"}, first: first, last: last},
		{kernels: defaultKernels(Z), norms: few, learn: weights, first: first, last: last},
	}
	if sets := subspaces(Z.Cols, seed); sets != nil {
		all = append(all, candidate{kernels: append(slices.Clip(union), sets...), norms: few, learn: weights, first: first, last: last})
	}
	for k := range all {
		all[k].learn = slices.DeleteFunc(all[k].learn, func(l string) bool {
			return learn != "" && l != learn || learn == "" && outputs == 1 && strings.HasSuffix(l, "l")
		})
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return len(c.learn) == 0 })
}

// affordable is what is promising after screening and fits into memory with all
// samples: as much of it as does, or else the best single dictionary that does.
func (s *study) affordable(ctx context.Context, g *grid, ranking []screened, opt *Options) ([]candidate, error) {
	fits := func(kernels []string) (bool, error) {
		d, _, _, err := s.dictionary(ctx, kernels, opt)
		if err != nil {
			return false, err
		}
		p, err := opt.planFor(d, s.X.Rows, s.Y.Cols)
		return p.bytes <= opt.limit(), err
	}
	all := g.promising(ranking, s.X, s.Y.Cols, opt.Learn, opt.Seed)
	var keep []candidate
	for _, c := range all {
		ok, err := fits(c.kernels)
		if err != nil {
			return nil, err
		}
		if ok {
			keep = append(keep, c)
		}
	}
	for k := 0; keep == nil && k < len(ranking); k++ {
		ok, err := fits(ranking[k].kernels)
		if err != nil {
			return nil, err
		}
		if ok {
			keep = g.promising(ranking[k:k+1], s.X, s.Y.Cols, opt.Learn, opt.Seed)[:1]
		}
	}
	switch {
	case keep == nil:
		return all, nil // to be refused with the numbers
	case len(keep) < len(all):
		opt.notify("memory holds %d of the %d dictionaries worth comparing", len(keep), len(all))
	}
	return keep, nil
}

// subsets is the number of random sets of columns, of a third and of two thirds of
// them in turn: enough for some to have most of the columns that matter and few others.
const subsets = 24

// subspaces are kernels of two shapes on random sets of columns. A sparse fit keeps
// the sets that serve it, as a forest does with its splits, and so finds which
// columns matter together.
func subspaces(columns int, seed uint64) []string {
	if columns < 4 || columns > maxEach {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, subsets))
	var specs []string
	for k := range subsets {
		set := rng.Perm(columns)[:max(2, (1+k%2)*columns/3)]
		slices.Sort(set)
		text := make([]string, len(set))
		for k, c := range set {
			text[k] = strconv.Itoa(c)
		}
		list := strings.Join(text, ",")
		if spec := "laplacian:" + list + ":median*0.5"; !slices.Contains(specs, spec) {
			specs = append(specs, spec, "gaussian:"+list+":median")
		}
	}
	return specs
}
