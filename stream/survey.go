// The survey of rows before features are made: moments, a sample, and which targets are missing.

package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Survey describes rows before features are made: moments of the columns, a sample of rows for median distances and
// landmarks, and the patterns of missing targets.
type Survey struct {
	Rows    int64 // of positive weight
	Read    int64 // those of weight 0 too
	X, Y    Moments
	Sample  blas.General // rows of X drawn uniformly
	Targets blas.General // their rows of Y, NaN where they are missing
	Weights []float64    `json:",omitempty"` // of the rows of the sample; nil where all rows have weight 1
	At      []Place      // and where they stand
	// Patterns are the sets of observed targets that rows have, in the order in which they were
	// met, and at most MaxPatterns+1 of them. nil where no target is missing.
	Patterns [][]bool `json:",omitempty"`

	met      patterns
	weighted bool // a row has another weight than 1
}

// Place is where a row stands: its number in its source, and in the data, from 0.
type Place struct {
	Source     string
	Row, Count int64
}

// MaxPatterns is the largest number of patterns of missing targets for which separate sums are kept.
const MaxPatterns = 64

// Moments are the mean and the standard deviation of each column over its observed cells, by the weights of rows. A
// column that never changes has deviation 0.
type Moments struct {
	Mean, Deviation []float64
	Weight          []float64 `json:",omitempty"` // sum of the weights of the rows in which each column is observed
}

// Inspect reads src to its end, with d inputs and n targets, NaN where missing, and draws at most sample rows by the
// seed. Errors as for [Accumulator.Run].
func Inspect(ctx context.Context, src Source, d, n, sample int, seed uint64) (*Survey, error) {
	s := &Survey{X: newMoments(d), Y: newMoments(n), Sample: blas.NewGeneral(0, d), Targets: blas.NewGeneral(0, n)}
	rng := rand.New(rand.NewPCG(seed, 0x737572766579))
	for b, err := range blocks(src) {
		if err := cmp.Or(ctx.Err(), s.add(b, sample, rng), err); err != nil {
			return nil, err
		}
	}
	s.X.finish()
	s.Y.finish()
	if !s.weighted {
		s.Weights = nil
	}
	if p := s.met.list; len(p) > 1 || len(p) == 1 && slices.Contains(p[0], false) {
		s.Patterns = p
	}
	return s, nil
}

// stored is a survey in JSON, which has no NaN.
type stored struct {
	*plain
	Missing []int `json:",omitempty"` // cells of Targets, by rows
}

type plain Survey

// MarshalJSON implements json.Marshaler.
func (s *Survey) MarshalJSON() ([]byte, error) {
	t := stored{plain: new(plain)}
	*t.plain = plain(*s)
	t.Targets.Data = slices.Clone(s.Targets.Data)
	for c, v := range t.Targets.Data {
		if math.IsNaN(v) {
			t.Targets.Data[c] = 0
			t.Missing = append(t.Missing, c)
		}
	}
	return json.Marshal(t)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Survey) UnmarshalJSON(text []byte) error {
	t := stored{plain: new(plain)}
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	for _, c := range t.Missing {
		if c < 0 || c >= len(t.Targets.Data) {
			return fmt.Errorf("stream: cell %d of %d targets is missing", c, len(t.Targets.Data))
		}
		t.Targets.Data[c] = math.NaN()
	}
	*s = Survey(*t.plain)
	return nil
}

func newMoments(d int) Moments {
	return Moments{make([]float64, d), make([]float64, d), make([]float64, d)}
}

// add takes the rows of a block, of which a reservoir keeps a uniform sample.
func (s *Survey) add(b Block, sample int, rng *rand.Rand) error {
	if err := b.check(len(s.X.Mean), len(s.Y.Mean)); err != nil {
		return err
	}
	for i := range b.X.Rows {
		x, y, w, err := b.row(i, true)
		if err != nil {
			return fmt.Errorf("stream: %s, row %d: %w", b.Source, b.Row+int64(i), err)
		}
		at := Place{b.Source, b.Row + int64(i), s.Read}
		s.Read++
		if w == 0 {
			continue
		}
		s.Rows++
		s.X.add(x, w)
		s.Y.add(y, w)
		s.weighted = s.weighted || w != 1
		if len(s.met.list) <= MaxPatterns {
			s.met.add(y)
		}
		if s.Sample.Rows < sample {
			s.Sample.Data, s.Targets.Data = append(s.Sample.Data, x...), append(s.Targets.Data, y...)
			s.Weights = append(s.Weights, w)
			s.Sample.Rows++
			s.Targets.Rows++
			s.At = append(s.At, at)
		} else if k := rng.Int64N(s.Rows); k < int64(sample) {
			copy(blas.Row(s.Sample, int(k)), x)
			copy(blas.Row(s.Targets, int(k)), y)
			s.At[k], s.Weights[k] = at, w
		}
	}
	return nil
}

// add is Welford's update by the cells of a row of weight w that are observed (West 1979); Deviation holds the sums of
// squares until finish.
func (m *Moments) add(row []float64, w float64) {
	for j, v := range row {
		if math.IsNaN(v) || w == 0 {
			continue
		}
		m.Weight[j] += w
		before := v - m.Mean[j]
		m.Mean[j] += before * w / m.Weight[j]
		m.Deviation[j] += w * before * (v - m.Mean[j])
	}
}

// perWeight is v/w, and 0 where all weights are 0.
func perWeight(v, w float64) float64 {
	if w == 0 {
		return 0
	}
	return v / w
}

func (m *Moments) finish() {
	for j, v := range m.Deviation {
		m.Deviation[j] = math.Sqrt(perWeight(v, m.Weight[j]))
	}
}
