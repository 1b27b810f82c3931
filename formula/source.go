package formula

import _ "embed" // Source

// Source is formula.go.
//
//go:embed formula.go
var Source string
