package granger

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Rounds selects the rounds of a resampling: From ≤ round < To. Each round draws
// from its own stream of Options.Seed, so rounds may be run in several parts, on
// several machines, and their counts added up.
type Rounds struct {
	From, To int
	Block    int // consecutive time points that are drawn together; 0 means the square root of the samples, at least the lag
}

func (r Rounds) check() error {
	if r.From < 0 || r.To <= r.From || r.Block < 0 {
		return fmt.Errorf("%w: rounds %d to %d in blocks of %d", ErrOption, r.From, r.To, r.Block)
	}
	return nil
}

// Counts are what rounds of a resampling found; those of different rounds add up.
type Counts struct {
	Rounds int          `json:"rounds"`
	Count  blas.General `json:"-"` // N×N
}

// Add adds the counts of other rounds.
func (c *Counts) Add(other Counts) {
	if c.Rounds == 0 {
		c.Count = blas.NewGeneral(other.Count.Rows, other.Count.Cols)
	}
	c.Rounds += other.Rounds
	blas.AddScaled(c.Count, 1, other.Count)
}

// Frequency is Count/Rounds: for [Stability], how often each edge was among the selected.
func (c Counts) Frequency() blas.General {
	f := blas.Clone(c.Count)
	blas.Scal(1/float64(c.Rounds), f.Data)
	return f
}

// PValues is (Count + 1)/(Rounds + 1): for [Null], the permutation p-value of each edge.
func (c Counts) PValues() blas.General {
	p := blas.Clone(c.Count)
	for k := range p.Data {
		p.Data[k] = (p.Data[k] + 1) / (float64(c.Rounds) + 1)
	}
	return p
}

// Stability counts how often each edge is selected when the model is fitted to
// block-bootstrap resamples of the data: blocks of consecutive time points drawn
// with replacement until there are as many as at first. In each resample an edge
// j → i (j ≠ i) is selected when its strength is among the `top` largest of its
// target. (Stability selection: Meinshausen and Bühlmann, doi:10.1111/j.1467-9868.2010.00740.x.)
func Stability(ctx context.Context, d *Data, opt Options, top int, rounds Rounds) (Counts, error) {
	if top < 1 {
		return Counts{}, fmt.Errorf("%w: the strongest %d edges", ErrOption, top)
	}
	return resample(ctx, d, opt, rounds, func(ctx context.Context, e *engine, lambda []float64, rng *rand.Rand, block int, _ *Result, count blas.General) error {
		models, err := e.fit(ctx, e.tasks(e.bootstrap(rng, block), nil, lambda))
		if err != nil {
			return err
		}
		res := e.result(models)
		for i := range res.Nodes {
			for _, j := range strongest(blas.Row(res.Graph, i), i, top) {
				count.Data[i*count.Stride+j]++
			}
		}
		return nil
	})
}

// strongest lists the indices of the largest positive elements, the one at skip left out.
func strongest(row []float64, skip, top int) []int {
	var idx []int
	for j, v := range row {
		if j != skip && v > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		switch {
		case row[a] > row[b]:
			return -1
		case row[a] < row[b]:
			return 1
		}
		return 0
	})
	return idx[:min(top, len(idx))]
}

// Null counts how often chance alone makes an edge as large as it is found. In
// each round what a node's own past does not explain is shifted in time against
// all sources, by an amount drawn at random in each replicate, which keeps how it
// hangs together in time and breaks every dependence on the others; the model is
// fitted again, and an entry counts when its norm reaches that of the true order.
func Null(ctx context.Context, d *Data, opt Options, rounds Rounds) (Counts, error) {
	return resample(ctx, d, opt, rounds, func(ctx context.Context, e *engine, lambda []float64, rng *rand.Rand, _ int, found *Result, count blas.General) error {
		tasks := e.tasks(e.all(), nil, lambda)
		for k := range tasks {
			tasks[k].Y = e.shifted(tasks[k], rng)
		}
		models, err := e.fit(ctx, tasks)
		if err != nil {
			return err
		}
		res := e.result(models)
		for k, v := range res.Norms.Data {
			if v >= found.Norms.Data[k] {
				count.Data[k]++
			}
		}
		return nil
	})
}

