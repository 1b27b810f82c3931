//go:build !purego

#include "textflag.h"
#include "neon.h"

// V16 holds log₂e and a factor of the caller's, V17 the two parts of ln 2, V18…V27
// the coefficients q₀…q₉, V28 1, V29 and V30 −1000 and 1000, V31 the exponent bias.
#define EXPCONST(FACTOR) \
	MOVD    $·expConst(SB), R3; \
	FMOVD   (R3), F16;          \
	FMOVD   FACTOR, F15;        \
	VMOV    V15.D[0], V16.D[1]; \
	FMOVQ   8(R3), F17;         \
	ADD     $24, R3;            \
	VLD1R.P 8(R3), [V18.D2];    \
	VLD1R.P 8(R3), [V19.D2];    \
	VLD1R.P 8(R3), [V20.D2];    \
	VLD1R.P 8(R3), [V21.D2];    \
	VLD1R.P 8(R3), [V22.D2];    \
	VLD1R.P 8(R3), [V23.D2];    \
	VLD1R.P 8(R3), [V24.D2];    \
	VLD1R.P 8(R3), [V25.D2];    \
	VLD1R.P 8(R3), [V26.D2];    \
	VLD1R.P 8(R3), [V27.D2];    \
	VLD1R.P 8(R3), [V28.D2];    \
	VLD1R.P 8(R3), [V29.D2];    \
	VLD1R.P 8(R3), [V30.D2];    \
	MOVD    $1023, R3;          \
	VDUP    R3, V31.D2

// x = exp(x) for |x| ≤ 1000 or NaN, the others as scratch. The polynomial is grouped
// by powers of r², which takes half the copies of Horner's scheme. The scaling by 2ⁿ
// is two multiplications, as in the form for AVX2.
#define REDUCED(x, n, s, a, b, c, d) \
	FMULE(n, x, 16, 0); \
	FRINTN(n, n);       \
	FMLSE(x, n, 17, 0); \
	FMLSE(x, n, 17, 1); \
	FCVTNS(n, n);       \
	FMUL(s, x, x);      \
	MOV(a, 26);         \
	FMLA(a, x, 27);     \
	MOV(b, 24);         \
	FMLA(b, x, 25);     \
	MOV(c, 22);         \
	FMLA(c, x, 23);     \
	FMUL(d, s, s);      \
	FMLA(c, b, s);      \
	FMLA(c, a, d);      \
	MOV(a, 20);         \
	FMLA(a, x, 21);     \
	MOV(b, 18);         \
	FMLA(b, x, 19);     \
	FMLA(b, a, s);      \
	FMLA(b, c, d);      \
	FMLA(x, b, s);      \
	FADD(x, x, 28);     \
	SSHR1(a, n);        \
	SUB2(n, n, a);      \
	ADD2(a, a, 31);     \
	ADD2(n, n, 31);     \
	SHL52(a, a);        \
	SHL52(n, n);        \
	FMUL(x, x, a);      \
	FMUL(x, x, n)

// x = exp(a·x): FMAX and FMIN let NaN pass.
#define EXP(x, n, s, a, b, c, d, p) \
	FMULE(x, x, 16, 1);          \
	FMAX(x, x, 29);              \
	FMIN(x, x, 30);              \
	REDUCED(x, n, s, a, b, c, d)

// x = p·exp(−t), p = 1 + c₁t + c₂t² at t = min(1000, s·√x); V29 holds c₁ and c₂.
#define MATERN(x, n, s, a, b, c, d, p) \
	FSQRT(x, x);                  \
	FMULE(x, x, 16, 1);           \
	FMIN(x, x, 30);               \
	DUP(n, 29, 0);                \
	FMLAE(n, x, 29, 1);           \
	MOV(p, 28);                   \
	FMLA(p, x, n);                \
	FNEG(x, x);                   \
	REDUCED(x, n, s, a, b, c, d); \
	FMUL(x, x, p)

