//go:build !purego

#include "textflag.h"

// ACC = ACC·Y2 + the constant at OFF.
#define STEP(OFF, ACC) \
	VBROADCASTSD OFF(AX), Y5; \
	VFMADD213PD  Y5, Y2, ACC

// func sinCosAVX2(sin, cos, x []float64, amp float64) int
//
// As sinCosAVX512, four lanes at a time; n comes in the low bits of Y1 from the addition of 1.5·2⁵².
TEXT ·sinCosAVX2(SB), NOSPLIT, $0-88
	MOVQ         sin_base+0(FP), DI
	MOVQ         cos_base+24(FP), R8
	MOVQ         x_base+48(FP), SI
	MOVQ         SI, R9
	MOVQ         x_len+56(FP), CX
	VBROADCASTSD amp+72(FP), Y11
	LEAQ         ·trigConst(SB), AX
	VBROADCASTSD 0(AX), Y12
	VBROADCASTSD 8(AX), Y13
	VBROADCASTSD 16(AX), Y14
	VBROADCASTSD 136(AX), Y10
	VBROADCASTSD 144(AX), Y15
	VPCMPEQD     Y9, Y9, Y9

loop:
	CMPQ    CX, $4
	JGE     body
	TESTQ   CX, CX
	JZ      all
	LEAQ    ·laneMask+32(SB), BX
	SHLQ    $3, CX
	SUBQ    CX, BX
	VMOVDQU (BX), Y9
	MOVQ    $4, CX

body:
	VMASKMOVPD   (SI), Y9, Y0
	VANDNPD      Y0, Y10, Y1
	VBROADCASTSD 160(AX), Y3
	VCMPPD       $5, Y3, Y1, Y1
	VMOVMSKPD    Y1, BX
	TESTL        BX, BX
	JNZ          stop
	VMOVAPD      Y0, Y1
	VFMADD213PD  Y15, Y12, Y1
	VSUBPD       Y15, Y1, Y3
	VFNMADD231PD Y13, Y3, Y0
	VFNMADD231PD Y14, Y3, Y0
	VMULPD       Y0, Y0, Y2

	VBROADCASTSD 64(AX), Y3
	VBROADCASTSD 112(AX), Y4
	STEP(56, Y3)
	STEP(104, Y4)
	STEP(48, Y3)
	STEP(96, Y4)
	STEP(40, Y3)
	STEP(88, Y4)
	STEP(32, Y3)
	STEP(80, Y4)
	STEP(24, Y3)
	STEP(72, Y4)
	VMULPD       Y2, Y0, Y5
	VFMADD213PD  Y0, Y5, Y3
	VMULPD       Y2, Y2, Y5
	VBROADCASTSD 128(AX), Y6
	VBROADCASTSD 120(AX), Y7
	VFNMADD213PD Y7, Y6, Y2
	VFMADD213PD  Y2, Y5, Y4
	VMULPD       Y11, Y3, Y3
	VMULPD       Y11, Y4, Y4

	VPBROADCASTQ 152(AX), Y6
	VPADDQ       Y6, Y1, Y6
	VPSLLQ       $63, Y1, Y7
	VPSLLQ       $62, Y1, Y1
	VPSLLQ       $62, Y6, Y6
	VPAND        Y10, Y1, Y1
	VPAND        Y10, Y6, Y6
	VBLENDVPD    Y7, Y4, Y3, Y5
	VBLENDVPD    Y7, Y3, Y4, Y8
	VXORPD       Y1, Y5, Y5
	VXORPD       Y6, Y8, Y8
	VMASKMOVPD   Y5, Y9, (DI)
	VMASKMOVPD   Y8, Y9, (R8)
	ADDQ         $32, SI
	ADDQ         $32, DI
	ADDQ         $32, R8
	SUBQ         $4, CX
	JMP          loop

all:
	MOVQ x_len+56(FP), AX
	JMP  done

stop:
	SUBQ R9, SI
	SHRQ $3, SI
	MOVQ SI, AX

done:
	VZEROUPPER
	MOVQ AX, ret+80(FP)
	RET

// func cosAVX2(dst, x []float64, amp float64) int
//
// As cosAVX512, four lanes at a time.
TEXT ·cosAVX2(SB), NOSPLIT, $0-64
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         SI, R9
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD amp+48(FP), Y11
	LEAQ         ·cosConst(SB), AX
	LEAQ         ·trigConst(SB), DX
	VBROADCASTSD 0(AX), Y12
	VBROADCASTSD 8(AX), Y13
	VBROADCASTSD 16(AX), Y14
	VBROADCASTSD 128(DX), Y6
	VBROADCASTSD 136(DX), Y10
	VBROADCASTSD 144(DX), Y15
	VBROADCASTSD 160(DX), Y7
	VXORPD       Y10, Y11, Y11
	VPCMPEQD     Y9, Y9, Y9

loop:
	CMPQ    CX, $4
	JGE     body
	TESTQ   CX, CX
	JZ      all
	LEAQ    ·laneMask+32(SB), BX
	SHLQ    $3, CX
	SUBQ    CX, BX
	VMOVDQU (BX), Y9
	MOVQ    $4, CX

body:
	VMASKMOVPD   (SI), Y9, Y0
	VANDNPD      Y0, Y10, Y1
	VCMPPD       $5, Y7, Y1, Y1
	VMOVMSKPD    Y1, BX
	TESTL        BX, BX
	JNZ          stop
	VMOVAPD      Y0, Y1
	VFMSUB213PD  Y6, Y12, Y1
	VADDPD       Y15, Y1, Y1
	VSUBPD       Y15, Y1, Y2
	VADDPD       Y6, Y2, Y2
	VFNMADD231PD Y13, Y2, Y0
	VFNMADD231PD Y14, Y2, Y0
	VMULPD       Y0, Y0, Y2
	VBROADCASTSD 80(AX), Y3
	STEP(72, Y3)
	STEP(64, Y3)
	STEP(56, Y3)
	STEP(48, Y3)
	STEP(40, Y3)
	STEP(32, Y3)
	STEP(24, Y3)
	VMULPD       Y2, Y0, Y5
	VFMADD213PD  Y0, Y5, Y3
	VMULPD       Y11, Y3, Y3
	VPSLLQ       $63, Y1, Y1
	VPXOR        Y1, Y3, Y3
	VMASKMOVPD   Y3, Y9, (DI)
	ADDQ         $32, SI
	ADDQ         $32, DI
	SUBQ         $4, CX
	JMP          loop

all:
	MOVQ x_len+32(FP), AX
	JMP  done

stop:
	SUBQ R9, SI
	SHRQ $3, SI
	MOVQ SI, AX

done:
	VZEROUPPER
	MOVQ AX, ret+56(FP)
	RET
