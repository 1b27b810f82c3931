// The vector routines on 128-bit registers. They are included with these
// names defined:
//
//	DOT OUTER SCAL DOT4 AXPY4 SYMV4 the routines, declared in kernels_arm64.go
//	ES, SHIFT                       bytes of an element, and their logarithm
//	FMLA(d, n, m)                   d += n·m, on all elements
//	FMLAE(d, n, m)                  d += n times element 0 of m
//	FADD(d, n), FMULE(d, n, m)      d += n; d = n times element 0 of m
//	HSUM(d)                         the sum of the elements of d into its element 0
//	MOV, MADD, MULS                 scalar load and store, fused multiply-add, product
//	DOTARGS                         bytes of the arguments and the result of dot
//
// They read and write nothing beyond the length of their last slice and need no
// alignment. The frame is larger than needed for the reason given in tile_avx512.h.
//
// Registers: R0 to R5 the slices, R6 elements left, R7 row length in bytes; those of outer
// beyond them go from row to row.

#define FOUR (64/ES)
#define ONE (16/ES)

// The sums of four accumulators.
#define CLEAR4 \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	VEOR V2.B16, V2.B16, V2.B16; \
	VEOR V3.B16, V3.B16, V3.B16

#define SUMS \
	HSUM(0); \
	HSUM(1); \
	HSUM(2); \
	HSUM(3)

// func dot(x, y []T) T
TEXT DOT(SB), 0, $128-DOTARGS
	NO_LOCAL_POINTERS
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R6
	MOVD y_base+24(FP), R1
	CLEAR4
	SUBS $FOUR, R6
	BLT  vectors
four:
	VLD1.P 64(R0), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1.P 64(R1), [V16.D2, V17.D2, V18.D2, V19.D2]
	FMLA(0, 4, 16)
	FMLA(1, 5, 17)
	FMLA(2, 6, 18)
	FMLA(3, 7, 19)
	SUBS $FOUR, R6
	BGE  four
vectors:
	ADDS $(FOUR-ONE), R6
	BLT  fold
one:
	VLD1.P 16(R0), [V4.D2]
	VLD1.P 16(R1), [V16.D2]
	FMLA(0, 4, 16)
	SUBS $ONE, R6
	BGE  one
fold:
	FADD(0, 1)
	FADD(2, 3)
	FADD(0, 2)
	HSUM(0)
	ADDS $ONE, R6
	BEQ  done
scalar:
	MOV  (R0), F4
	MOV  (R1), F5
	MADD F4, F0, F5, F0
	ADD  $ES, R0
	ADD  $ES, R1
	SUBS $1, R6
	BNE  scalar
done:
	MOV F0, ret+48(FP)
	RET

// func outer(alpha T, w, x []T, n int, a []T, ld, grow int)
TEXT OUTER(SB), 0, $128-104
	NO_LOCAL_POINTERS
	MOV  alpha+0(FP), F31
	MOVD w_base+8(FP), R8
	MOVD w_len+16(FP), R9
	MOVD x_base+32(FP), R10
	MOVD n+56(FP), R11
	MOVD a_base+64(FP), R12
	MOVD ld+88(FP), R13
	LSL  $SHIFT, R13
	MOVD grow+96(FP), R14
	MOVD $ES, R15
	AND  R14->63, R15, R15 // a row that is shorter than the one before begins an element later
	CBZ  R9, done
row:
	MOV  (R8), F30
	MULS F31, F30, F30
	MOVD R10, R0
	MOVD R12, R1
	MOVD R11, R6
	SUBS $FOUR, R6
	BLT  vectors
four:
	VLD1.P 64(R0), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1   (R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	FMLAE(0, 4, 30)
	FMLAE(1, 5, 30)
	FMLAE(2, 6, 30)
	FMLAE(3, 7, 30)
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R1)
	SUBS $FOUR, R6
	BGE  four
vectors:
	ADDS $(FOUR-ONE), R6
	BLT  rest
one:
	VLD1.P 16(R0), [V4.D2]
	VLD1   (R1), [V0.D2]
	FMLAE(0, 4, 30)
	VST1.P [V0.D2], 16(R1)
	SUBS $ONE, R6
	BGE  one
rest:
	ADDS $ONE, R6
	BEQ  next
