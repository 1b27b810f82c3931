// The kernels for symmetric products, whose contract stands at the type symRows in symv.go.
//
// Registers: AX, BX, R8 and R9 four rows from the first column off the diagonal block on, DX from a row to the next, SI
// x and DI y at that column, R14 an offset from there and CX its end, R11 the offset of the diagonal block, all in bytes;
// R10 groups left, R12 and R15 masks. Of the vectors 0 to 3 are the sums of the rows, 10 to 13 their elements of x, and
// Y14 the elements of y at the diagonal block.

//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// Row q of the diagonal block: its stored elements times x, and those off the diagonal times element q of x.
#define DIAGONAL(q, row, weight, sum) \
	VMOVUPD     (row)(R11*1), Y4;  \
	VANDPD      -8*q(R12), Y4, Y5; \
	VMULPD      Y8, Y5, sum;       \
	VANDPD      -8*q(R15), Y4, Y4; \
	VFMADD231PD weight, Y4, Y14

#define ROW(o, row, x, y, a, sum, weight) \
	VMOVUPD     o(row)(R14*1), a; \
	VFMADD231PD x, a, sum;        \
	VFMADD231PD weight, a, y

// A vector of columns.
#define COLUMNS(o, x, y, a, s0, s1, s2, s3, w0, w1, w2, w3) \
	VMOVUPD o(SI)(R14*1), x;     \
	VMOVUPD o(DI)(R14*1), y;     \
	ROW(o, AX, x, y, a, s0, w0); \
	ROW(o, BX, x, y, a, s1, w1); \
	ROW(o, R8, x, y, a, s2, w2); \
	ROW(o, R9, x, y, a, s3, w3); \
	VMOVUPD y, o(DI)(R14*1)

#define FOURCOLUMNS(o) COLUMNS(o, Y8, Y9, Y4, Y0, Y1, Y2, Y3, Y10, Y11, Y12, Y13)

// The groups: WEIGHTS loads elements of x, EIGHT does eight columns, FOLD adds the upper half of a sum to its lower half.
#define GROUPS(WEIGHTS, EIGHT, FOLD) \
	NO_LOCAL_POINTERS;         \
	MOVQ t_a+0(FP), AX;        \
	MOVQ t_x+8(FP), SI;        \
	MOVQ t_y+16(FP), DI;       \
	MOVQ t_ld+24(FP), DX;      \
	SHLQ $3, DX;               \
	MOVQ t_n+32(FP), CX;       \
	SHLQ $3, CX;               \
	MOVQ t_groups+40(FP), R10; \
	LEAQ ·laneWindow(SB), R12; \
	CMPQ t_upper+48(FP), $0;   \
	JEQ  lower;                \
	MOVQ $-32, R11;            \
	ADDQ $32, R12;             \
	LEAQ -8(R12), R15;         \
	JMP  group;                \
	lower:                         \
	MOVQ       CX, R11;            \
	ADDQ       $56, R12;           \
	LEAQ       8(R12), R15;        \
	group:                         \
	SUBQ       R11, AX;            \
	SUBQ       R11, SI;            \
	SUBQ       R11, DI;            \
	LEAQ       (AX)(DX*1), BX;     \
	LEAQ       (BX)(DX*1), R8;     \
	LEAQ       (R8)(DX*1), R9;     \
	WEIGHTS;                       \
	VMOVUPD    (SI)(R11*1), Y8;    \
	VMOVUPD    (DI)(R11*1), Y14;   \
	DIAGONAL(0, AX, Y10, Y0);      \
	DIAGONAL(1, BX, Y11, Y1);      \
	DIAGONAL(2, R8, Y12, Y2);      \
	DIAGONAL(3, R9, Y13, Y3);      \
	XORQ       R14, R14;           \
	TESTQ      $32, CX;            \
	JZ         even;               \
	FOURCOLUMNS(0);                \
	ADDQ       $32, R14;           \
	even:                          \
	CMPQ       R14, CX;            \
	JGE        fold;               \
	eight:                         \
	EIGHT;                         \
	ADDQ       $64, R14;           \
	CMPQ       R14, CX;            \
	JLT        eight;              \
	fold:                          \
	FOLD;                          \
	VHADDPD    Y1, Y0, Y0;         \
	VHADDPD    Y3, Y2, Y2;         \
	VPERM2F128 $0x20, Y2, Y0, Y4;  \
	VPERM2F128 $0x31, Y2, Y0, Y5;  \
	VADDPD     Y4, Y14, Y14;       \
	VADDPD     Y5, Y14, Y14;       \
	VMOVUPD    Y14, (DI)(R11*1);   \
	LEAQ       32(SI)(R11*1), SI;  \
	LEAQ       32(DI)(R11*1), DI;  \
	LEAQ       32(AX)(R11*1), AX;  \
	LEAQ       (AX)(DX*4), AX;     \
	CMPQ       t_upper+48(FP), $0; \
	JEQ        longer;             \
	SUBQ       $64, CX;            \
	SUBQ       $32, R11;           \
	longer:                        \
	ADDQ       $32, CX;            \
	ADDQ       $32, R11;           \
	DECQ       R10;                \
	JNZ        group;              \
	VZEROUPPER;                    \
	RET

#define BROADCASTS(w0, w1, w2, w3) \
	VBROADCASTSD (SI)(R11*1), w0;   \
	VBROADCASTSD 8(SI)(R11*1), w1;  \
	VBROADCASTSD 16(SI)(R11*1), w2; \
	VBROADCASTSD 24(SI)(R11*1), w3

// Reads of half a line are slower from the second-level cache than those of a line, but not where the line was fetched.
#define WEIGHTS256 BROADCASTS(Y10, Y11, Y12, Y13)
#define EIGHT256 \
	PREFETCHT0 192(AX)(R14*1); \
	PREFETCHT0 192(BX)(R14*1); \
	PREFETCHT0 192(R8)(R14*1); \
	PREFETCHT0 192(R9)(R14*1); \
	FOURCOLUMNS(0);            \
	FOURCOLUMNS(32)

#define FOLD256

// func symvF64AVX2(t symRows)
TEXT ·symvF64AVX2(SB), 0, $128-56
	GROUPS(WEIGHTS256, EIGHT256, FOLD256)

#define WEIGHTS512 BROADCASTS(Z10, Z11, Z12, Z13)
#define EIGHT512 COLUMNS(0, Z8, Z9, Z4, Z0, Z1, Z2, Z3, Z10, Z11, Z12, Z13)
#define HALF(z, y) \
	VEXTRACTF64X4 $1, z, Y4; \
	VADDPD        Y4, y, y

#define FOLD512 HALF(Z0, Y0); HALF(Z1, Y1); HALF(Z2, Y2); HALF(Z3, Y3)

// func symvF64AVX512(t symRows)
TEXT ·symvF64AVX512(SB), 0, $128-56
	GROUPS(WEIGHTS512, EIGHT512, FOLD512)
