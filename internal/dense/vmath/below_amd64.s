//go:build !purego

#include "textflag.h"

// func sqDistBelowAVX512(g []float64, ni float64, nj []float64, s, c float64) bool
TEXT ·sqDistBelowAVX512(SB), NOSPLIT, $0-73
	MOVQ         g_base+0(FP), DI
	MOVQ         g_len+8(FP), CX
	VBROADCASTSD ni+24(FP), Z4
	MOVQ         nj_base+32(FP), SI
	VBROADCASTSD s+56(FP), Z6
	VBROADCASTSD c+64(FP), Z7
	VXORPD       Z5, Z5, Z5
	XORL         R8, R8

loop:
	CMPQ        CX, $8
	JLT         tail
	VADDPD      (SI), Z4, Z0
	VMOVUPD     (DI), Z1
	VADDPD      Z1, Z1, Z1
	VSUBPD      Z1, Z0, Z1
	VMAXPD      Z1, Z5, Z1
	VMOVUPD     Z1, (DI)
	VFMADD213PD Z7, Z6, Z0
	VCMPPD      $2, Z0, Z1, K2
	KMOVW       K2, AX
	ORL         AX, R8
	ADDQ        $64, SI
	ADDQ        $64, DI
	SUBQ        $8, CX
	JMP         loop

tail:
	TESTQ       CX, CX
	JZ          done
	MOVL        $1, AX
	SHLL        CX, AX
	DECL        AX
	KMOVW       AX, K1
	VMOVUPD.Z   (SI), K1, Z0
	VMOVUPD.Z   (DI), K1, Z1
	VADDPD      Z0, Z4, Z0
	VADDPD      Z1, Z1, Z1
	VSUBPD      Z1, Z0, Z1
	VMAXPD      Z1, Z5, Z1
	VMOVUPD     Z1, K1, (DI)
	VFMADD213PD Z7, Z6, Z0
	VCMPPD      $2, Z0, Z1, K1, K2
	KMOVW       K2, AX
	ORL         AX, R8

done:
	TESTL R8, R8
	SETNE ret+72(FP)
	VZEROUPPER
	RET

// func sqDistBelowAVX2(g []float64, ni float64, nj []float64, s, c float64) bool
TEXT ·sqDistBelowAVX2(SB), NOSPLIT, $0-73
	MOVQ         g_base+0(FP), DI
	MOVQ         g_len+8(FP), CX
	VBROADCASTSD ni+24(FP), Y4
	MOVQ         nj_base+32(FP), SI
	VBROADCASTSD s+56(FP), Y6
	VBROADCASTSD c+64(FP), Y7
	VXORPD       Y5, Y5, Y5
	VXORPD       Y8, Y8, Y8

loop:
	CMPQ        CX, $4
	JLT         tail
	VADDPD      (SI), Y4, Y0
	VMOVUPD     (DI), Y1
	VADDPD      Y1, Y1, Y1
	VSUBPD      Y1, Y0, Y1
	VMAXPD      Y1, Y5, Y1
	VMOVUPD     Y1, (DI)
	VFMADD213PD Y7, Y6, Y0
	VCMPPD      $2, Y0, Y1, Y1
	VORPD       Y1, Y8, Y8
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $4, CX
	JMP         loop

tail:
	TESTQ       CX, CX
	JZ          done
	LEAQ        ·laneMask+32(SB), BX
	SHLQ        $3, CX
	SUBQ        CX, BX
	VMOVDQU     (BX), Y9
	VMASKMOVPD  (SI), Y9, Y0
	VMASKMOVPD  (DI), Y9, Y1
	VADDPD      Y0, Y4, Y0
	VADDPD      Y1, Y1, Y1
	VSUBPD      Y1, Y0, Y1
	VMAXPD      Y1, Y5, Y1
	VMASKMOVPD  Y1, Y9, (DI)
	VFMADD213PD Y7, Y6, Y0
	VCMPPD      $2, Y0, Y1, Y1
	VANDPD      Y1, Y9, Y1
	VORPD       Y1, Y8, Y8

done:
	VMOVMSKPD Y8, R8
	TESTL     R8, R8
	SETNE     ret+72(FP)
	VZEROUPPER
	RET
