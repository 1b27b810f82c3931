//go:build !purego

#include "textflag.h"

// The reciprocals of up to ten features are added before they are divided,
//
//	n/d + 1/u = (n·u + d)/(d·u),
//
// since a division takes as long as ten multiplications or more. d features
// make ⌈d/10⌉ groups as equal as can be.

// R11 = the number of groups, R12 = the features of most of them, and DX such that
// group R13, counted down to 1, has one more where R13 < DX.
#define GROUPS \
	MOVL x_len+32(FP), AX; \
	ADDL $9, AX;           \
	MOVL $10, R11;         \
	XORL DX, DX;           \
	DIVL R11;              \
	MOVL AX, R11;          \
	MOVL x_len+32(FP), AX; \
	XORL DX, DX;           \
	DIVL R11;              \
	MOVL AX, R12;          \
	INCQ DX

// D = u, N = 1 with u = Z13 + COL: 1/u = N/D; Z14 = 1.
#define FIRST512(COL, N, D) \
	VADDPD  COL, Z13, D; \
	VMOVAPD Z14, N

// N/D += 1/u with u = Z13 + COL and Z12 as scratch.
#define NEXT512(COL, N, D) \
	VADDPD      COL, Z13, Z12; \
	VFMADD213PD D, Z12, N;     \
	VMULPD      Z12, D, D

// ACC += N/D.
#define DIVIDE512(N, D, ACC) \
	VDIVPD D, N, N;    \
	VADDPD N, ACC, ACC

// func harmonicRowAVX512(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX512(SB), NOSPLIT, $0-80
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	MOVQ         zt_base+48(FP), R8
	MOVQ         ld+72(FP), R9
	SHLQ         $3, R9             // bytes from a feature to the next
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Z14
	GROUPS

wide:
	CMPQ   CX, $32
	JLT    narrow
	VXORPD Z0, Z0, Z0
	VXORPD Z1, Z1, Z1
	VXORPD Z2, Z2, Z2
	VXORPD Z3, Z3, Z3
	MOVQ   R8, R10
	MOVQ   SI, AX
	MOVQ   R11, R13   // groups left

wideGroup:
	MOVQ         R12, BX   // features of this group
	CMPQ         R13, DX
	ADCQ         $0, BX
	VBROADCASTSD (AX), Z13
	FIRST512(0(R10), Z4, Z8)
	FIRST512(64(R10), Z5, Z9)
	FIRST512(128(R10), Z6, Z10)
	FIRST512(192(R10), Z7, Z11)
	JMP          wideTest

wideNext:
	VBROADCASTSD (AX), Z13
	NEXT512(0(R10), Z4, Z8)
	NEXT512(64(R10), Z5, Z9)
	NEXT512(128(R10), Z6, Z10)
	NEXT512(192(R10), Z7, Z11)

wideTest:
	ADDQ    $8, AX
	ADDQ    R9, R10
	DECQ    BX
	JNZ     wideNext
	DIVIDE512(Z4, Z8, Z0)
	DIVIDE512(Z5, Z9, Z1)
	DIVIDE512(Z6, Z10, Z2)
	DIVIDE512(Z7, Z11, Z3)
	DECQ    R13
	JNZ     wideGroup
	VMOVUPD Z0, 0(DI)
	VMOVUPD Z1, 64(DI)
	VMOVUPD Z2, 128(DI)
	VMOVUPD Z3, 192(DI)
	ADDQ    $256, R8
	ADDQ    $256, DI
	SUBQ    $32, CX
	JMP     wide

narrow:
	TESTQ CX, CX
	JZ    done
	MOVL  $0xFF, AX
	CMPQ  CX, $8
	JGE   narrowMask
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX

narrowMask:
	KMOVW  AX, K1
	VXORPD Z0, Z0, Z0
	MOVQ   R8, R10
	MOVQ   SI, AX
	MOVQ   R11, R13   // groups left

narrowGroup:
	MOVQ         R12, BX        // features of this group
	CMPQ         R13, DX
	ADCQ         $0, BX
	VBROADCASTSD (AX), Z13
	VMOVUPD.Z    (R10), K1, Z15
	FIRST512(Z15, Z4, Z8)
	JMP          narrowTest

narrowNext:
	VBROADCASTSD (AX), Z13
	VMOVUPD.Z    (R10), K1, Z15
	NEXT512(Z15, Z4, Z8)