// round adds what one round finds to count. found is the fit to the data as they are.
type round func(ctx context.Context, e *engine, lambda []float64, rng *rand.Rand, block int, found *Result, count blas.General) error

func resample(ctx context.Context, d *Data, opt Options, rounds Rounds, one round) (Counts, error) {
	if err := rounds.check(); err != nil {
		return Counts{}, err
	}
	e, err := start(ctx, d, opt)
	if err != nil {
		return Counts{}, err
	}
	lambda, err := e.chooseLambda(ctx)
	if err != nil {
		return Counts{}, err
	}
	models, err := e.fit(ctx, e.tasks(e.all(), nil, lambda))
	if err != nil {
		return Counts{}, err
	}
	found := e.result(models)
	block := rounds.Block
	if block == 0 {
		block = max(e.opt.Lag, int(math.Sqrt(float64(e.l))))
	}
	n := len(e.node)
	counts := make([]blas.General, rounds.To-rounds.From)
	errs := make([]error, len(counts))
	par.For(len(counts), func(k int) {
		counts[k] = blas.NewGeneral(n, n)
		rng := rand.New(rand.NewPCG(e.opt.Seed, uint64(rounds.From+k)))
		errs[k] = one(ctx, e, lambda, rng, block, found, counts[k])
	})
	total := Counts{Rounds: len(counts), Count: blas.NewGeneral(n, n)}
	for k, c := range counts {
		if errs[k] != nil {
			return Counts{}, errs[k]
		}
		blas.AddScaled(total.Count, 1, c)
	}
	return total, nil
}

// inTime lists the samples of each replicate in the order of time.
func (g *design) inTime() [][]int {
	sample := make(map[int]int, g.l)
	for i, t := range g.rows {
		sample[t] = i
	}
	var out [][]int
	for _, r := range g.data.runs() {
		var run []int
		for t := r.lo + g.opt.Lag; t < r.hi; t++ {
			run = append(run, sample[t])
		}
		out = append(out, run)
	}
	return out
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

// shifted is the targets of t with the part that the border does not explain
// turned round in time, by a random amount in each replicate.
func (g *engine) shifted(t task, rng *rand.Rand) blas.General {
	p := g.prepare(t)
	left := blas.Clone(p.raw)
	projectOff(g.opt.Backend, left, p.U)
	out := blas.Clone(p.raw)
	for _, run := range g.inTime() {
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

// Gain is what the past of the other nodes adds to the prediction of a node.
type Gain struct {
	Node string  `json:"node"`
	RMSE float64 `json:"rmse"`     // held-out error with all nodes
	Own  float64 `json:"rmse_own"` // the same with the node's own past only, its kernels included
}

// Improvement is Granger's own test on held-out time points: each node is fitted to the
// first part of the data with the kernels of all nodes, and with those of its own past only.
func Improvement(ctx context.Context, d *Data, opt Options) ([]Gain, error) {
	e, err := start(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	if e.opt.HoldOut < 0 {
		return nil, fmt.Errorf("%w: nothing is held out", ErrOption)
	}
	lambda, err := e.chooseLambda(ctx)
	if err != nil {
		return nil, err
	}
	r := e.before(1 - e.opt.HoldOut)
	if r < 2 || r == e.l {
		return nil, fmt.Errorf("%w: %d samples do not divide into a part to fit and a part to hold out", ErrShort, e.l)
	}
	gains := make([]Gain, len(e.node))
	for _, own := range []bool{false, true} {
		tasks := e.tasks(sequence(0, r), sequence(r, e.l), lambda)
		for k := range tasks {
			gains[k].Node = e.data.Nodes[k].Name
			if own {
				tasks[k].allow = e.ownKernels(k)
			}
		}
		models, err := e.fit(ctx, tasks)
		if err != nil {
			return nil, err
		}
		for k, m := range models {
			rmse := math.Sqrt(e.meanSquare(tasks[k], m.predict))
			if own {
				gains[k].Own = rmse
			} else {
				gains[k].RMSE = rmse
			}
		}
	}
	return gains, nil
}

func (g *design) ownKernels(node int) []bool {
	allow := make([]bool, len(g.from))
	for j, source := range g.from {
		allow[j] = source == node
	}
	return allow
}
