// Sums of a set of rows, their combination, also over the ranks of a parallel job, and the sets of targets that rows
// observe.

package stream

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Sums holds the sums over a set of rows. Those of targets are taken about a Center near their means, so that targets
// far from 0 do not lose digits; see Recenter.
type Sums struct {
	Rows     int64        // l, those of positive weight
	Weight   float64      // sum of the weights w of the rows
	Observed []bool       // the targets that the rows have, the others counting as 0; nil for all
	Gamma    blas.General // ZᵀWZ with W = diag(w), D×D, lower triangle; 0×0 under NoGamma, and without targets
	ZSum     []float64    // column sums of WZ (D)
	Center   []float64    // c (n)
	H        blas.General // ZᵀW(Y − 1cᵀ), D×n
	YSum     []float64    // column sums of W(Y − 1cᵀ) (n)
	YY       []float64    // sums of w times the squares of the columns of Y − 1cᵀ (n)
}

func newSums(D, n int, noGamma bool) Sums {
	order := D
	if noGamma {
		order = 0
	}
	return Sums{
		Gamma: blas.NewGeneral(order, order), H: blas.NewGeneral(D, n), ZSum: make([]float64, D),
		Center: make([]float64, n), YSum: make([]float64, n), YY: make([]float64, n),
	}
}

// add adds the rows of z (r×D) and y (r×n), which it overwrites, with weights w > 0 (r and more). The center becomes
// the mean of all rows, by the updating formulas of Chan, Golub and LeVeque (1983).
func (s *Sums) add(be blas.Backend, z, y blas.General, w []float64) {
	D := z.Cols
	if z.Rows == 0 {
		return
	}
	if s.Weight == 0 {
		copy(s.Center, blas.Row(y, 0))
	}
	mean, weight := slices.Clone(s.YSum), s.Weight
	for i := range y.Rows {
		weight += w[i]
		for j, v := range blas.Row(y, i) {
			mean[j] += w[i] * (v - s.Center[j])
		}
	}
	for j, c := range s.Center {
		mean[j] = c + mean[j]/weight
	}
	s.Recenter(mean)
	s.Rows, s.Weight = s.Rows+int64(z.Rows), weight
	for i := range z.Rows {
		root := math.Sqrt(w[i]) // rows times √w have the weighted products
		blas.Axpy(w[i], blas.Row(z, i), s.ZSum)
		blas.Scal(root, blas.Row(z, i))
		row := blas.Row(y, i)
		for j := range row {
			row[j] -= s.Center[j]
			s.YSum[j] += w[i] * row[j]
			s.YY[j] += w[i] * row[j] * row[j]
			row[j] *= root
		}
	}
	if s.Gamma.Rows > 0 {
		be.Dsyrk(blas.Lower, blas.Trans, D, z.Rows, 1, z.Data, z.Stride, 1, s.Gamma.Data, s.Gamma.Stride)
	}
	blas.Gemm(be, true, false, 1, z, y, 1, s.H)
}

// Recenter changes Center to center (n), nil for 0, and H, YSum and YY with it. Away from the means of the targets
// these lose digits.
func (s *Sums) Recenter(center []float64) {
	if center == nil {
		center = make([]float64, len(s.Center))
	}
	shift := slices.Clone(s.Center) // Y − 1·centerᵀ is Y − 1cᵀ + 1·shiftᵀ
	blas.Axpy(-1, center, shift)
	copy(s.Center, center)
	if !slices.ContainsFunc(shift, func(v float64) bool { return v != 0 }) {
		return
	}
	for i, z := range s.ZSum {
		blas.Axpy(z, shift, blas.Row(s.H, i))
	}
	for j, d := range shift {
		s.YY[j] = max(s.YY[j]+d*(2*s.YSum[j]+s.Weight*d), 0)
		s.YSum[j] += s.Weight * d
	}
}

// about is a copy of the sums about another center, but for Γ, which is shared.
func (s *Sums) about(center []float64) Sums {
	t := *s
	t.H = blas.Clone(s.H)
	t.Center, t.YSum, t.YY = slices.Clone(s.Center), slices.Clone(s.YSum), slices.Clone(s.YY)
	t.Recenter(center)
	return t
}

