//go:build !race

package linoptest

const countAllocations = true
