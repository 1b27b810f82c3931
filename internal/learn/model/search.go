// This file finds the number of given rank among sorted lists of which each is shifted and scaled.

package model

import (
	"math"
	"math/bits"
	"slices"
)

// search finds the number of a rank, from 1, among shift_k + scale_k·v, v in list k.
type search struct {
	lists   []list
	rank    int
	spacing float64 // of all v around the rank
}

// list is ascending numbers v, and what tells about where to look for the rank.
type list struct {
	steps                     []float64 // −∞, every v, +∞
	value, weight, bend, rate float64   // see near
	// first + cells[i] is how many v have ⌊(v − low)·per⌋ < i.
	cells    []uint16
	first    int
	low, per float64
}

// place is how a list is shifted and scaled, and how many of its numbers are taken.
type place struct {
	shift, scale, inverse float64 // inverse is 1/scale
	taken                 int
	key                   uint64 // orders the numbers that are next
}

// Numbers around the rank that a search knows more about, as shares of the length of a list on each side.
const (
	rateOver  = 32 // of which the rate is measured
	bendOver  = 12 // its derivative
	cellsOver = 6  // that have cells
)

const (
	cellsEach  = 8 // cells for each number
	cellsLimit = 1 << 13
	guesses    = 3 // by the rate, before bisection
	farRank    = 4 // as many numbers between a guess and the rank are passed one by one
)

// newSearch is a search for the rank r among lists as of stepped, made to be used so often.
func newSearch(lists [][]float64, r, uses int) search {
	s := search{lists: make([]list, len(lists)), rank: r}
	total := 0
	for k, steps := range lists {
		s.lists[k].steps = steps
		total += len(steps) - 2
	}
	at := make([]place, len(lists))
	for k, steps := range lists {
		at[k].scale, at[k].inverse = 1, 1
		if n := len(steps) - 2; n > 0 {
			s.lists[k].value, s.lists[k].weight = steps[1+min(r*n/total, n-1)], float64(n)/float64(total)
		}
	}
	value, rates := s.find(at), 0.0
	for k := range s.lists {
		rates += s.lists[k].measure(value, uses)
	}
	for k := range s.lists {
		p := &s.lists[k]
		p.value = value
		if rates > 0 {
			p.weight, p.bend = p.rate/rates, p.bend/rates
		}
	}
	if rates > 0 {
		s.spacing = 1 / rates
	}
	return s
}

// measure makes the cells around value, and returns the number of v in a unit there.
func (p *list) measure(value float64, uses int) float64 {
	v := p.steps[1 : len(p.steps)-1]
	n := len(v)
	if n == 0 {
		return 0
	}
	first := min(p.below(value), n-1)
	around := func(over int) (from, to int) {
		far := min(n/over, math.MaxInt16) + 1
		return max(first-far, 0), min(first+far, n-1)
	}
	if from, to := around(rateOver); v[to] > v[from] {
		p.rate = float64(to-from) / (v[to] - v[from])
	}
	from, to := around(bendOver)
	if below, above := value-v[from], v[to]-value; below > 0 && above > 0 {
		p.bend = (float64(first-from)/below - float64(to-first)/above) / (below + above)
	}
	from, to = around(cellsOver)
	p.tabulate(v, from, to, uses)
	return p.rate
}

// stepped puts the sorted v between −∞ and +∞.
func stepped(v []float64) []float64 {
	return slices.Concat([]float64{math.Inf(-1)}, v, []float64{math.Inf(1)})
}

