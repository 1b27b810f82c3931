// The vector routines on 256-bit registers. They are included with these
// names defined:
//
//	DOT OUTER SCAL DOT4 AXPY4       the routines, declared in kernels_amd64.go
//	ES, LANES                       bytes of an element, elements of a vector
//	MOV FMA MUL ADD BCAST           packed instructions, BCASTX of a register
//	MOVS FMAS MULS                  their scalar forms
//	HSUM(y, x, t)                   the sum of the lanes of y into the low lane of x, its
//	                                lower half; t is scratch
//	DOTARGS                         bytes of the arguments and the result of dot
//
// They read and write nothing beyond the length of their last slice and need no
// alignment. The frame is larger than needed for the reason given in
// tile_avx512.h.

// func dot(x, y []T) T
TEXT DOT(SB), 0, $128-DOTARGS
	NO_LOCAL_POINTERS
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	SUBQ $(4*LANES), CX
	JLT  vectors
four:
	MOV (SI), Y4
	MOV 32(SI), Y5
	MOV 64(SI), Y6
	MOV 96(SI), Y7
	FMA (DI), Y4, Y0
	FMA 32(DI), Y5, Y1
	FMA 64(DI), Y6, Y2
	FMA 96(DI), Y7, Y3
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $(4*LANES), CX
	JGE  four
vectors:
	ADDQ $(3*LANES), CX
	JLT  fold
one:
	MOV (SI), Y4
	FMA (DI), Y4, Y0
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $LANES, CX
	JGE  one
fold:
	ADD Y1, Y0, Y0
	ADD Y3, Y2, Y2
	ADD Y2, Y0, Y0
	HSUM(Y0, X0, X1)
	ADDQ $LANES, CX
	JZ   done
scalar:
	MOVS (SI), X4
	FMAS (DI), X4, X0
	ADDQ $ES, SI
	ADDQ $ES, DI
	DECQ CX
	JNZ  scalar
done:
	MOVS X0, ret+48(FP)
	VZEROUPPER
	RET

// func outer(alpha T, w, x []T, n int, a []T, ld, grow int)
TEXT OUTER(SB), 0, $128-104
	NO_LOCAL_POINTERS
	MOVS alpha+0(FP), X13
	MOVQ w_base+8(FP), R8
	MOVQ w_len+16(FP), R9
	MOVQ x_base+32(FP), R10
	MOVQ n+56(FP), R11
	MOVQ a_base+64(FP), R12
	MOVQ ld+88(FP), R13
	IMULQ $ES, R13
	MOVQ grow+96(FP), AX
	MOVQ AX, BX
	SARQ $63, BX
	ANDQ $ES, BX // a row that is shorter than the one before begins an element later
	TESTQ R9, R9
	JZ   done
row:
	MULS (R8), X13, X14
	BCASTX X14, Y14
	MOVQ R10, SI
	MOVQ R12, DI
	MOVQ R11, CX
	SUBQ $(4*LANES), CX
	JLT  vectors
