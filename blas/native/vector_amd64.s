//go:build !purego

#include "textflag.h"
#include "funcdata.h"

#define DOT ·dotF64AVX2
#define OUTER ·outerF64AVX2
#define SCAL ·scalF64AVX2
#define DOT4 ·dot4F64AVX2
#define AXPY4 ·axpy4F64AVX2
#define DOTARGS 56
#define ES 8
#define LANES 4
#define MOV VMOVUPD
#define FMA VFMADD231PD
#define MUL VMULPD
#define ADD VADDPD
#define BCAST VBROADCASTSD
#define BCASTX VBROADCASTSD
#define MOVS VMOVSD
#define FMAS VFMADD231SD
#define MULS VMULSD
#define HSUM(y, x, t) VEXTRACTF128 $1, y, t; VADDPD t, x, x; VHADDPD x, x, x
#include "vector_avx2.h"
