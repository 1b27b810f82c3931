// Folds of a cross-validation, of samples or of cells of their targets.

package learn

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
)

// Content is hashes of the targets and the inputs of a sample.
type Content struct{ y, x uint64 }

// ContentOf hashes the rows of Y and of X, which has no rows for Gram matrices.
func ContentOf(X, Y blas.General) []Content {
	list := make([]Content, Y.Rows)
	par.Ranges(Y.Rows, 1024, func(from, to int) {
		for i := from; i < to; i++ {
			if list[i].y = hash(blas.Row(Y, i)); i < X.Rows {
				list[i].x = hash(blas.Row(X, i))
			}
		}
	})
	return list
}

// hash is that of numbers, of which all NaN are alike.
func hash(row []float64) (h uint64) {
	for _, v := range row {
		if v != v {
			v = math.NaN()
		}
		h = mixed(h ^ math.Float64bits(v+0)) // −0 is 0
	}
	return h
}

// mixed is the finalizer of splitmix64 (Steele, Lea, Flood, doi:10.1145/2660193.2660195), a bijection.
func mixed(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Split is one fold: indices of the rows to train on and of those to test on, ascending.
type Split struct {
	Train, Test []int
	// Hidden lists, where cells are hidden and not rows, the cells i·n + j of the n
	// targets to test on, ascending. Test holds their rows, and Train all rows.
	Hidden []int
}

// What a fold leaves out.
const (
	HideRows  = "rows"
	HideCells = "cells"
)

// mostRows bounds the row numbers that the splits of repeated folds hold: 2 GiB.
const mostRows = 1 << 28

// Folding says how samples are dealt to folds.
type Folding struct {
	Folds, Repeats int   // repeats are of the whole, with other folds; 0 means 1
	Groups         []int // a number for each sample; all samples of a group are tested together
	// Content, without groups, deals samples by what they hold and not by their order: samples in another order fall
	// into the same folds. Equal targets, as of a class, and equal samples are spread over the folds. nil: samples are
	// shuffled.
	Content []Content
	// TimeOrdered, without groups, takes the samples as a series, cuts it into Folds+1
	// blocks and tests each but the first after training on all before it.
	TimeOrdered bool
	Hide        string // what a fold leaves out: HideRows or HideCells; "" means rows
	Seed        uint64
}

// DealCells splits the observed cells of the targets of l samples. What a fold hides looks like what is missing: a row
// of the fold lacks the cells that another row lacks, drawn by the seed from those that lack any. Where no cells are
// missing, or fewer rows than folds have cells to hide, the cells of each target are shuffled and dealt on their own.
func (p Folding) DealCells(cells *linop.Cells) ([]Split, error) {
	l, n := cells.Dims()
	k, count := p.Folds, cells.Count()
	switch {
	case p.TimeOrdered || p.Groups != nil:
		return nil, fault.Input("folds in the order of time or by groups hide rows, not cells")
	case k < 2:
		return nil, fault.Input("%d folds: at least 2 are needed", k)
	case count < k:
		return nil, fault.Input("%d folds of %d observed target cells", k, count)
	case p.Repeats > 1 && float64(p.Repeats)*float64(k*l+count) > mostRows:
		return nil, fault.Input("%d repeats of %d folds of %d samples take too much memory: use fewer", p.Repeats, k, l)
	}
	all := make([]int, l)
	for i := range all {
		all[i] = i
	}
	var splits []Split
	for r := range max(p.Repeats, 1) {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(r)))
		hidden := asMissing(cells, k, rng)
		if hidden == nil {
			hidden = eachAlone(cells, k, rng)
		}
		for _, part := range hidden {
			slices.Sort(part)
			s := Split{Train: all, Hidden: part}
			for _, c := range part {
				if t := len(s.Test); t == 0 || s.Test[t-1] != c/n {
					s.Test = append(s.Test, c/n)
				}
			}
			splits = append(splits, s)
		}
	}
	return splits, nil
}

