//go:build !purego

#include "textflag.h"

// Row functions accumulate over the features of one sample against a strip of columns:
// four vectors at a time in V0 … V3, then one or a part of it in V0. V8 holds the
// sample's feature, V14 the accumulators' first value, V15 what the operation needs.
// The text is one for both instruction sets, which define
//
//	V0 … V15          the registers
//	VB, LANES         bytes and elements of a vector
//	SIGN              makes V15 the number in AX in every element
//	MASK(n, t)        makes a mask of the first n elements, n and t registers; may change AX and t
//	MASKED(src, dst)  loads these elements, 0 for the others
//	PUT(src, dst)     stores these elements
//	QUOTIENT(t, u)    t /= u, or t = 0 where u is V15; may change u

// ACC += |V8 − COL|; V15 masks the sign.
#define L1OP(COL, ACC, T, U) \
	VSUBPD COL, V8, T; \
	VANDPD V15, T, T;  \
	VADDPD T, ACC, ACC

// ACC += (V8 − COL)².
#define SQOP(COL, ACC, T, U) \
	VSUBPD      COL, V8, T; \
	VFMADD231PD T, T, ACC

// ACC += (V8 − COL)²/(V8 + COL), or 0 where the sum is 0; V15 = 0.
#define CHI2OP(COL, ACC, T, U) \
	VSUBPD COL, V8, T; \
	VADDPD COL, V8, U; \
	VMULPD T, T, T;    \
	QUOTIENT(T, U);    \
	VADDPD T, ACC, ACC

// ACC *= 1 + (V8 − COL)²; V15 = 1.
#define LORENTZOP(COL, ACC, T, U) \
	VSUBPD      COL, V8, T; \
	VFMADD213PD V15, T, T;  \
	VMULPD      T, ACC, ACC

// The body of a row function.
#define ROWS(OP) \
	MOVQ         dst_base+0(FP), DI; \
	MOVQ         dst_len+8(FP), CX;  \
	MOVQ         x_base+24(FP), SI;  \
	MOVQ         x_len+32(FP), DX;   \
	MOVQ         zt_base+48(FP), R8; \
	MOVQ         ld+72(FP), R9;      \
	SHLQ         $3, R9;             \
	strip:                           \
	CMPQ         CX, $(4*LANES);     \
	JLT          part;               \
	VMOVAPD      V14, V0;            \
	VMOVAPD      V14, V1;            \
	VMOVAPD      V14, V2;            \
	VMOVAPD      V14, V3;            \
	MOVQ         R8, R10;            \
	XORQ         BX, BX;             \
	feature:                         \
	VBROADCASTSD (SI)(BX*8), V8;     \
	OP(0(R10), V0, V4, V5);          \
	OP(VB(R10), V1, V4, V5);         \
	OP((2*VB)(R10), V2, V4, V5);     \
	OP((3*VB)(R10), V3, V4, V5);     \
	ADDQ         R9, R10;            \
	INCQ         BX;                 \
	CMPQ         BX, DX;             \
	JLT          feature;            \
	VMOVUPD      V0, (DI);           \
	VMOVUPD      V1, VB(DI);         \
	VMOVUPD      V2, (2*VB)(DI);     \
	VMOVUPD      V3, (3*VB)(DI);     \
	ADDQ         $(4*VB), R8;        \
	ADDQ         $(4*VB), DI;        \
	SUBQ         $(4*LANES), CX;     \
	JMP          strip;              \
	part:                        \
	TESTQ        CX, CX;         \
	JZ           done;           \
	MOVQ         $LANES, R11;    \
	CMPQ         CX, R11;        \
	CMOVQLT      CX, R11;        \
	MASK(R11, R12);              \
	VMOVAPD      V14, V0;        \
	MOVQ         R8, R10;        \
	XORQ         BX, BX;         \
	one:                         \
	VBROADCASTSD (SI)(BX*8), V8; \
	MASKED((R10), V1);           \
	OP(V1, V0, V4, V5);          \
	ADDQ         R9, R10;        \
	INCQ         BX;             \
	CMPQ         BX, DX;         \
	JLT          one;            \
	PUT(V0, (DI));               \
	ADDQ         $VB, R8;        \
	ADDQ         $VB, DI;        \
	SUBQ         R11, CX;        \
	JMP          part;           \
	done:       \
	VZEROUPPER; \
	RET

