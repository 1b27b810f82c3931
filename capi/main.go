// Command capi is the library libiokl, with the C interface of iokl.h:
//
//	go build -buildmode=c-shared -o libiokl.so ./capi
//
// Its functions convert arguments, call package iokl and the solvers, and turn errors and
// panics into status codes. It needs cgo; without, it is an empty program.
package main

func main() {}
