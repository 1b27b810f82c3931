// Sources of blocks of rows: from memory, in shares for ranks, and read ahead.

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Block is consecutive rows of a source.
type Block struct {
	X, Y   blas.General // r×d inputs and r×n targets
	Row    int64        // number of the first row in its source, from 0
	Source string       // name of the source, for messages
	// Weights are those of the rows, finite and ≥ 0: 2 stands for a row that comes twice, 0 for one that is left out.
	// nil means 1.
	Weights []float64
}

// Part is rows [from, to) of the block, in its memory.
func (b Block) Part(from, to int) Block {
	b.X, b.Y = blas.View(b.X, from, 0, to-from, b.X.Cols), blas.View(b.Y, from, 0, to-from, b.Y.Cols)
	b.Row += int64(from)
	if b.Weights != nil {
		b.Weights = b.Weights[from:to]
	}
	return b
}

// seen is the block without the rows of weight 0, in its memory where there are none.
func (b Block) seen() Block {
	var rows []int
	for i, w := range b.Weights {
		if w != 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == len(b.Weights) {
		return b
	}
	weights := make([]float64, len(rows))
	for k, i := range rows {
		weights[k] = b.Weights[i]
	}
	b.X, b.Y, b.Weights = blas.TakeRows(b.X, rows), blas.TakeRows(b.Y, rows), weights
	return b
}

// row is row i and its weight; the error says what of it is bad, missing targets too unless they may be. A row of
// weight 0 is not there, whatever it holds.
func (b *Block) row(i int, missing bool) (x, y []float64, w float64, err error) {
	x, y, w = blas.Row(b.X, i), blas.Row(b.Y, i), 1
	if b.Weights != nil {
		w = b.Weights[i]
	}
	if !(w >= 0) || math.IsInf(w, 1) {
		err = fmt.Errorf("%w: its weight is %g: it must be finite and not negative", ErrRow, w)
	}
	if w == 0 {
		return x, y, w, nil
	}
	return x, y, w, errors.Join(check("input", x, false), check("target", y, missing), err)
}

// check refuses a block whose shapes are not those of d inputs and n targets.
func (b *Block) check(d, n int) error {
	if b.X.Rows == 0 || b.X.Cols == d && b.Y.Cols == n && b.X.Rows == b.Y.Rows &&
		(b.Weights == nil || len(b.Weights) == b.X.Rows) {
		return nil
	}
	return fmt.Errorf("stream: %s, row %d: %w: %d×%d inputs, %d×%d targets and %d weights, want %d and %d columns",
		b.Source, b.Row, ErrRow, b.X.Rows, b.X.Cols, b.Y.Rows, b.Y.Cols, len(b.Weights), d, n)
}

// Source hands out rows in order.
type Source interface {
	// Next returns the next block, valid until the following call. At the end the
	// error is io.EOF. Rows that come with an error are good, and precede it. After
	// a thousand blocks without rows or error the pass ends with io.ErrNoProgress.
	Next() (Block, error)
}

// Rows is data of any length that are read in blocks, once or several times, and how they are read.
type Rows struct {
	Inputs, Outputs int    // columns of X and Y
	Name            string // of the data, for checkpoints: one belongs to data of one name
	Count           int64  // rows, or less than 1 when that is not known
	// Open starts to hand out the rows anew, from the first on. A source that is
	// an io.Closer is closed when it is no longer needed.
	Open func() (Source, error)

	// SurveyRows is the number of leading rows that scales, median distances and
	// landmarks are taken from; 0 means all rows, read once more for it.
	SurveyRows int64
	// CheckpointRows is the number of rows between two writes of a checkpoint; 0 means 100 for each feature.
	CheckpointRows int64
	// Ranks share the rows of a parallel job; nil means this process alone.
	Ranks Ranks
	// Progress sees every block of rows, and whether it is read for the survey; an error from it ends the pass.
	Progress func(survey bool, p Progress) error
}

// patience is how many blocks without rows may follow one another.
const patience = 1000

// blocks are those of src to its end, or to an error, which comes with the last of them.
func blocks(src Source) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		for empty := 0; ; {
			b, err := src.Next()
			if empty++; b.X.Rows > 0 {
				empty = 0
			}
			if err == nil && empty > patience {
				err = fmt.Errorf("stream: %w in %d blocks", io.ErrNoProgress, empty)
			}
			if errors.Is(err, io.EOF) {
				if b.X.Rows > 0 {
					yield(b, nil)
				}
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// matrices is a source in memory.
type matrices struct {
	all Block
	at  int
}

// FromMatrices is the source of the rows of X (l×d) and Y (l×n) with these weights, or 1 where none are given. It
// copies nothing.
func FromMatrices(name string, X, Y blas.General, weights ...float64) Source {
	if X.Rows != Y.Rows || weights != nil && len(weights) != X.Rows {
		panic("stream: X, Y and weights of different length")
	}
	return &matrices{all: Block{X: X, Y: Y, Source: name, Weights: weights}}
}

func (m *matrices) Next() (Block, error) {
	if m.at == m.all.X.Rows {
		return Block{}, io.EOF
	}
	from := m.at
	m.at = min(from+defaultBlockRows, m.all.X.Rows)
	return m.all.Part(from, m.at), nil
}

// share is every size-th block of a source.
type share struct {
	Source
	rank, size, at int
}

// Share is the part of src that falls to one of size ranks: every size-th block, starting with block number rank. All
// ranks read all of the source. If rows end in an error, every rank gets that error, so that all stop.
func Share(src Source, rank, size int) Source {
	if rank < 0 || rank >= size {
		panic("stream: no such rank")
	}
	return &share{Source: src, rank: rank, size: size}
}

func (s *share) Next() (Block, error) {
	for {
		b, err := s.Source.Next()
		own := s.at%s.size == s.rank
		s.at++
		if !own {
			b = Block{}
		}
		if own || err != nil {
			return b, err
		}
	}
}

// prefetched are copies of the blocks of src, read one block ahead by a goroutine. When they end, it has ended, but
// for a call of Next that was under way when ctx was cancelled; the error is then that of ctx.
func prefetched(ctx context.Context, src Source) iter.Seq2[Block, error] {
	type fetched struct {
		block Block
		err   error
	}
	return func(yield func(Block, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		next := make(chan fetched, 1)
		go func() {
			defer close(next)
			for b, err := range blocks(src) {
				b.X, b.Y, b.Weights = blas.Clone(b.X), blas.Clone(b.Y), slices.Clone(b.Weights)
				select {
				case next <- fetched{b, err}:
				case <-inner.Done():
				}
				if inner.Err() != nil {
					return
				}
			}
		}()
		defer func() {
			if cancel(); ctx.Err() == nil {
				for range next { // until the goroutine ends
				}
			}
		}()
		for {
			select {
			case f, more := <-next:
				if !more || !yield(f.block, f.err) {
					return
				}
			case <-ctx.Done():
				yield(Block{}, ctx.Err())
				return
			}
		}
	}
}