// The reciprocals of up to ten features are added before they are divided,
//
//	n/d + 1/u = (n·u + d)/(d·u),
//
// since a division takes as long as ten multiplications or more. d features
// make ⌈d/10⌉ groups as equal as can be.

// R11 = the number of groups, R12 = the features of most of them, and DX such that
// group R13, counted down to 1, has one more where R13 < DX.
#define GROUPS \
	MOVL x_len+32(FP), AX; \
	ADDL $9, AX;           \
	MOVL $10, R11;         \
	XORL DX, DX;           \
	DIVL R11;              \
	MOVL AX, R11;          \
	MOVL x_len+32(FP), AX; \
	XORL DX, DX;           \
	DIVL R11;              \
	MOVL AX, R12;          \
	INCQ DX

// D = u, N = 1 with u = V13 + COL: 1/u = N/D; V14 = 1.
#define FIRST(COL, N, D) \
	VADDPD  COL, V13, D; \
	VMOVAPD V14, N

// N/D += 1/u with u = V13 + COL and V12 as scratch.
#define NEXT(COL, N, D) \
	VADDPD      COL, V13, V12; \
	VFMADD213PD D, V12, N;     \
	VMULPD      V12, D, D

// ACC += N/D.
#define DIVIDE(N, D, ACC) \
	VDIVPD D, N, N;    \
	VADDPD N, ACC, ACC

// The body of harmonicRow.
#define HARMONIC \
	MOVQ         dst_base+0(FP), DI; \
	MOVQ         dst_len+8(FP), CX;  \
	MOVQ         x_base+24(FP), SI;  \
	MOVQ         zt_base+48(FP), R8; \
	MOVQ         ld+72(FP), R9;      \
	SHLQ         $3, R9;             \
	LEAQ         ·expConst(SB), AX;  \
	VBROADCASTSD 104(AX), V14;       \
	GROUPS;                          \
	wide:                            \
	CMPQ         CX, $(4*LANES);     \
	JLT          narrow;             \
	VXORPD       V0, V0, V0;         \
	VXORPD       V1, V1, V1;         \
	VXORPD       V2, V2, V2;         \
	VXORPD       V3, V3, V3;         \
	MOVQ         R8, R10;            \
	MOVQ         SI, AX;             \
	MOVQ         R11, R13;           \
	wideGroup:                       \
	MOVQ         R12, BX;            \
	CMPQ         R13, DX;            \
	ADCQ         $0, BX;             \
	VBROADCASTSD (AX), V13;          \
	FIRST(0(R10), V4, V8);           \
	FIRST(VB(R10), V5, V9);          \
	FIRST((2*VB)(R10), V6, V10);     \
	FIRST((3*VB)(R10), V7, V11);     \
	JMP          wideTest;           \
	wideNext:                    \
	VBROADCASTSD (AX), V13;      \
	NEXT(0(R10), V4, V8);        \
	NEXT(VB(R10), V5, V9);       \
	NEXT((2*VB)(R10), V6, V10);  \
	NEXT((3*VB)(R10), V7, V11);  \
	wideTest:                    \
	ADDQ         $8, AX;         \
	ADDQ         R9, R10;        \
	DECQ         BX;             \
	JNZ          wideNext;       \
	DIVIDE(V4, V8, V0);          \
	DIVIDE(V5, V9, V1);          \
	DIVIDE(V6, V10, V2);         \
	DIVIDE(V7, V11, V3);         \
	DECQ         R13;            \
	JNZ          wideGroup;      \
	VMOVUPD      V0, 0(DI);      \
	VMOVUPD      V1, VB(DI);     \
	VMOVUPD      V2, (2*VB)(DI); \
	VMOVUPD      V3, (3*VB)(DI); \
	ADDQ         $(4*VB), R8;    \
	ADDQ         $(4*VB), DI;    \
	SUBQ         $(4*LANES), CX; \
	JMP          wide;           \
	narrow:                  \
	TESTQ        CX, CX;     \
	JZ           done;       \
	MOVQ         $LANES, AX; \
	CMPQ         CX, AX;     \
	CMOVQLT      CX, AX;     \
	MASK(AX, BX);            \
	VXORPD       V0, V0, V0; \
	MOVQ         R8, R10;    \
	MOVQ         SI, AX;     \
	MOVQ         R11, R13;   \
	narrowGroup:             \
	MOVQ         R12, BX;    \
	CMPQ         R13, DX;    \
	ADCQ         $0, BX;     \
	VBROADCASTSD (AX), V13;  \
	MASKED((R10), V15);      \
	FIRST(V15, V4, V8);      \
	JMP          narrowTest; \
	narrowNext:               \
	VBROADCASTSD (AX), V13;   \
	MASKED((R10), V15);       \
	NEXT(V15, V4, V8);        \
	narrowTest:               \
	ADDQ         $8, AX;      \
	ADDQ         R9, R10;     \
	DECQ         BX;          \
	JNZ          narrowNext;  \
	DIVIDE(V4, V8, V0);       \
	DECQ         R13;         \
	JNZ          narrowGroup; \
	PUT(V0, (DI));            \
	ADDQ         $VB, R8;     \
	ADDQ         $VB, DI;     \
	SUBQ         $LANES, CX;  \
	JGT          narrow;      \
	done:                     \
	VZEROUPPER;               \
	RET

