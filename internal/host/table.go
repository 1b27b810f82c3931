// This file gives numbers to the objects that a host keeps.

package host

import (
	"fmt"
	"sync"
)

// Table gives numbers to objects that a host keeps. A number is never given out twice, so a
// freed one is recognized. It serves any number of goroutines.
type Table struct {
	mu      sync.Mutex
	last    uint64
	objects map[uint64]any
}

// Put returns the number of a new object; it is not 0.
func (t *Table) Put(object any) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.objects == nil {
		t.objects = map[uint64]any{}
	}
	t.last++
	t.objects[t.last] = object
	return t.last
}

// Get returns the object of type T with that number, or an ErrHandle.
func Get[T any](t *Table, number uint64) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	object, ok := t.objects[number].(T)
	if !ok {
		return object, fmt.Errorf("%w: %d", ErrHandle, number)
	}
	return object, nil
}

// Take is Get, and forgets the number.
func Take[T any](t *Table, number uint64) (T, error) {
	object, err := Get[T](t, number)
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.objects, number)
	}
	return object, err
}
