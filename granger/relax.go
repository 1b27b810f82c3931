package granger

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Constants of relaxations, chosen on simulated systems: docs/decisions/2026-11-22-relaxation.md.
const (
	relaxPower     = 0.5  // of the likelihood, as true functions are not linear
	relaxTransient = 2    // cost of a free column, in units of BIC
	relaxSources   = 1.5  // expected number of sources of a target
	relaxGain      = 0.25 // least mean log ratio of variances; it is log(1 + φ²) for own coefficients φ and noise alone
	relaxLeast     = 6    // rows of a run, at least
	relaxLongest   = 200  // rows of a run, at most
	relaxMost      = 5000 // rows of all runs, at most
)

// relaxation is the data of regressions of all series on the
//
//	z_j(t) = d·∫ exp(−d(t−s))·p_j(s) ds, where p_j = x_j, or dp_j/dt = e·(x_j − p_j) and p_j(0) = x_j(0),
//
// on 1 − exp(−dt), and for each run on exp(−dt) and in some models exp(−et). That is the solution of
// dx_i/dt = d·(c + Σ_j β_j·p_j − x_i) from unknown first states. Measurement noise of x_i is in the target alone, and
// the filter averages that of x_j; a regression on values one step back has both in its inputs.
type relaxation struct {
	be     blas.Backend
	runs   []span       // of consecutive rows without a gap
	Z      blas.General // the standardized series
	weight []float64    // roots of how often each row counts
	n      float64      // their squared norm
	steps  float64      // of the longest run
}

// newRelaxation takes the samples idx, which may repeat, and the rows that are no samples. It is
// nil where runs are fewer than two, or longer than the constants allow.
func (g *design) newRelaxation(idx []int) *relaxation {
	count := make(map[int]float64, g.l)
	for _, i := range idx {
		count[g.rows[i]]++
	}
	r := &relaxation{be: g.opt.Backend}
	var rows []int
	for _, s := range g.stretches() {
		if s.hi-s.lo < relaxLeast {
			continue
		}
		r.runs = append(r.runs, span{len(rows), len(rows) + s.hi - s.lo})
		r.steps = math.Max(r.steps, float64(s.hi-s.lo))
		for t := s.lo; t < s.hi; t++ {
			if _, known := g.sample[t]; !known {
				count[t] = 1
			}
			rows, r.weight = append(rows, t), append(r.weight, math.Sqrt(count[t]))
		}
	}
	if len(r.runs) < 2 || r.steps > relaxLongest || len(rows) > relaxMost {
		return nil
	}
	r.n, r.Z = blas.Dot(r.weight, r.weight), blas.TakeRows(g.S, rows)
	return r
}

// filtered is the y with dy/dt = rate·(x − y) for every column, x being linear between rows; y
// starts at x, or at 0.
func (r *relaxation) filtered(X blas.General, rate float64, fromZero bool) blas.General {
	keep := math.Exp(-rate)
	now := 1 - (1-keep)/rate
	out := blas.Clone(X)
	for _, run := range r.runs {
		for c := range X.Cols {
			if fromZero {
				out.Data[run.lo*out.Stride+c] = 0
			}
			for t := run.lo + 1; t < run.hi; t++ {
				before, x := X.Data[(t-1)*X.Stride+c], X.Data[t*X.Stride+c]
				out.Data[t*out.Stride+c] = keep*out.Data[(t-1)*out.Stride+c] + (1-keep-now)*before + now*x
			}
		}
	}
	return out
}

// moments are the inner products of the columns of W and then the series, all less their parts in
// the free columns, whose number is free: exponentials of each run, and the constant approached by the first.
func (r *relaxation) moments(W blas.General, rates ...float64) (M blas.General, free float64) {
	N := r.Z.Cols
	all := blas.NewGeneral(W.Rows, 2*N+1)
	blas.Copy(blas.View(all, 0, 0, W.Rows, N), W)
	blas.Copy(blas.View(all, 0, N, W.Rows, N), r.Z)
	for _, run := range r.runs {
		local := blas.View(all, run.lo, 0, run.hi-run.lo, all.Cols)
		var kept [][]float64
		for _, rate := range rates {
			v := make([]float64, local.Rows)
			for t := range v {
				v[t] = math.Exp(-rate*float64(t)) * r.weight[run.lo+t]
			}
			kept = appendOrthonormal(kept, v, len(v))
		}
		for t := range local.Rows {
			row := blas.Row(local, t)
			row[2*N] = -math.Expm1(-rates[0] * float64(t))
			blas.Scal(r.weight[run.lo+t], row)
		}
		projectOff(r.be, local, columns(kept, local.Rows))
		free += float64(len(kept))
	}
	constant := mat.Col(nil, 2*N, blas.Dense(all))
	kept := appendOrthonormal(nil, constant, len(constant))
	projectOff(r.be, all, columns(kept, all.Rows))
	inner := blas.View(all, 0, 0, all.Rows, 2*N)
	return blas.Product(r.be, true, false, inner, inner), free + float64(len(kept))
}

// belief is what is known of a target's sources: sums of likelihoods times prior, of all sets
// of sources and of those with each source, over exp(top), and the least variance of residuals.
type belief struct {
	odds               []float64 // prior, of each source
	top, all, variance float64
	with               []float64
}

