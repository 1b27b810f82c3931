//go:build !purego

#include "textflag.h"

// func sinCosAVX512(sin, cos, x []float64, amp float64) int
//
// Stops before the first eight lanes that hold |x| ≥ 2³⁰, or NaN, and returns
// the number of elements done.
//
// With n = round(x·2/π) and r = x − n·π/2, the quadrant n mod 4 exchanges
// sin r and cos r when odd and sets their signs.
TEXT ·sinCosAVX512(SB), NOSPLIT, $0-88
	MOVQ         sin_base+0(FP), DI
	MOVQ         cos_base+24(FP), R8
	MOVQ         x_base+48(FP), SI
	MOVQ         SI, R9
	MOVQ         x_len+56(FP), CX
	VBROADCASTSD amp+72(FP), Z11
	LEAQ         ·trigConst(SB), AX
	VBROADCASTSD 0(AX), Z12
	VBROADCASTSD 8(AX), Z13
	VBROADCASTSD 16(AX), Z14
	VBROADCASTSD 24(AX), Z16
	VBROADCASTSD 32(AX), Z17
	VBROADCASTSD 40(AX), Z18
	VBROADCASTSD 48(AX), Z19
	VBROADCASTSD 56(AX), Z20
	VBROADCASTSD 64(AX), Z21
	VBROADCASTSD 72(AX), Z22
	VBROADCASTSD 80(AX), Z23
	VBROADCASTSD 88(AX), Z24
	VBROADCASTSD 96(AX), Z25
	VBROADCASTSD 104(AX), Z26
	VBROADCASTSD 112(AX), Z27
	VBROADCASTSD 120(AX), Z28
	VBROADCASTSD 128(AX), Z29
	VBROADCASTSD 136(AX), Z30
	VBROADCASTSD 152(AX), Z31
	VBROADCASTSD 160(AX), Z15
	MOVL         $0xFF, AX
	KMOVW        AX, K1

loop:
	CMPQ  CX, $8
	JGE   body
	TESTQ CX, CX
	JZ    all
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	MOVQ  $8, CX

body:
	VMOVUPD.Z    (SI), K1, Z0
	VPANDNQ      Z0, Z30, Z1
	VCMPPD       $5, Z15, Z1, K3
	KORTESTW     K3, K3
	JNE          stop
	VMULPD       Z12, Z0, Z1
	VRNDSCALEPD  $8, Z1, Z1
	VFNMADD231PD Z13, Z1, Z0
	VFNMADD231PD Z14, Z1, Z0
	VCVTPD2QQ    Z1, Z1
	VMULPD       Z0, Z0, Z2

	// Z3 = sin r = r + r·z·s(z), Z4 = cos r = 1 − z/2 + z²·c(z).
	VMOVAPD      Z21, Z3
	VMOVAPD      Z27, Z4
	VFMADD213PD  Z20, Z2, Z3
	VFMADD213PD  Z26, Z2, Z4
	VFMADD213PD  Z19, Z2, Z3
	VFMADD213PD  Z25, Z2, Z4
	VFMADD213PD  Z18, Z2, Z3
	VFMADD213PD  Z24, Z2, Z4
	VFMADD213PD  Z17, Z2, Z3
	VFMADD213PD  Z23, Z2, Z4
	VFMADD213PD  Z16, Z2, Z3
	VFMADD213PD  Z22, Z2, Z4
	VMULPD       Z2, Z0, Z5
	VFMADD213PD  Z0, Z5, Z3
	VMULPD       Z2, Z2, Z5
	VFNMADD213PD Z28, Z29, Z2
	VFMADD213PD  Z2, Z5, Z4
	VMULPD       Z11, Z3, Z3
	VMULPD       Z11, Z4, Z4

	VPTESTMQ  Z31, Z1, K2
	VPADDQ    Z31, Z1, Z6
	VPSLLQ    $62, Z1, Z1
	VPSLLQ    $62, Z6, Z6
	VPANDQ    Z30, Z1, Z1
	VPANDQ    Z30, Z6, Z6
	VBLENDMPD Z4, Z3, K2, Z7
	VBLENDMPD Z3, Z4, K2, Z8
	VXORPD    Z1, Z7, Z7
	VXORPD    Z6, Z8, Z8
	VMOVUPD   Z7, K1, (DI)
	VMOVUPD   Z8, K1, (R8)
	ADDQ      $64, SI
	ADDQ      $64, DI
	ADDQ      $64, R8
	SUBQ      $8, CX
	JMP       loop

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

// func cosAVX512(dst, x []float64, amp float64) int
//
// Stops as sinCosAVX512 does. With n = round(x/π − ½) and r = x − (n+½)·π,
// cos x = −(−1)ⁿ·sin r, |r| ≤ π/2: one polynomial where sine and cosine take two.
TEXT ·cosAVX512(SB), NOSPLIT, $0-64
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         SI, R9
	MOVQ         x_len+32(FP), CX
	VBROADCASTSD amp+48(FP), Z11
	LEAQ         ·cosConst(SB), AX
	VBROADCASTSD 0(AX), Z12
	VBROADCASTSD 8(AX), Z13
	VBROADCASTSD 16(AX), Z14
	VBROADCASTSD 24(AX), Z16
	VBROADCASTSD 32(AX), Z17
	VBROADCASTSD 40(AX), Z18
	VBROADCASTSD 48(AX), Z19
	VBROADCASTSD 56(AX), Z20
	VBROADCASTSD 64(AX), Z21
	VBROADCASTSD 72(AX), Z22
	VBROADCASTSD 80(AX), Z23
	LEAQ         ·trigConst(SB), AX
	VBROADCASTSD 128(AX), Z29
	VBROADCASTSD 136(AX), Z30
	VBROADCASTSD 160(AX), Z15
	VPXORQ       Z30, Z11, Z11
	MOVL         $0xFF, AX
	KMOVW        AX, K1

loop:
	CMPQ  CX, $8
	JGE   body
	TESTQ CX, CX
	JZ    all
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	MOVQ  $8, CX

body:
	VMOVUPD.Z    (SI), K1, Z0
	VPANDNQ      Z0, Z30, Z1
	VCMPPD       $5, Z15, Z1, K3
	KORTESTW     K3, K3
	JNE          stop
	VMOVAPD      Z0, Z1
	VFMSUB213PD  Z29, Z12, Z1
	VRNDSCALEPD  $8, Z1, Z1
	VADDPD       Z29, Z1, Z2
	VFNMADD231PD Z13, Z2, Z0
	VFNMADD231PD Z14, Z2, Z0
	VCVTPD2QQ    Z1, Z1
	VMULPD       Z0, Z0, Z2
	VMOVAPD      Z23, Z3
	VFMADD213PD  Z22, Z2, Z3
	VFMADD213PD  Z21, Z2, Z3
	VFMADD213PD  Z20, Z2, Z3
	VFMADD213PD  Z19, Z2, Z3
	VFMADD213PD  Z18, Z2, Z3
	VFMADD213PD  Z17, Z2, Z3
	VFMADD213PD  Z16, Z2, Z3
	VMULPD       Z2, Z0, Z5
	VFMADD213PD  Z0, Z5, Z3
	VMULPD       Z11, Z3, Z3
	VPSLLQ       $63, Z1, Z1
	VPXORQ       Z1, Z3, Z3
	VMOVUPD      Z3, K1, (DI)
	ADDQ         $64, SI
	ADDQ         $64, DI
	SUBQ         $8, CX
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
