// Scratch memory that is kept between calls.

package native

import (
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
)

// scratch is what one goroutine needs while it computes: a packed block, a tile
// and the argument of the micro-kernel.
type scratch[T element] struct {
	wide []T // a packed block of b, or in a thin product a narrow panel of a
	edge [maxNR * maxMR]T
	t    tile
}

// buffers keeps scratch and job memory between calls, so that a product of a
// size met before allocates nothing.
type buffers[T element] struct {
	scratch par.Free[scratch[T]]
	jobs    par.Free[product[T]]
}

func (b *buffers[T]) getScratch(n int) *scratch[T] {
	s := b.scratch.Take()
	s.wide = grow(s.wide, n)
	return s
}

// release gives s back.
func (b *buffers[T]) release(s *scratch[T]) {
	s.t.a, s.t.b, s.t.c, s.t.next = nil, nil, nil, nil
	b.scratch.Put(s)
}

// grow returns a slice of length n with unspecified contents, s's memory when it is large enough.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		s = make([]T, n)
		memory.PreferHuge(s) // the packed rows of a product are 8 MiB, and their panels are fetched ahead
	}
	return s[:n]
}
