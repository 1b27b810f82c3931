//go:build !purego

#include "textflag.h"

// Eight reciprocals are added before they are divided,
//
//	1/u + 1/v = (u + v)/(u·v),   n/d + m/e = (n·e + m·d)/(d·e),
//
// since a division takes as long as ten multiplications or more.

// N = u + v and D = u·v with u = XA + COLA and v = XB + COLB: 1/u + 1/v = N/D.
#define PAIR512(XA, XB, COLA, COLB, N, D) \
	VADDPD COLA, XA, N;   \
	VADDPD COLB, XB, Z20; \
	VMULPD Z20, N, D;     \
	VADDPD Z20, N, N

// Z16/Z17 += Z18/Z19.
#define JOIN512 \
	VMULPD      Z19, Z16, Z16; \
	VFMADD231PD Z18, Z17, Z16; \
	VMULPD      Z19, Z17, Z17

// ACC += the reciprocals of eight features, whose samples are Z8…Z15 and
// whose columns start OFF bytes from R10 on, R9 bytes apart.
#define EIGHT512(OFF, ACC) \
	PAIR512(Z8, Z9, OFF(R10), OFF(R10)(R9*1), Z16, Z17);           \
	PAIR512(Z10, Z11, OFF(R10)(R9*2), OFF(R10)(R11*1), Z18, Z19);  \
	JOIN512;                                                       \
	PAIR512(Z12, Z13, OFF(R10)(R9*4), OFF(R10)(R12*1), Z18, Z19);  \
	JOIN512;                                                       \
	PAIR512(Z14, Z15, OFF(R10)(R11*2), OFF(R10)(R13*1), Z18, Z19); \
	JOIN512;                                                       \
	VDIVPD Z17, Z16, Z16;                                          \
	VADDPD Z16, ACC, ACC

// ACC += the reciprocals of two features, whose samples are Z8 and Z9.
#define TWO512(COLA, COLB, ACC) \
	PAIR512(Z8, Z9, COLA, COLB, Z16, Z17); \
	VDIVPD Z17, Z16, Z16;                  \
	VADDPD Z16, ACC, ACC

// ACC += the reciprocal of one feature; Z15 = 1.
#define ONE512(COL, ACC) \
	VADDPD COL, Z8, Z16;  \
	VDIVPD Z16, Z15, Z16; \
	VADDPD Z16, ACC, ACC

// func harmonicRowAVX512(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX512(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), DX
	MOVQ zt_base+48(FP), R8
	MOVQ ld+72(FP), R9
	SHLQ $3, R9             // bytes from a feature to the next
	LEAQ (R9)(R9*2), R11
	LEAQ (R9)(R9*4), R12
	LEAQ (R11)(R9*4), R13

wide:
	CMPQ   CX, $32
	JLT    narrow
	VXORPD Z0, Z0, Z0
	VXORPD Z1, Z1, Z1
	VXORPD Z2, Z2, Z2
	VXORPD Z3, Z3, Z3
	MOVQ   R8, R10
	MOVQ   SI, AX
	MOVQ   DX, BX     // features left

wideEight:
	CMPQ         BX, $8
	JLT          wideTwo
	VBROADCASTSD 0(AX), Z8
	VBROADCASTSD 8(AX), Z9
	VBROADCASTSD 16(AX), Z10
	VBROADCASTSD 24(AX), Z11
	VBROADCASTSD 32(AX), Z12
	VBROADCASTSD 40(AX), Z13
	VBROADCASTSD 48(AX), Z14
	VBROADCASTSD 56(AX), Z15
	EIGHT512(0, Z0)
	EIGHT512(64, Z1)
	EIGHT512(128, Z2)
	EIGHT512(192, Z3)
	LEAQ         (R10)(R9*8), R10
	ADDQ         $64, AX
	SUBQ         $8, BX
	JMP          wideEight

wideTwo:
	CMPQ         BX, $2
	JLT          wideOne
	VBROADCASTSD 0(AX), Z8
	VBROADCASTSD 8(AX), Z9
	TWO512(0(R10), 0(R10)(R9*1), Z0)
	TWO512(64(R10), 64(R10)(R9*1), Z1)
	TWO512(128(R10), 128(R10)(R9*1), Z2)
	TWO512(192(R10), 192(R10)(R9*1), Z3)
	LEAQ         (R10)(R9*2), R10
	ADDQ         $16, AX
	SUBQ         $2, BX
	JMP          wideTwo