scalar:
	MOV  (R0), F4
	MOV  (R1), F0
	MADD F4, F0, F30, F0
	MOV  F0, (R1)
	ADD  $ES, R0
	ADD  $ES, R1
	SUBS $1, R6
	BNE  scalar
next:
	ADD  $ES, R8
	ADD  R15, R10
	ADD  R13, R12
	ADD  R14, R11
	SUBS $1, R9
	BNE  row
done:
	RET

// func scal(alpha T, x []T)
TEXT SCAL(SB), 0, $128-32
	NO_LOCAL_POINTERS
	MOV  alpha+0(FP), F30
	MOVD x_base+8(FP), R1
	MOVD x_len+16(FP), R6
	SUBS $FOUR, R6
	BLT  vectors
four:
	VLD1 (R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	FMULE(0, 0, 30)
	FMULE(1, 1, 30)
	FMULE(2, 2, 30)
	FMULE(3, 3, 30)
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R1)
	SUBS $FOUR, R6
	BGE  four
vectors:
	ADDS $(FOUR-ONE), R6
	BLT  rest
one:
	VLD1 (R1), [V0.D2]
	FMULE(0, 0, 30)
	VST1.P [V0.D2], 16(R1)
	SUBS $ONE, R6
	BGE  one
rest:
	ADDS $ONE, R6
	BEQ  done
scalar:
	MOV  (R1), F0
	MULS F30, F0, F0
	MOV  F0, (R1)
	ADD  $ES, R1
	SUBS $1, R6
	BNE  scalar
done:
	RET

// The four rows of a, ld elements apart.
#define ROWS \
	LSL $SHIFT, R7;  \
	ADD R7, R2, R3;  \
	ADD R7, R3, R4;  \
	ADD R7, R4, R5

// One element, one vector or two of each row; the pointers step behind what VECTORS loads.
#define ELEMENTS \
	MOV  (R2), F20; \
	MOV  (R3), F21; \
	MOV  (R4), F22; \
	MOV  (R5), F23

#define NEXT \
	ADD  $ES, R2; \
	ADD  $ES, R3; \
	ADD  $ES, R4; \
	ADD  $ES, R5

#define VECTORS1 \
	VLD1.P 16(R2), [V20.D2]; \
	VLD1.P 16(R3), [V22.D2]; \
	VLD1.P 16(R4), [V24.D2]; \
	VLD1.P 16(R5), [V26.D2]

#define VECTORS2 \
	VLD1.P 32(R2), [V20.D2, V21.D2]; \
	VLD1.P 32(R3), [V22.D2, V23.D2]; \
	VLD1.P 32(R4), [V24.D2, V25.D2]; \
	VLD1.P 32(R5), [V26.D2, V27.D2]

// The products of ELEMENTS with the element F4 of x.
#define DOTS \
	MADD F20, F0, F4, F0; \
	MADD F21, F1, F4, F1; \
	MADD F22, F2, F4, F2; \
	MADD F23, F3, F4, F3

#define WEIGHTS \
	MOV w_0+0(FP), F28;  \
	MOV w_1+8(FP), F29;  \
	MOV w_2+16(FP), F30; \
	MOV w_3+24(FP), F31

// func dot4(a []T, ld int, x []T) [4]T
TEXT DOT4(SB), 0, $128-88
	NO_LOCAL_POINTERS
	MOVD a_base+0(FP), R2
	MOVD ld+24(FP), R7
	ROWS
	MOVD x_base+32(FP), R0
	MOVD x_len+40(FP), R6
	CLEAR4
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	SUBS $(2*ONE), R6
	BLT  vectors
two:
	VLD1.P 32(R0), [V4.D2, V5.D2]
	VECTORS2
	FMLA(0, 20, 4)
	FMLA(1, 22, 4)
	FMLA(2, 24, 4)
	FMLA(3, 26, 4)
	FMLA(16, 21, 5)
	FMLA(17, 23, 5)
	FMLA(18, 25, 5)
	FMLA(19, 27, 5)
	SUBS $(2*ONE), R6
	BGE  two
vectors:
	ADDS $ONE, R6
	BLT  fold
	VLD1.P 16(R0), [V4.D2]
	VECTORS1
	FMLA(0, 20, 4)
	FMLA(1, 22, 4)
	FMLA(2, 24, 4)
	FMLA(3, 26, 4)
	SUB  $ONE, R6
