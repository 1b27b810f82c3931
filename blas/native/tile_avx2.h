// The AVX2 micro-kernel: tiles of up to 4 rows by three vectors of 256 bits, 12
// accumulators in Y0 to Y11; a tile of fewer columns takes two vectors where those
// suffice. It is included once per element type, with these names defined:
//
//	TILE                the name of the routine
//	ES, LANES           bytes of an element, elements of a vector
//	BCAST FMA MOV MUL ADD MASKMOV  the instructions for the element type
//	ALPHA(y)            alpha in all lanes of y
//	BCAST2 SWAP2(y)     two elements in turn in the lanes of a vector; these exchanged
//	BLEND ODD           lanes of two vectors; the mask of the odd ones
//	VECTORS2(o)         the first two vectors of a step of a at byte offset o from AX into Y12 and Y13
//	VECTORS3(o)         also the third into Y14
//	PACKED3(o) THIRD(o) of the three vectors those that the loop over packed rows loads, and where it has the third
//
// The contract stands at the type tile in tile.go. Registers: AX a, BX b, CX
// groups of eight steps left, DX single steps left, DI c, SI ldc in bytes, R8 rows
// or its strides, R9 scratch, R10 lines to fetch at a time, R11 where to fetch, R12 scratch,
// R13 the argument.

// One step of one row: y holds its element of b, and third is the third vector of a, in a register or in memory.
#define TIMES2(y, third, c0, c1, c2) \
	FMA y, Y12, c0; \
	FMA y, Y13, c1
#define TIMES3(y, third, c0, c1, c2) \
	TIMES2(y, third, c0, c1, c2); \
	FMA third, y, c2

#define ROW(TIMES, third, b, c0, c1, c2) \
	BCAST b, Y15; \
	TIMES(Y15, third, c0, c1, c2)

// Two rows whose elements of b follow each other. The first three accumulators have the first row's sums in their even
// lanes and the second row's in their odd ones, and the other three the rest. A swap in place of the second broadcast
// is a load less. The loads so left allow the third vector of a to be an operand in memory, which is an instruction
// less: a core whose other hardware thread is busy issues half as many.
#define PAIR(TIMES, third, b, c0, c1, c2, d0, d1, d2) \
	BCAST2 b, Y15;                 \
	TIMES(Y15, third, c0, c1, c2); \
	SWAP2(Y15);                    \
	TIMES(Y15, third, d0, d1, d2)

// One step of p at byte offset o of b for one to four rows; TIMES is one of the two above.
#define ROWS1(TIMES, third, o) ROW(TIMES, third, o(BX), Y0, Y1, Y2)
#define ROWS2(TIMES, third, o) PAIR(TIMES, third, o(BX), Y0, Y1, Y2, Y3, Y4, Y5)
#define ROWS3(TIMES, third, o) ROWS2(TIMES, third, o); ROW(TIMES, third, o+2*ES(BX), Y6, Y7, Y8)
#define ROWS4(TIMES, third, o) ROWS2(TIMES, third, o); PAIR(TIMES, third, o+2*ES(BX), Y6, Y7, Y8, Y9, Y10, Y11)

// Step p of n rows. LOAD loads the vectors of a that TIMES has in registers.
#define STEP(n, ROWS, TIMES, LOAD, p) \
	LOAD(p*96); \
	ROWS(TIMES, THIRD(p*96), p*n*ES)

// The loop over p for n rows, eight steps at a time.
#define STEPS(n, ROWS, TIMES, LOAD, start, eight, fetch, fetched, one) \
start: \
	TESTQ CX, CX;                  \
	JZ    one;                     \
eight: \
	TESTQ R10, R10;                \
	JZ    fetched;                 \
	MOVQ  R10, R12;                \
fetch: \
	PREFETCHT1 (R11);              \
	ADDQ  $64, R11;                \
	DECQ  R12;                     \
	JNZ   fetch;                   \