// tabulate makes the cells between numbers from and to of v.
func (p *list) tabulate(v []float64, from, to, most int) {
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

// below is how many v are below y.
func (p *list) below(y float64) int {
	i := int((y - p.low) * p.per)
	if !(y >= p.low && uint(i) < uint(len(p.cells))) {
		n, _ := slices.BinarySearch(p.steps[1:len(p.steps)-1], y)
		return n
	}
	n := p.first + int(p.cells[i])
	more := 0
	if p.steps[n+1] < y { // half of the cells with a number, which no processor foresees: no branch
		more = 1
	}
	for n += more; p.steps[n+1] < y; n++ {
	}
	return n
}

// near guesses the number of the rank, which is value where nothing is shifted or scaled: the solution of
// Σ f_k·(u − x_k) + f_k′·(u − x_k)²/2 = 0 to second order, where f_k is the rate of list k, its numbers in a unit at
// x_k = shift_k + scale_k·value. weight_k is f_k/Σf and bend_k is −f_k′/(2Σf). size is Σ|shift_k|.
func (s *search) near(at []place) (u, size float64) {
	var v float64
	for k := range s.lists {
		l, p := &s.lists[k], &at[k]
		v += l.weight * (p.shift + p.scale*l.value)
		size += math.Abs(p.shift)
	}
	for k := range s.lists {
		l, p := &s.lists[k], &at[k]
		d := v - (p.shift + p.scale*l.value)
		u += l.bend * d * d
	}
	return v + u*at[0].inverse, size
}

// take takes the numbers below u, and returns how many.
func (s *search) take(at []place, u float64) (have int) {
	for k := range s.lists {
		p := &at[k]
		p.taken = s.lists[k].below((u - p.shift) * p.inverse)
		have += p.taken
	}
	return have
}

// find returns the number of the rank. It takes the numbers below a guess, and then those next to it one by
// one, in the order of their sizes, by the same instructions whichever list they are of.
func (s *search) find(at []place) float64 {
	u, size := s.near(at)
	if !(math.Abs(u) <= math.MaxFloat64) {
		return u
	}
	missing := s.rank - s.take(at, u)
	for tries := 0; far(missing); tries++ {
		if tries == guesses {
			u, missing = s.bisect(at, u, missing)
			break
		}
		u += s.spacing * at[0].scale * (float64(missing) - 0.5)
		missing = s.rank - s.take(at, u)
	}
	// Upwards, numbers not yet taken come next, the smallest first. Downwards the largest of those
	// taken do, until one is left to be the last.
	up := 0
	if missing > 0 {
		up = 1
	}
	rest, flip := up*(2*missing-1)+1-missing, uint64(up)-1
	for k := range s.lists {
		p := &at[k]
		p.key = ascending(p.shift+p.scale*s.lists[k].steps[p.taken+up]) ^ flip
	}
	for {
		first, least := 0, at[0].key
		for k := 1; k < len(s.lists); k++ {
			_, less := bits.Sub64(at[k].key, least, 0)
			least ^= (least ^ at[k].key) & -less
			first ^= (first ^ k) & -int(less)
		}
		p, steps := &at[first], s.lists[first].steps
		x := p.shift + p.scale*steps[p.taken+up]
		if rest--; rest == 0 {
			if p.taken += up; math.Abs(x-u) <= 0x1p-48*(math.Abs(u)+size) {
				return s.settle(at) // rounding may have taken equal numbers of one list before those of another
			}
			return x
		}
		p.taken += 2*up - 1
		p.key = ascending(p.shift+p.scale*steps[p.taken+up]) ^ flip
	}
}

// far reports whether there are more numbers to exchange than another guess costs.
func far(missing int) bool { return uint(missing+farRank) > 2*farRank }

// ascending orders numbers as they are ordered.
func ascending(v float64) uint64 {
	b := math.Float64bits(v)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// bisect improves the guess u, between the numbers of the lists that have the rank in proportion to their lengths.
func (s *search) bisect(at []place, u float64, missing int) (float64, int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for k := range s.lists {
		x := at[k].shift + at[k].scale*s.lists[k].value
		lo, hi = min(lo, x), max(hi, x)
	}
	for far(missing) {
		mid := lo + (hi-lo)/2
		if !(mid > lo && mid < hi) {
			break
		}
		u, missing = mid, s.rank-s.take(at, mid)
		if missing > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return u, missing
}

// settle exchanges the largest numbers that are taken for smaller ones that are not, and returns the largest left.
func (s *search) settle(at []place) float64 {
	for {
		from, to, last, next := 0, 0, math.Inf(-1), math.Inf(1)
		for k := range s.lists {
			p, steps := &at[k], s.lists[k].steps
			if x := p.shift + p.scale*steps[p.taken]; x > last {
				from, last = k, x
			}
			if x := p.shift + p.scale*steps[p.taken+1]; x < next {
				to, next = k, x
			}
		}
		if !(last > next) {
			return last
		}
		at[from].taken--
		at[to].taken++
	}
}
