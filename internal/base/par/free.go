// Lists of scratch memory that outlive a garbage collection.

package par

import "sync"

// Free is a list of scratch values that goroutines take and give back. Unlike a
// sync.Pool it keeps them for good, so that work of a size met before allocates
// nothing, whatever the garbage collector did in between; it holds as many as
// were ever out at once. The zero value is empty and ready.
type Free[T any] struct {
	mu    sync.Mutex
	items []*T
}

// Get takes a value, or returns nil when there is none.
func (f *Free[T]) Get() *T {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.items) - 1
	if last < 0 {
		return nil
	}
	x := f.items[last]
	f.items[last] = nil
	f.items = f.items[:last]
	return x
}

// Take is Get that makes a zero value when there is none.
func (f *Free[T]) Take() *T {
	if x := f.Get(); x != nil {
		return x
	}
	return new(T)
}

// Put gives x back.
func (f *Free[T]) Put(x *T) {
	f.mu.Lock()
	f.items = append(f.items, x)
	f.mu.Unlock()
}