four:
	MOV (DI), Y0
	MOV 32(DI), Y1
	MOV 64(DI), Y2
	MOV 96(DI), Y3
	FMA (SI), Y14, Y0
	FMA 32(SI), Y14, Y1
	FMA 64(SI), Y14, Y2
	FMA 96(SI), Y14, Y3
	MOV Y0, (DI)
	MOV Y1, 32(DI)
	MOV Y2, 64(DI)
	MOV Y3, 96(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $(4*LANES), CX
	JGE  four
vectors:
	ADDQ $(3*LANES), CX
	JLT  rest
one:
	MOV (DI), Y0
	FMA (SI), Y14, Y0
	MOV Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $LANES, CX
	JGE  one
rest:
	ADDQ $LANES, CX
	JZ   next
scalar:
	MOVS (DI), X0
	FMAS (SI), X14, X0
	MOVS X0, (DI)
	ADDQ $ES, SI
	ADDQ $ES, DI
	DECQ CX
	JNZ  scalar
next:
	ADDQ $ES, R8
	ADDQ BX, R10
	ADDQ R13, R12
	ADDQ AX, R11
	DECQ R9
	JNZ  row
done:
	VZEROUPPER
	RET

// func scal(alpha T, x []T)
TEXT SCAL(SB), 0, $128-32
	NO_LOCAL_POINTERS
	BCAST alpha+0(FP), Y14
	MOVQ x_base+8(FP), DI
	MOVQ x_len+16(FP), CX
	SUBQ $(4*LANES), CX
	JLT  vectors
four:
	MUL (DI), Y14, Y0
	MUL 32(DI), Y14, Y1
	MUL 64(DI), Y14, Y2
	MUL 96(DI), Y14, Y3
	MOV Y0, (DI)
	MOV Y1, 32(DI)
	MOV Y2, 64(DI)
	MOV Y3, 96(DI)
	ADDQ $128, DI
	SUBQ $(4*LANES), CX
	JGE  four
vectors:
	ADDQ $(3*LANES), CX
	JLT  rest
one:
	MUL (DI), Y14, Y0
	MOV Y0, (DI)
	ADDQ $32, DI
	SUBQ $LANES, CX
	JGE  one
rest:
	ADDQ $LANES, CX
	JZ   done
scalar:
	MULS (DI), X14, X0
	MOVS X0, (DI)
	ADDQ $ES, DI
	DECQ CX
	JNZ  scalar
done:
	VZEROUPPER
	RET

// func dot4(a []T, ld int, x []T) [4]T
TEXT DOT4(SB), 0, $128-88
	NO_LOCAL_POINTERS
	MOVQ a_base+0(FP), AX
	MOVQ ld+24(FP), DX
	IMULQ $ES, DX
	LEAQ (AX)(DX*1), BX
	LEAQ (BX)(DX*1), R8
	LEAQ (R8)(DX*1), R9
	MOVQ x_base+32(FP), SI
	MOVQ x_len+40(FP), CX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	XORQ DX, DX
	SUBQ $(2*LANES), CX
	JLT  vectors
two:
	MOV (SI)(DX*1), Y8
	MOV 32(SI)(DX*1), Y9
	FMA (AX)(DX*1), Y8, Y0
	FMA (BX)(DX*1), Y8, Y1
	FMA (R8)(DX*1), Y8, Y2
	FMA (R9)(DX*1), Y8, Y3
	FMA 32(AX)(DX*1), Y9, Y4
	FMA 32(BX)(DX*1), Y9, Y5
	FMA 32(R8)(DX*1), Y9, Y6
	FMA 32(R9)(DX*1), Y9, Y7
	ADDQ $64, DX
	SUBQ $(2*LANES), CX
	JGE  two
vectors:
	ADDQ $LANES, CX
	JLT  fold
	MOV (SI)(DX*1), Y8
	FMA (AX)(DX*1), Y8, Y0
	FMA (BX)(DX*1), Y8, Y1
	FMA (R8)(DX*1), Y8, Y2
	FMA (R9)(DX*1), Y8, Y3
	ADDQ $32, DX
	SUBQ $LANES, CX
fold:
	ADD Y4, Y0, Y0
	ADD Y5, Y1, Y1
	ADD Y6, Y2, Y2
	ADD Y7, Y3, Y3
	HSUM(Y0, X0, X8)
	HSUM(Y1, X1, X8)
	HSUM(Y2, X2, X8)
	HSUM(Y3, X3, X8)
	ADDQ $LANES, CX
	JZ   done
scalar:
	MOVS (SI)(DX*1), X8
	FMAS (AX)(DX*1), X8, X0
	FMAS (BX)(DX*1), X8, X1
	FMAS (R8)(DX*1), X8, X2
	FMAS (R9)(DX*1), X8, X3
	ADDQ $ES, DX
	DECQ CX
	JNZ  scalar
done:
	MOVS X0, ret_0+56(FP)
	MOVS X1, ret_1+64(FP)
	MOVS X2, ret_2+72(FP)
	MOVS X3, ret_3+80(FP)
	VZEROUPPER
	RET

// func axpy4(w [4]T, a []T, ld int, y []T)
TEXT AXPY4(SB), 0, $128-88
	NO_LOCAL_POINTERS
	BCAST w_0+0(FP), Y10
	BCAST w_1+8(FP), Y11
	BCAST w_2+16(FP), Y12
	BCAST w_3+24(FP), Y13
	MOVQ a_base+32(FP), AX
	MOVQ ld+56(FP), DX
	IMULQ $ES, DX
	LEAQ (AX)(DX*1), BX
	LEAQ (BX)(DX*1), R8
	LEAQ (R8)(DX*1), R9
	MOVQ y_base+64(FP), SI
	MOVQ y_len+72(FP), CX
	XORQ DX, DX
	SUBQ $(2*LANES), CX
	JLT  vectors
two:
	MOV (SI)(DX*1), Y0
	MOV 32(SI)(DX*1), Y1
	FMA (AX)(DX*1), Y10, Y0
	FMA 32(AX)(DX*1), Y10, Y1
	FMA (BX)(DX*1), Y11, Y0
	FMA 32(BX)(DX*1), Y11, Y1
	FMA (R8)(DX*1), Y12, Y0
	FMA 32(R8)(DX*1), Y12, Y1
	FMA (R9)(DX*1), Y13, Y0
	FMA 32(R9)(DX*1), Y13, Y1
	MOV Y0, (SI)(DX*1)
	MOV Y1, 32(SI)(DX*1)
	ADDQ $64, DX
	SUBQ $(2*LANES), CX
	JGE  two
vectors:
	ADDQ $LANES, CX
	JLT  rest
	MOV (SI)(DX*1), Y0
	FMA (AX)(DX*1), Y10, Y0
	FMA (BX)(DX*1), Y11, Y0
	FMA (R8)(DX*1), Y12, Y0
	FMA (R9)(DX*1), Y13, Y0
	MOV Y0, (SI)(DX*1)
	ADDQ $32, DX
	SUBQ $LANES, CX
rest:
	ADDQ $LANES, CX
	JZ   done
scalar:
	MOVS (SI)(DX*1), X0
	FMAS (AX)(DX*1), X10, X0
	FMAS (BX)(DX*1), X11, X0
	FMAS (R8)(DX*1), X12, X0
	FMAS (R9)(DX*1), X13, X0
	MOVS X0, (SI)(DX*1)
	ADDQ $ES, DX
	DECQ CX
	JNZ  scalar
done:
	VZEROUPPER
	RET

#undef DOT
#undef OUTER
#undef SCAL
#undef DOT4
#undef AXPY4
#undef DOTARGS
#undef ES
#undef LANES
#undef MOV
#undef FMA
#undef MUL
#undef ADD
#undef BCAST
#undef BCASTX
#undef MOVS
#undef FMAS
#undef MULS
#undef HSUM
