// Package host is what a program that is not written in Go asks of this module: options and
// answers as JSON, errors as status codes, objects by number, and work that is started,
// watched, cancelled and awaited. Package capi puts C functions on it, and the command takes from it what a [Source] is
// fitted by.
package host