fetched: \
	STEP(n, ROWS, TIMES, LOAD, 0); \
	STEP(n, ROWS, TIMES, LOAD, 1); \
	STEP(n, ROWS, TIMES, LOAD, 2); \
	STEP(n, ROWS, TIMES, LOAD, 3); \
	STEP(n, ROWS, TIMES, LOAD, 4); \
	STEP(n, ROWS, TIMES, LOAD, 5); \
	STEP(n, ROWS, TIMES, LOAD, 6); \
	STEP(n, ROWS, TIMES, LOAD, 7); \
	ADDQ  $(8*96), AX;             \
	ADDQ  $(8*n*ES), BX;           \
	DECQ  CX;                      \
	JNZ   eight;                   \
one: \
	TESTQ DX, DX;                  \
	JZ    summed;                  \
	STEP(n, ROWS, TIMES, LOAD, 0); \
	ADDQ  $96, AX;                 \
	ADDQ  $(n*ES), BX;             \
	DECQ  DX;                      \
	JMP   one

// The sums of two rows from those of a pair, times alpha in Y15.
#define UNPAIR1(c, d) \
	BLEND $ODD, d, c, Y14; \
	BLEND $ODD, c, d, d;   \
	MUL   Y15, Y14, c;     \
	MUL   Y15, d, d
#define UNPAIR(c0, c1, c2, d0, d1, d2) \
	UNPAIR1(c0, d0); \
	UNPAIR1(c1, d1); \
	UNPAIR1(c2, d2)

// A step for four rows of b that are not packed: (BX) and three more R8 bytes apart.
#define DIRECTSTEP(TIMES, LOAD, p) \
	LOAD(p*96);                                  \
	ROW(TIMES, Y14, p*ES(BX), Y0, Y1, Y2);       \
	ROW(TIMES, Y14, p*ES(BX)(R8*1), Y3, Y4, Y5); \
	ROW(TIMES, Y14, p*ES(BX)(R8*2), Y6, Y7, Y8); \
	ROW(TIMES, Y14, p*ES(BX)(R9*1), Y9, Y10, Y11)

// How far ahead of its use a row of b is fetched, in bytes.
#define AHEAD 768

#define DIRECTSTEPS(TIMES, LOAD, eight, one) \
	TESTQ CX, CX;                 \
	JZ    one;                    \
eight: \
	PREFETCHT0 AHEAD(BX);         \
	PREFETCHT0 AHEAD(BX)(R8*1);   \
	PREFETCHT0 AHEAD(BX)(R8*2);   \
	PREFETCHT0 AHEAD(BX)(R9*1);   \
	DIRECTSTEP(TIMES, LOAD, 0);   \
	DIRECTSTEP(TIMES, LOAD, 1);   \
	DIRECTSTEP(TIMES, LOAD, 2);   \
	DIRECTSTEP(TIMES, LOAD, 3);   \
	DIRECTSTEP(TIMES, LOAD, 4);   \
	DIRECTSTEP(TIMES, LOAD, 5);   \
	DIRECTSTEP(TIMES, LOAD, 6);   \
	DIRECTSTEP(TIMES, LOAD, 7);   \
	ADDQ  $(8*96), AX;            \
	ADDQ  $(8*ES), BX;            \
	DECQ  CX;                     \
	JNZ   eight;                  \
one: \
	TESTQ DX, DX;                 \
	JZ    finish;                 \
	DIRECTSTEP(TIMES, LOAD, 0);   \
	ADDQ  $96, AX;                \
	ADDQ  $ES, BX;                \
	DECQ  DX;                     \
	JMP   one

// One vector of c under the mask y: what acc holds, times alpha already, is added.
#define STORE1(o, acc, y) \
	MASKMOV o(DI), y, Y15; \
	ADD     Y15, acc, Y15; \
	MASKMOV Y15, y, o(DI)

#define ADDROW(c0, c1, c2) \
	STORE1(0, c0, Y12);  \
	STORE1(32, c1, Y13); \
	STORE1(64, c2, Y14); \
	ADDQ SI, DI;         \
	DECQ R8;             \
	JZ   done

