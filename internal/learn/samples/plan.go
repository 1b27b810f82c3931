// Estimates of the memory, the work and the time of a fit, and the choice of explicit features where exact kernels need
// too much.

package samples

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/stream"
	"github.com/iokl/iokl/sylvester"
)

// Affordable returns the SPECs, or those of the same kernels with explicit features where exact ones take more memory
// than there is, or longer than the budget by prediction, or, without a budget, more work than defaults.ExactBytes:
// time is then measured to be told alone, so that the answer is the same every time. Beyond the orders of direct
// solvers exact kernels of fixed weights are stored in single precision from then on: what that rounds is far below
// noise. A certificate of learned weights or outputs needs more digits.
func (r *Rows) Affordable(
	ctx context.Context, specs []string, what learn.Learned, folds int, budget time.Duration,
) ([]string, error) {
	l, n := r.Size()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := r.everything()
	if err != nil {
		return nil, err
	}
	d, _, err := c.Resolve(ctx, specs)
	if err != nil {
		return nil, err
	}
	given := r.opt.Precision
	if l > linop.KeepBoth && what == learn.Nothing {
		r.opt.Precision = blas.Float32
	}
	p, err := r.Plan(ctx, specs, what, true)
	if err != nil {
		return nil, err
	}
	why := fmt.Sprintf("%d samples, %d kernels, %d outputs: exact kernels in %v take %s, and the limit is %s", l,
		len(d), n, r.opt.Precision, memory.Format(p.Bytes), memory.Format(float64(r.opt.Limit())))
	fits := p.Bytes <= float64(r.opt.Limit())
	var takes time.Duration
	if fits && (budget > 0 || r.opt.Notify != nil && l > linop.KeepBoth) {
		if takes, err = r.predict(ctx, d, what, budget); err != nil {
			return nil, err
		}
		why += fmt.Sprintf("; a fit takes about %.3g s", takes.Seconds())
	}
	switch {
	case fits && budget > 0:
		why += fmt.Sprintf(", and the budget is %v", budget)
		fits = takes <= budget
	case fits:
		if fits = r.reads(len(d), what) <= defaults.ExactBytes; !fits {
			why += "; a budget allows what takes long"
		}
	}
	if fits {
		r.opt.Say("%s: exact kernels", why)
		return specs, nil
	}
	r.opt.Precision = given
	r.opt.Say("%s: explicit features", why)
	return r.Features(ctx, specs, l, folds, budget)
}

// reads is the bytes of m kernels, or of their sum where weights are fixed, that one step of a fit reads: a product
// with four columns takes as long as reading a kernel.
func (r *Rows) reads(m int, what learn.Learned) float64 {
	l, n := r.Size()
	if !what.Weights() {
		m = 1
	}
	return float64(l) * float64(l) * (float64(m) + float64(n)/4) * float64(r.opt.Precision.Bytes())
}

// Features are SPECs of the same kernels with as many explicit features as pay and fit
// into memory for l samples, with sums apart for so many folds. A pass over the samples takes half of the budget at
// most, by prediction; 0 means that there is none.
func (r *Rows) Features(
	ctx context.Context, specs []string, l, folds int, budget time.Duration,
) ([]string, error) {
	c, err := r.everything()
	if err != nil {
		return nil, err
	}
	limit := float64(r.opt.Limit())
	work := defaults.FeatureWork
	if budget > 0 {
		work = min(work, r.passRate()*budget.Seconds()/2)
	}
	D := mostFeatures(l, r.x.Cols, r.y.Cols, folds, limit, work)
	if r.cells < r.y.Rows*r.y.Cols { // some are missing
		// a fourth of it for factorBytes
		D = max(defaults.ColumnFeatures, int(min(float64(D), limit/(4*8*2*float64(l)))))
	}
	specs, err = c.Features(ctx, specs, D)
	if err == nil {
		r.opt.Say("%d explicit features in place of the kernels: %s", D, strings.Join(specs, " "))
	}
	return specs, err
}

