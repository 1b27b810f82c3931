//go:build !purego

#include "textflag.h"

// As the AVX-512 row functions, with strips of 16 columns in Y0…Y3, then of 4
// or fewer in Y0. Y8 holds the sample's feature; Y15 the constant of the
// operation.

// ACC += |Y8 − COL|; Y15 masks the sign.
#define L1OP(COL, ACC, T, U) \
	VSUBPD COL, Y8, T; \
	VANDPD Y15, T, T;  \
	VADDPD T, ACC, ACC

// ACC += (Y8 − COL)².
#define SQOP(COL, ACC, T, U) \
	VSUBPD      COL, Y8, T; \
	VFMADD231PD T, T, ACC

// ACC += (Y8 − COL)²/(Y8 + COL), or 0 where the sum is 0; Y15 = 0.
#define CHI2OP(COL, ACC, T, U) \
	VSUBPD COL, Y8, T;    \
	VADDPD COL, Y8, U;    \
	VMULPD T, T, T;       \
	VDIVPD U, T, T;       \
	VCMPPD $4, Y15, U, U; \
	VANDPD U, T, T;       \
	VADDPD T, ACC, ACC

// ACC *= 1 + (Y8 − COL)²; Y15 = 1.
#define LORENTZOP(COL, ACC, T, U) \
	VSUBPD      COL, Y8, T; \
	VFMADD213PD Y15, T, T;  \
	VMULPD      T, ACC, ACC

// The body of a row function: Y14 is the accumulators' first value.
#define ROWS256(OP) \
	MOVQ         dst_base+0(FP), DI; \
	MOVQ         dst_len+8(FP), CX;  \
	MOVQ         x_base+24(FP), SI;  \
	MOVQ         x_len+32(FP), DX;   \
	MOVQ         zt_base+48(FP), R8; \
	MOVQ         ld+72(FP), R9;      \
	SHLQ         $3, R9;             \
	strip16:                         \
	CMPQ         CX, $16;            \
	JLT          strip4;             \
	VMOVAPD      Y14, Y0;            \
	VMOVAPD      Y14, Y1;            \
	VMOVAPD      Y14, Y2;            \
	VMOVAPD      Y14, Y3;            \
	MOVQ         R8, R10;            \
	XORQ         BX, BX;             \
	feature16:                       \
	VBROADCASTSD (SI)(BX*8), Y8;     \
	OP(0(R10), Y0, Y4, Y9);          \
	OP(32(R10), Y1, Y5, Y10);        \
	OP(64(R10), Y2, Y6, Y11);        \
	OP(96(R10), Y3, Y4, Y9);         \
	ADDQ         R9, R10;            \
	INCQ         BX;                 \
	CMPQ         BX, DX;             \
	JLT          feature16;          \
	VMOVUPD      Y0, (DI);           \
	VMOVUPD      Y1, 32(DI);         \
	VMOVUPD      Y2, 64(DI);         \
	VMOVUPD      Y3, 96(DI);         \
	ADDQ         $128, R8;           \
	ADDQ         $128, DI;           \
	SUBQ         $16, CX;            \
	JMP          strip16;            \
	strip4:                            \
	TESTQ        CX, CX;               \
	JZ           done;                 \
	MOVQ         $4, R11;              \
	CMPQ         CX, R11;              \
	CMOVQLT      CX, R11;              \
	LEAQ         ·laneMask+32(SB), AX; \
	MOVQ         R11, R12;             \
	SHLQ         $3, R12;              \
	SUBQ         R12, AX;              \
	VMOVDQU      (AX), Y7;             \
	VMOVAPD      Y14, Y0;              \
	MOVQ         R8, R10;              \
	XORQ         BX, BX;               \
	feature4:                          \
	VBROADCASTSD (SI)(BX*8), Y8;       \
	VMASKMOVPD   (R10), Y7, Y13;       \
	OP(Y13, Y0, Y4, Y9);               \
	ADDQ         R9, R10;              \
	INCQ         BX;                   \
	CMPQ         BX, DX;               \
	JLT          feature4;             \
	VMASKMOVPD   Y0, Y7, (DI);         \
	ADDQ         $32, R8;              \
	ADDQ         $32, DI;              \
	SUBQ         R11, CX;              \
	JMP          strip4;               \
	done:       \
	VZEROUPPER; \
	RET

// func l1RowAVX2(dst, x, zt []float64, ld int)
TEXT ·l1RowAVX2(SB), NOSPLIT, $0-80
	VXORPD       Y14, Y14, Y14
	MOVQ         $0x7FFFFFFFFFFFFFFF, AX
	VMOVQ        AX, X15
	VPBROADCASTQ X15, Y15
	ROWS256(L1OP)

// func sqRowAVX2(dst, x, zt []float64, ld int)
TEXT ·sqRowAVX2(SB), NOSPLIT, $0-80
	VXORPD Y14, Y14, Y14
	ROWS256(SQOP)

// func chi2RowAVX2(dst, x, zt []float64, ld int)
TEXT ·chi2RowAVX2(SB), NOSPLIT, $0-80
	VXORPD Y14, Y14, Y14
	VXORPD Y15, Y15, Y15
	ROWS256(CHI2OP)

// func lorentzRowAVX2(dst, x, zt []float64, ld int)
TEXT ·lorentzRowAVX2(SB), NOSPLIT, $0-80
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Y15
	VMOVAPD      Y15, Y14
	ROWS256(LORENTZOP)