// On 256-bit registers.
#define VB 32
#define LANES 4
#define SIGN VMOVQ AX, X15; VPBROADCASTQ X15, Y15
#define MASK(n, t) MOVQ n, t; SHLQ $3, t; LEAQ ·laneMask+32(SB), AX; SUBQ t, AX; VMOVDQU (AX), Y7
#define MASKED(src, dst) VMASKMOVPD src, Y7, dst
#define PUT(src, dst) VMASKMOVPD src, Y7, dst
#define QUOTIENT(t, u) VDIVPD u, t, t; VCMPPD $4, Y15, u, u; VANDPD u, t, t
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15

// func l1RowAVX2(dst, x, zt []float64, ld int)
TEXT ·l1RowAVX2(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	MOVQ   $0x7FFFFFFFFFFFFFFF, AX
	SIGN
	ROWS(L1OP)

// func sqRowAVX2(dst, x, zt []float64, ld int)
TEXT ·sqRowAVX2(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	ROWS(SQOP)

// func chi2RowAVX2(dst, x, zt []float64, ld int)
TEXT ·chi2RowAVX2(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	VXORPD V15, V15, V15
	ROWS(CHI2OP)

// func harmonicRowAVX2(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX2(SB), NOSPLIT, $0-80
	HARMONIC

// func lorentzRowAVX2(dst, x, zt []float64, ld int)
TEXT ·lorentzRowAVX2(SB), NOSPLIT, $0-80
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), V15
	VMOVAPD      V15, V14
	ROWS(LORENTZOP)

#undef VB
#undef LANES
#undef SIGN
#undef MASK
#undef MASKED
#undef PUT
#undef QUOTIENT
#undef V0
#undef V1
#undef V2
#undef V3
#undef V4
#undef V5
#undef V6
#undef V7
#undef V8
#undef V9
#undef V10
#undef V11
#undef V12
#undef V13
#undef V14
#undef V15

// On 512-bit registers.
#define VB 64
#define LANES 8
#define SIGN VPBROADCASTQ AX, Z15
#define MASK(n, t) MOVQ CX, t; MOVQ n, CX; MOVL $1, AX; SHLL CX, AX; MOVQ t, CX; DECL AX; KMOVW AX, K1
#define MASKED(src, dst) VMOVUPD.Z src, K1, dst
#define PUT(src, dst) VMOVUPD src, K1, dst
#define QUOTIENT(t, u) VCMPPD $4, Z15, u, K2; VDIVPD.Z u, t, K2, t
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15

// func l1RowAVX512(dst, x, zt []float64, ld int)
TEXT ·l1RowAVX512(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	MOVQ   $0x7FFFFFFFFFFFFFFF, AX
	SIGN
	ROWS(L1OP)

// func sqRowAVX512(dst, x, zt []float64, ld int)
TEXT ·sqRowAVX512(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	ROWS(SQOP)

// func chi2RowAVX512(dst, x, zt []float64, ld int)
TEXT ·chi2RowAVX512(SB), NOSPLIT, $0-80
	VXORPD V14, V14, V14
	VXORPD V15, V15, V15
	ROWS(CHI2OP)

// func harmonicRowAVX512(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX512(SB), NOSPLIT, $0-80
	HARMONIC

// func lorentzRowAVX512(dst, x, zt []float64, ld int)
TEXT ·lorentzRowAVX512(SB), NOSPLIT, $0-80
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), V15
	VMOVAPD      V15, V14
	ROWS(LORENTZOP)
