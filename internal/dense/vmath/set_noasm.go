//go:build (!amd64 && !arm64) || purego

// This file stands in for the assembly in builds without any.

package vmath

func vectorSets() []set { return nil }

func fence() {}