// A row of all columns: masked stores take ten times as long.
#define ADDALL(c0, c1, c2) \
	ADD (DI), c0, c0;   \
	ADD 32(DI), c1, c1; \
	ADD 64(DI), c2, c2; \
	PUTALL(c0, c1, c2)

#define PUTALL(c0, c1, c2) \
	MOV c0, (DI);   \
	MOV c1, 32(DI); \
	MOV c2, 64(DI); \
	ADDQ SI, DI;    \
	DECQ R8;        \
	JZ   done

#define PUTROW(c0, c1, c2) \
	MASKMOV c0, Y12, (DI);   \
	MASKMOV c1, Y13, 32(DI); \
	MASKMOV c2, Y14, 64(DI); \
	ADDQ SI, DI;             \
	DECQ R8;                 \
	JZ   done

// The mask of the lanes of one vector that lie below R12, the columns left: a
// window on 32 bytes of ones and 32 of zeros.
#define LANEMASK(y) \
	MOVQ    $LANES, R9;      \
	CMPQ    R12, R9;         \
	CMOVQLT R12, R9;         \
	XORQ    CX, CX;          \
	CMPQ    R9, CX;          \
	CMOVQLT CX, R9;          \
	IMULQ   $ES, R9;         \
	MOVQ    $32, CX;         \
	SUBQ    R9, CX;          \
	VMOVDQU (AX)(CX*1), y;   \
	SUBQ    $LANES, R12

TEXT TILE(SB), 0, $128-8
	NO_LOCAL_POINTERS
	MOVQ t+0(FP), R13
	MOVQ tile_a(R13), AX
	MOVQ tile_b(R13), BX
	MOVQ tile_c(R13), DI
	MOVQ tile_ldc(R13), SI
	IMULQ $ES, SI
	MOVQ tile_next(R13), R11
again: // AX has the next panel, and R11 what is to be fetched next
	MOVQ tile_kc(R13), CX
	MOVQ CX, DX
	ANDQ $7, DX
	SHRQ $3, CX
	MOVQ tile_lines(R13), R10

	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11

	MOVQ tile_rows(R13), R8
	MOVQ DI, R9
	MOVQ R8, R12
warm: // the tile of c is on its way while the sums are computed
	PREFETCHT0 (R9)
	PREFETCHT0 64(R9)
	PREFETCHT0 88(R9)
	ADDQ SI, R9
	DECQ R12
	JNZ  warm
	MOVQ tile_width(R13), R12
	MOVQ tile_ldb(R13), R9
	TESTQ R9, R9
	JNZ  direct
	ADDQ R10, R10
	CMPQ R12, $(2*LANES)
	JLE  narrow
	CMPQ R8, $4
	JEQ  rows43
	CMPQ R8, $3
	JEQ  rows33
	CMPQ R8, $2
	JEQ  rows23
	STEPS(1, ROWS1, TIMES3, PACKED3, rows13, eight13, fetch13, fetched13, one13)
	STEPS(2, ROWS2, TIMES3, PACKED3, rows23, eight23, fetch23, fetched23, one23)
	STEPS(3, ROWS3, TIMES3, PACKED3, rows33, eight33, fetch33, fetched33, one33)
	STEPS(4, ROWS4, TIMES3, PACKED3, rows43, eight43, fetch43, fetched43, one43)
narrow:
	CMPQ R8, $4
	JEQ  rows42
	CMPQ R8, $3
	JEQ  rows32
	CMPQ R8, $2
	JEQ  rows22
	STEPS(1, ROWS1, TIMES2, VECTORS2, rows12, eight12, fetch12, fetched12, one12)
	STEPS(2, ROWS2, TIMES2, VECTORS2, rows22, eight22, fetch22, fetched22, one22)
	STEPS(3, ROWS3, TIMES2, VECTORS2, rows32, eight32, fetch32, fetched32, one32)
	STEPS(4, ROWS4, TIMES2, VECTORS2, rows42, eight42, fetch42, fetched42, one42)
