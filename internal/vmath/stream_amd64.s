//go:build !purego

#include "textflag.h"

// Stores that bypass the caches wait in buffers of the processor.

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func streamAVX512(dst, x []float64)
TEXT ·streamAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

align:
	TESTQ CX, CX
	JZ    done
	TESTQ $63, DI
	JZ    blocks
	MOVQ  (SI), AX
	MOVQ  AX, (DI)
	ADDQ  $8, SI
	ADDQ  $8, DI
	DECQ  CX
	JMP   align

blocks:
	CMPQ     CX, $8
	JLT      tail
	VMOVUPD  (SI), Z0
	VMOVNTPD Z0, (DI)
	ADDQ     $64, SI
	ADDQ     $64, DI
	SUBQ     $8, CX
	JMP      blocks

tail:
	TESTQ CX, CX
	JZ    done
	MOVQ  (SI), AX
	MOVQ  AX, (DI)
	ADDQ  $8, SI
	ADDQ  $8, DI
	DECQ  CX
	JMP   tail

done:
	VZEROUPPER
	RET

// func streamNarrowAVX512(dst []float32, x []float64)
TEXT ·streamNarrowAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

align:
	TESTQ     CX, CX
	JZ        done
	TESTQ     $63, DI
	JZ        blocks
	VCVTSD2SS (SI), X0, X0
	VMOVSS    X0, (DI)
	ADDQ      $8, SI
	ADDQ      $4, DI
	DECQ      CX
	JMP       align

blocks:
	CMPQ         CX, $16
	JLT          tail
	VCVTPD2PS    (SI), Y0
	VCVTPD2PS    64(SI), Y1
	VINSERTF64X4 $1, Y1, Z0, Z0
	VMOVNTPS     Z0, (DI)
	ADDQ         $128, SI
	ADDQ         $64, DI
	SUBQ         $16, CX
	JMP          blocks

tail:
	TESTQ     CX, CX
	JZ        done
	VCVTSD2SS (SI), X0, X0
	VMOVSS    X0, (DI)
	ADDQ      $8, SI
	ADDQ      $4, DI
	DECQ      CX
	JMP       tail

done:
	VZEROUPPER
	RET

// func streamAVX2(dst, x []float64)
TEXT ·streamAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

align:
	TESTQ CX, CX
	JZ    done
	TESTQ $63, DI
	JZ    blocks
	MOVQ  (SI), AX
	MOVQ  AX, (DI)
	ADDQ  $8, SI
	ADDQ  $8, DI
	DECQ  CX
	JMP   align

blocks:
	CMPQ     CX, $8
	JLT      tail
	VMOVUPD  (SI), Y0
	VMOVUPD  32(SI), Y1
	VMOVNTPD Y0, (DI)
	VMOVNTPD Y1, 32(DI)
	ADDQ     $64, SI
	ADDQ     $64, DI
	SUBQ     $8, CX
	JMP      blocks

tail:
	TESTQ CX, CX
	JZ    done
	MOVQ  (SI), AX
	MOVQ  AX, (DI)
	ADDQ  $8, SI
	ADDQ  $8, DI
	DECQ  CX
	JMP   tail

done:
	VZEROUPPER
	RET

// func streamNarrowAVX2(dst []float32, x []float64)
TEXT ·streamNarrowAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX

align:
	TESTQ     CX, CX
	JZ        done
	TESTQ     $63, DI
	JZ        blocks
	VCVTSD2SS (SI), X0, X0
	VMOVSS    X0, (DI)
	ADDQ      $8, SI
	ADDQ      $4, DI
	DECQ      CX
	JMP       align

blocks:
	CMPQ       CX, $16
	JLT        tail
	VCVTPD2PSY (SI), X0
	VCVTPD2PSY 32(SI), X1
	VCVTPD2PSY 64(SI), X2
	VCVTPD2PSY 96(SI), X3
	VMOVNTPS   X0, (DI)
	VMOVNTPS   X1, 16(DI)
	VMOVNTPS   X2, 32(DI)
	VMOVNTPS   X3, 48(DI)
	ADDQ       $128, SI
	ADDQ       $64, DI
	SUBQ       $16, CX
	JMP        blocks

tail:
	TESTQ     CX, CX
	JZ        done
	VCVTSD2SS (SI), X0, X0
	VMOVSS    X0, (DI)
	ADDQ      $8, SI
	ADDQ      $4, DI
	DECQ      CX
	JMP       tail

done:
	VZEROUPPER
	RET
