//go:build (!amd64 && !arm64) || purego

// Builds without assembly.

package vmath

func vectorSets() []set { return nil }

func fence() {}