// newBelief has a prior of relaxSources sources in the mean. Half of it is the same for all sources, and half follows
// their strengths.
func newBelief(strengths []float64) *belief {
	N := len(strengths)
	b := &belief{odds: make([]float64, N), top: math.Inf(-1), variance: math.Inf(1), with: make([]float64, N)}
	share := math.Min(0.5, relaxSources/float64(N))
	for j, v := range strengths {
		b.odds[j] = share / (1 - share) * (0.5 + 0.5*float64(N-1)*v)
	}
	return b
}

// even are strengths that are the same for all of N nodes.
func even(N int) blas.General {
	E := blas.NewGeneral(N, N)
	blas.Fill(E, 1/float64(N-1))
	return E
}

// add is one more set of sources, with the logarithm of its likelihood.
func (b *belief) add(logarithm float64, sources ...int) {
	for _, j := range sources {
		logarithm += math.Log(b.odds[j])
	}
	if logarithm > b.top {
		less := math.Exp(b.top - logarithm)
		floats.Scale(less, b.with)
		b.all *= less
		b.top = logarithm
	}
	v := math.Exp(logarithm - b.top)
	b.all += v
	for _, j := range sources {
		b.with[j] += v
	}
}

// sets adds the sets of at most two sources of target i, by the inner products M of inputs and
// then targets over n rows with so many columns free. Coefficients have Zellner's prior with g = n.
func (b *belief) sets(M blas.General, i int, n, free float64) {
	N := M.Cols / 2
	at := func(j, k int) float64 { return M.Data[j*M.Stride+k] }
	yy := math.Max(at(N+i, N+i), 1e-12*n)
	add := func(explained float64, sources ...int) {
		explained = math.Min(explained, yy*(1-1e-5))
		size := float64(len(sources))
		b.variance = math.Min(b.variance, (yy-explained)/(n-free-size))
		fit := n*math.Log(yy-n/(1+n)*explained) + relaxTransient*free*math.Log(n)
		b.add(-0.5*size*math.Log1p(n)-0.5*relaxPower*fit, sources...)
	}
	add(0)
	for j := range N {
		if j == i {
			continue
		}
		xx, xy := at(j, j)+1e-12, at(j, N+i)
		one := xy * xy / xx
		add(one, j)
		for k := range j {
			if k != i {
				vv, vy := at(k, k)+1e-12, at(k, N+i)
				c := at(j, k) / math.Sqrt(xx*vv)
				add((one+vy*vy/vv-2*c*xy*vy/math.Sqrt(xx*vv))/(1-c*c+1e-6), j, k)
			}
		}
	}
}

// beliefs are those of every target, from rates d that fit 2 to all steps into a run, with
// and without p and transients of the rate e of 5 to a run. The strengths (N×N) are those of the prior.
func (r *relaxation) beliefs(ctx context.Context, strengths blas.General) ([]*belief, error) {
	const fastest = 1.1
	out := make([]*belief, r.Z.Cols)
	for i := range out {
		out[i] = newBelief(blas.Row(strengths, i))
	}
	slow := 5 / r.steps
	for _, P := range []blas.General{r.Z, r.filtered(r.Z, slow, false)} {
		for d := 2 / r.steps; d < fastest; d *= math.Sqrt2 {
			W := r.filtered(P, d, true)
			for _, rates := range [][]float64{{d}, {d, slow}} {
				if err := ctx.Err(); err != nil {
					return nil, fmt.Errorf("granger: %w", err)
				}
				M, free := r.moments(W, rates...)
				if r.n > 2*free {
					par.For(len(out), func(i int) { out[i].sets(M, i, r.n, free) })
				}
			}
		}
	}
	return out, nil
}

// relaxes reports whether the variance that relaxations leave of the targets is below that of regressions on the
// border and at most two values one step back, by a factor exp(−relaxGain) in the geometric mean.
func (e *engine) relaxes(ctx context.Context) (bool, error) {
	r := e.newRelaxation(e.all())
	if r == nil {
		return false, nil
	}
	N := len(e.node)
	beliefs, err := r.beliefs(ctx, even(N))
	if err != nil {
		return false, err
	}
	gains := make([]float64, N)
	newest := make([]int, N) // the column of each node's last value
	for j, g := range e.past {
		newest[j] = g.Columns[0]
	}
	past, _ := e.unweighted(e.all())
	par.For(N, func(i int) {
		p := e.prepare(task{node: i, idx: e.all()})
		all := blas.NewGeneral(e.l, 2*N)
		for t := range e.l {
			row := blas.Row(all, t)
			row[N+i] = p.raw.Data[t]
			for j, c := range newest {
				row[j] = blas.Row(past, t)[c]
			}
		}
		projectOff(e.opt.Backend, all, p.U)
		step := newBelief(blas.Row(even(N), i))
		step.sets(blas.Product(e.opt.Backend, true, false, all, all), i, float64(e.l), float64(p.U.Cols))
		gains[i] = math.Log(step.variance / beliefs[i].variance)
	})
	return stat.Mean(gains, nil) > relaxGain, nil
}

// relax makes the graph of the probabilities of edges in relaxations, from the samples idx and with the strengths in
// the prior. The strengths stay where the samples are too few for any rate.
func (e *engine) relax(ctx context.Context, idx []int, res *Result) error {
	beliefs, err := e.newRelaxation(idx).beliefs(ctx, res.Strength)
	if err != nil || beliefs[0].all == 0 {
		return err
	}
	res.Probability = blas.Like(res.Strength)
	for i, b := range beliefs {
		row := blas.Row(res.Probability, i)
		floats.ScaleTo(row, 1/b.all, b.with)
		row[i] = 1
	}
	res.Graph = res.Probability
	return nil
}