direct:
	LEAQ (R9*ES), R8
	LEAQ (R8)(R8*2), R9
	TESTQ R10, R10
	JZ   fetchedDirect
fetchDirect: // the rows of the next tiles
	PREFETCHT0 (R11)
	PREFETCHT0 (R11)(R8*1)
	PREFETCHT0 (R11)(R8*2)
	PREFETCHT0 (R11)(R9*1)
	ADDQ $64, R11
	DECQ R10
	JNZ  fetchDirect
fetchedDirect:
	CMPQ R12, $(2*LANES)
	JLE  narrowDirect
	DIRECTSTEPS(TIMES3, VECTORS3, eight3, one3)
narrowDirect:
	DIRECTSTEPS(TIMES2, VECTORS2, eight2, one2)

summed: // of packed rows
	ALPHA(Y15)
	CMPQ R8, $2
	JLT  scale0
	UNPAIR(Y0, Y1, Y2, Y3, Y4, Y5)
	CMPQ R8, $4
	JLT  scale6
	UNPAIR(Y6, Y7, Y8, Y9, Y10, Y11)
	JMP  scaled

finish:
	MOVQ tile_rows(R13), R8
	ALPHA(Y15)
scale0:
	MUL Y15, Y0, Y0
	MUL Y15, Y1, Y1
	MUL Y15, Y2, Y2
	MUL Y15, Y3, Y3
	MUL Y15, Y4, Y4
	MUL Y15, Y5, Y5
scale6:
	MUL Y15, Y6, Y6
	MUL Y15, Y7, Y7
	MUL Y15, Y8, Y8
	MUL Y15, Y9, Y9
	MUL Y15, Y10, Y10
	MUL Y15, Y11, Y11
scaled:
	MOVQ tile_width(R13), R12
	CMPQ R12, $(3*LANES)
	JLT  masked
	CMPQ tile_add(R13), $0
	JEQ  putAll
	ADDALL(Y0, Y1, Y2)
	ADDALL(Y3, Y4, Y5)
	ADDALL(Y6, Y7, Y8)
	ADDALL(Y9, Y10, Y11)
putAll:
	PUTALL(Y0, Y1, Y2)
	PUTALL(Y3, Y4, Y5)
	PUTALL(Y6, Y7, Y8)
	PUTALL(Y9, Y10, Y11)
masked:
	LEAQ ·laneWindow+32(SB), AX
	LANEMASK(Y12)
	LANEMASK(Y13)
	LANEMASK(Y14)
	CMPQ tile_add(R13), $0
	JEQ  put
	ADDROW(Y0, Y1, Y2)
	ADDROW(Y3, Y4, Y5)
	ADDROW(Y6, Y7, Y8)
	ADDROW(Y9, Y10, Y11)
put:
	PUTROW(Y0, Y1, Y2)
	PUTROW(Y3, Y4, Y5)
	PUTROW(Y6, Y7, Y8)
	PUTROW(Y9, Y10, Y11)
done:
	DECQ tile_count(R13) // the next tile is 96 bytes further
	JLE  last
	MOVQ tile_rows(R13), R8
	IMULQ SI, R8
	SUBQ R8, DI
	ADDQ $96, DI
	MOVQ tile_b(R13), BX
	JMP  again
last:
	VZEROUPPER
	RET

#undef TILE
#undef ES
#undef LANES
#undef BCAST
#undef FMA
#undef MOV
#undef MUL
#undef ADD
#undef MASKMOV
#undef ALPHA
#undef BCAST2
#undef SWAP2
#undef BLEND
#undef ODD
#undef TIMES2
#undef TIMES3
#undef ROW
#undef PAIR
#undef ROWS1
#undef ROWS2
#undef ROWS3
#undef ROWS4
#undef STEP
#undef STEPS
#undef UNPAIR1
#undef UNPAIR
#undef DIRECTSTEP
#undef AHEAD
#undef DIRECTSTEPS
#undef STORE1
#undef ADDROW
#undef ADDALL
#undef PUTALL
#undef PUTROW
#undef LANEMASK
