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

	// counts are how many numbers of each list but the first are taken in a grid of side^(lists − 1) cells: at the
	// centres, of t = d/(reach + |d|) between −1 and 1 for each shift d relative to that of the first list.
	counts []uint16
	side   int // 0 for no grid
	reach  float64
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
	below                 int
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

// The grid of a search.
const (
	gridUses  = 25 // for each of its cells, so that making it takes a small part of the time
	gridMost  = 64 // cells on a side
	gridReach = 20 // about one number in so many lies between two shifts that differ by reach
	gridCell  = 4  // numbers between the shifts at the ends of a cell, at most; otherwise guesses are as fast
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
		s.grid(at, total, uses)
	}
	return s
}

// grid makes counts for so many numbers and uses, by way of at.
func (s *search) grid(at []place, total, uses int) {
	free, reach := len(at)-1, float64(total)/gridReach*s.spacing
	if free == 0 {
		return
	}
	side := min(int(math.Pow(float64(uses)/gridUses, 1/float64(free))), gridMost)
	if 2*total > gridReach*gridCell*side || !(reach > 0 && reach <= math.MaxFloat64) {
		return
	}
	cells := 1
	for range free {
		cells *= side
	}
	counts := make([]uint16, 0, cells*free)
	for i := range cells {
		for k, c := free, i; k > 0; k, c = k-1, c/side {
			t := (2*float64(c%side)+1)/float64(side) - 1
			at[k].shift = reach * t / (1 - math.Abs(t))
		}
		s.find(at)
		for k := range free {
			counts = append(counts, uint16(at[k+1].below))
		}
	}
	s.counts, s.side, s.reach = counts, side, reach
}

// cell is the number of the cell of the grid that places are in; −1 for none.
func (s *search) cell(at []place) int {
	if s.side == 0 {
		return -1
	}
	first, half, cell := at[0].shift+at[0].scale*s.lists[0].value, float64(s.side)/2, 0
	for k := 1; k < len(at); k++ {
		d := (at[k].shift + at[k].scale*s.lists[k].value - first) * at[0].inverse
		c := int(half + half*d/(s.reach+math.Abs(d)))
		if uint(c) >= uint(s.side) { // d is not finite, or very large
			return -1
		}
		cell = cell*s.side + c
	}
	return cell
}

// opposite is the cell of the shifts −d, for that of d.
func (s *search) opposite(cell int) int {
	if cell < 0 {
		return cell
	}
	return len(s.counts)/(len(s.lists)-1) - 1 - cell
}

// start takes as many numbers as the rank, those of the centre of a cell.
func (s *search) start(at []place, cell int) {
	rest, free := s.rank, len(at)-1
	for k, n := range s.counts[cell*free : (cell+1)*free] {
		at[k+1].below = int(n)
		rest -= int(n)
	}
	at[0].below = rest
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
		p.below = s.lists[k].below((u - p.shift) * p.inverse)
		have += p.below
	}
	return have
}

// find returns the number of the rank.
func (s *search) find(at []place) float64 { return s.from(at, s.cell(at)) }

// from is find from a cell. Without one it takes the numbers below a guess, and then those next to it one by
// one, in the order of their sizes, by the same instructions whichever list they are of.
func (s *search) from(at []place, cell int) float64 {
	if cell >= 0 {
		s.start(at, cell)
		return s.exchange(at)
	}
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
		p.key = ascending(p.shift+p.scale*s.lists[k].steps[p.below+up]) ^ flip
	}
	for {
		first, least := 0, at[0].key
		for k := 1; k < len(s.lists); k++ {
			_, less := bits.Sub64(at[k].key, least, 0)
			least ^= (least ^ at[k].key) & -less
			first ^= (first ^ k) & -int(less)
		}
		p, steps := &at[first], s.lists[first].steps
		x := p.shift + p.scale*steps[p.below+up]
		if rest--; rest == 0 {
			if p.below += up; math.Abs(x-u) <= 0x1p-48*(math.Abs(u)+size) {
				return s.exchange(at) // rounding may have taken equal numbers of one list before those of another
			}
			return x
		}
		p.below += 2*up - 1
		p.key = ascending(p.shift+p.scale*steps[p.below+up]) ^ flip
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

// exchange exchanges the largest numbers that are taken for smaller ones that are not, and returns the largest left.
func (s *search) exchange(at []place) float64 {
	for {
		last, next := math.Inf(-1), math.Inf(1)
		for k := range s.lists {
			p, steps := &at[k], s.lists[k].steps[at[k].below:]
			last, next = max(last, p.shift+p.scale*steps[0]), min(next, p.shift+p.scale*steps[1])
		}
		if !(last > next) { // by maxima and minima, which need no branches
			return last
		}
		from, to := 0, 0
		last, next = math.Inf(-1), math.Inf(1)
		for k := range s.lists {
			p, steps := &at[k], s.lists[k].steps[at[k].below:]
			if x := p.shift + p.scale*steps[0]; x > last {
				from, last = k, x
			}
			if x := p.shift + p.scale*steps[1]; x < next {
				to, next = k, x
			}
		}
		at[from].below--
		at[to].below++
	}
}
