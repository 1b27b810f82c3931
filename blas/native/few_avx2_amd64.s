//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// The kernels for one or two columns: one panel of 12 rows of a symmetric matrix,
// each element used twice, in double precision. Their contract stands at fewTile.
// A column of a panel takes 96 bytes in either precision: in single precision the
// panel is half of one of 24 rows.
//
// Registers: AX panel, CX columns left, SI x, DI y, R8 their column stride in
// bytes, R10 and R11 the elements of x that go with the rows, DX those of y, R13
// the argument. Y6 to Y8 hold a column of the panel, Y13 a broadcast; Y0 to Y5
// gather the rows' part of y, Y9 to Y12, Y14 and Y15 the columns' part.

// How far ahead of its use the panel is fetched, in bytes: the hardware does not
// cross pages by itself.
#define AHEAD 4608

// The column at byte o of the panel times x: added to y0 to y2, its product with
// r0 to r2 goes to d.
#define BOTH(x, y0, y1, y2, r0, r1, r2, d) \
	VBROADCASTSD x, Y13;      \
	VFMADD231PD  Y13, Y6, y0; \
	VFMADD231PD  Y13, Y7, y1; \
	VFMADD231PD  Y13, Y8, y2; \
	VMULPD       r0, Y6, d;   \
	VFMADD231PD  r1, Y7, d;   \
	VFMADD231PD  r2, Y8, d

#define ONE(o, j, d) \
	LOAD(o);                               \
	BOTH(j(SI), Y0, Y1, Y2, Y3, Y4, Y5, d)

#define TWO(o, j, d, e) \
	LOAD(o);                                                  \
	BOTH(j(SI), Y0, Y1, Y2, (R10), 32(R10), 64(R10), d);      \
	BOTH(j(SI)(R8*1), Y3, Y4, Y5, (R11), 32(R11), 64(R11), e)

// The sums of the lanes of four registers, of which a holds those of the first two
// and c those of the last two in pairs, added to four elements of y.
#define SUMS(a, c, y) \
	VPERM2F128 $0x21, c, a, Y13; \
	VBLENDPD   $0x0C, c, a, a;   \
	VADDPD     Y13, a, a;        \
	VADDPD     y, a, a;          \
	VMOVUPD    a, y

// Adds three registers to a column of the rows' part of y.
#define ADD3(a, b, c) \
	VADDPD  (DX), a, a;   \
	VADDPD  32(DX), b, b; \
	VADDPD  64(DX), c, c; \
	VMOVUPD a, (DX);      \
	VMOVUPD b, 32(DX);    \
	VMOVUPD c, 64(DX)

// Four columns further, and six lines fetched.
#define NEXT \
	PREFETCHT0 AHEAD(AX);       \
	PREFETCHT0 (AHEAD+64)(AX);  \
	PREFETCHT0 (AHEAD+128)(AX); \
	PREFETCHT0 (AHEAD+192)(AX); \
	PREFETCHT0 (AHEAD+256)(AX); \
	PREFETCHT0 (AHEAD+320)(AX); \
	ADDQ       $384, AX;        \
	ADDQ       $32, SI;         \
	ADDQ       $32, DI;         \
	SUBQ       $4, CX

#define KERNEL \
	NO_LOCAL_POINTERS;              \
	MOVQ     t+0(FP), R13;          \
	MOVQ     fewTile_a(R13), AX;    \
	MOVQ     fewTile_x(R13), SI;    \
	MOVQ     fewTile_y(R13), DI;    \
	MOVQ     fewTile_xr(R13), R10;  \
	MOVQ     fewTile_yr(R13), DX;   \
	MOVQ     fewTile_ld(R13), R8;   \
	SHLQ     $3, R8;                \
	MOVQ     fewTile_cols(R13), CX; \
	VXORPD   Y0, Y0, Y0;            \
	VXORPD   Y1, Y1, Y1;            \
	VXORPD   Y2, Y2, Y2;            \
	CMPQ     fewTile_k(R13), $2;    \
	JEQ      two;                   \
	VMOVUPD  (R10), Y3;             \
	VMOVUPD  32(R10), Y4;           \
	VMOVUPD  64(R10), Y5;           \
	one:                            \
	ONE(0, 0, Y9);                  \
	ONE(96, 8, Y10);                \
	VHADDPD  Y10, Y9, Y9;           \
	ONE(192, 16, Y11);              \
	ONE(288, 24, Y12);              \
	VHADDPD  Y12, Y11, Y11;         \
	SUMS(Y9, Y11, (DI));            \
	NEXT;                           \
	JNZ      one;                   \
	ADD3(Y0, Y1, Y2);               \
	VZEROUPPER;                     \
	RET;                            \
	two:                            \
	VXORPD   Y3, Y3, Y3;            \
	VXORPD   Y4, Y4, Y4;            \
	VXORPD   Y5, Y5, Y5;            \
	LEAQ     (R10)(R8*1), R11;      \
	twoLoop:                        \
	TWO(0, 0, Y9, Y10);             \
	TWO(96, 8, Y11, Y12);           \
	VHADDPD  Y11, Y9, Y9;           \
	VHADDPD  Y12, Y10, Y10;         \
	TWO(192, 16, Y11, Y12);         \
	TWO(288, 24, Y14, Y15);         \
	VHADDPD  Y14, Y11, Y11;         \
	VHADDPD  Y15, Y12, Y12;         \
	SUMS(Y9, Y11, (DI));            \
	SUMS(Y10, Y12, (DI)(R8*1));     \
	NEXT;                           \
	JNZ      twoLoop;               \
	ADD3(Y0, Y1, Y2);               \
	ADDQ     R8, DX;                \
	ADD3(Y3, Y4, Y5);               \
	VZEROUPPER;                     \
	RET

// func fewF64AVX2(t *fewTile)
#define LOAD(o) VMOVUPD o(AX), Y6; VMOVUPD (o+32)(AX), Y7; VMOVUPD (o+64)(AX), Y8
TEXT ·fewF64AVX2(SB), 0, $128-8
	KERNEL

	// func fewF32AVX2(t *fewTile): the panel is half of one of 24 rows in single precision.
#undef LOAD
#define LOAD(o) VCVTPS2PD o(AX), Y6; VCVTPS2PD (o+16)(AX), Y7; VCVTPS2PD (o+32)(AX), Y8
TEXT ·fewF32AVX2(SB), 0, $128-8
	KERNEL