wideOne:
	TESTQ        BX, BX
	JZ           wideDone
	VBROADCASTSD (AX), Z8
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Z15
	ONE512(0(R10), Z0)
	ONE512(64(R10), Z1)
	ONE512(128(R10), Z2)
	ONE512(192(R10), Z3)

wideDone:
	VMOVUPD Z0, 0(DI)
	VMOVUPD Z1, 64(DI)
	VMOVUPD Z2, 128(DI)
	VMOVUPD Z3, 192(DI)
	ADDQ    $256, R8
	ADDQ    $256, DI
	SUBQ    $32, CX
	JMP     wide

narrow:
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Z15

narrowNext:
	TESTQ   CX, CX
	JZ      done
	MOVQ    $8, R12
	CMPQ    CX, R12
	CMOVQLT CX, R12    // columns of this strip
	MOVQ    CX, R13
	MOVQ    R12, CX
	MOVL    $1, AX
	SHLL    CX, AX
	DECL    AX
	KMOVW   AX, K1
	MOVQ    R13, CX
	VXORPD  Z0, Z0, Z0
	MOVQ    R8, R10
	XORQ    BX, BX

narrowOne:
	VBROADCASTSD (SI)(BX*8), Z8
	VMOVUPD.Z    (R10), K1, Z9
	ONE512(Z9, Z0)
	ADDQ         R9, R10
	INCQ         BX
	CMPQ         BX, DX
	JLT          narrowOne
	VMOVUPD      Z0, K1, (DI)
	LEAQ         (R8)(R12*8), R8
	LEAQ         (DI)(R12*8), DI
	SUBQ         R12, CX
	JMP          narrowNext

done:
	VZEROUPPER
	RET

// func belowAVX512(x []float64, a float64, y []float64, s float64) bool
TEXT ·belowAVX512(SB), NOSPLIT, $0-65
	MOVQ         x_base+0(FP), DI
	MOVQ         x_len+8(FP), CX
	VBROADCASTSD a+24(FP), Z1
	MOVQ         y_base+32(FP), SI
	VBROADCASTSD s+56(FP), Z2
	MOVB         $0, ret+64(FP)

vector:
	CMPQ    CX, $8
	JLT     single
	VADDPD  (SI), Z1, Z0
	VMULPD  Z2, Z0, Z0
	VMOVUPD (DI), Z3
	VCMPPD  $2, Z0, Z3, K2
	KTESTB  K2, K2
	JNZ     yes
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JMP     vector

single:
	TESTQ    CX, CX
	JZ       no
	VADDSD   (SI), X1, X0
	VMULSD   X2, X0, X0
	VUCOMISD (DI), X0
	JCC      yes
	ADDQ     $8, SI
	ADDQ     $8, DI
	DECQ     CX
	JMP      single

yes:
	MOVB $1, ret+64(FP)

no:
	VZEROUPPER
	RET

// N = u + v and D = u·v with u = XA + COLA and v = XB + COLB: 1/u + 1/v = N/D.
#define PAIR256(XA, XB, COLA, COLB, N, D) \
	VADDPD COLA, XA, N;  \
	VADDPD COLB, XB, Y6; \
	VMULPD Y6, N, D;     \
	VADDPD Y6, N, N

// Y2/Y3 += Y4/Y5.
#define JOIN256 \
	VMULPD      Y5, Y2, Y2; \
	VFMADD231PD Y4, Y3, Y2; \
	VMULPD      Y5, Y3, Y3

// ACC += the reciprocals of eight features, whose samples are Y8…Y15 and
// whose columns start OFF bytes from R10 on, R9 bytes apart.
#define EIGHT256(OFF, ACC) \
	PAIR256(Y8, Y9, OFF(R10), OFF(R10)(R9*1), Y2, Y3);           \
	PAIR256(Y10, Y11, OFF(R10)(R9*2), OFF(R10)(R11*1), Y4, Y5);  \
	JOIN256;                                                     \
	PAIR256(Y12, Y13, OFF(R10)(R9*4), OFF(R10)(R12*1), Y4, Y5);  \
	JOIN256;                                                     \
	PAIR256(Y14, Y15, OFF(R10)(R11*2), OFF(R10)(R13*1), Y4, Y5); \
	JOIN256;                                                     \
	VDIVPD Y3, Y2, Y2;                                           \
	VADDPD Y2, ACC, ACC

// ACC += the reciprocals of two features, whose samples are Y8 and Y9.
#define TWO256(COLA, COLB, ACC) \
	PAIR256(Y8, Y9, COLA, COLB, Y2, Y3); \
	VDIVPD Y3, Y2, Y2;                   \
	VADDPD Y2, ACC, ACC

