//go:build !purego

#include "textflag.h"

// Row functions accumulate over the features of one sample against a strip of
// columns: 32 at a time in Z0…Z3, then 8 or fewer in Z0. Z8 holds the sample's
// feature, Z30 and Z31 what the operation needs.

// ACC += |Z8 − COL|; Z31 masks the sign.
#define L1OP(COL, ACC, T, U) \
	VSUBPD COL, Z8, T; \
	VANDPD Z31, T, T;  \
	VADDPD T, ACC, ACC

// ACC += (Z8 − COL)².
#define SQOP(COL, ACC, T, U) \
	VSUBPD      COL, Z8, T; \
	VFMADD231PD T, T, ACC

// ACC += (Z8 − COL)²/(Z8 + COL), or 0 where the sum is 0; Z31 = 0.
#define CHI2OP(COL, ACC, T, U) \
	VSUBPD   COL, Z8, T;     \
	VADDPD   COL, Z8, U;     \
	VCMPPD   $4, Z31, U, K2; \
	VMULPD   T, T, T;        \
	VDIVPD.Z U, T, K2, T;    \
	VADDPD   T, ACC, ACC

// ACC *= 1 + (Z8 − COL)²; Z31 = 1.
#define LORENTZOP(COL, ACC, T, U) \
	VSUBPD      COL, Z8, T; \
	VFMADD213PD Z31, T, T;  \
	VMULPD      T, ACC, ACC

// The body of a row function: Z30 is the accumulators' first value.
#define ROWS512(OP) \
	MOVQ         dst_base+0(FP), DI; \
	MOVQ         dst_len+8(FP), CX;  \
	MOVQ         x_base+24(FP), SI;  \
	MOVQ         x_len+32(FP), DX;   \
	MOVQ         zt_base+48(FP), R8; \
	MOVQ         ld+72(FP), R9;      \
	SHLQ         $3, R9;             \
	strip32:                         \
	CMPQ         CX, $32;            \
	JLT          strip8;             \
	VMOVAPD      Z30, Z0;            \
	VMOVAPD      Z30, Z1;            \
	VMOVAPD      Z30, Z2;            \
	VMOVAPD      Z30, Z3;            \
	MOVQ         R8, R10;            \
	XORQ         BX, BX;             \
	feature32:                       \
	VBROADCASTSD (SI)(BX*8), Z8;     \
	OP(0(R10), Z0, Z4, Z9);          \
	OP(64(R10), Z1, Z5, Z10);        \
	OP(128(R10), Z2, Z6, Z11);       \
	OP(192(R10), Z3, Z7, Z12);       \
	ADDQ         R9, R10;            \
	INCQ         BX;                 \
	CMPQ         BX, DX;             \
	JLT          feature32;          \
	VMOVUPD      Z0, (DI);           \
	VMOVUPD      Z1, 64(DI);         \
	VMOVUPD      Z2, 128(DI);        \
	VMOVUPD      Z3, 192(DI);        \
	ADDQ         $256, R8;           \
	ADDQ         $256, DI;           \
	SUBQ         $32, CX;            \
	JMP          strip32;            \
	strip8:                      \
	TESTQ        CX, CX;         \
	JZ           done;           \
	MOVQ         $8, R11;        \
	CMPQ         CX, R11;        \
	CMOVQLT      CX, R11;        \
	MOVQ         CX, R12;        \
	MOVQ         R11, CX;        \
	MOVL         $1, AX;         \
	SHLL         CX, AX;         \
	DECL         AX;             \
	KMOVW        AX, K1;         \
	VMOVAPD      Z30, Z0;        \
	MOVQ         R8, R10;        \
	XORQ         BX, BX;         \
	feature8:                    \
	VBROADCASTSD (SI)(BX*8), Z8; \
	VMOVUPD.Z    (R10), K1, Z13; \
	OP(Z13, Z0, Z4, Z9);         \
	ADDQ         R9, R10;        \
	INCQ         BX;             \
	CMPQ         BX, DX;         \
	JLT          feature8;       \
	VMOVUPD      Z0, K1, (DI);   \
	ADDQ         $64, R8;        \
	ADDQ         $64, DI;        \
	MOVQ         R12, CX;        \
	SUBQ         R11, CX;        \
	JMP          strip8;         \
	done:       \
	VZEROUPPER; \
	RET

// func l1RowAVX512(dst, x, zt []float64, ld int)
TEXT ·l1RowAVX512(SB), NOSPLIT, $0-80
	VXORPD       Z30, Z30, Z30
	MOVQ         $0x7FFFFFFFFFFFFFFF, AX
	VPBROADCASTQ AX, Z31
	ROWS512(L1OP)

// func sqRowAVX512(dst, x, zt []float64, ld int)
TEXT ·sqRowAVX512(SB), NOSPLIT, $0-80
	VXORPD Z30, Z30, Z30
	ROWS512(SQOP)

// func chi2RowAVX512(dst, x, zt []float64, ld int)
TEXT ·chi2RowAVX512(SB), NOSPLIT, $0-80
	VXORPD Z30, Z30, Z30
	VXORPD Z31, Z31, Z31
	ROWS512(CHI2OP)

// func lorentzRowAVX512(dst, x, zt []float64, ld int)
TEXT ·lorentzRowAVX512(SB), NOSPLIT, $0-80
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Z31
	VMOVAPD      Z31, Z30
	ROWS512(LORENTZOP)