fold:
	FADD(0, 16)
	FADD(1, 17)
	FADD(2, 18)
	FADD(3, 19)
	SUMS
	ADDS $ONE, R6
	BEQ  done
scalar:
	MOV  (R0), F4
	ELEMENTS
	DOTS
	ADD  $ES, R0
	NEXT
	SUBS $1, R6
	BNE  scalar
done:
	MOV F0, ret_0+56(FP)
	MOV F1, ret_1+64(FP)
	MOV F2, ret_2+72(FP)
	MOV F3, ret_3+80(FP)
	RET

// func axpy4(w [4]T, a []T, ld int, y []T)
TEXT AXPY4(SB), 0, $128-88
	NO_LOCAL_POINTERS
	WEIGHTS
	MOVD a_base+32(FP), R2
	MOVD ld+56(FP), R7
	ROWS
	MOVD y_base+64(FP), R0
	MOVD y_len+72(FP), R6
	SUBS $(2*ONE), R6
	BLT  vectors
two:
	VLD1   (R0), [V0.D2, V1.D2]
	VECTORS2
	FMLAE(0, 20, 28)
	FMLAE(1, 21, 28)
	FMLAE(0, 22, 29)
	FMLAE(1, 23, 29)
	FMLAE(0, 24, 30)
	FMLAE(1, 25, 30)
	FMLAE(0, 26, 31)
	FMLAE(1, 27, 31)
	VST1.P [V0.D2, V1.D2], 32(R0)
	SUBS $(2*ONE), R6
	BGE  two
vectors:
	ADDS $ONE, R6
	BLT  rest
	VLD1   (R0), [V0.D2]
	VECTORS1
	FMLAE(0, 20, 28)
	FMLAE(0, 22, 29)
	FMLAE(0, 24, 30)
	FMLAE(0, 26, 31)
	VST1.P [V0.D2], 16(R0)
	SUB  $ONE, R6
rest:
	ADDS $ONE, R6
	BEQ  done
scalar:
	MOV  (R0), F0
	ELEMENTS
	MADD F20, F0, F28, F0
	MADD F21, F0, F29, F0
	MADD F22, F0, F30, F0
	MADD F23, F0, F31, F0
	MOV  F0, (R0)
	ADD  $ES, R0
	NEXT
	SUBS $1, R6
	BNE  scalar
done:
	RET

// func symv4(w [4]T, a []T, ld int, x, y []T) [4]T
TEXT SYMV4(SB), 0, $128-144
	NO_LOCAL_POINTERS
	WEIGHTS
	MOVD a_base+32(FP), R2
	MOVD ld+56(FP), R7
	ROWS
	MOVD x_base+64(FP), R0
	MOVD x_len+72(FP), R6
	MOVD y_base+88(FP), R1
	CLEAR4
	SUBS $ONE, R6
	BLT  fold
one:
	VLD1.P 16(R0), [V4.D2]
	VLD1   (R1), [V5.D2]
	VLD1.P 16(R2), [V20.D2]
	VLD1.P 16(R3), [V21.D2]
	VLD1.P 16(R4), [V22.D2]
	VLD1.P 16(R5), [V23.D2]
	FMLA(0, 20, 4)
	FMLA(1, 21, 4)
	FMLA(2, 22, 4)
	FMLA(3, 23, 4)
	FMLAE(5, 20, 28)
	FMULE(21, 21, 29)
	FMLAE(5, 22, 30)
	FMLAE(21, 23, 31)
	FADD(5, 21)
	VST1.P [V5.D2], 16(R1)
	SUBS $ONE, R6
	BGE  one
fold:
	SUMS
	MOV F0, ret_0+112(FP)
	MOV F1, ret_1+120(FP)
	MOV F2, ret_2+128(FP)
	MOV F3, ret_3+136(FP)
	RET

#undef DOT
#undef OUTER
#undef SCAL
#undef DOT4
#undef AXPY4
#undef SYMV4
#undef DOTARGS
#undef ES
#undef SHIFT
#undef FMLA
#undef FMLAE
#undef FADD
#undef FMULE
#undef HSUM
#undef MOV
#undef MADD
#undef MULS
#undef FOUR
#undef ONE
#undef ROWS
#undef WEIGHTS
#undef CLEAR4
#undef ELEMENTS
#undef NEXT
#undef VECTORS1
#undef VECTORS2
#undef DOTS
#undef SUMS
