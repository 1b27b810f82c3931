// Package vmath evaluates elementary functions and distances on slices: the
// inner loops of Gram matrices and of random features.
//
// Every function has a generic Go form and, where the processor allows,
// AVX-512 and AVX2+FMA forms chosen at run time. Destinations may be the
// source itself, element for element, and overlap in no other way. Results
// agree between the forms to the errors stated at each function, not bit for
// bit; on one machine and build they are reproducible and independent of how a
// slice is split.
package vmath
