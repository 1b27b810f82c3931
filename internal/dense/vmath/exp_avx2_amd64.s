//go:build !purego

#include "textflag.h"

// Constants are read from memory, of which one load an instruction is free;
// Y12…Y15 hold the ones that no instruction can read so.
#define EXPCONST256 \
	LEAQ         ·expConst(SB), AX; \
	VBROADCASTSD 0(AX), Y8;         \
	VBROADCASTSD 8(AX), Y9;         \
	VBROADCASTSD 16(AX), Y10;       \
	VBROADCASTSD 104(AX), Y11;      \
	VBROADCASTSD 112(AX), Y12;      \
	VBROADCASTSD 120(AX), Y13;      \
	VBROADCASTSD 128(AX), Y14;      \
	VBROADCASTSD 136(AX), Y15

// Q = Q·Y0 + the constant at OFF.
#define STEP256(OFF) \
	VBROADCASTSD OFF(AX), Y3; \
	VFMADD213PD  Y3, Y0, Y2

// Y0 = exp(Y0) with Y1…Y4 as scratch, as EXP512. The scaling by 2ⁿ is two
// multiplications, by 2^⌊n/2⌋ and by the rest, so that subnormal results are
// rounded once and neither factor overflows.
#define EXP256 \
	VMAXPD       Y0, Y12, Y0; \
	VMINPD       Y0, Y13, Y0; \
	VMOVAPD      Y0, Y1;      \
	VFMADD213PD  Y14, Y8, Y1; \
	VSUBPD       Y14, Y1, Y3; \
	VFNMADD231PD Y9, Y3, Y0;  \
	VFNMADD231PD Y10, Y3, Y0; \
	VBROADCASTSD 96(AX), Y2;  \
	STEP256(88);              \
	STEP256(80);              \
	STEP256(72);              \
	STEP256(64);              \
	STEP256(56);              \
	STEP256(48);              \
	STEP256(40);              \
	STEP256(32);              \
	STEP256(24);              \
	VMULPD       Y0, Y2, Y2;  \
	VFMADD213PD  Y0, Y0, Y2;  \
	VADDPD       Y11, Y2, Y0; \
	VPSRAD       $1, Y1, Y4;  \
	VPSUBD       Y4, Y1, Y1;  \
	VPADDD       Y15, Y4, Y4; \
	VPADDD       Y15, Y1, Y1; \
	VPSLLQ       $52, Y4, Y4; \
	VPSLLQ       $52, Y1, Y1; \
	VMULPD       Y4, Y0, Y0;  \
	VMULPD       Y1, Y0, Y0

// Y7 = all ones in the lowest CX lanes, CX < 4.
#define TAILMASK256 \
	LEAQ    ·laneMask+32(SB), BX; \
	SHLQ    $3, CX;               \
	SUBQ    CX, BX;               \
	VMOVDQU (BX), Y7

// func expAVX2(dst, x []float64, a float64)
TEXT ·expAVX2(SB), NOSPLIT, $0-56
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD a+48(FP), Y5
	EXPCONST256

loop4:
	CMPQ    CX, $4
	JLT     tail
	VMULPD  (SI), Y5, Y0
	EXP256
	VMOVUPD Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX
	JMP     loop4

tail:
	TESTQ      CX, CX
	JZ         done
	TAILMASK256
	VMASKMOVPD (SI), Y7, Y0
	VMULPD     Y5, Y0, Y0
	EXP256
	VMASKMOVPD Y0, Y7, (DI)

done:
	VZEROUPPER
	RET

// func expStreamAVX2(dst, x []float64, a float64)
TEXT ·expStreamAVX2(SB), NOSPLIT, $0-56
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD a+48(FP), Y5
	EXPCONST256
	TESTQ        CX, CX
	JZ           done

loop4:
	VMULPD   (SI), Y5, Y0
	EXP256
	VMOVNTPD Y0, (DI)
	ADDQ     $32, SI
	ADDQ     $32, DI
	SUBQ     $4, CX
	JNZ      loop4

done:
	VZEROUPPER
	RET

// Y0 = (1 + c₁t + c₂t²)·exp(−t) at t = min(1000, R8·√Y0), with s, c₁, c₂ read
// from the arguments' addresses in R8, R9, R10.
#define MATERN256 \
	VSQRTPD      Y0, Y0;      \
	VBROADCASTSD (R8), Y6;    \
	VMULPD       Y6, Y0, Y0;  \
	VMINPD       Y0, Y13, Y0; \
	VBROADCASTSD (R9), Y6;    \
	VBROADCASTSD (R10), Y5;   \
	VFMADD213PD  Y6, Y0, Y5;  \
	VFMADD213PD  Y11, Y0, Y5; \
	VXORPD       Y6, Y6, Y6;  \
	VSUBPD       Y0, Y6, Y0;  \
	EXP256;                   \
	VMULPD       Y5, Y0, Y0

