//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// The kernels for one or two columns: 24 rows of a symmetric matrix, each element
// used twice, in double precision. Their contract stands at fewTile. A column of
// 12 rows takes 96 bytes of its panel in either precision: in single precision a
// panel has 24 rows.
//
// With one column both halves are read side by side: the hardware reads two
// streams of memory faster than one, and a fetch far ahead into the first-level
// cache, which has few miss buffers, slower than a near one into the second level.
//
// Registers: AX and BX the two halves of 12 rows, CX columns left, SI x, DI y, R8
// their column stride in bytes, R10 and R11 the elements of x that go with the
// rows, DX those of y, R12 halves left, R13 the argument. Y6 to Y8 hold a column
// of 12 rows, Y13 a broadcast; Y0 to Y5 gather the rows' part of y, Y9 to Y12, Y14
// and Y15 the columns' part.

// The column of 12 rows in Y6 to Y8 times Y13 is added to y0 to y2.
#define ROWS(y0, y1, y2) \
	VFMADD231PD Y13, Y6, y0; \
	VFMADD231PD Y13, Y7, y1; \
	VFMADD231PD Y13, Y8, y2

// Its product with the rows' part of x at byte r of R is added to d.
#define COLUMN(r, R, d) \
	VFMADD231PD r(R), Y6, d;      \
	VFMADD231PD (r+32)(R), Y7, d; \
	VFMADD231PD (r+64)(R), Y8, d

// The same where d is set.
#define FIRST(r, R, d) \
	VMULPD      r(R), Y6, d;      \
	VFMADD231PD (r+32)(R), Y7, d; \
	VFMADD231PD (r+64)(R), Y8, d

// Four columns further, and six lines of the first half fetched.
#define NEXT \
	PREFETCHT1 2048(AX); \
	PREFETCHT1 2112(AX); \
	PREFETCHT1 2176(AX); \
	PREFETCHT1 2240(AX); \
	PREFETCHT1 2304(AX); \
	PREFETCHT1 2368(AX); \
	ADDQ       $384, AX; \
	ADDQ       $32, SI;  \
	ADDQ       $32, DI;  \
	SUBQ       $4, CX

// One column of both halves.
#define ONE(o, j, d) \
	VBROADCASTSD j(SI), Y13; \
	LOAD(o, AX);             \
	ROWS(Y0, Y1, Y2);        \
	FIRST(0, R10, d);        \
	LOAD(o, BX);             \
	ROWS(Y3, Y4, Y5);        \
	COLUMN(96, R10, d)

// One column of a half times two of x.
#define TWO(o, j, d, e) \
	LOAD(o, AX);                   \
	VBROADCASTSD j(SI), Y13;       \
	ROWS(Y0, Y1, Y2);              \
	FIRST(0, R10, d);              \
	VBROADCASTSD j(SI)(R8*1), Y13; \
	ROWS(Y3, Y4, Y5);              \
	FIRST(0, R11, e)

// The sums of the lanes of four registers, of which a holds those of the first two
// and c those of the last two in pairs, added to four elements of y.
#define SUMS(a, c, y) \
	VPERM2F128 $0x21, c, a, Y13; \
	VBLENDPD   $0x0C, c, a, a;   \
	VADDPD     Y13, a, a;        \
	VADDPD     y, a, a;          \
	VMOVUPD    a, y

// Adds three registers to the rows' part of y at byte o of R.
#define ADD3(o, R, a, b, c) \
	VADDPD  o(R), a, a;      \
	VADDPD  (o+32)(R), b, b; \
	VADDPD  (o+64)(R), c, c; \
	VMOVUPD a, o(R);         \
	VMOVUPD b, (o+32)(R);    \
	VMOVUPD c, (o+64)(R)

#define KERNEL \
	NO_LOCAL_POINTERS;             \
	MOVQ    t+0(FP), R13;          \
	MOVQ    fewTile_a(R13), AX;    \
	MOVQ    fewTile_half(R13), BX; \
	MOVQ    fewTile_xr(R13), R10;  \
	MOVQ    fewTile_yr(R13), DX;   \
	MOVQ    fewTile_ld(R13), R8;   \
	SHLQ    $3, R8;                \
	MOVQ    $2, R12;               \
	half:                          \
	MOVQ    fewTile_x(R13), SI;    \
	MOVQ    fewTile_y(R13), DI;    \
	MOVQ    fewTile_cols(R13), CX; \
	VXORPD  Y0, Y0, Y0;            \
	VXORPD  Y1, Y1, Y1;            \
	VXORPD  Y2, Y2, Y2;            \
	VXORPD  Y3, Y3, Y3;            \
	VXORPD  Y4, Y4, Y4;            \
	VXORPD  Y5, Y5, Y5;            \
	LEAQ    (R10)(R8*1), R11;      \
	CMPQ    fewTile_k(R13), $2;    \
	JEQ     two;                   \
	one:                           \
	ONE(0, 0, Y9);                 \
	ONE(96, 8, Y10);               \
	VHADDPD Y10, Y9, Y9;           \
	ONE(192, 16, Y11);             \
	ONE(288, 24, Y12);             \
	VHADDPD Y12, Y11, Y11;         \
	SUMS(Y9, Y11, (DI));           \
	ADDQ    $384, BX;              \
	NEXT;                          \
	JNZ     one;                   \
	ADD3(0, DX, Y0, Y1, Y2);       \
	ADD3(96, DX, Y3, Y4, Y5);      \
	VZEROUPPER;                    \
	RET;                           \
	two:                           \
	TWO(0, 0, Y9, Y10);            \
	TWO(96, 8, Y11, Y12);          \
	VHADDPD Y11, Y9, Y9;           \
	VHADDPD Y12, Y10, Y10;         \
	TWO(192, 16, Y11, Y12);        \
	TWO(288, 24, Y14, Y15);        \
	VHADDPD Y14, Y11, Y11;         \
	VHADDPD Y15, Y12, Y12;         \
	SUMS(Y9, Y11, (DI));           \
	SUMS(Y10, Y12, (DI)(R8*1));    \
	NEXT;                          \
	JNZ     two;                   \
	LEAQ    (DX)(R8*1), R9;        \
	ADD3(0, DX, Y0, Y1, Y2);       \
	ADD3(0, R9, Y3, Y4, Y5);       \
	MOVQ    BX, AX;                \
	ADDQ    $96, R10;              \
	ADDQ    $96, DX;               \
	DECQ    R12;                   \
	JNZ     half;                  \
	VZEROUPPER;                    \
	RET

// func fewF64AVX2(t *fewTile)
#define LOAD(o, R) VMOVUPD o(R), Y6; VMOVUPD (o+32)(R), Y7; VMOVUPD (o+64)(R), Y8
TEXT ·fewF64AVX2(SB), 0, $128-8
	KERNEL

	// func fewF32AVX2(t *fewTile): the halves are those of one panel in single precision.
#undef LOAD
#define LOAD(o, R) VCVTPS2PD o(R), Y6; VCVTPS2PD (o+16)(R), Y7; VCVTPS2PD (o+32)(R), Y8
TEXT ·fewF32AVX2(SB), 0, $128-8
	KERNEL