// ACC += the reciprocal of one feature; Y15 = 1.
#define ONE256(COL, ACC) \
	VADDPD COL, Y8, Y2; \
	VDIVPD Y2, Y15, Y2; \
	VADDPD Y2, ACC, ACC

// func harmonicRowAVX2(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), DX
	MOVQ zt_base+48(FP), R8
	MOVQ ld+72(FP), R9
	SHLQ $3, R9             // bytes from a feature to the next
	LEAQ (R9)(R9*2), R11
	LEAQ (R9)(R9*4), R12
	LEAQ (R11)(R9*4), R13

wide:
	CMPQ   CX, $8
	JLT    narrow
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	MOVQ   R8, R10
	MOVQ   SI, AX
	MOVQ   DX, BX     // features left

wideEight:
	CMPQ         BX, $8
	JLT          wideTwo
	VBROADCASTSD 0(AX), Y8
	VBROADCASTSD 8(AX), Y9
	VBROADCASTSD 16(AX), Y10
	VBROADCASTSD 24(AX), Y11
	VBROADCASTSD 32(AX), Y12
	VBROADCASTSD 40(AX), Y13
	VBROADCASTSD 48(AX), Y14
	VBROADCASTSD 56(AX), Y15
	EIGHT256(0, Y0)
	EIGHT256(32, Y1)
	LEAQ         (R10)(R9*8), R10
	ADDQ         $64, AX
	SUBQ         $8, BX
	JMP          wideEight

wideTwo:
	CMPQ         BX, $2
	JLT          wideOne
	VBROADCASTSD 0(AX), Y8
	VBROADCASTSD 8(AX), Y9
	TWO256(0(R10), 0(R10)(R9*1), Y0)
	TWO256(32(R10), 32(R10)(R9*1), Y1)
	LEAQ         (R10)(R9*2), R10
	ADDQ         $16, AX
	SUBQ         $2, BX
	JMP          wideTwo

wideOne:
	TESTQ        BX, BX
	JZ           wideDone
	VBROADCASTSD (AX), Y8
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Y15
	ONE256(0(R10), Y0)
	ONE256(32(R10), Y1)

wideDone:
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	ADDQ    $64, R8
	ADDQ    $64, DI
	SUBQ    $8, CX
	JMP     wide

narrow:
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Y15

narrowNext:
	TESTQ   CX, CX
	JZ      done
	MOVQ    $4, R12
	CMPQ    CX, R12
	CMOVQLT CX, R12              // columns of this strip
	LEAQ    ·laneMask+32(SB), AX
	MOVQ    R12, R13
	SHLQ    $3, R13
	SUBQ    R13, AX
	VMOVDQU (AX), Y10
	VXORPD  Y0, Y0, Y0
	MOVQ    R8, R10
	XORQ    BX, BX

narrowOne:
	VBROADCASTSD (SI)(BX*8), Y8
	VMASKMOVPD   (R10), Y10, Y9
	ONE256(Y9, Y0)
	ADDQ         R9, R10
	INCQ         BX
	CMPQ         BX, DX
	JLT          narrowOne
	VMASKMOVPD   Y0, Y10, (DI)
	LEAQ         (R8)(R12*8), R8
	LEAQ         (DI)(R12*8), DI
	SUBQ         R12, CX
	JMP          narrowNext

done:
	VZEROUPPER
	RET

// func belowAVX2(x []float64, a float64, y []float64, s float64) bool
TEXT ·belowAVX2(SB), NOSPLIT, $0-65
	MOVQ         x_base+0(FP), DI
	MOVQ         x_len+8(FP), CX
	VBROADCASTSD a+24(FP), Y1
	MOVQ         y_base+32(FP), SI
	VBROADCASTSD s+56(FP), Y2
	MOVB         $0, ret+64(FP)

vector:
	CMPQ    CX, $4
	JLT     single
	VADDPD  (SI), Y1, Y0
	VMULPD  Y2, Y0, Y0
	VMOVUPD (DI), Y3
	VCMPPD  $2, Y0, Y3, Y3
	VTESTPD Y3, Y3
	JNZ     yes
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $4, CX
	JMP     vector

single:
	TESTQ    CX, CX
	JZ       no
	VADDSD   (SI), X1, X0
	VMULSD   X2, X0, X0
	VUCOMISD (DI), X0
	JCC      yes
	ADDQ     $8, SI
	ADDQ     $8, DI
	DECQ     CX
	JMP      single

yes:
	MOVB $1, ret+64(FP)

no:
	VZEROUPPER
	RET
