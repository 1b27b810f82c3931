//go:build race

package linoptest

// countAllocations: under the race detector pools drop what is put back, at
// random, and allocation counts mean nothing.
const countAllocations = false