// Groups are the sets of columns that SPECs may refer to, those that the targets tell too.
func (r *Rows) Groups(ctx context.Context, specs []string) ([]kernel.Group, error) {
	c, err := r.everything()
	if err != nil {
		return nil, err
	}
	return c.Groups(ctx, specs)
}

// passRate is how many units of [defaults.FeatureWork] a pass over rows of features takes in a second, by the time of a
// small part of its work.
func (r *Rows) passRate() float64 {
	F, G := blas.NewGeneral(speedRows, speedRows/2), blas.NewGeneral(speedRows/2, speedRows/2)
	be := blas.Or(r.opt.Backend)
	blas.GramOf(be, G, F) // makes its scratch
	start := time.Now()
	blas.GramOf(be, G, F)
	return float64(F.Rows) * float64(F.Cols) * float64(F.Cols) / max(time.Since(start).Seconds(), 1e-9)
}

// decompositions is the time of those of sums of D features, in the unit of D³ of FeatureWork.
const decompositions = 20

// mostFeatures is how many features pay for l samples, d inputs and n
// outputs, as work on them is bounded, and fit into so many bytes with their sums apart for each fold.
// ColumnFeatures are taken even when they do not.
func mostFeatures(l, d, n, folds int, limit, work float64) int {
	b := float64(10*d + 2*n)
	most := (math.Sqrt(b*b+4*work/float64(l)) - b) / 2 // D·(D + b) = work/l
	if work < defaults.FeatureWork {
		most = min(most, math.Cbrt(work/decompositions))
	}
	D := int(min(most, defaults.MostFeatures, float64(l)/2))
	need := func() float64 {
		landmarks := 3 * 8 * float64(D) * float64(D)
		bytes := sums.FeatureBytes(D, n) + landmarks + stream.Bytes(D, d, n, stream.Options{Folds: folds})
		return memory.Peak(bytes, int64(limit))
	}
	for D > defaults.ColumnFeatures && need() > limit {
		D -= D / 10
	}
	return max(D, defaults.ColumnFeatures)
}

// factorBytes is the memory of a fit with D features of l samples that are multiplied by as they
// are: the features, those of positive weight as they are weighted, and l×n blocks.
func factorBytes(l, D, n int) float64 { return 8 * float64(l) * float64(2*D+12*n) }

// plan is the memory of a fit of the dictionary to l samples of d inputs and n outputs,
// in rows of features or in sums of them.
func (opt *Options) plan(
	dict kernel.Dictionary, what learn.Learned, l, d, n int, rows bool,
) (learn.Plan, error) {
	features, err := dictionary.InFeatures(dict, l, opt.Exact)
	if err != nil || !features {
		if !what.Weights() {
			return opt.sumPlan(len(dict), l, d, n), err
		}
		if opt.recomputes(len(dict), l, d, n) {
			p := opt.sumPlan(len(dict), l, d, n)
			p.What += " that are computed anew for each step"
			return p, err
		}
		return opt.gramPlan(len(dict), l, d, n), err
	}
	D := dictionary.Width(dict)
	data := 8 * float64(l) * float64(2*d+2*n)
	if rows {
		return opt.within(learn.Plan{
			What:    fmt.Sprintf("the rows of %d features of %d samples", D, l),
			Instead: "fewer features",
		}, data+factorBytes(l, D, n), 0), nil
	}
	return opt.within(learn.Plan{What: fmt.Sprintf("sums of %d features", D), Instead: "fewer features"},
		data+sums.FeatureBytes(D, n), 0), nil
}

// recomputes reports whether m kernels of learned weights are computed anew for each step, because memory holds their
// sum alone.
func (opt *Options) recomputes(m, l, d, n int) bool {
	limit := float64(opt.Limit())
	return opt.gramPlan(m, l, d, n).Bytes > limit && opt.sumPlan(m, l, d, n).Bytes <= limit
}

// gramPlan is the memory of m Gram matrices of l samples beside that of their sum.
func (opt *Options) gramPlan(m, l, d, n int) learn.Plan {
	return opt.solvePlan("%d Gram matrices of %d samples in %v", m, float64(m)*float64(blas.SymBytes(l, opt.Precision)),
		l, d, n)
}

