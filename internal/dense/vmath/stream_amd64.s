//go:build !purego

#include "textflag.h"

// STREAM converts the elements by ONE until the destination is aligned, then N at a
// time, of 64 bytes in the destination and BYTES in the source, by MANY.
#define STREAM(ONE, MANY, N, BYTES) \
	MOVQ   dst_base+0(FP), DI; \
	MOVQ   x_base+24(FP), SI;  \
	MOVQ   x_len+32(FP), CX;   \
	align:                     \
	TESTQ  CX, CX;             \
	JZ     done;               \
	TESTQ  $63, DI;            \
	JZ     blocks;             \
	ONE;                       \
	DECQ   CX;                 \
	JMP    align;              \
	blocks:             \
	CMPQ    CX, $N;     \
	JLT     tail;       \
	MANY;               \
	ADDQ    $BYTES, SI; \
	ADDQ    $64, DI;    \
	SUBQ    $N, CX;     \
	JMP     blocks;     \
	tail:         \
	TESTQ CX, CX; \
	JZ    done;   \
	ONE;          \
	DECQ  CX;     \
	JMP   tail;   \
	done:       \
	VZEROUPPER; \
	RET

#define COPY \
	MOVQ (SI), AX; \
	MOVQ AX, (DI); \
	ADDQ $8, SI;   \
	ADDQ $8, DI

#define NARROW \
	VCVTSD2SS (SI), X0, X0; \
	VMOVSS    X0, (DI);     \
	ADDQ      $8, SI;       \
	ADDQ      $4, DI

#define COPY512 \
	VMOVUPD  (SI), Z0; \
	VMOVNTPD Z0, (DI)

#define COPY256 \
	VMOVUPD  (SI), Y0;   \
	VMOVUPD  32(SI), Y1; \
	VMOVNTPD Y0, (DI);   \
	VMOVNTPD Y1, 32(DI)

#define NARROW512 \
	VCVTPD2PS    (SI), Y0;       \
	VCVTPD2PS    64(SI), Y1;     \
	VINSERTF64X4 $1, Y1, Z0, Z0; \
	VMOVNTPS     Z0, (DI)

#define NARROW256 \
	VCVTPD2PSY (SI), X0;   \
	VCVTPD2PSY 32(SI), X1; \
	VCVTPD2PSY 64(SI), X2; \
	VCVTPD2PSY 96(SI), X3; \
	VMOVNTPS   X0, (DI);   \
	VMOVNTPS   X1, 16(DI); \
	VMOVNTPS   X2, 32(DI); \
	VMOVNTPS   X3, 48(DI)

// func streamAVX512(dst, x []float64)
TEXT ·streamAVX512(SB), NOSPLIT, $0-48
	STREAM(COPY, COPY512, 8, 64)

// func streamNarrowAVX512(dst []float32, x []float64)
TEXT ·streamNarrowAVX512(SB), NOSPLIT, $0-48
	STREAM(NARROW, NARROW512, 16, 128)

// func streamAVX2(dst, x []float64)
TEXT ·streamAVX2(SB), NOSPLIT, $0-48
	STREAM(COPY, COPY256, 8, 64)

// func streamNarrowAVX2(dst []float32, x []float64)
TEXT ·streamNarrowAVX2(SB), NOSPLIT, $0-48
	STREAM(NARROW, NARROW256, 16, 128)

	// Stores that bypass the caches wait in buffers of the processor.

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	SFENCE
	RET
