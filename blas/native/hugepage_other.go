//go:build !linux

package native

// preferHugePages does something on Linux only.
func preferHugePages[T any]([]T) {}
