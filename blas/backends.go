// This file lists the backends of this build.

package blas

// Default is the backend of a program that chose none.
func Default() Backend { return defaultBackend }

var defaultBackend Backend = NewNative()

// Backends lists the backends in this build, the default first.
func Backends() []Backend { return append([]Backend{defaultBackend}, optional...) }

// optional holds the other backends; build tags add to it.
var optional = []Backend{NewGonum()}