// Total adds up sums, except those whose index skip reports; nil skips none. Total(folds, func(k int) bool { return k
// == 3 }) is the training set of fold 3. All sums must have the same targets observed.
func Total(sums []Sums, skip func(k int) bool) Sums {
	if len(sums) == 0 {
		panic("stream: Total of no sums")
	}
	like := &sums[0]
	var kept []*Sums
	for k := range sums {
		if skip == nil || !skip(k) {
			kept = append(kept, &sums[k])
			like = kept[0]
		}
	}
	total := newSums(like.H.Rows, like.H.Cols, like.Gamma.Rows == 0)
	for _, s := range kept {
		total.Observed = s.Observed
		total.plus(s)
	}
	return total
}

// plus adds other rows. The center becomes the mean of all.
func (s *Sums) plus(t *Sums) {
	s.Rows += t.Rows
	if t.Weight == 0 {
		return
	}
	if s.Weight == 0 {
		copy(s.Center, t.Center)
	}
	mean := make([]float64, len(s.Center))
	for j, c := range s.Center {
		mean[j] = c + (s.YSum[j]+t.YSum[j]+t.Weight*(t.Center[j]-c))/(s.Weight+t.Weight)
	}
	s.Recenter(mean)
	moved := t.about(mean)
	s.Weight += t.Weight
	blas.AddScaled(s.Gamma, 1, t.Gamma)
	blas.Axpy(1, t.ZSum, s.ZSum)
	blas.AddScaled(s.H, 1, moved.H)
	blas.Axpy(1, moved.YSum, s.YSum)
	blas.Axpy(1, moved.YY, s.YY)
}

// OutputMoments returns the weighted mean and standard deviation of each target. The deviation of a target that is
// constant up to the rounding of its values is 0.
func (s *Sums) OutputMoments() (mean, deviation []float64) {
	mean, deviation = slices.Clone(s.Center), make([]float64, len(s.Center))
	if s.Weight == 0 {
		return mean, deviation
	}
	for j, sum := range s.YSum {
		m := sum / s.Weight
		mean[j] += m
		if d := math.Sqrt(max(s.YY[j]/s.Weight-m*m, 0)); d > 4*0x1p-53*math.Abs(mean[j]) {
			deviation[j] = d
		}
	}
	return mean, deviation
}

// OutputMoments returns the mean and the standard deviation of each target over the rows of all parts in which it is
// observed; see [Sums.OutputMoments]. Both are 0 for a target that is observed nowhere.
func OutputMoments(parts []Sums) (mean, deviation []float64) {
	if len(parts) == 1 && parts[0].Observed == nil {
		return parts[0].OutputMoments()
	}
	n := len(parts[0].Center)
	mean, deviation = make([]float64, n), make([]float64, n)
	weight := make([]float64, n)
	for pass := range 2 { // about the mean of all rows, once it is known
		for k := range parts {
			w := parts[k].Weight
			m, d := parts[k].OutputMoments()
			for j := range m {
				switch {
				case w == 0 || !parts[k].Has(j):
				case pass == 0:
					weight[j] += w
					mean[j] += (m[j] - mean[j]) * (w / weight[j])
				default:
					deviation[j] += w / weight[j] * (d[j]*d[j] + (m[j]-mean[j])*(m[j]-mean[j]))
				}
			}
		}
	}
	for j, v := range deviation {
		if deviation[j] = math.Sqrt(v); deviation[j] <= 4*0x1p-53*math.Abs(mean[j]) {
			deviation[j] = 0
		}
	}
	return mean, deviation
}

// Has reports whether target j is observed in the rows.
func (s *Sums) Has(j int) bool { return s.Observed == nil || s.Observed[j] }