// asMissing lists the cells that each of k folds hides: of a row, those that another row lacks. It is nil where fewer
// than k rows have cells to hide.
func asMissing(cells *linop.Cells, k int, rng *rand.Rand) [][]int {
	l, n := cells.Dims()
	var lacking []int
	for i := range l {
		if slices.Contains(cells.Row(i), 0) {
			lacking = append(lacking, i)
		}
	}
	if lacking == nil {
		return nil
	}
	parts, next := make([][]int, k), 0
	for _, i := range rng.Perm(l) {
		other, some := lacking[rng.IntN(len(lacking))], false
		for j := range n {
			if cells.Has(i, j) && !cells.Has(other, j) {
				parts[next%k], some = append(parts[next%k], i*n+j), true
			}
		}
		if some {
			next++
		}
	}
	if next < k {
		return nil
	}
	return parts
}

// eachAlone lists the cells that each of k folds hides: of each target about as many.
func eachAlone(cells *linop.Cells, k int, rng *rand.Rand) [][]int {
	l, n := cells.Dims()
	parts, next := make([][]int, k), 0
	for j := range n {
		for _, i := range rng.Perm(l) {
			if cells.Has(i, j) {
				parts[next%k] = append(parts[next%k], i*n+j)
				next++
			}
		}
	}
	return parts
}

// MostFolds is the largest number of folds, of at least 2, that l samples can be dealt to in this way.
func (p Folding) MostFolds(l int) int {
	switch {
	case p.Groups != nil:
		l = len(slices.Compact(slices.Sorted(slices.Values(p.Groups))))
	case p.TimeOrdered:
		l = l/2 - 1
	}
	return max(l, 2)
}

// Deal splits l samples, shuffled by the seed.
func (p Folding) Deal(l int) ([]Split, error) {
	k, repeats := p.Folds, max(p.Repeats, 1)
	switch {
	case p.Groups != nil && len(p.Groups) != l:
		return nil, fault.Input("%d group numbers for %d samples", len(p.Groups), l)
	case k < 2:
		return nil, fault.Input("%d folds: at least 2 are needed", k)
	case p.TimeOrdered && p.Groups != nil:
		return nil, fault.Input("folds are in the order of time or by groups, not both")
	case p.TimeOrdered && l < 2*(k+1):
		return nil, fault.Input("%d time-ordered folds of %d samples", k, l)
	case p.TimeOrdered:
		repeats = 1 // all would be alike
	case p.Repeats > 1 && float64(p.Repeats)*float64(k)*float64(l) > mostRows:
		return nil, fault.Input("%d repeats of %d folds of %d samples take too much memory: use fewer", p.Repeats, k, l)
	}
	var all []Split
	for r := range repeats {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(r)))
		fold, count := p.assign(l, rng)
		if count < k {
			return nil, fault.Input("%d folds of %d samples or groups", k, count)
		}
		for f := range k {
			var s Split
			for i, v := range fold {
				if v == f {
					s.Test = append(s.Test, i)
				} else if !p.TimeOrdered || v < f {
					s.Train = append(s.Train, i)
				}
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// shuffled is the samples in the order in which they are dealt.
func (p Folding) shuffled(l int, rng *rand.Rand) []int {
	if p.Content == nil {
		return rng.Perm(l)
	}
	salt, order, keys := rng.Uint64(), make([]int, l), make([]Content, l)
	for i, c := range p.Content {
		order[i], keys[i] = i, Content{mixed(c.y ^ salt), mixed(c.x ^ salt)}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(keys[a].y, keys[b].y), cmp.Compare(keys[a].x, keys[b].x), cmp.Compare(a, b))
	})
	return order
}

// assign gives every sample its fold, −1 for the first block of a series, and counts what was dealt out. Groups go,
// the largest first, to the fold with fewest samples.
func (p Folding) assign(l int, rng *rand.Rand) (fold []int, count int) {
	k, groups := p.Folds, p.Groups
	fold = make([]int, l)
	switch {
	case p.TimeOrdered:
		for i := range fold { // block b of k+1 is from b·l/(k+1), rounded down, on
			fold[i] = ((i+1)*(k+1)-1)/l - 1
		}
		return fold, l
	case groups == nil:
		for at, i := range p.shuffled(l, rng) {
			fold[i] = at % k
		}
		return fold, l
	}
	size := map[int]int{}
	for _, g := range groups {
		size[g]++
	}
	order := slices.Sorted(maps.Keys(size))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	load := make([]int, k)
	at := map[int]int{}
	for _, g := range order {
		f := slices.Index(load, slices.Min(load))
		at[g] = f
		load[f] += size[g]
	}
	for i, g := range groups {
		fold[i] = at[g]
	}
	return fold, len(order)
}