// OP on the R2 elements at R1, its results to R0: four at a time, then two, then one.
#define MAP(OP) \
	SUBS  $4, R2;                    \
	BLT   rest;                      \
	four:                            \
	FLDPQ (R1), (F0, F7);            \
	ADD   $32, R1;                   \
	OP(0, 1, 2, 3, 4, 5, 6, 14);     \
	OP(7, 8, 9, 10, 11, 12, 13, 15); \
	FSTPQ (F0, F7), (R0);            \
	ADD   $32, R0;                   \
	SUBS  $4, R2;                    \
	BGE   four;                      \
	rest:                            \
	TBZ   $1, R2, last;              \
	FMOVQ (R1), F0;                  \
	ADD   $16, R1;                   \
	OP(0, 1, 2, 3, 4, 5, 6, 14);     \
	FMOVQ F0, (R0);                  \
	ADD   $16, R0;                   \
	last:                            \
	TBZ   $0, R2, done;              \
	FMOVD (R1), F0;                  \
	OP(0, 1, 2, 3, 4, 5, 6, 14);     \
	FMOVD F0, (R0);                  \
	done:                            \
	RET

// func expNEON(dst, x []float64, a float64)
TEXT ·expNEON(SB), NOSPLIT, $0-56
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	EXPCONST(a+48(FP))
	MAP(EXP)

// func maternNEON(dst, x []float64, s, c1, c2 float64)
TEXT ·maternNEON(SB), NOSPLIT, $0-72
	MOVD  dst_base+0(FP), R0
	MOVD  x_base+24(FP), R1
	MOVD  x_len+32(FP), R2
	EXPCONST(s+48(FP))
	FMOVD c1+56(FP), F29
	FMOVD c2+64(FP), F0
	VMOV  V0.D[0], V29.D[1]
	MAP(MATERN)

	// x = (γ·x + c)^q by repeated squaring, where V16 = γ, V17 = c, V18 = 1 and R4 = q.
#define POWER(square, skip, out) \
	MOV(1, 17);           \
	FMLA(1, 0, 16);       \
	MOV(2, 18);           \
	MOVD    R4, R3;       \
	square:               \
	TBZ     $0, R3, skip; \
	FMUL(2, 2, 1);        \
	skip:                 \
	LSR     $1, R3;       \
	CBZ     R3, out;      \
	FMUL(1, 1, 1);        \
	B       square;       \
	out:                  \
	MOV(0, 2)

// func powerNEON(dst, x []float64, gamma, c float64, q int)
TEXT ·powerNEON(SB), NOSPLIT, $0-72
	MOVD  dst_base+0(FP), R0
	MOVD  x_base+24(FP), R1
	MOVD  x_len+32(FP), R2
	FMOVD gamma+48(FP), F16
	FMOVD c+56(FP), F17
	MOVD  q+64(FP), R4
	DUP(16, 16, 0)
	DUP(17, 17, 0)
	FMOVD $1.0, F18
	DUP(18, 18, 0)
	SUBS  $2, R2
	BLT   last

two:
	FMOVQ (R1), F0
	POWER(square2, skip2, out2)
	FMOVQ F0, (R0)
	ADD   $16, R1
	ADD   $16, R0
	SUBS  $2, R2
	BGE   two

last:
	TBZ   $0, R2, done
	FMOVD (R1), F0
	POWER(square1, skip1, out1)
	FMOVD F0, (R0)

done:
	RET

// func narrowNEON(dst []float32, x []float64)
TEXT ·narrowNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	SUBS $4, R2
	BLT  rest

four:
	FLDPQ (R1), (F1, F2)
	FCVTN(0, 1)
	FCVTN2(0, 2)
	FMOVQ F0, (R0)
	ADD   $32, R1
	ADD   $16, R0
	SUBS  $4, R2
	BGE   four

rest:
	ADDS $4, R2
	BEQ  done

one:
	FMOVD  (R1), F0
	FCVTDS F0, F0
	FMOVS  F0, (R0)
	ADD    $8, R1
	ADD    $4, R0
	SUBS   $1, R2
	BNE    one

done:
	RET
