package granger

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"

	"github.com/iokl/iokl/blas"
)

// ErrForeign is the error about counts of another resampling: of other data, with other options or another seed.
var ErrForeign = errors.New("granger: counts of another resampling")

// Counts is the result of some rounds of a resampling. Counts of different rounds add up. A resampling continues from
// counts that were kept as JSON: [Rounds].Done.
type Counts struct {
	Of     string       // what was resampled and how, with a checksum of data and options
	Rounds int          // how many
	Count  blas.General // N×N, row = target, column = source
}

// Add adds the counts of other rounds of the same resampling.
func (c *Counts) Add(other Counts) {
	if c.Count.Rows == 0 {
		c.Of, c.Count = other.Of, blas.NewGeneral(other.Count.Rows, other.Count.Cols)
	}
	c.Rounds += other.Rounds
	blas.AddScaled(c.Count, 1, other.Count)
}

// Frequency is Count/Rounds: for [Study.Stability], how often each edge was among the selected.
func (c Counts) Frequency() blas.General {
	f := blas.Clone(c.Count)
	blas.Scal(1/float64(c.Rounds), f.Data)
	return f
}

// PValues is (Count + 1)/(Rounds + 1): for [Study.Null], the permutation p-value of each edge.
func (c Counts) PValues() blas.General {
	p := blas.Clone(c.Count)
	for k := range p.Data {
		p.Data[k] = (p.Data[k] + 1) / (float64(c.Rounds) + 1)
	}
	return p
}

type countsJSON struct {
	Of     string      `json:"of"`
	Rounds int         `json:"rounds"`
	Count  [][]float64 `json:"count"`
}

// MarshalJSON writes the counts as rows of targets.
func (c Counts) MarshalJSON() ([]byte, error) {
	return json.Marshal(countsJSON{c.Of, c.Rounds, rowsOf(c.Count)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Counts) UnmarshalJSON(b []byte) error {
	var in countsJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	for i, row := range in.Count {
		if len(row) != len(in.Count) {
			return fmt.Errorf("granger: row %d of the counts has %d of %d entries", i, len(row), len(in.Count))
		}
	}
	*c = Counts{Of: in.Of, Rounds: in.Rounds, Count: blas.NewGeneral(len(in.Count), len(in.Count))}
	for i, row := range in.Count {
		for j, v := range row {
			if !(v >= 0 && v <= float64(in.Rounds)) {
				return fmt.Errorf("granger: count %g in %d rounds", v, in.Rounds)
			}
			c.Count.Data[i*c.Count.Stride+j] = v
		}
	}
	return nil
}

// check refuses counts that are not those of `of` on n nodes.
func (c Counts) check(of string, n int) error {
	if c.Of != of || c.Count.Rows != n || c.Count.Cols != n {
		return fmt.Errorf("%w: they are of %s, wanted is %s", ErrForeign, c.Of, of)
	}
	return nil
}

// identity describes a resampling, with a checksum of all that the counts depend on.
func (s *Study) identity(of string) string {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	opt := s.e.opt
	opt.MaxBytes, opt.HoldOut = 0, 0 // neither changes a count
	if s.e.jointly {
		of += " with the kernel on all nodes"
	}
	if s.e.relaxing {
		of += " and relaxations"
	}
	d := s.e.data
	if err := json.NewEncoder(h).Encode([]any{opt, d.Names, d.Nodes, d.Replicate}); err != nil {
		panic("granger: options are no JSON")
	}
	for i := range d.X.Rows {
		_ = binary.Write(h, binary.LittleEndian, blas.Row(d.X, i)) // no hash fails
	}
	return fmt.Sprintf("%s, seed %d, data and options %016x", of, opt.Seed, h.Sum64())
}
