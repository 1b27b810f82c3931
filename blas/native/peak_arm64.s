//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// Multiply-adds on registers, as many chains as the tiles have accumulators.

#define SPIN(FMA, loop) \
	NO_LOCAL_POINTERS; \
	MOVD  n+0(FP), R1; \
	loop:              \
	FMA(0);            \
	FMA(1);            \
	FMA(2);            \
	FMA(3);            \
	FMA(4);            \
	FMA(5);            \
	FMA(6);            \
	FMA(7);            \
	FMA(8);            \
	FMA(9);            \
	FMA(10);           \
	FMA(11);           \
	FMA(12);           \
	FMA(13);           \
	FMA(14);           \
	FMA(15);           \
	FMA(16);           \
	FMA(17);           \
	FMA(18);           \
	FMA(19);           \
	FMA(20);           \
	FMA(21);           \
	FMA(22);           \
	FMA(23);           \
	SUB   $1, R1;      \
	CBNZ  R1, loop

// func spinF64NEON(n int) int
#define FMAF64(d) WORD $(0x4E60CC00 | (30<<16) | (31<<5) | (d))
TEXT ·spinF64NEON(SB), 0, $128-16
	SPIN(FMAF64, loop)
	MOVD n+0(FP), R1
	MOVD $(24*4), R2
	MUL  R2, R1
	MOVD R1, ret+8(FP)
	RET

// func spinF32NEON(n int) int
#define FMAF32(d) WORD $(0x4E20CC00 | (30<<16) | (31<<5) | (d))
TEXT ·spinF32NEON(SB), 0, $128-16
	SPIN(FMAF32, loop)
	MOVD n+0(FP), R1
	MOVD $(24*8), R2
	MUL  R2, R1
	MOVD R1, ret+8(FP)
	RET
