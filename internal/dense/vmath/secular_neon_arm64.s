//go:build !purego

#include "textflag.h"
#include "neon.h"

// The terms of the elements that LOAD reads.
#define TERMS(LOAD) \
	LOAD (R0), F4;  \
	LOAD (R1), F5;  \
	FSUB(4, 4, 17); \
	FDIV(4, 5, 4);  \
	FMLA(0, 5, 4);  \
	FMLA(1, 4, 4)

// func secularNEON(d, z []float64, mu float64) (sum, slope float64)
TEXT ·secularNEON(SB), NOSPLIT, $0-72
	MOVD  d_base+0(FP), R0
	MOVD  z_base+24(FP), R1
	MOVD  d_len+8(FP), R2
	FMOVD mu+48(FP), F17
	DUP(17, 17, 0)
	VEOR  V0.B16, V0.B16, V0.B16
	VEOR  V1.B16, V1.B16, V1.B16
	SUBS  $2, R2
	BLT   fold

two:
	TERMS(FMOVQ)
	ADD  $16, R0
	ADD  $16, R1
	SUBS $2, R2
	BGE  two

fold:
	DUP(2, 0, 1)
	DUP(3, 1, 1)
	FADDD F2, F0
	FADDD F3, F1
	TBZ   $0, R2, done
	TERMS(FMOVD)

done:
	FMOVD F0, sum+56(FP)
	FMOVD F1, slope+64(FP)
	RET
