//go:build !purego

#include "textflag.h"

// Z16…Z25 hold the constants of the exponential, Z26 and Z27 powers of 2^(1/16).
#define EXPCONST512 \
	LEAQ         ·exp512Const(SB), AX; \
	VBROADCASTSD 0(AX), Z16;           \
	VBROADCASTSD 8(AX), Z17;           \
	VBROADCASTSD 16(AX), Z18;          \
	VBROADCASTSD 24(AX), Z19;          \
	VBROADCASTSD 32(AX), Z20;          \
	VBROADCASTSD 40(AX), Z21;          \
	VBROADCASTSD 48(AX), Z22;          \
	VBROADCASTSD 56(AX), Z23;          \
	VBROADCASTSD 64(AX), Z24;          \
	VBROADCASTSD 72(AX), Z25;          \
	VMOVUPD      104(AX), Z26;         \
	VMOVUPD      168(AX), Z27

// N, X, T = n, r, 2^(n−⌊n⌋) with n = x·log₂e to the next sixteenth and
// r = x − n·ln2, so that exp(x) = 2^⌊n⌋·T·exp(r), for |X| ≤ 1001 or NaN.
#define REDUCE512(X, N, T) \
	VMOVAPD      Z17, N;     \
	VFMADD231PD  Z16, X, N;  \
	VMOVAPD      N, T;       \
	VSUBPD       Z17, N, N;  \
	VFNMADD231PD Z18, N, X;  \
	VFNMADD231PD Z19, N, X;  \
	VPERMI2PD    Z27, Z26, T

// X = 2^⌊N⌋·T·(1 + (r + r²·q(r))) at r = X, with Q as scratch.
#define EXPAND512(X, N, T, Q) \
	VMOVAPD     Z25, Q;    \
	VFMADD213PD Z24, X, Q; \
	VFMADD213PD Z23, X, Q; \
	VFMADD213PD Z22, X, Q; \
	VFMADD213PD Z21, X, Q; \
	VFMADD213PD Z20, X, Q; \
	VMULPD      X, Q, Q;   \
	VFMADD213PD X, X, Q;   \
	VFMADD213PD T, T, Q;   \
	VSCALEFPD   N, Q, X

// X = exp(X), with N, T and Q as scratch. X is clamped to Z14 = −1000 and
// Z15 = 1000, where the scaling gives 0 and +Inf; the operand order of min and
// max lets NaN pass.
#define EXP512(X, N, T, Q) \
	VMAXPD X, Z14, X;     \
	VMINPD X, Z15, X;     \
	REDUCE512(X, N, T);   \
	EXPAND512(X, N, T, Q)

// K1 = the lowest CX lanes, CX < 8.
#define TAILMASK512 \
	MOVL  $1, AX; \
	SHLL  CX, AX; \
	DECL  AX;     \
	KMOVW AX, K1

// The arguments and constants of exp(a·x).
#define EXPARGS512 \
	MOVQ         dst_base+0(FP), DI; \
	MOVQ         x_base+24(FP), SI;  \
	MOVQ         x_len+32(FP), CX;   \
	VBROADCASTSD a+48(FP), Z28;      \
	EXPCONST512;                     \
	VBROADCASTSD 80(AX), Z14;        \
	VBROADCASTSD 88(AX), Z15

// The next 16 exponentials, written by the instruction MOVE.
#define EXP16(MOVE) \
	VMULPD (SI), Z28, Z0;   \
	VMULPD 64(SI), Z28, Z4; \
	EXP512(Z0, Z1, Z2, Z3); \
	EXP512(Z4, Z5, Z6, Z7); \
	MOVE   Z0, (DI);        \
	MOVE   Z4, 64(DI);      \
	ADDQ   $128, SI;        \
	ADDQ   $128, DI;        \
	SUBQ   $16, CX

// func expAVX512(dst, x []float64, a float64)
TEXT ·expAVX512(SB), NOSPLIT, $0-56
	EXPARGS512

loop16:
	CMPQ CX, $16
	JLT  loop8
	EXP16(VMOVUPD)
	JMP  loop16

loop8:
	CMPQ    CX, $8
	JLT     tail
	VMULPD  (SI), Z28, Z0
	EXP512(Z0, Z1, Z2, Z3)
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	VMULPD    Z28, Z0, Z0
	EXP512(Z0, Z1, Z2, Z3)
	VMOVUPD   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func expStreamAVX512(dst, x []float64, a float64)
TEXT ·expStreamAVX512(SB), NOSPLIT, $0-56
	EXPARGS512

loop16:
	CMPQ CX, $16
	JLT  last
	EXP16(VMOVNTPD)
	JMP  loop16

last:
	TESTQ    CX, CX
	JZ       done
	VMULPD   (SI), Z28, Z0
	EXP512(Z0, Z1, Z2, Z3)
	VMOVNTPD Z0, (DI)

done:
	VZEROUPPER
	RET

// X = (1 + c₁t + c₂t²)·exp(−t) at t = min(1000, s·√X), with A, B, C, D as scratch,
// where Z11 = −1000, Z12 = −s, Z13 = −c₁, Z14 = c₂, Z31 = 1. The divider takes the
// square root beside the polynomials of other elements: an estimate and Newton's
// steps would compete with them.
#define MATERN512(X, A, B, C, D) \
	VSQRTPD     X, X;      \
	VMULPD      Z12, X, X; \
	VMAXPD      X, Z11, X; \
	VMOVAPD     Z14, A;    \
	VFMADD213PD Z13, X, A; \
	VFMADD213PD Z31, X, A; \
	REDUCE512(X, B, C);    \
	VMULPD      A, C, C;   \
	EXPAND512(X, B, C, D)

// func maternAVX512(dst, x []float64, s, c1, c2 float64)
TEXT ·maternAVX512(SB), NOSPLIT, $0-72
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD s+48(FP), Z12
	VBROADCASTSD c1+56(FP), Z13
	VBROADCASTSD c2+64(FP), Z14
	EXPCONST512
	VBROADCASTSD 96(AX), Z31
	VBROADCASTSD 80(AX), Z11
	VXORPD       Z0, Z0, Z0
	VSUBPD       Z12, Z0, Z12
	VSUBPD       Z13, Z0, Z13

loop16:
	CMPQ    CX, $16
	JLT     loop8
	VMOVUPD (SI), Z0
	VMOVUPD 64(SI), Z5
	MATERN512(Z0, Z1, Z2, Z3, Z4)
	MATERN512(Z5, Z6, Z7, Z8, Z9)
	VMOVUPD Z0, (DI)
	VMOVUPD Z5, 64(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $16, CX
	JMP     loop16

loop8:
	CMPQ    CX, $8
	JLT     tail
	VMOVUPD (SI), Z0
	MATERN512(Z0, Z1, Z2, Z3, Z4)
	VMOVUPD Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX

tail:
	TESTQ     CX, CX
	JZ        done
	TAILMASK512
	VMOVUPD.Z (SI), K1, Z0
	MATERN512(Z0, Z1, Z2, Z3, Z4)
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
