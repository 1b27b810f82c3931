package granger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// design is the regression problem behind the data. Samples are ordered by the
// share of their replicate's time that has passed, so every prefix is "the
// earlier part of all replicates".
type design struct {
	data    *Data
	opt     Options
	node    []span       // of each node: its columns of S
	series  []int        // of each column of S: its column of Data.X
	mean    []float64    // of each column of S, to standardize by
	scale   []float64    // the same
	S       blas.General // rows of Data.X × series in nodes: standardized
	l       int          // samples
	rows    []int        // of each sample: the row of S it predicts
	sample  map[int]int  // of a row: its sample
	share   []float64    // of each sample: the part of its replicate's time that has passed
	missing int          // windows that are left out for a missing value
	past    []kernel.Group
	weight  []float64    // of each column of X
	X       blas.General // l×(Σ columns): the past of every node, weighted by age
	Y       blas.General // l×(series in nodes): targets
	dict    kernel.Dictionary
	from    []int // of each kernel: its source node
}

func newDesign(d *Data, opt Options) (*design, error) {
	g := &design{data: d, opt: opt}
	g.standardize()
	if err := g.windows(); err != nil {
		return nil, err
	}
	g.inputs()
	if g.opt.Nonlinear && float64(g.X.Cols) > freePart*float64(g.l) {
		return nil, fmt.Errorf("%w: %d samples for the %d past values that Nonlinear leaves unpenalized; at least %d "+
			"are needed",
			ErrShort, g.l, g.X.Cols, int(math.Ceil(float64(g.X.Cols)/freePart)))
	}
	return g, g.dictionary()
}

// standardize fills node, series, mean, scale and S. Each series has mean 0 and variance 1.
func (g *design) standardize() {
	for _, node := range g.data.Nodes {
		g.node = append(g.node, span{len(g.series), len(g.series) + len(node.Series)})
		g.series = append(g.series, node.Series...)
	}
	g.S = blas.NewGeneral(g.data.X.Rows, len(g.series))
	for c, j := range g.series {
		mean, scale := moments(g.data.X, j)
		g.mean, g.scale = append(g.mean, mean), append(g.scale, scale)
		for t := range g.S.Rows {
			g.S.Data[t*g.S.Stride+c] = (blas.Row(g.data.X, t)[j] - mean) / scale
		}
	}
}

// gap is the first column of S without a value in row t, −1 where there is none.
func (g *design) gap(t int) int { return slices.IndexFunc(blas.Row(g.S, t), math.IsNaN) }

// stretches are the consecutive rows of replicates without a gap.
func (g *design) stretches() (all []span) {
	for _, r := range g.data.runs() {
		for lo := r.lo; lo < r.hi; lo++ {
			hi := lo
			for hi < r.hi && g.gap(hi) < 0 {
				hi++
			}
			if hi > lo {
				all = append(all, span{lo, hi})
			}
			lo = hi
		}
	}
	return all
}

// windows fills l, rows, sample, share and missing.
func (g *design) windows() error {
	d, lag, share := g.data, g.opt.Lag, map[int]float64{}
	for _, r := range d.runs() {
		g.missing += r.hi - r.lo - lag
		for t := r.lo; t < r.hi; t++ {
			share[t] = float64(t-r.lo) / float64(r.hi-r.lo)
		}
	}
	for _, s := range g.stretches() {
		g.rows = append(g.rows, sequence(min(s.lo+lag, s.hi), s.hi)...)
	}
	g.l = len(g.rows)
	g.missing -= g.l
	if g.l < 3 && g.missing > 0 {
		t := slices.IndexFunc(sequence(0, g.S.Rows), func(t int) bool { return g.gap(t) >= 0 })
		return fmt.Errorf("%w: series %q is NaN at row %d, and %d of %d windows of lag %d have a gap", ErrGap,
			d.Names[g.series[g.gap(t)]], t, g.missing, g.missing+g.l, lag)
	}
	if g.l+g.missing < leastWindows(lag, len(d.Nodes)) {
		return d.tooShort(lag)
	}
	slices.SortStableFunc(g.rows, func(a, b int) int { return cmp.Or(cmp.Compare(share[a], share[b]), a-b) })
	g.sample = make(map[int]int, g.l)
	for i, t := range g.rows {
		g.sample[t] = i
		g.share = append(g.share, share[t])
	}
	return nil
}

