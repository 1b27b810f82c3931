// The NEON micro-kernel: tiles of up to 6 rows by four vectors of 128 bits, 24
// accumulators in V0 to V23, row i in V(4i) to V(4i+3). It is included once per
// kernel, with these names defined; TILE is undefined at its end:
//
//	TILE              the name of the routine
//	ES, SHIFT         bytes of an element, and their logarithm
//	FMLA(d, n, m, i)  d += n times element i of m
//	FMUL(d, n)        d = n times element 0 of V24
//	FADD(d, n)        d += n
//	ALPHA             alpha into element 0 of V24
//	VECTORS           the four vectors of a at R1 into V24 to V27, and R1 past them
//	LOAD1 to LOAD6    that many elements of b at (R2) into V28 to V30
//	M0 to M5, I0 to I5  register and element that LOAD left the row's b in; LOAD3
//	                  leaves the last in element 0 of V29
//	SCALAR, ADDS      load and store of one element, addition of two
//
// The contract stands at the type tile in tile.go. The assembler has no names for
// multiplication by an element and for vector addition: the words are made from
// the fields of the instructions, and a test disassembles them.
//
// Registers: R0 argument, R1 a, R2 b, R3 c, R4 ldc in bytes, R5 groups of four
// steps left, R6 single steps left, R7 rows left, R8 where to fetch, R9 lines to
// fetch, R10 to R13 scratch.

#define ROW(v0, v1, v2, v3, m, i) \
	FMLA(v0, 24, m, i); \
	FMLA(v1, 25, m, i); \
	FMLA(v2, 26, m, i); \
	FMLA(v3, 27, m, i)

#define ROW0 ROW(0, 1, 2, 3, M0, I0)
#define ROW1 ROW(4, 5, 6, 7, M1, I1)
#define ROW2 ROW(8, 9, 10, 11, M2, I2)
#define ROW3 ROW(12, 13, 14, 15, M3, I3)
#define ROW4 ROW(16, 17, 18, 19, M4, I4)
#define ROW5 ROW(20, 21, 22, 23, M5, I5)

#define STEP1 LOAD1; VECTORS; ADD $(1*ES), R2; ROW0
#define STEP2 LOAD2; VECTORS; ADD $(2*ES), R2; ROW0; ROW1
#define STEP3 LOAD3; VECTORS; ADD $(3*ES), R2; ROW0; ROW1; ROW(8, 9, 10, 11, 29, 0)
#define STEP4 LOAD4; VECTORS; ADD $(4*ES), R2; ROW0; ROW1; ROW2; ROW3
#define STEP5 LOAD5; VECTORS; ADD $(5*ES), R2; ROW0; ROW1; ROW2; ROW3; ROW4
#define STEP6 LOAD6; VECTORS; ADD $(6*ES), R2; ROW0; ROW1; ROW2; ROW3; ROW4; ROW5

// The loop over p, four steps at a time; then the rest.
#define STEPS(STEP, four, fetch, fetched, one) \
four: \
	CBZ  R5, one;          \
	MOVD R9, R10;          \
	CBZ  R10, fetched;     \
fetch: \
	PRFM (R8), PLDL2KEEP;  \
	ADD  $64, R8;          \
	SUB  $1, R10;          \
	CBNZ R10, fetch;       \
fetched: \
	STEP;                  \
	STEP;                  \
	STEP;                  \
	STEP;                  \
	SUB  $1, R5;           \
	B    four;             \
one: \
	CBZ  R6, finish;       \
	STEP;                  \
	SUB  $1, R6;           \
	B    one

#define CLEAR(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define SCALE(a, b, c, d) FMUL(a, a); FMUL(b, b); FMUL(c, c); FMUL(d, d)

// func tile(t *tile)
TEXT TILE(SB), 0, $400-8
	NO_LOCAL_POINTERS
	MOVD t+0(FP), R0
	MOVD tile_a(R0), R1
	MOVD tile_b(R0), R2
	MOVD tile_c(R0), R3
	MOVD tile_ldc(R0), R4
	LSL  $SHIFT, R4
	MOVD tile_next(R0), R8
