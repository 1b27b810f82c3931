//go:build !race

// Package race tells tests whether they run under the race detector, which slows
// Go code ten to twenty times and sees nothing of assembly.
package race

// Enabled is false in a build without the race detector.
const Enabled = false