// func maternAVX2(dst, x []float64, s, c1, c2 float64)
TEXT ·maternAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	LEAQ s+48(FP), R8
	LEAQ c1+56(FP), R9
	LEAQ c2+64(FP), R10
	EXPCONST256

loop4:
	CMPQ    CX, $4
	JLT     tail
	VMOVUPD (SI), Y0
	MATERN256
	VMOVUPD Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX
	JMP     loop4

tail:
	TESTQ      CX, CX
	JZ         done
	TAILMASK256
	VMASKMOVPD (SI), Y7, Y0
	MATERN256
	VMASKMOVPD Y0, Y7, (DI)

done:
	VZEROUPPER
	RET

// func sqDistAVX2(g []float64, ni float64, nj []float64)
TEXT ·sqDistAVX2(SB), NOSPLIT, $0-56
	MOVQ         g_base+0(FP), DI
	MOVQ         g_len+8(FP), CX
	VBROADCASTSD ni+24(FP), Y4
	MOVQ         nj_base+32(FP), SI
	VXORPD       Y5, Y5, Y5

loop4:
	CMPQ    CX, $4
	JLT     tail
	VADDPD  (SI), Y4, Y0
	VMOVUPD (DI), Y1
	VADDPD  Y1, Y1, Y1
	VSUBPD  Y1, Y0, Y0
	VMAXPD  Y0, Y5, Y0
	VMOVUPD Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX
	JMP     loop4

tail:
	TESTQ      CX, CX
	JZ         done
	TAILMASK256
	VMASKMOVPD (SI), Y7, Y0
	VMASKMOVPD (DI), Y7, Y1
	VADDPD     Y0, Y4, Y0
	VADDPD     Y1, Y1, Y1
	VSUBPD     Y1, Y0, Y0
	VMAXPD     Y0, Y5, Y0
	VMASKMOVPD Y0, Y7, (DI)

done:
	VZEROUPPER
	RET

// Y0 = (γ·Y0 + c)^q, where Y4 = γ, Y5 = c, Y6 = 1 and R8 = q: repeated squaring.
#define POWER256(SQUARE, SKIP, OUT) \
	VFMADD213PD Y5, Y4, Y0; \
	VMOVAPD     Y6, Y1;     \
	MOVQ        R8, AX;     \
	SQUARE:                 \
	TESTQ       $1, AX;     \
	JZ          SKIP;       \
	VMULPD      Y0, Y1, Y1; \
	SKIP:                   \
	SHRQ        $1, AX;     \
	JZ          OUT;        \
	VMULPD      Y0, Y0, Y0; \
	JMP         SQUARE;     \
	OUT:           \
	VMOVAPD Y1, Y0

// func powerAVX2(dst, x []float64, gamma, c float64, q int)
TEXT ·powerAVX2(SB), NOSPLIT, $0-72
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD gamma+48(FP), Y4
	VBROADCASTSD c+56(FP), Y5
	MOVQ         q+64(FP), R8
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Y6

loop4:
	CMPQ    CX, $4
	JLT     tail
	VMOVUPD (SI), Y0
	POWER256(square1, skip1, out1)
	VMOVUPD Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX
	JMP     loop4

tail:
	TESTQ      CX, CX
	JZ         done
	TAILMASK256
	VMASKMOVPD (SI), Y7, Y0
	POWER256(square2, skip2, out2)
	VMASKMOVPD Y0, Y7, (DI)

done:
	VZEROUPPER
	RET

// func narrowAVX2(dst []float32, x []float64)
TEXT ·narrowAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

loop4:
	CMPQ       CX, $4
	JLT        tail
	VCVTPD2PSY (SI), X0
	VMOVUPS    X0, (DI)
	ADDQ       $32, SI
	ADDQ       $16, DI
	SUBQ       $4, CX
	JMP        loop4

tail:
	TESTQ     CX, CX
	JZ        done
	VMOVSD    (SI), X0
	VCVTSD2SS X0, X0, X0
	VMOVSS    X0, (DI)
	ADDQ      $8, SI
	ADDQ      $4, DI
	DECQ      CX
	JMP       tail

done:
	VZEROUPPER
	RET
