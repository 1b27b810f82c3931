//go:build !linux

package memory

// PreferHuge does something on Linux only.
func PreferHuge[T any]([]T) {}
