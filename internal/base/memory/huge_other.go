//go:build !linux

// Systems without the huge pages of huge_linux.go.

package memory

// PreferHuge does something on Linux only.
func PreferHuge[T any]([]T) {}
