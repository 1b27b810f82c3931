// Package layout holds the test that keeps the module's packages in their order:
// which may import which, which may use cgo, and what a program that embeds the
// library takes along.
package layout
