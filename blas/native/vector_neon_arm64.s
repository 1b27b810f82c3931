//go:build !purego

#include "textflag.h"
#include "funcdata.h"

#define DOT ·dotF64NEON
#define OUTER ·outerF64NEON
#define SCAL ·scalF64NEON
#define DOT4 ·dot4F64NEON
#define AXPY4 ·axpy4F64NEON
#define SYMV4 ·symv4F64NEON
#define DOTARGS 56
#define ES 8
#define SHIFT 3
#define FMLA(d, n, m) WORD $(0x4E60CC00 | ((m)<<16) | ((n)<<5) | (d))
#define FMLAE(d, n, m) WORD $(0x4FC01000 | ((m)<<16) | ((n)<<5) | (d))
#define FADD(d, n) WORD $(0x4E60D400 | ((n)<<16) | ((d)<<5) | (d))
#define FMULE(d, n, m) WORD $(0x4FC09000 | ((m)<<16) | ((n)<<5) | (d))
#define HSUM(d) WORD $(0x7E70D800 | ((d)<<5) | (d))
#define MOV FMOVD
#define MADD FMADDD
#define MULS FMULD
#include "vector_neon.h"
