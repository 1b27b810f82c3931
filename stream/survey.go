package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
)

// Survey is what has to be known of the data before features can be made: the
// scales of the columns, and some rows for median distances and landmarks.
type Survey struct {
	Rows    int64
	X, Y    Moments
	Sample  blas.General // rows of X drawn uniformly
	Targets blas.General // their rows of Y
	At      []Place      // and where they stand
}

// Place is where a row stands: its number in its source, and in the data, from 0.
type Place struct {
	Source     string
	Row, Count int64
}

// Moments are the mean and the standard deviation (by l) of each column. A column
// that never changes has deviation 0.
type Moments struct{ Mean, Deviation []float64 }

// Inspect reads src to its end: d inputs and n targets, of which at most sample
// rows are drawn by the seed. Errors as for Accumulator.Run.
func Inspect(ctx context.Context, src Source, d, n, sample int, seed uint64) (*Survey, error) {
	s := &Survey{X: newMoments(d), Y: newMoments(n), Sample: blas.NewGeneral(0, d), Targets: blas.NewGeneral(0, n)}
	rng := rand.New(rand.NewPCG(seed, 0x737572766579))
	src = &patient{Source: src}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := src.Next()
		if more := s.add(b, sample, rng); more != nil {
			return nil, more
		}
		if errors.Is(err, io.EOF) {
			s.X.finish(s.Rows)
			s.Y.finish(s.Rows)
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Draw reads src to its end: d inputs and n targets, of which at most sample rows are
// drawn uniformly by the seed. It returns them, and the number of all rows. Errors as for Inspect.
func Draw(ctx context.Context, src Source, d, n, sample int, seed uint64) (X, Y blas.General, rows int64, err error) {
	pairs := &targets{Source: src, inputs: d}
	s, err := Inspect(ctx, pairs, d+n, n, sample, seed)
	if err != nil {
		return X, Y, 0, err
	}
	return blas.View(s.Sample, 0, 0, s.Sample.Rows, d), blas.View(s.Sample, 0, d, s.Sample.Rows, n), s.Rows, nil
}

// targets is a source whose inputs are followed by the targets.
type targets struct {
	Source
	inputs int
	xy     blas.General
}

func (t *targets) Next() (Block, error) {
	b, err := t.Source.Next()
	if b.X.Rows == 0 || b.X.Cols != t.inputs || b.X.Rows != b.Y.Rows {
		return b, err
	}
	t.xy = blas.Reshape(t.xy, b.X.Rows, b.X.Cols+b.Y.Cols)
	blas.Copy(blas.View(t.xy, 0, 0, b.X.Rows, b.X.Cols), b.X)
	blas.Copy(blas.View(t.xy, 0, b.X.Cols, b.X.Rows, b.Y.Cols), b.Y)
	b.X = t.xy
	return b, err
}

func newMoments(d int) Moments { return Moments{make([]float64, d), make([]float64, d)} }

// add takes the rows of a block, of which a reservoir keeps a uniform sample.
func (s *Survey) add(b Block, sample int, rng *rand.Rand) error {
	if b.X.Rows > 0 && (b.X.Cols != len(s.X.Mean) || b.Y.Cols != len(s.Y.Mean) || b.X.Rows != b.Y.Rows) {
		return fmt.Errorf("stream: %s, row %d: %w: %d×%d inputs and %d×%d targets, want %d and %d columns", b.Source, b.Row, ErrRow,
			b.X.Rows, b.X.Cols, b.Y.Rows, b.Y.Cols, len(s.X.Mean), len(s.Y.Mean))
	}
	for i := range b.X.Rows {
		x, y := blas.Row(b.X, i), blas.Row(b.Y, i)
		if err := errors.Join(finite("input", x), finite("target", y)); err != nil {
			return fmt.Errorf("stream: %s, row %d: %w", b.Source, b.Row+int64(i), err)
		}
		at := Place{b.Source, b.Row + int64(i), s.Rows}
		s.Rows++
		s.X.add(x, s.Rows)
		s.Y.add(y, s.Rows)
		if s.Sample.Rows < sample {
			s.Sample.Data, s.Targets.Data = append(s.Sample.Data, x...), append(s.Targets.Data, y...)
			s.Sample.Rows++
			s.Targets.Rows++
			s.At = append(s.At, at)
		} else if k := rng.Int64N(s.Rows); k < int64(sample) {
			copy(blas.Row(s.Sample, int(k)), x)
			copy(blas.Row(s.Targets, int(k)), y)
			s.At[k] = at
		}
	}
	return nil
}

// add is Welford's update by the k-th row; Deviation holds the sums of squares until finish.
func (m *Moments) add(row []float64, k int64) {
	for j, v := range row {
		before := v - m.Mean[j]
		m.Mean[j] += before / float64(k)
		m.Deviation[j] += before * (v - m.Mean[j])
	}
}

func (m *Moments) finish(rows int64) {
	for j, v := range m.Deviation {
		m.Deviation[j] = math.Sqrt(v / float64(max(rows, 1)))
	}
}

// Reduce replaces counts and moments by those of the rows of all ranks, each of
// which must call it. Samples stay each rank's own: take that of one rank for all.
func (s *Survey) Reduce(r Reducer) error {
	own, d := float64(s.Rows), len(s.X.Mean)
	mean := append(append([]float64{}, s.X.Mean...), s.Y.Mean...)
	sums := append(append([]float64{}, mean...), 1)
	blas.Scal(own, sums)
	if err := r.Allreduce(sums); err != nil {
		return fmt.Errorf("stream: adding up the moments of the ranks: %w", err)
	}
	all := sums[len(mean)]
	squares := make([]float64, len(mean))
	for j, dev := range append(append([]float64{}, s.X.Deviation...), s.Y.Deviation...) {
		sums[j] /= max(all, 1)
		shift := mean[j] - sums[j]
		squares[j] = own * (dev*dev + shift*shift)
	}
	if err := r.Allreduce(squares); err != nil {
		return fmt.Errorf("stream: adding up the moments of the ranks: %w", err)
	}
	s.Rows = int64(all)
	for j, v := range squares {
		m, at := &s.X, j
		if j >= d {
			m, at = &s.Y, j-d
		}
		m.Mean[at], m.Deviation[at] = sums[j], math.Sqrt(v/max(all, 1))
	}
	return nil
}

// Standardize is the features of (x − mean)/scale.
func Standardize(f Features, mean, scale []float64) Features {
	if len(mean) != len(scale) {
		panic("stream: Standardize: one mean and scale for each input")
	}
	return &standardized{f, mean, scale}
}

type standardized struct {
	Features
	mean, scale []float64
}

func (s *standardized) Transform(dst, X blas.General) error {
	if X.Cols != len(s.mean) {
		return fmt.Errorf("stream: %d inputs, the scales are for %d", X.Cols, len(s.mean))
	}
	z := blas.NewGeneral(X.Rows, X.Cols)
	for i := range X.Rows {
		out := blas.Row(z, i)
		for j, v := range blas.Row(X, i) {
			out[j] = (v - s.mean[j]) / s.scale[j]
		}
	}
	return s.Features.Transform(dst, z)
}
