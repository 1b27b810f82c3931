package iokl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// dictionary resolves the SPECs on the training inputs Z, and targets Y where they
// tell which columns are relevant. Constant columns get
// no kernel of their own from "each". weights are those of fixed weights: the
// SPECs share 1 equally, and the kernels of a SPEC its part. known are the medians
// of Z from earlier calls with the same groups.
func dictionary(ctx context.Context, Z, Y blas.General, opt *Options, known *kernel.Medians) (d kernel.Dictionary, weights []float64, err error) {
	specs := opt.Kernels
	if len(specs) == 0 {
		specs = defaultKernels(Z)
	}
	groups, err := withRelevance(ctx, specs, Z, Y, opt)
	if err != nil {
		return nil, nil, err
	}
	parts := 0
	for _, text := range specs {
		s, err := kernel.Parse(text)
		if err != nil {
			return nil, nil, asInput(err)
		}
		if s.Kind == kernel.Precomputed {
			return nil, nil, badInput("kernel %s: precomputed kernels come as Gram matrices, not with inputs", s)
		}
		before := len(d)
		for _, features := range expand(s.Features, Z) {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			s.Features = features
			part, err := s.ResolveWith(Z, groups, opt.Seed, known)
			if err != nil {
				return nil, nil, &wrapped{err, ErrInput}
			}
			d = append(d, part...)
		}
		if made := len(d) - before; made > 0 {
			parts++
			for range made {
				weights = append(weights, 1/float64(made))
			}
		}
	}
	if len(d) == 0 {
		return nil, nil, badInput("no kernel is left: every input column is constant")
	}
	for j := range weights {
		weights[j] /= float64(parts)
	}
	return d, weights, nil
}

// expand lists the columns that "each" means; other features stay as they are.
func expand(features string, Z blas.General) []string {
	if features != "each" {
		return []string{features}
	}
	var list []string
	for j := range Z.Cols {
		if _, _, constant := measure(Z, j); !constant {
			list = append(list, strconv.Itoa(j))
		}
	}
	return list
}

// limit is the memory that may be taken, in bytes.
func (opt *Options) limit() int64 {
	switch {
	case opt.MaxBytes > 0:
		return opt.MaxBytes
	case opt.MaxBytes < 0:
		return math.MaxInt64
	}
	return memory.Limit()
}

// fitBytes is the memory of one fit: the m Gram matrices of l samples, K_η, and
// some l×n blocks. It saturates.
func (opt *Options) fitBytes(m, l, n int) int64 {
	size := float64(m)*float64(blas.SymBytes(l, opt.Precision)) +
		float64(l)*float64(l)*float64(opt.Precision.Bytes()) + 12*8*float64(l)*float64(n)
	if size >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(size)
}

// plan is the memory of a fit, in words and in bytes, and what to use when it is too much.
type plan struct {
	what, instead string
	bytes         int64
}

// planFor is the plan of a fit of the dictionary to l samples and n outputs.
func (opt *Options) planFor(d kernel.Dictionary, l, n int) (plan, error) {
	features, err := inFeatures(d, l)
	if err != nil || !features {
		return opt.gramPlan(len(d), l, n), err
	}
	D := featureWidth(d)
	return plan{fmt.Sprintf("sums of %d features", D), "fewer features", featureBytes(D, n)}, nil
}

func (opt *Options) gramPlan(m, l, n int) plan {
	return plan{
		what:    fmt.Sprintf("%d Gram matrices of %d samples in %v", m, l, opt.Precision),
		instead: "float32, fewer kernels, or explicit features (linear, rff:…, nystrom:…)",
		bytes:   opt.fitBytes(m, l, n),
	}
}

// announce says what a fit needs and refuses what the limit does not hold.
func (opt *Options) announce(p plan) error {
	opt.notify("%s, with work space: %s", p.what, memory.Format(float64(p.bytes)))
	if err := memory.Within(opt.limit(), p.what+", with work space", float64(p.bytes), "use "+p.instead); err != nil {
		return &wrapped{err, ErrInput}
	}
	return nil
}

// grams builds the Gram matrices of the dictionary.
func (opt *Options) grams(ctx context.Context, d kernel.Dictionary, Z blas.General) ([]*blas.Sym, error) {
	g, err := d.Grams(ctx, Z, kernel.GramOptions{Precision: opt.Precision, Backend: opt.Backend})
	return g, asInput(err)
}

// space is the learning problem over coefficients C (l×n), or over weights of features.
func (opt *Options) space(t *training) bcd.Space {
	if t.sums != nil {
		return opt.featureSpace(t.maps, t.sums)
	}
	return bcd.NewSamples(linop.NewGramSum(t.grams, opt.Backend, opt.Precision), t.Y)
}

// problem is the learning problem in the given space. weights are the fixed ones, nil for those that the norm starts from.
func (opt *Options) problem(space bcd.Space, weights []float64) *bcd.Problem {
	if opt.Learn == "" {
		opt.Learn = "eta,l"
	}
	p := &bcd.Problem{
		Space: space, Lambda: opt.Lambda, Tau: opt.Tau, Norm: opt.regularizer(),
		FixEta: !opt.learns("eta") || opt.Solver == "okl", FixL: !opt.learns("l"),
	}
	if !opt.learns("eta") {
		p.Eta = weights
	}
	if p.Tau == 0 {
		p.Tau = float64(space.Outputs())
	}
	return p
}

// learns reports whether what ("eta" or "l") is learned.
func (opt *Options) learns(what string) bool {
	return opt.Learn == "" || slices.Contains(strings.Split(opt.Learn, ","), what)
}

// exactTol is the residual of the linear system where it is all there is to solve.
const exactTol = 1e-10

func (opt *Options) solverOptions() bcd.Options {
	so := bcd.Options{
		Solver: opt.Solver, Sylvester: opt.Sylvester, Tol: opt.Tol, MaxOuter: opt.MaxOuter,
		Backend: opt.Backend, Seed: opt.Seed, Trace: opt.Trace,
	}
	if opt.Learn == "none" {
		so.InnerTol = exactTol
	}
	return so
}
