//go:build !linux

package par

// yield does nothing where the system is not known.
func yield() {}
