// This file finds the number of given rank among sorted lists of which each is shifted and scaled.

package model

import (
	"cmp"
	"math"
	"slices"
)

// search finds the number of a rank, from 1, among shift_k + scale_k·v, v in list k: the least at or below which there
// is so much mass.
type search struct {
	lists   []list
	rank    float64
	slack   float64 // mass that may be missing, by rounding
	value   float64 // of the rank where nothing is shifted or scaled
	spacing float64 // of all v around it
}

// list is ascending numbers v, and a table of how many are below the ends of equal cells around the rank.
type list struct {
	steps
	weight float64 // share of all v
	// first + cells[i] is how many v have ⌊(v − low)·per⌋ < i.
	cells    []uint16
	first    int
	low, per float64
}

// steps are −∞, ascending numbers, +∞, and the masses of the first 0, 1, 2, … of the numbers; nil where each has 1.
type steps struct{ v, mass []float64 }

// upTo is the mass of the first n numbers.
func (p *steps) upTo(n int) float64 {
	if p.mass == nil {
		return float64(n)
	}
	return p.mass[n]
}

// place is how a list is shifted and scaled, and how many of its numbers are taken.
type place struct {
	shift, scale, inverse float64 // inverse is 1/scale
	below                 int
}

const (
	rateOver   = 32 // part of all numbers, on each side of the rank, that spacing is measured on
	cellsOver  = 6  // the same of a list, that has cells
	cellsEach  = 8  // cells for each number
	cellsLimit = 1 << 13
	guesses    = 3 // by the spacing, before bisection
	farRank    = 2 // as many numbers between a guess and the rank are passed one by one
)

// newSearch is a search for the rank r among lists as of stepped, made to be used so often.
func newSearch(lists []steps, r, uses int) search {
	var v, w []float64
	for _, p := range lists {
		v = append(v, p.v[1:len(p.v)-1]...)
		for i := 1; p.mass != nil && i < len(p.mass); i++ {
			w = append(w, p.mass[i]-p.mass[i-1])
		}
	}
	all := stepped(v, w)
	v = all.v[1 : len(all.v)-1]
	s := search{lists: make([]list, len(lists)), rank: float64(r)}
	at := r - 1
	if all.mass != nil {
		s.slack = roundoff * float64(len(v))
		i, _ := slices.BinarySearch(all.mass, s.rank-s.slack)
		at = min(max(i, 1), len(v)) - 1
	}
	s.value = v[at]
	far := len(v)/rateOver + 1
	if from, to := max(at-far, 0), min(at+far, len(v)-1); to > from {
		s.spacing = (v[to] - v[from]) / (all.upTo(to) - all.upTo(from))
	}
	for k, p := range lists {
		s.lists[k] = list{steps: p, weight: float64(len(p.v)-2) / float64(len(v))}
		s.lists[k].tabulate(s.value, uses)
	}
	return s
}

// roundoff bounds the relative error of sums of masses.
const roundoff = 1e-9

// stepped puts v, sorted, between −∞ and +∞, with the masses w, nil for 1 each.
func stepped(v, w []float64) steps {
	between := func(v []float64) []float64 {
		return slices.Concat([]float64{math.Inf(-1)}, v, []float64{math.Inf(1)})
	}
	if w == nil {
		return steps{v: between(slices.Sorted(slices.Values(v)))}
	}
	order, sorted, mass := make([]int, len(v)), make([]float64, len(v)), make([]float64, 1, len(v)+1)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	for k, i := range order {
		sorted[k], mass = v[i], append(mass, mass[k]+w[i])
	}
	return steps{between(sorted), mass}
}

// tabulate makes the cells around value, at most so many.
func (p *list) tabulate(value float64, most int) {
	v := p.v[1 : len(p.v)-1]
	if len(v) == 0 {
		return
	}
	at, _ := slices.BinarySearch(v, value)
	far := min(len(v)/cellsOver, math.MaxInt16) + 1
	from, to := max(at-far, 0), min(at+far, len(v)-1)
	count := min(cellsEach*(to-from), cellsLimit, most)
	p.low = v[from]
	if p.per = float64(count) / (v[to] - p.low); !(p.per > 0 && p.per <= math.MaxFloat64) {
		return
	}
	p.first, p.cells = from, make([]uint16, count)
	for i := range p.cells {
		for from < to && int((v[from]-p.low)*p.per) < i {
			from++
		}
		p.cells[i] = uint16(from - p.first)
	}
}

// count is how many v are below y.
func (p *list) count(y float64) int {
	i := int((y - p.low) * p.per)
	if !(y >= p.low && uint(i) < uint(len(p.cells))) {
		n, _ := slices.BinarySearch(p.v[1:len(p.v)-1], y)
		return n
	}
	n := p.first + int(p.cells[i])
	for p.v[n+1] < y {
		n++
	}
	return n
}

// take takes the numbers below u, and returns the mass that is missing for the rank.
func (s *search) take(at []place, u float64) float64 {
	missing := s.rank
	for k := range s.lists {
		p := &at[k]
		p.below = s.lists[k].count((u - p.shift) * p.inverse)
		missing -= s.lists[k].upTo(p.below)
	}
	return missing
}

// find returns the number of the rank: it takes the numbers below guesses, by the spacing and then by bisection, until
// few are missing or too many, and exchanges single numbers.
func (s *search) find(at []place) float64 {
	u, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for k := range s.lists {
		x := at[k].shift + at[k].scale*s.value
		u += s.lists[k].weight * x
		lo, hi = min(lo, x), max(hi, x)
	}
	if !(math.Abs(u) <= math.MaxFloat64) {
		return u
	}
	missing := s.take(at, u)
	for tries := 0; math.Abs(missing) > farRank; tries++ {
		if missing > 0 {
			lo = u
		} else {
			hi = u
		}
		next := u + s.spacing*at[0].scale*(missing-0.5)
		if tries >= guesses || !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if !(next > lo && next < hi) {
			break
		}
		u = next
		missing = s.take(at, u)
	}
	for {
		from, to, last, next := -1, -1, math.Inf(-1), math.Inf(1)
		for k := range s.lists {
			p, v := &at[k], s.lists[k].v[at[k].below:]
			if x := p.shift + p.scale*v[0]; x >= last && p.below > 0 {
				from, last = k, x
			}
			if x := p.shift + p.scale*v[1]; x <= next && len(v) > 2 {
				to, next = k, x
			}
		}
		var own, other float64 // masses of the last number taken and of the next one
		if from >= 0 {
			own = s.lists[from].upTo(at[from].below) - s.lists[from].upTo(at[from].below-1)
		}
		if to >= 0 {
			other = s.lists[to].upTo(at[to].below+1) - s.lists[to].upTo(at[to].below)
		}
		switch {
		case missing > s.slack && to >= 0:
			missing -= other
			at[to].below++
		case missing+own <= s.slack && from >= 0:
			missing += own
			at[from].below--
		case last > next:
			missing += own - other
			at[from].below--
			at[to].below++
		default:
			return last
		}
	}
}