// before is the number of samples in the first part of the time.
func (g *design) before(part float64) int { return sort.SearchFloat64s(g.share, part) }

// inTime lists the samples of each replicate that has any in the order of time.
func (g *design) inTime() (all [][]int) {
	for _, r := range g.data.runs() {
		var run []int
		for t := r.lo; t < r.hi; t++ {
			if s, known := g.sample[t]; known {
				run = append(run, s)
			}
		}
		if len(run) > 0 {
			all = append(all, run)
		}
	}
	return all
}

// inputs fills past, weight, X and Y. Older values count less. A linear kernel on a node's past has the variance ½ for
// every node, near the .44 of a Gaussian one of median width on normal values, and a penalty prefers neither.
func (g *design) inputs() {
	lag := g.opt.Lag
	for k, own := range g.node {
		g.past = append(g.past, kernel.Group{
			Name: g.data.Nodes[k].Name, Columns: sequence(own.lo*lag, own.hi*lag),
		})
		for i := range lag * (own.hi - own.lo) {
			newest := 1 / math.Sqrt(2*float64(lag*(own.hi-own.lo)))
			g.weight = append(g.weight, newest*math.Pow(g.opt.Decay, float64(i%lag)))
		}
	}
	g.X, g.Y = blas.NewGeneral(g.l, len(g.weight)), blas.TakeRows(g.S, g.rows)
	for i, t := range g.rows {
		for c, weight := range g.weight {
			blas.Row(g.X, i)[c] = weight * blas.Row(g.S, t-1-c%lag)[c/lag]
		}
	}
}

// moments are the mean and the standard deviation of column j, 1 in place of 0; NaN does not count.
func moments(a blas.General, j int) (mean, scale float64) {
	d := slices.DeleteFunc(mat.Col(nil, j, blas.Dense(a)), math.IsNaN)
	mean = stat.Mean(d, nil)
	floats.AddConst(-mean, d)
	return mean, cmp.Or(rms(d), 1)
}

// rms is the root of the mean square; numbers of any units do not overflow.
func rms(x []float64) float64 { return blas.Nrm2(x) / math.Sqrt(float64(len(x))) }

