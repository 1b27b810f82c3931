//go:build (!amd64 && !arm64) || purego

package vmath

func vectorSets() []set { return nil }

func fence() {}
