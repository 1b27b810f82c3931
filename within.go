package iokl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
)

const (
	// Parts of the time that is left: for the choice of settings, for the fit where models without folds follow, and
	// for learning the noise.
	choiceShare, fitShare, noiseShare = 0.6, 0.6, 0.6
	// briefTime is how long a call goes on after its context has ended, to learn the best setting so far.
	briefTime = 200 * time.Millisecond
	leastTime = 700 * time.Millisecond
	// After a part of the samples, the next one is so large that a fit to it takes the share nextShare of the time that
	// is left, where time grows with the power partPower of their number, and leastGrowth times as large where a fit to
	// as many does.
	nextShare, partPower, leastGrowth = 0.7, 2.5, 1.3
	// usefulGap is the relative gap up to which a fit to all samples that had no time to converge is preferred to one
	// to a part of them that did.
	usefulGap = 0.1
)

// ErrBudget says that [Options.Budget] was spent before the fit converged on all samples; there is a model.
var ErrBudget = fmt.Errorf("%w: the budget is spent", bcd.ErrNotConverged)

// within is ctx that ends when the budget is spent, too, but for a tenth: what is under way then ends, and is told.
// Less than leastTime is not enough for anything.
func (opt *checked) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if opt.Budget == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, max(time.Duration(opt.Budget)*9/10, leastTime))
}

// timely learns from the data with nothing left open, within the context in, which ends with ctx or before it. Where
// that has ended before there is a model other than 0, the fit is to a few samples, and takes briefTime at most; where
// ctx goes on and that gives none, leastTime.
func (opt *checked) timely(ctx, in context.Context, d learn.Data) (*Model, error) {
	var m *Model
	err := in.Err()
	if err == nil {
		m, err = opt.solve(in, d)
	}
	late := in.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	useless := m == nil || m.cert.RelativeGap >= 1
	if late && useless && d.Parts != nil && !errors.Is(context.Cause(in), errDropped) {
		few := *opt
		few.Tol, few.IntervalFolds, few.Global, few.LearnNoise = max(opt.Tol, defaults.CompareTol), -1, false, false
		few.Checkpoint, few.Trace = "", nil
		for _, limit := range []time.Duration{briefTime, leastTime} {
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			b, _ := few.growing(brief, d, 1)
			if cancel(); b != nil {
				m = b
			}
			if m != nil || ctx.Err() != nil {
				break
			}
		}
	}
	return m, opt.late(ctx, m, err)
}

// late is the error of a call that ended with m and err: where that is of time that was shared out, and ctx goes on, it
// says so.
func (opt *checked) late(ctx context.Context, m *Model, err error) error {
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	why := context.DeadlineExceeded
	if opt.Budget > 0 {
		why = ErrBudget
	}
	if m == nil {
		return fmt.Errorf("%w before there is a model", why)
	}
	return fmt.Errorf("%w at relative gap %.3g after %d outer iterations on %d samples", why, m.cert.RelativeGap,
		m.cert.OuterIterations, m.cert.Samples)
}

// growing fits the setting to the data. Where ctx has a deadline it fits parts of the samples first, each as large as
// the time of the one before allows, so that there is a model whenever the time is spent: the last that converged, with
// an error that wraps [context.DeadlineExceeded] where it is of a part. The fit to all of them takes a share of the
// time that is left.
func (opt *checked) growing(ctx context.Context, d learn.Data, share float64) (*Model, error) {
	end, bounded := ctx.Deadline()
	whole := func() (*Model, error) {
		in, cancel := phase.Share(ctx, share)
		defer cancel()
		return opt.once(in, d)
	}
	if !bounded || d.Parts == nil {
		return whole()
	}
	var best *Model
	l, _ := d.Size()
	order := rand.New(rand.NewPCG(opt.Seed, uint64(l))).Perm(l)
	for size := min(l, defaults.SomeSamples/2); ; {
		start := time.Now()
		if size == l {
			m, err := whole()
			if best == nil || err == nil || m != nil && m.cert.RelativeGap <= usefulGap {
				return m, err
			}
			return best, err
		}
		env := opt.env()
		env.Say("learning from %d of %d samples, in case that there is no time for more", size, l)
		m, err := opt.few(ctx, d, slices.Sorted(slices.Values(order[:size])))
		if m != nil && (best == nil || m.cert.RelativeGap <= usefulGap) {
			best = m
		}
		if err != nil && (ctx.Err() != nil || !errors.Is(err, bcd.ErrNotConverged)) {
			return best, err
		}
		took, left := time.Since(start).Seconds(), max(0, time.Until(end).Seconds())
		growth := math.Pow(nextShare*left/max(took, 1e-9), 1/partPower)
		if growth < 1 {
			return best, context.DeadlineExceeded
		}
		size = int(min(float64(l), max(growth, leastGrowth)*float64(size)))
	}
}

// few fits the setting to some of the samples, with the μ = λl of all.
func (opt *checked) few(ctx context.Context, d learn.Data, rows []int) (*Model, error) {
	l, _ := d.Size()
	part, err := d.Parts.Few(rows)
	if err != nil {
		return nil, err
	}
	some := *opt
	some.Lambda *= float64(l) / float64(len(rows))
	some.Tol, some.Global, some.Checkpoint, some.Trace = max(opt.Tol, defaults.CompareTol), false, "", nil
	m, err := some.once(ctx, part)
	if m != nil {
		m.fitted().Warnings = append(slices.Clone(m.fitted().Warnings),
			fmt.Sprintf("learned from %d of %d samples: there was no time for more", len(rows), l))
	}
	return m, err
}

// once is a fit of the setting to the data, without models for intervals.
func (opt *checked) once(ctx context.Context, d learn.Data) (m *Model, err error) {
	var end *learn.Outcome
	phase.In(ctx, phase.Final, func(ctx context.Context) {
		end, err = learn.Fit(ctx, d, opt.setting(), opt.method())
	})
	if end == nil {
		return nil, err
	}
	m = &Model{learned: end.Model, cert: record{certify(end, opt), opt.chosen(end), opt.asked()}}
	m.fitted().Out.Classes = opt.classes
	if c := opt.compared; c != nil {
		if w := c.found.warning(end.Silent, len(end.Out.Live)); w != "" {
			end.Warnings = append(end.Warnings, w)
		}
		if c.cut != "" {
			end.Warnings = append(end.Warnings, c.cut)
		}
	}
	return m, err
}
