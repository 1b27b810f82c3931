package granger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Rounds selects the rounds of a resampling: From ≤ round < To. Each round draws
// from its own stream of Options.Seed, so rounds may be run in several parts, on
// several machines, and their counts added up.
type Rounds struct {
	From, To int
	// consecutive time points that are drawn together; 0 means the square root of the samples, at least the lag
	Block int

	// Done are the counts of the first Done.Rounds rounds from From on, which are not run
	// again: what an earlier run that was stopped has handed to Trace.
	Done Counts
	// Trace gets the counts of the rounds run so far, Done included, every few
	// rounds. An error ends the resampling and is returned with them.
	Trace func(Counts) error `json:"-"`
}

func (r Rounds) check() error {
	if r.From < 0 || r.To <= r.From || r.Block < 0 {
		return fmt.Errorf("%w: rounds %d to %d in blocks of %d", ErrOption, r.From, r.To, r.Block)
	}
	return nil
}

// Stability counts how often each edge is selected when the models are fitted to block-bootstrap resamples of the data:
// blocks of consecutive time points are drawn with replacement until there are as many as in the data. In each resample
// an edge j → i (j ≠ i) is selected if it is among the `top` of its target in Result.Graph; 0 means DefaultTop.
// (Stability selection: Meinshausen and Bühlmann, doi:10.1111/j.1467-9868.2010.00740.x.)
//
// An error comes with the counts that Trace had. [Options].Ranks share the rounds.
func (s *Study) Stability(ctx context.Context, top int, rounds Rounds) (Counts, error) {
	if top == 0 {
		top = DefaultTop(len(s.e.node))
	}
	if top < 1 {
		return Counts{}, fmt.Errorf("%w: the strongest %d edges", ErrOption, top)
	}
	block := cmp.Or(rounds.Block, max(s.e.opt.Lag, int(math.Sqrt(float64(s.e.l)))))
	of := fmt.Sprintf("stability selection of the top %d, blocks of %d", top, block)
	return s.resample(ctx, of, rounds, func(ctx context.Context, rng *rand.Rand, count blas.General) error {
		res, err := s.e.round(ctx, s.e.tasks(s.e.bootstrap(rng, block), nil, s.lambda))
		if err != nil {
			return err
		}
		for i := range res.Nodes {
			for _, j := range strongest(blas.Row(res.Graph, i), i, top) {
				count.Data[i*count.Stride+j]++
			}
		}
		return nil
	})
}

// DefaultTop is ⌊√(0.8·(N−1))⌋, at least 1: of N−1 candidate sources that are all
// alike, the expected number selected in more than 90 % of the resamples is then
// at most top²/((2·0.9−1)·(N−1)) ≤ 1 for each target (theorem 1 of Meinshausen and Bühlmann).
func DefaultTop(nodes int) int { return max(1, int(math.Sqrt(0.8*float64(nodes-1)))) }

