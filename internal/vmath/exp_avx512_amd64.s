//go:build !purego

#include "textflag.h"

// Z16…Z31 hold the constants of the exponential.
#define EXPCONST512 \
	LEAQ         ·expConst(SB), AX; \
	VBROADCASTSD 0(AX), Z16;        \
	VBROADCASTSD 8(AX), Z17;        \
	VBROADCASTSD 16(AX), Z18;       \
	VBROADCASTSD 24(AX), Z19;       \
	VBROADCASTSD 32(AX), Z20;       \
	VBROADCASTSD 40(AX), Z21;       \
	VBROADCASTSD 48(AX), Z22;       \
	VBROADCASTSD 56(AX), Z23;       \
	VBROADCASTSD 64(AX), Z24;       \
	VBROADCASTSD 72(AX), Z25;       \
	VBROADCASTSD 80(AX), Z26;       \
	VBROADCASTSD 88(AX), Z27;       \
	VBROADCASTSD 96(AX), Z28;       \
	VBROADCASTSD 104(AX), Z29;      \
	VBROADCASTSD 112(AX), Z30;      \
	VBROADCASTSD 120(AX), Z31

// X = exp(X), with N and Q as scratch. X is clamped to ±1000, where the scaling
// gives 0 and +Inf; the operand order of min and max lets NaN pass. With
// n = round(x·log₂e) and r = x − n·ln2, exp(x) = 2ⁿ·(1 + (r + r²·q(r))).
#define EXP512(X, N, Q) \
	VMAXPD       X, Z30, X; \
	VMINPD       X, Z31, X; \
	VMULPD       Z16, X, N; \
	VRNDSCALEPD  $8, N, N;  \
	VFNMADD231PD Z17, N, X; \
	VFNMADD231PD Z18, N, X; \
	VMOVAPD      Z28, Q;    \
	VFMADD213PD  Z27, X, Q; \
	VFMADD213PD  Z26, X, Q; \
	VFMADD213PD  Z25, X, Q; \
	VFMADD213PD  Z24, X, Q; \
	VFMADD213PD  Z23, X, Q; \
	VFMADD213PD  Z22, X, Q; \
	VFMADD213PD  Z21, X, Q; \
	VFMADD213PD  Z20, X, Q; \
	VFMADD213PD  Z19, X, Q; \
	VMULPD       X, Q, Q;   \
	VFMADD213PD  X, X, Q;   \
	VADDPD       Z29, Q, Q; \
	VSCALEFPD    N, Q, X

// K1 = the lowest CX lanes, CX < 8.
#define TAILMASK512 \
	MOVL  $1, AX; \
	SHLL  CX, AX; \
	DECL  AX;     \
	KMOVW AX, K1

// func expAVX512(dst, x []float64, a float64)
TEXT ·expAVX512(SB), NOSPLIT, $0-56
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD a+48(FP), Z15
	EXPCONST512

loop16:
	CMPQ    CX, $16
	JLT     loop8
	VMULPD  (SI), Z15, Z0
	VMULPD  64(SI), Z15, Z3
	EXP512(Z0, Z1, Z2)
	EXP512(Z3, Z4, Z5)
	VMOVUPD Z0, (DI)
	VMOVUPD Z3, 64(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $16, CX
	JMP     loop16

loop8:
	CMPQ    CX, $8
	JLT     tail
	VMULPD  (SI), Z15, Z0
	EXP512(Z0, Z1, Z2)
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	VMULPD    Z15, Z0, Z0
	EXP512(Z0, Z1, Z2)
	VMOVUPD   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// Z0 = (1 + c₁t + c₂t²)·exp(−t) at t = min(1000, s·√Z0), where Z12 = s,
// Z13 = c₁, Z14 = c₂.
#define MATERN512 \
	VSQRTPD     Z0, Z0;      \
	VMULPD      Z12, Z0, Z0; \
	VMINPD      Z0, Z31, Z0; \
	VMOVAPD     Z14, Z6;     \
	VFMADD213PD Z13, Z0, Z6; \
	VFMADD213PD Z29, Z0, Z6; \
	VXORPD      Z7, Z7, Z7;  \
	VSUBPD      Z0, Z7, Z0;  \
	EXP512(Z0, Z1, Z2);      \
	VMULPD      Z6, Z0, Z0

// func maternAVX512(dst, x []float64, s, c1, c2 float64)
TEXT ·maternAVX512(SB), NOSPLIT, $0-72
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD s+48(FP), Z12
	VBROADCASTSD c1+56(FP), Z13
	VBROADCASTSD c2+64(FP), Z14
	EXPCONST512

loop8:
	CMPQ    CX, $8
	JLT     tail
	VMOVUPD (SI), Z0
	MATERN512
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JMP     loop8

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	MATERN512
	VMOVUPD   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func sqDistAVX512(g []float64, ni float64, nj []float64)
TEXT ·sqDistAVX512(SB), NOSPLIT, $0-56
	MOVQ         g_base+0(FP), DI
	MOVQ         g_len+8(FP), CX
	VBROADCASTSD ni+24(FP), Z4
	MOVQ         nj_base+32(FP), SI
	VXORPD       Z5, Z5, Z5

loop8:
	CMPQ    CX, $8
	JLT     tail
	VADDPD  (SI), Z4, Z0
	VMOVUPD (DI), Z1
	VADDPD  Z1, Z1, Z1
	VSUBPD  Z1, Z0, Z0
	VMAXPD  Z0, Z5, Z0
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JMP     loop8

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	VMOVUPD.Z (DI), K1, Z1
	VADDPD    Z0, Z4, Z0
	VADDPD    Z1, Z1, Z1
	VSUBPD    Z1, Z0, Z0
	VMAXPD    Z0, Z5, Z0
	VMOVUPD   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// Z0 = (γ·Z0 + c)^q, where Z4 = γ, Z5 = c, Z6 = 1 and R8 = q: repeated squaring.
#define POWER512(SQUARE, SKIP, OUT) \
	VFMADD213PD Z5, Z4, Z0; \
	VMOVAPD     Z6, Z1;     \
	MOVQ        R8, AX;     \
	SQUARE:                 \
	TESTQ       $1, AX;     \
	JZ          SKIP;       \
	VMULPD      Z0, Z1, Z1; \
	SKIP:                   \
	SHRQ        $1, AX;     \
	JZ          OUT;        \
	VMULPD      Z0, Z0, Z0; \
	JMP         SQUARE;     \
	OUT:           \
	VMOVAPD Z1, Z0

// func powerAVX512(dst, x []float64, gamma, c float64, q int)
TEXT ·powerAVX512(SB), NOSPLIT, $0-72
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD gamma+48(FP), Z4
	VBROADCASTSD c+56(FP), Z5
	MOVQ         q+64(FP), R8
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Z6

loop8:
	CMPQ    CX, $8
	JLT     tail
	VMOVUPD (SI), Z0
	POWER512(square1, skip1, out1)
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JMP     loop8

tail:
	TESTQ     CX, CX
	JZ        done
	MOVL      $1, AX
	SHLL      CX, AX
	DECL      AX
	KMOVW     AX, K1
	VMOVUPD.Z (SI), K1, Z0
	POWER512(square2, skip2, out2)
	VMOVUPD   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func narrowAVX512(dst []float32, x []float64)
TEXT ·narrowAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

loop8:
	CMPQ      CX, $8
	JLT       tail
	VCVTPD2PS (SI), Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JMP       loop8

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	VCVTPD2PS Z0, Y0
	VMOVUPS   Y0, K1, (DI)

done:
	VZEROUPPER
	RET
