//go:build !purego

#include "textflag.h"

// func reflect3AVX2(x, y, z []float64, tau, v1, v2 float64)
TEXT ·reflect3AVX2(SB), NOSPLIT, $0-96
	MOVQ         x_base+0(FP), SI
	MOVQ         x_len+8(FP), CX
	MOVQ         y_base+24(FP), DI
	MOVQ         z_base+48(FP), DX
	VBROADCASTSD tau+72(FP), Y5
	VBROADCASTSD v1+80(FP), Y6
	VBROADCASTSD v2+88(FP), Y7
	XORQ         AX, AX
	SUBQ         $4, CX
	JLT          rest

loop4:
	VMOVUPD      (SI)(AX*8), Y0
	VMOVUPD      (DI)(AX*8), Y1
	VMOVUPD      (DX)(AX*8), Y2
	VMOVAPD      Y0, Y3
	VFMADD231PD  Y1, Y6, Y3
	VFMADD231PD  Y2, Y7, Y3
	VMULPD       Y3, Y5, Y3
	VSUBPD       Y3, Y0, Y0
	VFNMADD231PD Y3, Y6, Y1
	VFNMADD231PD Y3, Y7, Y2
	VMOVUPD      Y0, (SI)(AX*8)
	VMOVUPD      Y1, (DI)(AX*8)
	VMOVUPD      Y2, (DX)(AX*8)
	ADDQ         $4, AX
	SUBQ         $4, CX
	JGE          loop4

rest:
	ADDQ $4, CX
	JZ   done

one:
	VMOVSD       (SI)(AX*8), X0
	VMOVSD       (DI)(AX*8), X1
	VMOVSD       (DX)(AX*8), X2
	VMOVAPD      X0, X3
	VFMADD231SD  X1, X6, X3
	VFMADD231SD  X2, X7, X3
	VMULSD       X3, X5, X3
	VSUBSD       X3, X0, X0
	VFNMADD231SD X3, X6, X1
	VFNMADD231SD X3, X7, X2
	VMOVSD       X0, (SI)(AX*8)
	VMOVSD       X1, (DI)(AX*8)
	VMOVSD       X2, (DX)(AX*8)
	INCQ         AX
	DECQ         CX
	JNZ          one

done:
	VZEROUPPER
	RET
