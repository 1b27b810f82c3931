// The NEON kernels for one or two columns: one panel of 8 rows of a symmetric
// matrix, each element used twice, in double precision. It is included once for
// each precision of the storage, with these names defined:
//
//	FEW                                     the name of the routine
//	COLUMN(o, fa, fb, fc, fd, a, b, c, d)   the 8 elements at byte o of R1 into four
//	                                        registers, named and numbered
//
// Their contract stands at fewTile. A column of a panel takes 64 bytes in either
// precision: in single precision the panel is half of one of 16 rows.
//
// Registers: R0 argument, R1 panel, R2 x, R3 y, R4 their column stride in bytes,
// R5 and R6 the elements of x and y that go with the rows, R7 columns left, R8 and
// R9 the second columns of x and y. The sums of the lanes of two columns of the
// panel are two neighbours of y.

#define FMLA(d, n, m) WORD $(0x4E60CC00 | ((m)<<16) | ((n)<<5) | (d))
#define FMLAE(d, n, m, i) WORD $(0x4FC01000 | ((m)<<16) | ((i)<<11) | ((n)<<5) | (d))
#define FMULV(d, n, m) WORD $(0x6E60DC00 | ((m)<<16) | ((n)<<5) | (d))
#define FADD(d, n) WORD $(0x4E60D400 | ((n)<<16) | ((d)<<5) | (d))
#define FADDP(d, n) WORD $(0x6E60D400 | ((n)<<16) | ((d)<<5) | (d))
#define FCVTL(d, n) WORD $(0x0E617800 | ((n)<<5) | (d))
#define FCVTL2(d, n) WORD $(0x4E617800 | ((n)<<5) | (d))

// The column in a to d: element i of x times it is added to y0 to y3, its product
// with r0 to r3 goes to s.
#define BOTH(a, b, c, d, x, i, y0, y1, y2, y3, r0, r1, r2, r3, s) \
	FMULV(s, a, r0);    \
	FMLAE(y0, a, x, i); \
	FMLAE(y1, b, x, i); \
	FMLA(s, b, r1);     \
	FMLAE(y2, c, x, i); \
	FMLAE(y3, d, x, i); \
	FMLA(s, c, r2);     \
	FMLA(s, d, r3)

#define CLEAR(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

// func few(t *fewTile)
TEXT FEW(SB), 0, $128-8
	NO_LOCAL_POINTERS
	MOVD  t+0(FP), R0
	MOVD  fewTile_a(R0), R1
	MOVD  fewTile_x(R0), R2
	MOVD  fewTile_y(R0), R3
	MOVD  fewTile_ld(R0), R4
	LSL   $3, R4
	MOVD  fewTile_xr(R0), R5
	MOVD  fewTile_yr(R0), R6
	MOVD  fewTile_cols(R0), R7
	FLDPQ (R5), (F0, F1)
	FLDPQ 32(R5), (F2, F3)
	CLEAR(V8, V9, V10, V11)
	CLEAR(V12, V13, V14, V15)
	MOVD  fewTile_k(R0), R8
	CMP   $2, R8
	BEQ   two

// The rows' part of y: V8 to V11 from the even columns, V12 to V15 from the odd ones.
one:
	FMOVQ.P 16(R2), F24
	COLUMN(0, F16, F17, F18, F19, 16, 17, 18, 19)
	COLUMN(64, F20, F21, F22, F23, 20, 21, 22, 23)
	BOTH(16, 17, 18, 19, 24, 0, 8, 9, 10, 11, 0, 1, 2, 3, 26)
	BOTH(20, 21, 22, 23, 24, 1, 12, 13, 14, 15, 0, 1, 2, 3, 27)
	FADDP(26, 27)
	FMOVQ   (R3), F30
	FADD(30, 26)
	FMOVQ.P F30, 16(R3)
	ADD     $128, R1
	SUB     $2, R7
	CBNZ    R7, one
	FADD(8, 12)
	FADD(9, 13)
	FADD(10, 14)
	FADD(11, 15)
	B       finish

// That of the first column of y in V8 to V11, that of the second in V12 to V15.
two:
	ADD   R4, R5
	FLDPQ (R5), (F4, F5)
	FLDPQ 32(R5), (F6, F7)
	ADD   R4, R2, R8
	ADD   R4, R3, R9
pair:
	FMOVQ.P 16(R2), F24
	FMOVQ.P 16(R8), F25
	COLUMN(0, F16, F17, F18, F19, 16, 17, 18, 19)
	COLUMN(64, F20, F21, F22, F23, 20, 21, 22, 23)
	BOTH(16, 17, 18, 19, 24, 0, 8, 9, 10, 11, 0, 1, 2, 3, 26)
	BOTH(16, 17, 18, 19, 25, 0, 12, 13, 14, 15, 4, 5, 6, 7, 28)
	BOTH(20, 21, 22, 23, 24, 1, 8, 9, 10, 11, 0, 1, 2, 3, 27)
	BOTH(20, 21, 22, 23, 25, 1, 12, 13, 14, 15, 4, 5, 6, 7, 29)
	FADDP(26, 27)
	FADDP(28, 29)
	FMOVQ   (R3), F30
	FMOVQ   (R9), F31
	FADD(30, 26)
	FADD(31, 28)
	FMOVQ.P F30, 16(R3)
	FMOVQ.P F31, 16(R9)
	ADD     $128, R1
	SUB     $2, R7
	CBNZ    R7, pair
	ADD     R4, R6, R9
	VLD1    (R9), [V16.D2, V17.D2, V18.D2, V19.D2]
	FADD(16, 12)
	FADD(17, 13)
	FADD(18, 14)
	FADD(19, 15)
	VST1    [V16.D2, V17.D2, V18.D2, V19.D2], (R9)
finish:
	VLD1    (R6), [V16.D2, V17.D2, V18.D2, V19.D2]
	FADD(16, 8)
	FADD(17, 9)
	FADD(18, 10)
	FADD(19, 11)
	VST1    [V16.D2, V17.D2, V18.D2, V19.D2], (R6)
	RET

#undef FEW
#undef COLUMN
#undef FMLA
#undef FMLAE
#undef FMULV
#undef FADD
#undef FADDP
#undef FCVTL
#undef FCVTL2
#undef BOTH
#undef CLEAR
