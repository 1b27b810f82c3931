//go:build !purego

#include "textflag.h"

// func secularAVX2(d, z []float64, mu float64) (sum, slope float64)
//
// Divisions bound it: wider registers and more sums would gain nothing.
TEXT ·secularAVX2(SB), NOSPLIT, $0-72
	MOVQ         d_base+0(FP), SI
	MOVQ         d_len+8(FP), CX
	MOVQ         z_base+24(FP), DI
	VBROADCASTSD mu+48(FP), Y9
	VXORPD       Y0, Y0, Y0
	VXORPD       Y1, Y1, Y1

loop4:
	SUBQ        $4, CX
	JLT         fold
	VMOVUPD     (SI), Y4
	VMOVUPD     (DI), Y5
	VSUBPD      Y9, Y4, Y4
	VDIVPD      Y4, Y5, Y4
	VFMADD231PD Y5, Y4, Y0
	VFMADD231PD Y4, Y4, Y1
	ADDQ        $32, SI
	ADDQ        $32, DI
	JMP         loop4

fold:
	VEXTRACTF128 $1, Y0, X4
	VEXTRACTF128 $1, Y1, X5
	VADDPD       X4, X0, X0
	VADDPD       X5, X1, X1
	VHADDPD      X0, X0, X0
	VHADDPD      X1, X1, X1
	ADDQ         $4, CX
	JZ           done

one:
	VMOVSD      (SI), X4
	VMOVSD      (DI), X5
	VSUBSD      X9, X4, X4
	VDIVSD      X4, X5, X4
	VFMADD231SD X5, X4, X0
	VFMADD231SD X4, X4, X1
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         one

done:
	VMOVSD X0, sum+56(FP)
	VMOVSD X1, slope+64(FP)
	VZEROUPPER
	RET
