// This file finds the number of given rank among sorted lists of which each is shifted and scaled.

package model

import (
	"math"
	"slices"
)

// search finds the number of a rank, from 1, among shift_k + scale_k·v, v in list k.
type search struct {
	lists   []list
	rank    int
	value   float64 // of the rank where nothing is shifted or scaled
	spacing float64 // of all v around it
}

// list is ascending numbers v, and a table of how many are below the ends of equal cells around the rank.
type list struct {
	steps  []float64 // −∞, every v, +∞
	weight float64   // share of all v
	// first + cells[i] is how many v have ⌊(v − low)·per⌋ < i.
	cells    []uint16
	first    int
	low, per float64
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
func newSearch(lists [][]float64, r, uses int) search {
	var all []float64
	for _, steps := range lists {
		all = append(all, steps[1:len(steps)-1]...)
	}
	slices.Sort(all)
	far := len(all)/rateOver + 1
	from, to := max(r-1-far, 0), min(r-1+far, len(all)-1)
	s := search{lists: make([]list, len(lists)), rank: r, value: all[r-1]}
	if to > from {
		s.spacing = (all[to] - all[from]) / float64(to-from)
	}
	for k, steps := range lists {
		s.lists[k] = list{steps: steps, weight: float64(len(steps)-2) / float64(len(all))}
		s.lists[k].tabulate(s.value, uses)
	}
	return s
}

// stepped puts the sorted v between −∞ and +∞.
func stepped(v []float64) []float64 {
	return slices.Concat([]float64{math.Inf(-1)}, v, []float64{math.Inf(1)})
}

// tabulate makes the cells around value, at most so many.
func (p *list) tabulate(value float64, most int) {
	v := p.steps[1 : len(p.steps)-1]
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
		n, _ := slices.BinarySearch(p.steps[1:len(p.steps)-1], y)
		return n
	}
	n := p.first + int(p.cells[i])
	for p.steps[n+1] < y {
		n++
	}
	return n
}

// take takes the numbers below u, and returns how many of the rank are missing.
func (s *search) take(at []place, u float64) int {
	missing := s.rank
	for k := range s.lists {
		p := &at[k]
		p.below = s.lists[k].count((u - p.shift) * p.inverse)
		missing -= p.below
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
	for tries := 0; uint(missing+farRank) > 2*farRank; tries++ {
		if missing > 0 {
			lo = u
		} else {
			hi = u
		}
		next := u + s.spacing*at[0].scale*(float64(missing)-0.5)
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
			p, steps := &at[k], s.lists[k].steps[at[k].below:]
			if x := p.shift + p.scale*steps[0]; x >= last && p.below > 0 {
				from, last = k, x
			}
			if x := p.shift + p.scale*steps[1]; x <= next && len(steps) > 2 {
				to, next = k, x
			}
		}
		switch {
		case missing > 0:
			missing--
			at[to].below++
		case missing < 0:
			missing++
			at[from].below--
		case last > next:
			at[from].below--
			at[to].below++
		default:
			return last
		}
	}
}