// strongest lists the indices of the largest positive elements, the one at skip left out.
func strongest(row []float64, skip, top int) []int {
	var idx []int
	for j, v := range row {
		if j != skip && v > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
	return idx[:min(top, len(idx))]
}

// Null counts how often an edge gets as large by chance as it is in the data. In each round the part of a target that
// its own past does not explain is shifted in time against all sources, cyclically and by a random amount in each
// replicate. That keeps its autocorrelation and removes its dependence on the sources. The models are fitted again, and
// an edge counts if its element of Result.Sizes reaches that of the data. Strengths are not compared: those of a target
// have about the same sum whether it is driven or not.
//
// An error comes with the counts that Trace had. [Options].Ranks share the rounds.
func (s *Study) Null(ctx context.Context, rounds Rounds) (Counts, error) {
	found, err := s.e.round(ctx, s.e.tasks(s.e.all(), nil, s.lambda))
	if err != nil {
		return Counts{}, err
	}
	return s.resample(ctx, "permutation null", rounds, func(ctx context.Context, rng *rand.Rand,
		count blas.General,
	) error {
		tasks := s.e.tasks(s.e.all(), nil, s.lambda)
		for k := range tasks {
			tasks[k].Y = s.e.shifted(tasks[k], rng)
		}
		res, err := s.e.round(ctx, tasks)
		if err != nil {
			return err
		}
		for k, v := range res.Sizes.Data {
			if v >= found.Sizes.Data[k] {
				count.Data[k]++
			}
		}
		return nil
	})
}

// round adds what one round finds to count.
type round func(ctx context.Context, rng *rand.Rand, count blas.General) error

// resample runs the rounds, some of them at a time and in parallel. Of R ranks each runs every R-th round.
func (s *Study) resample(ctx context.Context, of string, rounds Rounds, one round) (Counts, error) {
	if err := rounds.check(); err != nil {
		return Counts{}, err
	}
	n := len(s.e.node)
	total := Counts{Of: s.identity(of), Count: blas.NewGeneral(n, n)}
	if rounds.Done.Rounds > 0 {
		if err := rounds.Done.check(total.Of, n); err != nil {
			return Counts{}, err
		}
		total.Add(rounds.Done)
	}
	rank, size := s.e.opt.Ranks.Rank(), s.e.opt.Ranks.Size()
	some, err := s.e.roundsPerExchange(total.Rounds)
	if err != nil {
		return total, err
	}
	for from := rounds.From + total.Rounds; from < rounds.To; from += some {
		all := min(some, rounds.To-from)
		counts := make([]blas.General, (all-rank+size-1)/size)
		err := forEach(ctx, len(counts), func(k int) error {
			counts[k] = blas.NewGeneral(n, n)
			return one(ctx, rand.New(rand.NewPCG(s.e.opt.Seed, uint64(from+rank+k*size))), counts[k])
		})
		if err != nil {
			return total, err
		}
		sum := blas.NewGeneral(n, n)
		for _, c := range counts {
			blas.AddScaled(sum, 1, c)
		}
		if err := s.e.opt.Ranks.Allreduce(sum.Data); err != nil {
			return total, fmt.Errorf("granger: adding up the counts of the ranks: %w", err)
		}
		total.Add(Counts{Rounds: all, Count: sum})
		if rounds.Trace != nil {
			if err := rounds.Trace(Counts{total.Of, total.Rounds, blas.Clone(total.Count)}); err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// bootstrap draws l samples in blocks of consecutive time points; no block
// crosses a replicate. The samples are sorted.
func (g *design) bootstrap(rng *rand.Rand, block int) []int {
	runs := g.inTime()
	var idx []int
	for len(idx) < g.l {
		// A replicate in proportion to its length, then a place in it.
		at := rng.IntN(g.l)
		k := 0
		for at >= len(runs[k]) {
			at -= len(runs[k])
			k++
		}
		size := min(block, len(runs[k]), g.l-len(idx))
		from := rng.IntN(len(runs[k]) - size + 1)
		idx = append(idx, runs[k][from:from+size]...)
	}
	slices.Sort(idx)
	return idx
}

// shifted returns the targets of t with the part that the border does not explain
// shifted cyclically in time, by a random amount in each replicate.
func (e *engine) shifted(t task, rng *rand.Rand) blas.General {
	p := e.prepare(t)
	left := blas.Clone(p.raw)
	projectOff(e.opt.Backend, left, p.U)
	out := blas.Clone(p.raw)
	for _, run := range e.inTime() {
		by := rng.IntN(len(run))
		for i, s := range run {
			from := run[(i+by)%len(run)]
			for j := range out.Cols {
				out.Data[s*out.Stride+j] += left.Data[from*left.Stride+j] - left.Data[s*left.Stride+j]
			}
		}
	}
	return out
}

// Gain is the improvement that the past of other nodes makes in the prediction of a node.
type Gain struct {
	Node string  `json:"node"`
	RMSE float64 `json:"rmse"`     // held-out error with all nodes
	Own  float64 `json:"rmse_own"` // the same with the node's own past only, its kernels included
}

// Improvement tests Granger causality on held-out time points: each node is fitted to the first part of the data with
// the kernels of all nodes, and with those of its own past alone.
func (s *Study) Improvement(ctx context.Context) ([]Gain, error) {
	e := s.e
	if e.opt.HoldOut < 0 {
		return nil, fmt.Errorf("%w: nothing is held out", ErrOption)
	}
	_, all, err := e.heldOut(ctx, s.lambda, false)
	if err != nil {
		return nil, err
	}
	if all == nil {
		return nil, fmt.Errorf("%w: %d samples do not divide into a part to fit and a part to hold out", ErrShort, e.l)
	}
	_, own, err := e.heldOut(ctx, s.lambda, true)
	if err != nil {
		return nil, err
	}
	gains := make([]Gain, len(e.node))
	for k := range gains {
		gains[k] = Gain{e.data.Nodes[k].Name, rootMean(all[k]), rootMean(own[k])}
	}
	return gains, nil
}
