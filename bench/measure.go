package bench

import (
	"context"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
)

// Contender is one of several ways to do a piece of work, measured side by side.
type Contender struct {
	Name    string
	Params  map[string]any // its own, beside those of all
	Prepare func()         // runs before each repetition, unmeasured; nil does nothing
	Run     func() error   // is measured
	Spins   bool           // threads of a library wait busily after Run, which slows what runs next
}

const (
	// SpinTime exceeds the time for which threads of OpenBLAS wait busily after a call.
	SpinTime = 130 * time.Millisecond
	// warmTime exceeds the time for which, after a pause, the system may run both threads on one processor.
	warmTime = 50 * time.Millisecond
)

// Plan says how contenders are repeated.
type Plan struct {
	Count int  // repetitions of each; at least 1
	Warm  bool // repetitions of each beforehand are not counted
	// before each repetition the work is done once untimed, so that caches and threads are in the state it leaves
	Follow    bool
	MinSample time.Duration // the work of a repetition is repeated to fill this time; needs Warm
	Budget    time.Duration // of a contender, after which it is not repeated; 0 means no limit
	Least     int           // repetitions of each whatever the budget; 0 means 1
}

// Interleave measures the contenders in turn, round after round, so that what
// disturbs the machine disturbs all of them alike. It returns the seconds of each
// repetition of each; when ctx ends or a contender fails, what it has so far.
func Interleave(ctx context.Context, plan Plan, all []Contender) ([][]float64, error) {
	samples := make([][]float64, len(all))
	inner := make([]int, len(all))
	spent := make([]time.Duration, len(all))
	spins := false
	prepare := func(next Contender, least time.Duration) (time.Duration, error) {
		if spins && !next.Spins {
			least = SpinTime
		}
		spins = next.Spins
		if least == 0 {
			return 0, nil
		}
		return warm(next, least)
	}
	for i, v := range all {
		inner[i] = 1
		if !plan.Warm {
			continue
		}
		if err := ctx.Err(); err != nil {
			return samples, err
		}
		t, err := prepare(v, warmTime)
		if err != nil {
			return samples, err
		}
		spent[i] = t
		inner[i] = int(math.Ceil(min(1e6, max(1, float64(plan.MinSample)/float64(max(t, 1))))))
	}
	for range max(1, plan.Count) {
		for i, v := range all {
			if err := ctx.Err(); err != nil {
				return samples, err
			}
			if len(samples[i]) >= max(1, plan.Least) && plan.Budget > 0 && spent[i] > plan.Budget {
				continue
			}
			if _, err := prepare(v, 0); err != nil {
				return samples, err
			}
			if plan.Follow {
				before, err := once(v, 1)
				if err != nil {
					return samples, err
				}
				spent[i] += before
			}
			t, err := once(v, inner[i])
			if err != nil {
				return samples, err
			}
			spent[i] += t
			samples[i] = append(samples[i], t.Seconds()/float64(inner[i]))
		}
	}
	return samples, nil
}

// once times n runs of v.
func once(v Contender, n int) (time.Duration, error) {
	if v.Prepare != nil {
		v.Prepare()
	}
	start := time.Now()
	for range n {
		if err := v.Run(); err != nil {
			return time.Since(start), err
		}
	}
	return time.Since(start), nil
}

// warm runs v until the time has passed, since idle processors would slow what follows,
// and returns what the last run took.
func warm(v Contender, least time.Duration) (last time.Duration, err error) {
	for start := time.Now(); err == nil; {
		if last, err = once(v, 1); time.Since(start) >= least {
			break
		}
	}
	return last, err
}

// Race measures contenders in turn and adds a result for each, with params and its own parameters, after finish has
// seen the results. The parameter backend is the name of a contender that does not have one.
func (e *Env) Race(
	ctx context.Context, plan Plan, params map[string]any, all []Contender, finish func(results []Result),
) error {
	for i := range all {
		all[i].Spins = all[i].Spins || blas.Threads() > 1 && strings.HasPrefix(all[i].Name, "openblas")
	}
	samples, err := Interleave(ctx, plan, all)
	var results []Result
	for i, c := range all {
		if len(samples[i]) == 0 {
			continue
		}
		r := Result{Name: c.Name, Params: map[string]any{"backend": c.Name}}
		maps.Copy(r.Params, params)
		maps.Copy(r.Params, c.Params)
		r.Time(samples[i])
		results = append(results, r)
	}
	finish(results)
	e.Add(results...)
	return err
}
