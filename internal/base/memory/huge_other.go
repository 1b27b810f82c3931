//go:build !linux

// This file stands in for huge_linux.go on other systems.

package memory

// PreferHuge does something on Linux only.
func PreferHuge[T any]([]T) {}
