//go:build !purego

#include "textflag.h"
#include "neon.h"

// Squared distances of what LOAD reads, 1 and 0 from the inner products at R0 and the
// norms at R2, where V16 = ni and V17 = 0: V1 = max(0, ni + nj − 2·g), V0 = ni + nj.
// FMAX lets NaN pass.
#define DISTANCE(LOAD) \
	LOAD (R2), F0;  \
	LOAD (R0), F2;  \
	FADD(0, 16, 0); \
	FADD(2, 2, 2);  \
	FSUB(1, 0, 2);  \
	FMAX(1, 1, 17); \
	LOAD F1, (R0)

#define DISTANCES(MORE) \
	MOVD  g_base+0(FP), R0;          \
	MOVD  g_len+8(FP), R1;           \
	FMOVD ni+24(FP), F16;            \
	MOVD  nj_base+32(FP), R2;        \
	DUP(16, 16, 0);                  \
	VEOR  V17.B16, V17.B16, V17.B16; \
	SUBS  $2, R1;                    \
	BLT   last;                      \
	two:                             \
	DISTANCE(FMOVQ);                 \
	MORE;                            \
	ADD   $16, R0;                   \
	ADD   $16, R2;                   \
	SUBS  $2, R1;                    \
	BGE   two;                       \
	last:                            \
	TBZ   $0, R1, done;              \
	DISTANCE(FMOVD)

// Row functions accumulate over the features of one sample against a strip of eight
// columns in V0 … V3, then against two columns or one in V0. V8 holds the sample's
// feature, V14 the accumulators' first value, V15 what the operation needs.

// acc += |V8 − col|.
#define L1OP(col, acc, t) \
	FABD(t, 8, col);  \
	FADD(acc, acc, t)

// acc += (V8 − col)².
#define SQOP(col, acc, t) \
	FSUB(t, 8, col); \
	FMLA(acc, t, t)

// acc += (V8 − col)²/(V8 + col), or 0 where the sum is 0.
#define CHI2OP(col, acc, t) \
	FSUB(t, 8, col);   \
	FADD(col, 8, col); \
	FMUL(t, t, t);     \
	FDIV(t, t, col);   \
	FCMEQ0(col, col);  \
	BIC2(t, t, col);   \
	FADD(acc, acc, t)

// acc *= 1 + (V8 − col)²; V15 = 1.
#define LORENTZOP(col, acc, t) \
	FSUB(t, 8, col);    \
	MOV(col, 15);       \
	FMLA(col, t, t);    \
	FMUL(acc, acc, col)

// The columns that one register of LOAD holds.
#define PART(OP, LOAD, feature) \
	MOV(0, 14);              \
	MOVD     R4, R6;         \
	MOVD     R2, R7;         \
	MOVD     R3, R8;         \
	feature:                 \
	VLD1R.P  8(R7), [V8.D2]; \
	LOAD     (R6), F4;       \
	OP(4, 0, 9);             \
	ADD      R5, R6;         \
	SUBS     $1, R8;         \
	BNE      feature;        \
	LOAD     F0, (R0)

// The body of a row function.
#define ROWS(OP) \
	MOVD    dst_base+0(FP), R0;                   \
	MOVD    dst_len+8(FP), R1;                    \
	MOVD    x_base+24(FP), R2;                    \
	MOVD    x_len+32(FP), R3;                     \
	MOVD    zt_base+48(FP), R4;                   \
	MOVD    ld+72(FP), R5;                        \
	LSL     $3, R5;                               \
	SUBS    $8, R1;                               \
	BLT     rest;                                 \
	strip:                                        \
	MOV(0, 14);                                   \
	MOV(1, 14);                                   \
	MOV(2, 14);                                   \
	MOV(3, 14);                                   \
	MOVD    R4, R6;                               \
	MOVD    R2, R7;                               \
	MOVD    R3, R8;                               \
	eight:                                        \
	VLD1R.P 8(R7), [V8.D2];                       \
	VLD1    (R6), [V4.D2, V5.D2, V6.D2, V7.D2];   \
	OP(4, 0, 9);                                  \
	OP(5, 1, 10);                                 \
	OP(6, 2, 11);                                 \
	OP(7, 3, 12);                                 \
	ADD     R5, R6;                               \
	SUBS    $1, R8;                               \
	BNE     eight;                                \
	VST1.P  [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0); \
	ADD     $64, R4;                              \
	SUBS    $8, R1;                               \
	BGE     strip;                                \
	rest:                                         \
	ADD     $8, R1;                               \
	pair:                                         \
	SUBS    $2, R1;                               \
	BLT     last;                                 \
	PART(OP, FMOVQ, two);                         \
	ADD     $16, R0;                              \
	ADD     $16, R4;                              \
	B       pair;                                 \
	last:                                         \
	TBZ     $0, R1, done;                         \
	PART(OP, FMOVD, one);                         \
	done:                                         \
	RET

// func l1RowNEON(dst, x, zt []float64, ld int)
TEXT ·l1RowNEON(SB), NOSPLIT, $0-80
	VEOR V14.B16, V14.B16, V14.B16
	ROWS(L1OP)

// func sqRowNEON(dst, x, zt []float64, ld int)
TEXT ·sqRowNEON(SB), NOSPLIT, $0-80
	VEOR V14.B16, V14.B16, V14.B16
	ROWS(SQOP)

// func chi2RowNEON(dst, x, zt []float64, ld int)
TEXT ·chi2RowNEON(SB), NOSPLIT, $0-80
	VEOR V14.B16, V14.B16, V14.B16
	ROWS(CHI2OP)

