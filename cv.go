package iokl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// CVOptions say what cross-validation tries and how. The zero value is useful.
type CVOptions struct {
	Lambdas []float64  // nil: a falling path of 13 values that ends early where the error rises
	Taus    []float64  // nil: Options.Tau
	Norms   []string   // nil: Options.Norm, or some of DefaultNorms when that is empty
	Kernels [][]string // dictionaries to compare; nil: Options.Kernels, or several when that is empty

	Folds       int     // 0 means 10, and 5, or 3 for many samples, where Fit chooses λ itself
	Repeats     int     // of the whole, with other folds; 0 means 1, and where Fit chooses λ more for few samples
	Groups      []int   // a number for each sample: no group is on both sides of a split
	TimeOrdered bool    // train on the past, test on what follows
	Metric      string  // nmse (default), mse, rmse or accuracy
	Tol         float64 // relative gap of the fits; 0 means 1e-2, or Options.Tol when that is larger
	OneSE       bool    // choose the largest λ within one standard error of the best
}

// Metrics of cross-validation, averages over outputs: nmse is the squared error
// divided by the variance of the training targets, 1 for a constant guess.
var metrics = []string{"nmse", "mse", "rmse", "accuracy"}

// CVPoint is one setting and how it did on held-out samples.
type CVPoint struct {
	Kernels []string  `json:"kernels"` // SPECs of the dictionary
	Norm    string    `json:"norm"`
	Learn   string    `json:"learn"`
	Tau     float64   `json:"tau"`
	Lambda  float64   `json:"lambda"`
	Mean    float64   `json:"mean"`   // of the metric over the folds
	StdErr  float64   `json:"stderr"` // of that mean
	Folds   []float64 `json:"folds"`
}

// CVResult lists the settings that every fold has tried.
type CVResult struct {
	Metric string    `json:"metric"`
	Folds  int       `json:"folds"`
	Best   int       `json:"best"` // index of the point chosen
	Points []CVPoint `json:"points"`
}

// Chosen is the best point.
func (r *CVResult) Chosen() CVPoint { return r.Points[r.Best] }

// Settle returns opt with the kernels, norm, τ and λ of the best point.
func (r *CVResult) Settle(opt Options) Options { return r.settle(opt) }

func (r *CVResult) settle(opt Options) Options {
	p := r.Chosen()
	opt.Lambda, opt.Tau, opt.Kernels, opt.Learn = p.Lambda, p.Tau, p.Kernels, p.Learn
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	opt.notify("chose λ = %.3g, norm %s, learning %s%s by cross-validation: %s %.4g ± %.2g", p.Lambda, p.Norm, p.Learn, among(p.Kernels), r.Metric, p.Mean, p.StdErr)
	return opt
}

// among says which kernels a point is about.
func among(specs []string) string {
	if len(specs) == 0 {
		return ""
	}
	return ", kernels " + strings.Join(specs, " ")
}

// CrossValidate tries the settings of opt.CV on held-out samples. Inside each
// fold everything is learned from the training part alone: scales, widths,
// model. Along falling λ each fit starts from the one before; folds run in
// parallel, and the result does not depend on how many at once.
func CrossValidate(ctx context.Context, X, Y mat.Matrix, opt Options) (*CVResult, error) {
	opt, err := opt.check(false)
	if err != nil {
		return nil, err
	}
	x, y := raw(X), raw(Y)
	if err := checkRows(x.Rows, y); err != nil {
		return nil, err
	}
	return crossValidate(ctx, &study{X: x, Y: y}, opt)
}

// CrossValidateGram is CrossValidate on Gram matrices of the caller's.
func CrossValidateGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*CVResult, error) {
	opt, err := opt.check(true)
	if err != nil {
		return nil, err
	}
	y := raw(Y)
	if err := checkRows(y.Rows, y); err != nil {
		return nil, err
	}
	syms, err := opt.fromGrams(grams, y.Rows)
	if err != nil {
		return nil, err
	}
	return crossValidate(ctx, &study{Y: y, grams: syms}, opt)
}

// study is the data of a cross-validation: inputs, or Gram matrices.
type study struct {
	X, Y  blas.General
	grams []*blas.Sym
}

