// This file lends scratch memory to goroutines that apply one operator.

package linop

import "sync"

// scratch lends out work areas, so that an operator may be applied from several
// goroutines and still allocates nothing once it has as many areas as ran at once.
type scratch[T any] struct {
	mu   sync.Mutex
	free []*T
}

func (s *scratch[T]) take() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return w
	}
	return new(T)
}

func (s *scratch[T]) give(w *T) {
	s.mu.Lock()
	s.free = append(s.free, w)
	s.mu.Unlock()
}