// dictionary resolves the kernels and finds the node each one looks at.
func (g *design) dictionary() error {
	dict, err := kernel.Build(g.opt.Kernels, g.X, g.past, g.opt.Seed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	for _, k := range dict {
		if len(k.Columns) == 0 && len(g.past) > 1 {
			return fmt.Errorf("%w: kernel %s looks at all nodes; write groups in place of all", ErrOption, k.Name)
		}
		source := slices.IndexFunc(g.past, func(p kernel.Group) bool {
			return !slices.ContainsFunc(k.Columns, func(c int) bool { return !slices.Contains(p.Columns, c) })
		})
		if source < 0 {
			return fmt.Errorf("%w: kernel %s looks at several nodes", ErrOption, k.Name)
		}
		g.from = append(g.from, source)
	}
	g.dict = dict
	return nil
}

// freePart is the share of the samples up to which the columns of a node's own
// past are left unpenalized. It is the rule of ten to twenty samples for each
// coefficient (Harrell, doi:10.1007/978-3-319-19425-7, §4.4).
const freePart = 0.1

// freeColumns lists the columns of X left unpenalized, beside the mean, in node k's fit to l samples.
func (g *design) freeColumns(k, l int) []int {
	own := g.past[k].Columns
	switch {
	case g.opt.Nonlinear:
		return sequence(0, g.X.Cols)
	case float64(len(own)) <= freePart*float64(l):
		return own
	}
	return nil
}

// border is what is left unpenalized in the fits of a node: functions (1, x_c)·T of the inputs, c being some columns.
type border struct {
	columns []int
	T       blas.General // (1+columns)×k
}

// border makes the functions of node k orthonormal over the samples idx, where U (idx×k) has their values.
func (g *design) border(k int, idx []int) (b border, U blas.General) {
	b.columns = g.freeColumns(k, len(idx))
	B := b.inputs(blas.TakeRows(g.X, idx))
	var kept [][]float64
	for c := range B.Cols {
		v := append(mat.Col(nil, c, blas.Dense(B)), make([]float64, B.Cols)...)
		v[B.Rows+c] = 1 // what is done to the values is done to the weights behind them
		kept = appendOrthonormal(kept, v, B.Rows)
	}
	all := columns(kept, B.Rows+B.Cols)
	b.T = blas.View(all, B.Rows, 0, B.Cols, all.Cols)
	return b, blas.View(all, 0, 0, B.Rows, all.Cols)
}

// inputs is the matrix of rows (1, x_c) for the rows x of X.
func (b border) inputs(X blas.General) blas.General {
	B := blas.NewGeneral(X.Rows, 1+len(b.columns))
	for i := range X.Rows {
		row := blas.Row(B, i)
		row[0] = 1
		for a, c := range b.columns {
			row[1+a] = blas.Row(X, i)[c]
		}
	}
	return B
}

// columns is the matrix of the vectors.
func columns(vectors [][]float64, rows int) blas.General {
	U := blas.NewGeneral(rows, len(vectors))
	for k, v := range vectors {
		for i, x := range v {
			U.Data[i*U.Stride+k] = x
		}
	}
	return U
}

// appendOrthonormal appends v less its part along the vectors kept, normalized,
// where only the first n elements count in inner products; a v that depends on
// them is dropped.
func appendOrthonormal(kept [][]float64, v []float64, n int) [][]float64 {
	before := blas.Nrm2(v[:n])
	for range 2 {
		for _, q := range kept {
			blas.Axpy(-blas.Dot(q[:n], v[:n]), q, v)
		}
	}
	norm := blas.Nrm2(v[:n])
	if !(norm > 1e-8*before) {
		return kept
	}
	blas.Scal(1/norm, v)
	return append(kept, v)
}

// lowRank factorizes the kernels, K_j = Z_j·Z_jᵀ in single precision; nil where that takes more than a quarter of
// the memory of their Gram matrices, of which it holds one for each thread.
func (g *design) lowRank(ctx context.Context) ([]blas.General, error) {
	factors, rank, most := make([]blas.General, len(g.dict)), new(atomic.Int64), int64(g.l*len(g.dict)/16)
	if g.opt.MaxBytes > 0 {
		most = min(most, g.opt.MaxBytes/(8*int64(g.l)))
	}
	err := forEach(ctx, len(factors), func(j int) error {
		if rank.Load() > most {
			return nil
		}
		K, err := g.dict[j:j+1].Grams(ctx, g.X, kernel.GramOptions{Backend: g.opt.Backend, MaxBytes: g.opt.MaxBytes})
		if err != nil {
			return fmt.Errorf("granger: kernels: %w", err)
		}
		factors[j] = factorized(K[0], int(most-rank.Load())+1)
		rank.Add(int64(factors[j].Cols))
		return nil
	})
	switch {
	case errors.Is(err, ErrMemory) || err == nil && rank.Load() > most:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return factors, nil
}

// factorized is the Z with K = Z·Zᵀ of Cholesky's factorization with pivots, up to 2⁻²⁴ of the largest element or so
// many columns.
func factorized(K *blas.Sym, most int) blas.General {
	left := make([]float64, K.N) // the diagonal of K − Z·Zᵀ
	K.Diag(left)
	least := 0x1p-24 * floats.Max(left)
	var Z [][]float64
	for p := floats.MaxIdx(left); len(Z) < most && left[p] > least; p = floats.MaxIdx(left) {
		z := make([]float64, K.N)
		for i := range z {
			z[i] = K.At(max(i, p), min(i, p))
		}
		for _, other := range Z {
			blas.Axpy(-other[p], other, z)
		}
		blas.Scal(1/math.Sqrt(left[p]), z)
		for i, v := range z {
			left[i] -= v * v
		}
		left[p] = 0
		Z = append(Z, z)
	}
	return columns(Z, K.N)
}

// grams computes the Gram matrices of all kernels.
func (g *design) grams(ctx context.Context) ([]*blas.Sym, error) {
	terms, err := g.dict.Grams(ctx, g.X, kernel.GramOptions{
		Precision: blas.Float32, Backend: g.opt.Backend, MaxBytes: g.opt.MaxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("granger: kernels: %w", err)
	}
	return terms, nil
}
