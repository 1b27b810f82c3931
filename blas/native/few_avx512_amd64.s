//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// The kernels for few columns: one panel of 24 rows of a symmetric matrix, each
// element used twice, in double precision. Their contract stands at fewTile.
//
// Registers: AX panel, CX steps left, SI x, DI y, R8 their column stride in bytes,
// R9 three times that, R10 the 24 elements of x that go with the rows, R13 the
// argument. Z16 to Z27 gather the rows' part of y; Z28 to Z30 hold a column of the
// panel, Z31 a broadcast; Z0 to Z15 gather the columns' part.

// The sums of the lanes of two, four, eight registers: after PAIR the sums of a
// and b alternate in a, after QUAD those of four registers fill two halves, after
// OCT lane i of a holds the sum of the i-th of eight registers.
#define PAIR(a, b) \
	VUNPCKLPD b, a, Z28; \
	VUNPCKHPD b, a, a;   \
	VADDPD    Z28, a, a

#define QUAD(a, c) \
	VSHUFF64X2 $0x44, c, a, Z28; \
	VSHUFF64X2 $0xEE, c, a, a;   \
	VADDPD     Z28, a, a

#define OCT(a, e) \
	VSHUFF64X2 $0x88, e, a, Z28; \
	VSHUFF64X2 $0xDD, e, a, a;   \
	VADDPD     Z28, a, a

#define SUMS(a, b, c, d, e, f, g, h) \
	PAIR(a, b); PAIR(c, d); PAIR(e, f); PAIR(g, h); \
	QUAD(a, c); QUAD(e, g); OCT(a, e)

#define ZERO3(a, b, c) VPXORQ a, a, a; VPXORQ b, b, b; VPXORQ c, c, c

// A column of the panel, and a line three steps of eight columns ahead.
#define COLUMN(o) \
	LOAD(o, AX);                 \
	PREFETCHT0 (o+AHEAD)(AX);    \
	PREFETCHT0 (o+AHEAD+64)(AX); \
	PREFETCHT0 (o+AHEAD+128)(AX)

// One column for one column of x whose row part is in registers r0 to r2.
#define BOTH(x, y0, y1, y2, r0, r1, r2, d) \
	VBROADCASTSD x, Z31;       \
	VFMADD231PD  Z31, Z28, y0; \
	VFMADD231PD  Z31, Z29, y1; \
	VFMADD231PD  Z31, Z30, y2; \
	VMULPD       Z28, r0, d;   \
	VFMADD231PD  Z29, r1, d;   \
	VFMADD231PD  Z30, r2, d

// The same with the row part in memory.
#define BOTHM(x, y0, y1, y2, r0, r1, r2, d) \
	VBROADCASTSD x, Z31;       \
	VFMADD231PD  Z31, Z28, y0; \
	VFMADD231PD  Z31, Z29, y1; \
	VFMADD231PD  Z31, Z30, y2; \
	VMULPD       r0, Z28, d;   \
	VFMADD231PD  r1, Z29, d;   \
	VFMADD231PD  r2, Z30, d

#define ONE(o, j, d) \
	COLUMN(o);                                   \
	BOTH(j(SI), Z16, Z17, Z18, Z19, Z20, Z21, d)

#define TWO(o, j, d, e) \
	COLUMN(o);                                         \
	BOTH(j(SI), Z16, Z17, Z18, Z22, Z23, Z24, d);      \
	BOTH(j(SI)(R8*1), Z19, Z20, Z21, Z25, Z26, Z27, e)

#define FOUR(o, j, d, e, f, g) \
	COLUMN(o);                                                                        \
	BOTHM(j(SI), Z16, Z17, Z18, (R10), 64(R10), 128(R10), d);                         \
	BOTHM(j(SI)(R8*1), Z19, Z20, Z21, (R10)(R8*1), 64(R10)(R8*1), 128(R10)(R8*1), e); \
	BOTHM(j(SI)(R8*2), Z22, Z23, Z24, (R10)(R8*2), 64(R10)(R8*2), 128(R10)(R8*2), f); \
	BOTHM(j(SI)(R9*1), Z25, Z26, Z27, (R10)(R9*1), 64(R10)(R9*1), 128(R10)(R9*1), g)

// Adds three registers to a column of the rows' part of y and goes to the next.
#define ADD3(a, b, c) \
	VADDPD  (DX), a, a;    \
	VADDPD  64(DX), b, b;  \
	VADDPD  128(DX), c, c; \
	VMOVUPD a, (DX);       \
	VMOVUPD b, 64(DX);     \
	VMOVUPD c, 128(DX);    \
	ADDQ    R8, DX