again: // R1 has the next panel, and R8 what is to be fetched next
	MOVD tile_kc(R0), R5
	AND  $3, R5, R6
	LSR  $2, R5
	MOVD tile_lines(R0), R9

	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	CLEAR(V8, V9, V10, V11)
	CLEAR(V12, V13, V14, V15)
	CLEAR(V16, V17, V18, V19)
	CLEAR(V20, V21, V22, V23)

	MOVD tile_rows(R0), R7
	CMP  $6, R7
	BEQ  four6
	CMP  $5, R7
	BEQ  four5
	CMP  $4, R7
	BEQ  four4
	CMP  $3, R7
	BEQ  four3
	CMP  $2, R7
	BEQ  four2

	STEPS(STEP1, four1, fetch1, fetched1, one1)
	STEPS(STEP2, four2, fetch2, fetched2, one2)
	STEPS(STEP3, four3, fetch3, fetched3, one3)
	STEPS(STEP4, four4, fetch4, fetched4, one4)
	STEPS(STEP5, four5, fetch5, fetched5, one5)
	STEPS(STEP6, four6, fetch6, fetched6, one6)

// The accumulators times alpha pass through the frame, so that rows and columns of
// c can be counted down.
finish:
	ALPHA
	SCALE(0, 1, 2, 3)
	SCALE(4, 5, 6, 7)
	SCALE(8, 9, 10, 11)
	SCALE(12, 13, 14, 15)
	SCALE(16, 17, 18, 19)
	SCALE(20, 21, 22, 23)
	MOVD   $acc-384(SP), R10
	MOVD   R10, R11
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R11)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R11)
	VST1.P [V8.D2, V9.D2, V10.D2, V11.D2], 64(R11)
	VST1.P [V12.D2, V13.D2, V14.D2, V15.D2], 64(R11)
	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R11)
	VST1.P [V20.D2, V21.D2, V22.D2, V23.D2], 64(R11)
	MOVD   tile_width(R0), R5
	MOVD   tile_add(R0), R6
	CMP    $(64/ES), R5
	BNE    narrow

wide:
	VLD1.P 64(R10), [V0.D2, V1.D2, V2.D2, V3.D2]
	CBZ    R6, put
	VLD1   (R3), [V4.D2, V5.D2, V6.D2, V7.D2]
	FADD(0, 4)
	FADD(1, 5)
	FADD(2, 6)
	FADD(3, 7)
put:
	VST1   [V0.D2, V1.D2, V2.D2, V3.D2], (R3)
	ADD    R4, R3
	SUB    $1, R7
	CBNZ   R7, wide
	MOVD   tile_count(R0), R5
	SUBS   $1, R5, R5
	BLE    done
	MOVD   R5, tile_count(R0)
	MOVD   tile_rows(R0), R7
	MUL    R4, R7, R7
	SUB    R7, R3
	ADD    $64, R3
	MOVD   tile_b(R0), R2
	B      again

narrow:
	CBZ    R5, done
row:
	MOVD   R10, R11
	MOVD   R3, R12
	MOVD   R5, R13
element:
	SCALAR (R11), F0
	CBZ    R6, only
	SCALAR (R12), F1
	ADDS   F1, F0, F0
only:
	SCALAR F0, (R12)
	ADD    $ES, R11
	ADD    $ES, R12
	SUB    $1, R13
	CBNZ   R13, element
	ADD    $64, R10
	ADD    R4, R3
	SUB    $1, R7
	CBNZ   R7, row
done:
	RET

#undef TILE
#undef ROW
#undef ROW0
#undef ROW1
#undef ROW2
#undef ROW3
#undef ROW4
#undef ROW5
#undef STEP1
#undef STEP2
#undef STEP3
#undef STEP4
#undef STEP5
#undef STEP6
#undef STEPS
#undef CLEAR
#undef SCALE