// grid is what is tried, with defaults filled in.
type grid struct {
	CVOptions
	candidates []candidate
	splits     []Split
}

func (s *study) grid(opt *Options, folds int) (*grid, error) {
	g := &grid{CVOptions: opt.CV}
	if err := choose("metric", &g.Metric, metrics); err != nil {
		return nil, err
	}
	if g.Taus == nil {
		g.Taus = []float64{opt.Tau}
	}
	g.candidates = s.candidates(&g.CVOptions, opt)
	if g.Folds == 0 {
		g.Folds = min(folds, s.Y.Rows)
	}
	if g.Tol == 0 {
		g.Tol = math.Max(1e-2, opt.Tol)
	}
	var err error
	g.splits, err = Folds(s.Y.Rows, g.Folds, g.Repeats, g.Groups, g.TimeOrdered, opt.Seed)
	if err != nil {
		return nil, err
	}
	return g, g.check()
}

// candidates are the dictionaries and norms to try.
func (s *study) candidates(cv *CVOptions, opt *Options) []candidate {
	var all []candidate
	switch {
	case s.grams != nil:
		all = []candidate{{kernels: nil, norms: DefaultNorms()}}
	case cv.Kernels != nil:
		for _, k := range cv.Kernels {
			all = append(all, candidate{kernels: k, norms: DefaultNorms()})
		}
	case len(opt.Kernels) > 0:
		all = []candidate{{kernels: opt.Kernels, norms: DefaultNorms()}}
	default:
		all = defaultCandidates(s.X)
	}
	for k := range all {
		if opt.Learn != "" || all[k].learn == nil {
			all[k].learn = []string{cmp.Or(opt.Learn, "eta,l")}
		}
		switch {
		case opt.Regularizer != nil:
			all[k].norms = []string{opt.Regularizer.String()}
		case cv.Norms != nil:
			all[k].norms = cv.Norms
		case opt.Norm != "":
			all[k].norms = []string{opt.Norm}
		case opt.Learn == "l":
			all[k].norms = all[k].norms[:1] // of equal weights, all norms are the same up to λ
		}
	}
	return all
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
	for _, c := range g.candidates {
		for _, n := range c.norms {
			if _, err := bcd.ParseNorm(n); err != nil {
				return &wrapped{err, ErrInput}
			}
		}
	}
	g.Lambdas = slices.Clone(g.Lambdas)
	slices.Sort(g.Lambdas)
	slices.Reverse(g.Lambdas)
	return nil
}

// branch is a path of falling λ at one dictionary, norm and τ.
type branch struct {
	kernels []string
	norm    string
	learn   string
	tau     float64
	lambdas []float64
	errors  [][]float64 // of each λ, of each fold; NaN where the fold did not get there
}

