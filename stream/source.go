// This file hands out rows in blocks, from memory, in shares for ranks, and read ahead.

package stream

import (
	"context"
	"fmt"
	"io"

	"github.com/iokl/iokl/blas"
)

// Block is consecutive rows of a source.
type Block struct {
	X, Y   blas.General // r×d inputs and r×n targets
	Row    int64        // number of the first row in its source, from 0
	Source string       // name of the source, for messages
	Folds  []int        // fold of each row; nil leaves it to Options.Fold
}

// check refuses a block whose shapes are not those of d inputs and n targets.
func (b *Block) check(d, n int) error {
	if b.X.Rows == 0 || b.X.Cols == d && b.Y.Cols == n && b.X.Rows == b.Y.Rows &&
		(b.Folds == nil || len(b.Folds) == b.X.Rows) {
		return nil
	}
	return fmt.Errorf("stream: %s, row %d: %w: %d×%d inputs and %d×%d targets, want %d and %d columns", b.Source, b.Row,
		ErrRow,
		b.X.Rows, b.X.Cols, b.Y.Rows, b.Y.Cols, d, n)
}

// Source hands out rows in order.
type Source interface {
	// Next returns the next block, valid until the following call. At the end the
	// error is io.EOF. Rows that come with an error are good, and precede it. After
	// a thousand blocks without rows or error the pass ends with io.ErrNoProgress.
	Next() (Block, error)
}

// patience is how many blocks without rows may follow one another.
const patience = 1000

// patient ends a source that hands out neither rows nor an error with io.ErrNoProgress.
type patient struct {
	Source
	empty int // blocks since the last row
}

func (p *patient) Next() (Block, error) {
	b, err := p.Source.Next()
	if p.empty++; b.X.Rows > 0 {
		p.empty = 0
	}
	if err == nil && p.empty > patience {
		err = fmt.Errorf("stream: %w in %d blocks", io.ErrNoProgress, p.empty)
	}
	return b, err
}

// matrices is a source in memory.
type matrices struct {
	x, y blas.General
	name string
	size int
	at   int
}

// FromMatrices is the source of the rows of X (l×d) and Y (l×n), which it does
// not copy.
func FromMatrices(name string, X, Y blas.General) Source {
	if X.Rows != Y.Rows {
		panic("stream: X and Y of different length")
	}
	return &matrices{x: X, y: Y, name: name, size: defaultBlockRows}
}

func (m *matrices) Next() (Block, error) {
	if m.at == m.x.Rows {
		return Block{}, io.EOF
	}
	rows := min(m.size, m.x.Rows-m.at)
	b := Block{
		X: blas.View(m.x, m.at, 0, rows, m.x.Cols), Y: blas.View(m.y, m.at, 0, rows, m.y.Cols),
		Row: int64(m.at), Source: m.name,
	}
	m.at += rows
	return b, nil
}

// share is every size-th block of a source.
type share struct {
	Source
	rank, size, at int
}

// Share is the part of src that falls to one of size ranks: every size-th block,
// from the rank-th on. All ranks read all of the source. Rows that end in an
// error come to every rank as that error, so that all stop.
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

// prefetched reads one block ahead in a goroutine of its own, which ends with the
// context or the source.
type prefetched struct {
	next chan fetched
	free chan *Block
	done chan struct{} // closed when the goroutine has ended
	last *Block
}

type fetched struct {
	block *Block
	err   error
}

// prefetch reads src ahead while the caller computes. The caller cancels ctx when it is done.
func prefetch(ctx context.Context, src Source) *prefetched {
	p := &prefetched{next: make(chan fetched, 1), free: make(chan *Block, 3), done: make(chan struct{})}
	for range cap(p.free) {
		p.free <- new(Block)
	}
	go p.read(ctx, &patient{Source: src})
	return p
}

func (p *prefetched) read(ctx context.Context, src Source) {
	defer close(p.done)
	for {
		var own *Block
		select {
		case own = <-p.free:
		case <-ctx.Done():
			return
		}
		b, err := src.Next()
		own.copyFrom(b)
		select {
		case p.next <- fetched{own, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// copyFrom makes b a copy of a in memory of its own.
func (b *Block) copyFrom(a Block) {
	x, y, folds := b.X, b.Y, b.Folds
	*b = a
	b.X, b.Y = blas.Reshape(x, a.X.Rows, a.X.Cols), blas.Reshape(y, a.Y.Rows, a.Y.Cols)
	blas.Copy(b.X, a.X)
	blas.Copy(b.Y, a.Y)
	if a.Folds != nil {
		b.Folds = append(folds[:0], a.Folds...)
	}
}

func (p *prefetched) Next(ctx context.Context) (Block, error) {
	if p.last != nil {
		p.free <- p.last
		p.last = nil
	}
	select {
	case f := <-p.next:
		p.last = f.block
		return *f.block, f.err
	case <-ctx.Done():
		return Block{}, ctx.Err()
	}
}