#define KERNEL \
	NO_LOCAL_POINTERS;                          \
	MOVQ          t+0(FP), R13;                 \
	MOVQ          fewTile_a(R13), AX;           \
	MOVQ          fewTile_x(R13), SI;           \
	MOVQ          fewTile_y(R13), DI;           \
	MOVQ          fewTile_xr(R13), R10;         \
	MOVQ          fewTile_yr(R13), DX;          \
	MOVQ          fewTile_ld(R13), R8;          \
	SHLQ          $3, R8;                       \
	LEAQ          (R8)(R8*2), R9;               \
	MOVQ          fewTile_cols(R13), CX;        \
	ZERO3(Z16, Z17, Z18);                       \
	ZERO3(Z19, Z20, Z21);                       \
	ZERO3(Z22, Z23, Z24);                       \
	ZERO3(Z25, Z26, Z27);                       \
	MOVQ          fewTile_k(R13), BX;           \
	CMPQ          BX, $2;                       \
	JEQ           two;                          \
	JGT           four;                         \
	VMOVUPD       (R10), Z19;                   \
	VMOVUPD       64(R10), Z20;                 \
	VMOVUPD       128(R10), Z21;                \
	one:                                        \
	ONE(0, 0, Z0);                              \
	ONE(192, 8, Z1);                            \
	ONE(384, 16, Z2);                           \
	ONE(576, 24, Z3);                           \
	ONE(768, 32, Z4);                           \
	ONE(960, 40, Z5);                           \
	ONE(1152, 48, Z6);                          \
	ONE(1344, 56, Z7);                          \
	SUMS(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7);       \
	VADDPD        (DI), Z0, Z0;                 \
	VMOVUPD       Z0, (DI);                     \
	ADDQ          $1536, AX;                    \
	ADDQ          $64, SI;                      \
	ADDQ          $64, DI;                      \
	SUBQ          $8, CX;                       \
	JNZ           one;                          \
	ADD3(Z16, Z17, Z18);                        \
	VZEROUPPER;                                 \
	RET;                                        \
	two:                                        \
	VMOVUPD       (R10), Z22;                   \
	VMOVUPD       64(R10), Z23;                 \
	VMOVUPD       128(R10), Z24;                \
	VMOVUPD       (R10)(R8*1), Z25;             \
	VMOVUPD       64(R10)(R8*1), Z26;           \
	VMOVUPD       128(R10)(R8*1), Z27;          \
	twoLoop:                                    \
	TWO(0, 0, Z0, Z8);                          \
	TWO(192, 8, Z1, Z9);                        \
	TWO(384, 16, Z2, Z10);                      \
	TWO(576, 24, Z3, Z11);                      \
	TWO(768, 32, Z4, Z12);                      \
	TWO(960, 40, Z5, Z13);                      \
	TWO(1152, 48, Z6, Z14);                     \
	TWO(1344, 56, Z7, Z15);                     \
	SUMS(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7);       \
	SUMS(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15); \
	VADDPD        (DI), Z0, Z0;                 \
	VADDPD        (DI)(R8*1), Z8, Z8;           \
	VMOVUPD       Z0, (DI);                     \
	VMOVUPD       Z8, (DI)(R8*1);               \
	ADDQ          $1536, AX;                    \
	ADDQ          $64, SI;                      \
	ADDQ          $64, DI;                      \
	SUBQ          $8, CX;                       \
	JNZ           twoLoop;                      \
	ADD3(Z16, Z17, Z18);                        \
	ADD3(Z19, Z20, Z21);                        \
	VZEROUPPER;                                 \
	RET;                                        \
	four:                                       \
	FOUR(0, 0, Z0, Z4, Z8, Z12);                \
	FOUR(192, 8, Z1, Z5, Z9, Z13);              \
	FOUR(384, 16, Z2, Z6, Z10, Z14);            \
	FOUR(576, 24, Z3, Z7, Z11, Z15);            \
	SUMS(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7);       \
	SUMS(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15); \
	VEXTRACTF64X4 $1, Z0, Y1;                   \
	VEXTRACTF64X4 $1, Z8, Y9;                   \
	VADDPD        (DI), Y0, Y0;                 \
	VADDPD        (DI)(R8*1), Y1, Y1;           \
	VADDPD        (DI)(R8*2), Y8, Y8;           \
	VADDPD        (DI)(R9*1), Y9, Y9;           \
	VMOVUPD       Y0, (DI);                     \
	VMOVUPD       Y1, (DI)(R8*1);               \
	VMOVUPD       Y8, (DI)(R8*2);               \
	VMOVUPD       Y9, (DI)(R9*1);               \
	ADDQ          $768, AX;                     \
	ADDQ          $32, SI;                      \
	ADDQ          $32, DI;                      \
	SUBQ          $4, CX;                       \
	JNZ           four;                         \
	ADD3(Z16, Z17, Z18);                        \
	ADD3(Z19, Z20, Z21);                        \
	ADD3(Z22, Z23, Z24);                        \
	ADD3(Z25, Z26, Z27);                        \
	VZEROUPPER;                                 \
	RET

// How far ahead of its use a column is fetched, in bytes: the hardware does not
// cross pages by itself.
#define AHEAD 4608

// func fewF64AVX512(t *fewTile)
#define LOAD(o, r) VMOVUPD o(r), Z28; VMOVUPD (o+64)(r), Z29; VMOVUPD (o+128)(r), Z30
TEXT ·fewF64AVX512(SB), 0, $128-8
	KERNEL

	// func fewF32AVX512(t *fewTile): the panel is half of one of 48 rows in single precision.
	// A segment of it is fetched while the one before is read, half by half.
#undef LOAD
#undef AHEAD
#define AHEAD 9216
#define LOAD(o, r) VCVTPS2PD o(r), Z28; VCVTPS2PD (o+32)(r), Z29; VCVTPS2PD (o+64)(r), Z30
TEXT ·fewF32AVX512(SB), 0, $128-8
	KERNEL