// sumPlan is the memory of the sum of m kernels of fixed weights, which is formed as it is multiplied.
func (opt *Options) sumPlan(m, l, d, n int) learn.Plan {
	return opt.solvePlan("the sum of %d kernels on %d samples in %v", m, 0, l, d, n)
}

// solvePlan is the memory of m terms of so many bytes, K_η as it is multiplied, some l×n blocks and copies of the data,
// and, as what is taken for a time only, that of the solver of the linear systems: two matrices of order l, or a sketch
// where orders are beyond those of direct solvers.
func (opt *Options) solvePlan(what string, m int, terms float64, l, d, n int) learn.Plan {
	be := blas.Or(opt.Backend)
	held, scratch := terms+be.PackedBytes(l, opt.Precision), sylvester.SketchBytes(l)
	if l <= linop.KeepBoth {
		scratch = 2 * 8 * float64(l) * float64(l)
		if opt.Precision == blas.Float64 {
			held += be.PackedBytes(l, blas.Float32)
		}
	}
	instead := "float32, fewer kernels, or explicit features (linear, rff:…, nystrom:…)"
	p := learn.Plan{What: fmt.Sprintf(what, m, l, opt.Precision), Instead: instead}
	return opt.within(p, held+8*float64(l)*float64(12*n+2*d), scratch)
}

// within is the plan with what is held and what is taken for a time.
func (opt *Options) within(p learn.Plan, held, scratch float64) learn.Plan {
	p.Bytes, p.Held = memory.Peak(held+scratch, opt.Limit()), held
	return p
}

const (
	// What the speed is measured with: so many rows of kernels, and products of a matrix that is beyond most caches.
	speedRows, speedOrder = 1024, 4096
	speedColumns          = 64 // of a product, at most
	// A system at a λ that cross-validation chooses takes about usualProducts products with K. Weights are learned in
	// about usualSteps passes over the kernels. Both are orders of magnitude, of the counts in docs/decisions: what is
	// predicted by them is a time, which a budget is compared with.
	usualProducts, usualSteps = 100, 20
)

// predict is about how long a fit of the dictionary to l samples takes, by the time of a small part of its work; of a
// smaller part where that shows that it takes longer than the budget, if there is one.
func (r *Rows) predict(
	ctx context.Context, d kernel.Dictionary, what learn.Learned, budget time.Duration,
) (takes time.Duration, err error) {
	l, n := r.Size()
	s := min(l, speedRows)
	opt := kernel.GramOptions{Precision: r.opt.Precision, Backend: r.opt.Backend}
	weights := slices.Repeat([]float64{1}, len(d))
	start := time.Now()
	if _, err := d.WeightedGram(ctx, blas.View(r.all.Z, 0, 0, s, r.all.Z.Cols), weights, opt); err != nil {
		return 0, fault.From(err)
	}
	form := time.Since(start).Seconds() / float64(s*s)

	for _, order := range []int{speedRows, speedOrder} {
		order, columns := min(l, order), min(n, speedColumns)
		K := blas.Or(r.opt.Backend).NewPacked(order, r.opt.Precision)
		K.Complete() // memory that was never written is read from the caches
		x, y := blas.NewGeneral(order, columns), blas.NewGeneral(order, columns)
		K.Mul(y, x) // makes its scratch
		start = time.Now()
		K.Mul(y, x)
		product := time.Since(start).Seconds() / float64(order*order) * float64(n) / float64(columns)

		products := usualProducts * product
		switch {
		case what.Weights() && r.opt.recomputes(len(d), l, r.x.Cols, n):
			products += usualSteps * 2 * form // of the sum, and for the gradient
		case what.Weights():
			products += usualSteps * float64(len(d)) * product / float64(n)
		}
		takes = time.Duration(float64(l) * float64(l) * (form + products) * float64(time.Second))
		if order == l || budget > 0 && takes > budget || ctx.Err() != nil {
			break
		}
	}
	return takes, ctx.Err()
}