narrowTest:
	ADDQ    $8, AX
	ADDQ    R9, R10
	DECQ    BX
	JNZ     narrowNext
	DIVIDE512(Z4, Z8, Z0)
	DECQ    R13
	JNZ     narrowGroup
	VMOVUPD Z0, K1, (DI)
	ADDQ    $64, R8
	ADDQ    $64, DI
	SUBQ    $8, CX
	JGT     narrow

done:
	VZEROUPPER
	RET

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

// D = u, N = 1 with u = Y13 + COL: 1/u = N/D; Y14 = 1.
#define FIRST256(COL, N, D) \
	VADDPD  COL, Y13, D; \
	VMOVAPD Y14, N

// N/D += 1/u with u = Y13 + COL and Y12 as scratch.
#define NEXT256(COL, N, D) \
	VADDPD      COL, Y13, Y12; \
	VFMADD213PD D, Y12, N;     \
	VMULPD      Y12, D, D

// ACC += N/D.
#define DIVIDE256(N, D, ACC) \
	VDIVPD D, N, N;    \
	VADDPD N, ACC, ACC

// func harmonicRowAVX2(dst, x, zt []float64, ld int)
TEXT ·harmonicRowAVX2(SB), NOSPLIT, $0-80
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	MOVQ         x_base+24(FP), SI
	MOVQ         zt_base+48(FP), R8
	MOVQ         ld+72(FP), R9
	SHLQ         $3, R9             // bytes from a feature to the next
	LEAQ         ·expConst(SB), AX
	VBROADCASTSD 104(AX), Y14
	GROUPS

wide:
	CMPQ   CX, $16
	JLT    narrow
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	MOVQ   R8, R10
	MOVQ   SI, AX
	MOVQ   R11, R13   // groups left

wideGroup:
	MOVQ         R12, BX   // features of this group
	CMPQ         R13, DX
	ADCQ         $0, BX
	VBROADCASTSD (AX), Y13
	FIRST256(0(R10), Y4, Y8)
	FIRST256(32(R10), Y5, Y9)
	FIRST256(64(R10), Y6, Y10)
	FIRST256(96(R10), Y7, Y11)
	JMP          wideTest

wideNext:
	VBROADCASTSD (AX), Y13
	NEXT256(0(R10), Y4, Y8)
	NEXT256(32(R10), Y5, Y9)
	NEXT256(64(R10), Y6, Y10)
	NEXT256(96(R10), Y7, Y11)

wideTest:
	ADDQ    $8, AX
	ADDQ    R9, R10
	DECQ    BX
	JNZ     wideNext
	DIVIDE256(Y4, Y8, Y0)
	DIVIDE256(Y5, Y9, Y1)
	DIVIDE256(Y6, Y10, Y2)
	DIVIDE256(Y7, Y11, Y3)
	DECQ    R13
	JNZ     wideGroup
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	ADDQ    $128, R8
	ADDQ    $128, DI
	SUBQ    $16, CX
	JMP     wide

narrow:
	TESTQ   CX, CX
	JZ      done
	MOVQ    $4, AX
	CMPQ    CX, AX
	CMOVQLT CX, AX
	SHLQ    $3, AX
	LEAQ    ·laneMask+32(SB), BX
	SUBQ    AX, BX
	VMOVDQU (BX), Y3
	VXORPD  Y0, Y0, Y0
	MOVQ    R8, R10
	MOVQ    SI, AX
	MOVQ    R11, R13             // groups left

narrowGroup:
	MOVQ         R12, BX        // features of this group
	CMPQ         R13, DX
	ADCQ         $0, BX
	VBROADCASTSD (AX), Y13
	VMASKMOVPD   (R10), Y3, Y15
	FIRST256(Y15, Y4, Y8)
	JMP          narrowTest

narrowNext:
	VBROADCASTSD (AX), Y13
	VMASKMOVPD   (R10), Y3, Y15
	NEXT256(Y15, Y4, Y8)

narrowTest:
	ADDQ       $8, AX
	ADDQ       R9, R10
	DECQ       BX
	JNZ        narrowNext
	DIVIDE256(Y4, Y8, Y0)
	DECQ       R13
	JNZ        narrowGroup
	VMASKMOVPD Y0, Y3, (DI)
	ADDQ       $32, R8
	ADDQ       $32, DI
	SUBQ       $4, CX
	JGT        narrow

done:
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
