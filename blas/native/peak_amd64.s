//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// Multiply-adds on registers, as many chains as the tiles have accumulators.

#define SPIN(FMA, loop) \
	NO_LOCAL_POINTERS;   \
	MOVQ  n+0(FP), CX;   \
	loop:                \
	FMA   Z30, Z31, Z0;  \
	FMA   Z30, Z31, Z1;  \
	FMA   Z30, Z31, Z2;  \
	FMA   Z30, Z31, Z3;  \
	FMA   Z30, Z31, Z4;  \
	FMA   Z30, Z31, Z5;  \
	FMA   Z30, Z31, Z6;  \
	FMA   Z30, Z31, Z7;  \
	FMA   Z30, Z31, Z8;  \
	FMA   Z30, Z31, Z9;  \
	FMA   Z30, Z31, Z10; \
	FMA   Z30, Z31, Z11; \
	FMA   Z30, Z31, Z12; \
	FMA   Z30, Z31, Z13; \
	FMA   Z30, Z31, Z14; \
	FMA   Z30, Z31, Z16; \
	FMA   Z30, Z31, Z17; \
	FMA   Z30, Z31, Z18; \
	FMA   Z30, Z31, Z19; \
	FMA   Z30, Z31, Z20; \
	FMA   Z30, Z31, Z21; \
	FMA   Z30, Z31, Z22; \
	FMA   Z30, Z31, Z23; \
	FMA   Z30, Z31, Z24; \
	DECQ  CX;            \
	JNZ   loop;          \
	VZEROUPPER

#define SPINY(FMA, loop) \
	NO_LOCAL_POINTERS;   \
	MOVQ  n+0(FP), CX;   \
	loop:                \
	FMA   Y13, Y14, Y0;  \
	FMA   Y13, Y14, Y1;  \
	FMA   Y13, Y14, Y2;  \
	FMA   Y13, Y14, Y3;  \
	FMA   Y13, Y14, Y4;  \
	FMA   Y13, Y14, Y5;  \
	FMA   Y13, Y14, Y6;  \
	FMA   Y13, Y14, Y7;  \
	FMA   Y13, Y14, Y8;  \
	FMA   Y13, Y14, Y9;  \
	FMA   Y13, Y14, Y10; \
	FMA   Y13, Y14, Y11; \
	DECQ  CX;            \
	JNZ   loop;          \
	VZEROUPPER

// func spinF64AVX512(n int) int
TEXT ·spinF64AVX512(SB), 0, $128-16
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31
	SPIN(VFMADD231PD, loop)
	MOVQ   n+0(FP), AX
	IMULQ  $(24*16), AX
	MOVQ   AX, ret+8(FP)
	RET

// func spinF32AVX512(n int) int
TEXT ·spinF32AVX512(SB), 0, $128-16
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31
	SPIN(VFMADD231PS, loop)
	MOVQ   n+0(FP), AX
	IMULQ  $(24*32), AX
	MOVQ   AX, ret+8(FP)
	RET

// func spinF64AVX2(n int) int
TEXT ·spinF64AVX2(SB), 0, $128-16
	VXORPD Y13, Y13, Y13
	VXORPD Y14, Y14, Y14
	SPINY(VFMADD231PD, loop)
	MOVQ   n+0(FP), AX
	IMULQ  $(12*8), AX
	MOVQ   AX, ret+8(FP)
	RET

// func spinF32AVX2(n int) int
TEXT ·spinF32AVX2(SB), 0, $128-16
	VXORPD Y13, Y13, Y13
	VXORPD Y14, Y14, Y14
	SPINY(VFMADD231PS, loop)
	MOVQ   n+0(FP), AX
	IMULQ  $(12*16), AX
	MOVQ   AX, ret+8(FP)
	RET

// func readF64AVX2(x []float64) float64: the sum of x, whose length is a multiple of 32.
// Its two halves are read side by side, which the hardware fetches ahead faster than
// one stream.
TEXT ·readF64AVX2(SB), 0, $128-32
	NO_LOCAL_POINTERS
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	LEAQ   (SI)(CX*4), DI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3

loop:
	VADDPD       (SI), Y0, Y0
	VADDPD       32(SI), Y1, Y1
	VADDPD       64(SI), Y2, Y2
	VADDPD       96(SI), Y3, Y3
	VADDPD       (DI), Y0, Y0
	VADDPD       32(DI), Y1, Y1
	VADDPD       64(DI), Y2, Y2
	VADDPD       96(DI), Y3, Y3
	ADDQ         $128, SI
	ADDQ         $128, DI
	SUBQ         $32, CX
	JGT          loop
	VADDPD       Y1, Y0, Y0
	VADDPD       Y3, Y2, Y2
	VADDPD       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+24(FP)
	VZEROUPPER
	RET
