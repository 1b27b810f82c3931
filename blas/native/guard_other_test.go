//go:build !linux

package native

import "testing"

// atPageEnd returns n elements; only Linux has the guard pages.
func atPageEnd[T element](t *testing.T, n int) []T {
	t.Helper()
	return make([]T, n)
}