// func lorentzRowNEON(dst, x, zt []float64, ld int)
TEXT ·lorentzRowNEON(SB), NOSPLIT, $0-80
	FMOVD $1.0, F15
	DUP(15, 15, 0)
	MOV(14, 15)
	ROWS(LORENTZOP)

	// The reciprocals of up to ten features are added before they are divided, as in
	// rows_amd64.s: R9 groups, each of R10 features or, the last R11 of them, of one more.
#define GROUPS \
	ADD  $9, R3, R9;      \
	MOVD $10, R10;        \
	UDIV R10, R9, R9;     \
	UDIV R9, R3, R10;     \
	MSUB R9, R3, R10, R11

// d = u, n = 1 with u = V8 + col: 1/u = n/d; V15 = 1.
#define FIRST(col, n, d) \
	FADD(d, 8, col); \
	MOV(n, 15)

// n/d += 1/u with u = V8 + col and t as scratch.
#define NEXT(col, n, d, t) \
	FADD(col, 8, col); \
	MOV(t, d);         \
	FMLA(t, n, col);   \
	FMUL(d, d, col);   \
	MOV(n, t)

// acc += n/d.
#define DIVIDE(n, d, acc) \
	FDIV(n, n, d);    \
	FADD(acc, acc, n)

// The size of group R12, counted down to 1.
#define GROUP \
	CMP  R12, R11;   \
	CINC GE, R10, R8

// The columns that one register of LOAD holds.
#define HARMONICPART(LOAD, group, next, test) \
	VEOR    V0.B16, V0.B16, V0.B16; \
	MOVD    R4, R6;                 \
	MOVD    R2, R7;                 \
	MOVD    R9, R12;                \
	group:                          \
	GROUP;                          \
	VLD1R.P 8(R7), [V8.D2];         \
	LOAD    (R6), F4;               \
	FIRST(4, 16, 20);               \
	B       test;                   \
	next:                           \
	VLD1R.P 8(R7), [V8.D2];         \
	LOAD    (R6), F4;               \
	NEXT(4, 16, 20, 24);            \
	test:                           \
	ADD     R5, R6;                 \
	SUBS    $1, R8;                 \
	BNE     next;                   \
	DIVIDE(16, 20, 0);              \
	SUBS    $1, R12;                \
	BNE     group;                  \
	LOAD    F0, (R0)

// func harmonicRowNEON(dst, x, zt []float64, ld int)
TEXT ·harmonicRowNEON(SB), NOSPLIT, $0-80
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R1
	MOVD  x_base+24(FP), R2
	MOVD  x_len+32(FP), R3
	MOVD  zt_base+48(FP), R4
	MOVD  ld+72(FP), R5
	LSL   $3, R5
	FMOVD $1.0, F15
	DUP(15, 15, 0)
	GROUPS
	SUBS  $8, R1
	BLT   rest

strip:
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	MOVD R4, R6
	MOVD R2, R7
	MOVD R9, R12

group:
	GROUP
	VLD1R.P 8(R7), [V8.D2]
	VLD1    (R6), [V4.D2, V5.D2, V6.D2, V7.D2]
	FIRST(4, 16, 20)
	FIRST(5, 17, 21)
	FIRST(6, 18, 22)
	FIRST(7, 19, 23)
	B       test

next:
	VLD1R.P 8(R7), [V8.D2]
	VLD1    (R6), [V4.D2, V5.D2, V6.D2, V7.D2]
	NEXT(4, 16, 20, 24)
	NEXT(5, 17, 21, 25)
	NEXT(6, 18, 22, 26)
	NEXT(7, 19, 23, 27)

test:
	ADD    R5, R6
	SUBS   $1, R8
	BNE    next
	DIVIDE(16, 20, 0)
	DIVIDE(17, 21, 1)
	DIVIDE(18, 22, 2)
	DIVIDE(19, 23, 3)
	SUBS   $1, R12
	BNE    group
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	ADD    $64, R4
	SUBS   $8, R1
	BGE    strip

rest:
	ADD $8, R1

pair:
	SUBS $2, R1
	BLT  last
	HARMONICPART(FMOVQ, group2, next2, test2)
	ADD  $16, R0
	ADD  $16, R4
	B    pair

last:
	TBZ $0, R1, done
	HARMONICPART(FMOVD, group1, next1, test1)

done:
	RET

// func sqDistNEON(g []float64, ni float64, nj []float64)
TEXT ·sqDistNEON(SB), NOSPLIT, $0-56
	DISTANCES(NOOP)

done:
	RET

// V20 gathers V1 ≤ s·V0 + c, where V18 = s and V19 = c.
#define BELOW \
	MOV(2, 19);     \
	FMLA(2, 0, 18); \
	FCMGE(2, 2, 1)

// func sqDistBelowNEON(g []float64, ni float64, nj []float64, s, c float64) bool
TEXT ·sqDistBelowNEON(SB), NOSPLIT, $0-73
	FMOVD s+56(FP), F18
	FMOVD c+64(FP), F19
	DUP(18, 18, 0)
	DUP(19, 19, 0)
	VEOR  V20.B16, V20.B16, V20.B16
	DISTANCES(BELOW; OR2(20, 20, 2))
	BELOW
	FMOVD F2, F2                    // the upper lane holds no element
	OR2(20, 20, 2)

done:
	VMOV V20.D[0], R0
	VMOV V20.D[1], R1
	ORR  R1, R0
	AND  $1, R0
	MOVB R0, ret+72(FP)
	RET
