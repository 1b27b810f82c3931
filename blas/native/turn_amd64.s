//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// Four registers of 128-bit lanes, a to d, transposed: lane i of a to d goes to
// register i of w, x, y, z. a and c are overwritten, Z30 and Z31 are scratch.
#define LANES(a, b, c, d, w, x, y, z) \
	VSHUFF64X2 $0x88, b, a, Z30;   \
	VSHUFF64X2 $0xDD, b, a, a;     \
	VSHUFF64X2 $0x88, d, c, Z31;   \
	VSHUFF64X2 $0xDD, d, c, c;     \
	VSHUFF64X2 $0x88, Z31, Z30, w; \
	VSHUFF64X2 $0xDD, Z31, Z30, y; \
	VSHUFF64X2 $0x88, c, a, x;     \
	VSHUFF64X2 $0xDD, c, a, z

// func turnF64AVX512(dst []float64, w int, src []float64, ld, np int)
//
// Eight rows of src become eight elements of each of np steps of dst, eight
// columns at a time: pairs of rows are interleaved, then lanes transposed.
TEXT ·turnF64AVX512(SB), 0, $128-72
	NO_LOCAL_POINTERS
	MOVQ dst_base+0(FP), DI
	MOVQ w+24(FP), R8
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R9
	LEAQ (DI)(R8*4), DX
	MOVQ src_base+32(FP), SI
	MOVQ ld+56(FP), R10
	SHLQ $3, R10
	LEAQ (R10)(R10*2), R11
	LEAQ (SI)(R10*4), AX
	MOVQ np+64(FP), CX

loop:
	VMOVUPD   (SI), Z0
	VMOVUPD   (SI)(R10*1), Z1
	VMOVUPD   (SI)(R10*2), Z2
	VMOVUPD   (SI)(R11*1), Z3
	VMOVUPD   (AX), Z4
	VMOVUPD   (AX)(R10*1), Z5
	VMOVUPD   (AX)(R10*2), Z6
	VMOVUPD   (AX)(R11*1), Z7
	VUNPCKLPD Z1, Z0, Z8
	VUNPCKHPD Z1, Z0, Z9
	VUNPCKLPD Z3, Z2, Z10
	VUNPCKHPD Z3, Z2, Z11
	VUNPCKLPD Z5, Z4, Z12
	VUNPCKHPD Z5, Z4, Z13
	VUNPCKLPD Z7, Z6, Z14
	VUNPCKHPD Z7, Z6, Z15
	LANES(Z8, Z10, Z12, Z14, Z16, Z18, Z20, Z22)
	LANES(Z9, Z11, Z13, Z15, Z17, Z19, Z21, Z23)
	VMOVUPD   Z16, (DI)
	VMOVUPD   Z17, (DI)(R8*1)
	VMOVUPD   Z18, (DI)(R8*2)
	VMOVUPD   Z19, (DI)(R9*1)
	VMOVUPD   Z20, (DX)
	VMOVUPD   Z21, (DX)(R8*1)
	VMOVUPD   Z22, (DX)(R8*2)
	VMOVUPD   Z23, (DX)(R9*1)
	LEAQ      (DI)(R8*8), DI
	LEAQ      (DX)(R8*8), DX
	ADDQ      $64, SI
	ADDQ      $64, AX
	SUBQ      $8, CX
	JGT       loop
	VZEROUPPER
	RET
