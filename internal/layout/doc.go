// Package layout holds tests of the structure of the module: which packages import which, which use cgo, what a program
// that embeds the library depends on, what is exported, and whether pages and recipes agree with the code.
package layout
