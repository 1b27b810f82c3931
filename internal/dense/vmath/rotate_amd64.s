//go:build !purego

#include "textflag.h"

// One rotation of as many columns as a register holds: (x, y) ← (c·x + s·y, c·y − s·x) with c in Y8 and s in Y9.
// x is stored, y is the x of the next rotation.
#define ROTATE(x, y, t, at) \
	VMOVUPD      at(DI)(BX*1), y \
	VMULPD       x, Y8, t        \
	VFMADD231PD  y, Y9, t        \
	VMULPD       y, Y8, y        \
	VFNMADD231PD x, Y9, y        \
	VMOVUPD      t, at(DI)       \
	VMOVAPD      y, x

// func rotateAVX2(c, s, a []float64, ld, n int)
TEXT ·rotateAVX2(SB), NOSPLIT, $0-88
	MOVQ c_base+0(FP), R8
	MOVQ c_len+8(FP), R10
	MOVQ s_base+24(FP), R9
	MOVQ a_base+48(FP), SI
	MOVQ ld+72(FP), BX
	MOVQ n+80(FP), CX
	SHLQ $3, BX
	SUBQ $16, CX
	JLT  rest16

loop16:
	MOVQ    SI, DI
	XORQ    AX, AX
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3

step16:
	VBROADCASTSD (R8)(AX*8), Y8
	VBROADCASTSD (R9)(AX*8), Y9
	ROTATE(Y0, Y4, Y10, 0)
	ROTATE(Y1, Y5, Y11, 32)
	ROTATE(Y2, Y6, Y12, 64)
	ROTATE(Y3, Y7, Y13, 96)
	ADDQ         BX, DI
	INCQ         AX
	CMPQ         AX, R10
	JLT          step16
	VMOVUPD      Y0, (DI)
	VMOVUPD      Y1, 32(DI)
	VMOVUPD      Y2, 64(DI)
	VMOVUPD      Y3, 96(DI)
	ADDQ         $128, SI
	SUBQ         $16, CX
	JGE          loop16

rest16:
	ADDQ $12, CX
	JLT  rest4

loop4:
	MOVQ    SI, DI
	XORQ    AX, AX
	VMOVUPD (DI), Y0

step4:
	VBROADCASTSD (R8)(AX*8), Y8
	VBROADCASTSD (R9)(AX*8), Y9
	ROTATE(Y0, Y4, Y10, 0)
	ADDQ         BX, DI
	INCQ         AX
	CMPQ         AX, R10
	JLT          step4
	VMOVUPD      Y0, (DI)
	ADDQ         $32, SI
	SUBQ         $4, CX
	JGE          loop4

rest4:
	ADDQ $4, CX
	JZ   done

one:
	MOVQ   SI, DI
	XORQ   AX, AX
	VMOVSD (DI), X0

step1:
	VMOVSD       (R8)(AX*8), X8
	VMOVSD       (R9)(AX*8), X9
	VMOVSD       (DI)(BX*1), X4
	VMULSD       X0, X8, X10
	VFMADD231SD  X4, X9, X10
	VMULSD       X4, X8, X4
	VFNMADD231SD X0, X9, X4
	VMOVSD       X10, (DI)
	VMOVAPD      X4, X0
	ADDQ         BX, DI
	INCQ         AX
	CMPQ         AX, R10
	JLT          step1
	VMOVSD       X0, (DI)
	ADDQ         $8, SI
	DECQ         CX
	JNZ          one

done:
	VZEROUPPER
	RET