// Standardized returns H and the sums of squares of the columns of Y for the targets (y_j − mean_j)/scale_j.
func (s *Sums) Standardized(mean, scale []float64) (H blas.General, yy []float64) {
	if n := len(s.Center); len(mean) != n || len(scale) != n {
		panic("stream: Standardized: one mean and scale for each target")
	}
	t := s.about(mean)
	for i := range t.H.Rows {
		row := blas.Row(t.H, i)
		for j := range row {
			row[j] /= scale[j]
		}
	}
	for j, c := range scale {
		t.YY[j] /= c * c
	}
	return t.H, t.YY
}

// patterns are the different sets of observed targets of some rows.
type patterns struct {
	list  [][]bool       // in the order in which they were met
	place map[string]int // of each in the list, by its key
}

// Patterns lists the distinct sets of observed targets of the rows of Y, in order of first appearance. NaN is a missing
// target.
func Patterns(Y blas.General) [][]bool {
	var p patterns
	for i := range Y.Rows {
		p.add(blas.Row(Y, i))
	}
	return p.list
}

// add takes a row of targets.
func (p *patterns) add(y []float64) {
	if _, known := p.find(y); !known {
		p.append(observed(y))
	}
}

// observed is the pattern of a row.
func observed(y []float64) []bool {
	list := make([]bool, len(y))
	for j, v := range y {
		list[j] = !math.IsNaN(v)
	}
	return list
}

// append adds a pattern to the list.
func (p *patterns) append(observed []bool) {
	if p.place == nil {
		p.place = map[string]int{}
	}
	p.place[key(observed)] = len(p.list)
	p.list = append(p.list, observed)
}

// find is the place of the pattern of a row.
func (p *patterns) find(y []float64) (place int, known bool) {
	place, known = p.place[key(observed(y))]
	return place, known
}

// key is a pattern as the key of a map.
func key(observed []bool) string {
	text := make([]byte, len(observed))
	for j, in := range observed {
		if text[j] = '0'; in {
			text[j] = '1'
		}
	}
	return string(text)
}

// Ranks are the processes of a parallel job, numbered from 0, each of which does the
// same with the same data and options.
type Ranks interface {
	Rank() int
	Size() int
	// Allreduce replaces x by its sum over all ranks; every rank calls it with as many numbers.
	Allreduce(x []float64) error
}

// Reduce replaces the sums of each fold by their total over the ranks of a job. Each rank calls it after its own pass.
// Counts are exact below 2⁵³ rows. Afterwards the accumulator cannot be resumed, because it holds rows of other ranks.
func (a *Accumulator) Reduce(r Ranks) error {
	if _, err := a.Sums(); err != nil {
		return err
	}
	a.rows = 0
	for k := range a.folds {
		if err := a.folds[k].sums.reduce(r); err != nil {
			return fmt.Errorf("stream: adding up the sums of the ranks: %w", err)
		}
		a.rows += a.folds[k].sums.Rows
	}
	return nil
}

// reduce adds up in two exchanges, of n + 1 numbers for the mean of all rows, and of
// the sums about it.
func (s *Sums) reduce(r Ranks) error {
	mean := slices.Clone(s.YSum)
	blas.Axpy(s.Weight, s.Center, mean)
	mean = append(mean, s.Weight)
	if err := r.Allreduce(mean); err != nil {
		return err
	}
	n := len(s.Center)
	blas.Scal(perWeight(1, mean[n]), mean)
	s.Recenter(mean[:n])
	x := s.pack()
	if err := r.Allreduce(x); err != nil {
		return err
	}
	for _, part := range s.parts() {
		x = x[copy(part, x):]
	}
	s.Weight, s.Rows = x[0], int64(x[1])
	return nil
}

// pack lays out the numbers of the sums, but for their center, one after the other: D(D+1)/2 + Dn + D + 2n + 2.
func (s *Sums) pack() []float64 {
	return append(slices.Concat(s.parts()...), s.Weight, float64(s.Rows))
}

// parts are the numbers of the sums, but for their center and counts, in their memory: the lower triangle of Γ by rows,
// H, ZSum, YSum and YY.
func (s *Sums) parts() (all [][]float64) {
	for i := range s.Gamma.Rows {
		all = append(all, blas.Row(s.Gamma, i)[:i+1])
	}
	return append(all, s.H.Data, s.ZSum, s.YSum, s.YY)
}
