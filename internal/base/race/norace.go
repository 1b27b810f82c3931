//go:build !race

// Package race tells tests whether they run under the race detector. It slows Go code ten to twenty times, and does not
// observe assembly.
package race

// Enabled is false in a build without the race detector.
const Enabled = false