func crossValidate(ctx context.Context, s *study, opt Options) (*CVResult, error) {
	g, err := s.grid(&opt, 10)
	if err != nil {
		return nil, err
	}
	branches, err := s.branches(g, &opt)
	if err != nil {
		return nil, err
	}
	at, err := s.atOnce(g, &opt)
	if err != nil {
		return nil, err
	}
	fail := make([]error, len(g.splits))
	for lo := 0; lo < len(g.splits) && ctx.Err() == nil; lo += at {
		par.For(min(at, len(g.splits)-lo), func(i int) {
			fail[lo+i] = s.fold(ctx, g, opt, branches, lo+i)
		})
		opt.notify("cross-validation: %d of %d folds", min(lo+at, len(g.splits)), len(g.splits))
	}
	if err := errors.Join(ctx.Err(), firstOf(fail)); err != nil {
		return nil, err
	}
	return g.summarize(branches)
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many folds the memory limit lets run side by side.
func (s *study) atOnce(g *grid, opt *Options) (int, error) {
	l := 0
	for _, split := range g.splits {
		l = max(l, len(split.Train))
	}
	need := opt.gramPlan(len(s.grams), l, s.Y.Cols)
	for _, c := range g.candidates {
		if s.grams != nil {
			break
		}
		d, _, err := s.dictionary(c.kernels, opt)
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

// dictionary is that of the SPECs on all samples, and the inputs as it sees them.
func (s *study) dictionary(specs []string, opt *Options) (kernel.Dictionary, blas.General, error) {
	in, _, err := newInputs(s.X, opt)
	if err != nil {
		return nil, s.X, err
	}
	Z, _, err := in.apply(s.X, 0)
	if err != nil {
		return nil, Z, err
	}
	with := *opt
	with.Kernels = specs
	d, err := dictionary(Z, &with)
	return d, Z, err
}

// whole is the number of kernels that the SPECs make of all samples, and the
// size of K_η at equal weights of sum 1, which default paths of λ start from.
func (s *study) whole(specs []string, opt *Options) (m int, size float64, err error) {
	var diag []float64
	if s.grams != nil {
		for _, k := range s.grams {
			diag = append(diag, meanDiagonal(k))
		}
	} else {
		d, Z, err := s.dictionary(specs, opt)
		if err != nil {
			return 0, 0, err
		}
		if diag, err = diagonals(d, Z); err != nil {
			return 0, 0, err
		}
	}
	for _, v := range diag {
		size += v / float64(len(diag))
	}
	return len(diag), size, nil
}

// branches lists the paths to follow.
func (s *study) branches(g *grid, opt *Options) ([]*branch, error) {
	var all []*branch
	for _, c := range g.candidates {
		m, size, err := s.whole(c.kernels, opt)
		if err != nil {
			return nil, err
		}
		for _, norm := range c.norms {
			total, err := startWeight(norm, opt, m)
			if err != nil {
				return nil, err
			}
			for _, tau := range g.Taus {
				for _, learn := range c.learn {
					b := &branch{kernels: c.kernels, norm: norm, learn: learn, tau: tau, lambdas: g.Lambdas}
					if b.lambdas == nil {
						b.lambdas = lambdaPath(size * total * relative(tau, s.Y.Cols))
					}
					b.errors = make([][]float64, len(b.lambdas))
					for i := range b.errors {
						b.errors[i] = unknown(len(g.splits))
					}
					all = append(all, b)
				}
			}
		}
	}
	return all, nil
}

// startWeight is the sum of the weights that the norm starts m kernels from.
func startWeight(norm string, opt *Options, m int) (float64, error) {
	with := *opt
	with.Norm = norm
	reg := with.regularizer()
	if err := reg.Check(m); err != nil {
		return 0, &wrapped{err, ErrInput}
	}
	eta := make([]float64, m)
	reg.Start(eta)
	var sum float64
	for _, e := range eta {
		sum += e
	}
	return sum, nil
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

// summarize makes points of the settings that all folds have tried, and chooses.
func (g *grid) summarize(branches []*branch) (*CVResult, error) {
	r := &CVResult{Metric: g.Metric, Folds: len(g.splits)}
	for _, b := range branches {
		for i, lambda := range b.lambdas {
			if slices.ContainsFunc(b.errors[i], math.IsNaN) {
				continue
			}
			p := CVPoint{Kernels: b.kernels, Norm: b.norm, Learn: b.learn, Tau: b.tau, Lambda: lambda, Folds: b.errors[i]}
			p.Mean, p.StdErr = meanAndError(p.Folds)
			r.Points = append(r.Points, p)
		}
	}
	if len(r.Points) == 0 {
		return nil, fmt.Errorf("cross-validation: no setting gave finite errors on all folds")
	}
	for i, p := range r.Points {
		if g.better(p.Mean, r.Points[r.Best].Mean) {
			r.Best = i
		}
	}
	if g.OneSE {
		r.Best = g.steadier(r.Points, r.Best)
	}
	return r, nil
}

func (g *grid) better(a, b float64) bool {
	if g.Metric == "accuracy" {
		return a > b
	}
	return a < b
}

// steadier is the point of largest λ on the branch of the best that is within its standard error.
func (g *grid) steadier(points []CVPoint, best int) int {
	b := points[best]
	at := best
	for i, p := range points {
		same := slices.Equal(p.Kernels, b.Kernels) && p.Norm == b.Norm && p.Learn == b.Learn && p.Tau == b.Tau
		if same && p.Lambda > points[at].Lambda && math.Abs(p.Mean-b.Mean) <= b.StdErr {
			at = i
		}
	}
	return at
}

func meanAndError(v []float64) (mean, se float64) {
	k := float64(len(v))
	for _, x := range v {
		mean += x / k
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / k / (k - 1))
}
