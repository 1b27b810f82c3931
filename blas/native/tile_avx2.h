// The AVX2 micro-kernel: tiles of up to 4 rows by three vectors of 256 bits, 12
// accumulators in Y0 to Y11; a tile of fewer columns takes two vectors where those
// suffice. It is included once per element type, with these names defined:
//
//	TILE                the name of the routine
//	ES, LANES           bytes of an element, elements of a vector
//	BCAST FMA MOV MUL ADD MASKMOV  the instructions for the element type
//	ALPHA(y)            alpha in all lanes of y
//	VECTORS2(o)         the first two vectors of a step of a at byte offset o from AX into Y12 and Y13
//	VECTORS3(o)         also the third into Y14
//
// The contract stands at the type tile in tile.go. Registers: AX a, BX b, CX
// groups of four steps left, DX single steps left, DI c, SI ldc in bytes, R8 rows
// or its strides, R9 scratch, R10 lines to fetch, R11 where to fetch, R12 scratch, R13 the
// argument.

// One row: its element of b times the two or three vectors of a.
#define ROW2(b, c0, c1, c2) \
	BCAST b, Y15;       \
	FMA   Y15, Y12, c0; \
	FMA   Y15, Y13, c1
#define ROW3(b, c0, c1, c2) \
	ROW2(b, c0, c1, c2); \
	FMA   Y15, Y14, c2

// One step of p at byte offset o of b for one to four rows; ROW is one of the two above.
#define ROWS1(ROW, o) ROW(o(BX), Y0, Y1, Y2)
#define ROWS2(ROW, o) ROWS1(ROW, o); ROW(o+1*ES(BX), Y3, Y4, Y5)
#define ROWS3(ROW, o) ROWS2(ROW, o); ROW(o+2*ES(BX), Y6, Y7, Y8)
#define ROWS4(ROW, o) ROWS3(ROW, o); ROW(o+3*ES(BX), Y9, Y10, Y11)

// The loop over p for n rows, four steps at a time; then the one store. LOAD loads as many
// vectors of a as ROW multiplies.
#define STEPS(n, ROWS, ROW, LOAD, four, fetch, fetched, one) \
four: \
	TESTQ CX, CX;       \
	JZ    one;          \
	MOVQ  R10, R12;     \
	TESTQ R12, R12;     \
	JZ    fetched;      \
fetch: \
	PREFETCHT1 (R11);   \
	ADDQ  $64, R11;     \
	DECQ  R12;          \
	JNZ   fetch;        \
fetched: \
	LOAD(0);            \
	ROWS(ROW, 0);       \
	LOAD(96);           \
	ROWS(ROW, n*ES);    \
	LOAD(192);          \
	ROWS(ROW, 2*n*ES);  \
	LOAD(288);          \
	ROWS(ROW, 3*n*ES);  \
	ADDQ  $384, AX;     \
	ADDQ  $(4*n*ES), BX; \
	DECQ  CX;           \
	JMP   four;         \
one: \
	TESTQ DX, DX;       \
	JZ    finish;       \
	LOAD(0);            \
	ROWS(ROW, 0);       \
	ADDQ  $96, AX;      \
	ADDQ  $(n*ES), BX;  \
	DECQ  DX;           \
	JMP   one

// A step for four rows of b that are not packed: (BX) and three more R8 bytes apart.
#define DIRECTSTEP(ROW, LOAD, p) \
	LOAD(p*96);                             \
	ROW(p*ES(BX), Y0, Y1, Y2);              \
	ROW(p*ES(BX)(R8*1), Y3, Y4, Y5);        \
	ROW(p*ES(BX)(R8*2), Y6, Y7, Y8);        \
	ROW(p*ES(BX)(R9*1), Y9, Y10, Y11)

// How far ahead of its use a row of b is fetched, in bytes.
#define AHEAD 768

#define DIRECTSTEPS(ROW, LOAD, eight, one) \
eight: \
	TESTQ CX, CX;                \
	JZ    one;                   \
	PREFETCHT0 AHEAD(BX);        \
	PREFETCHT0 AHEAD(BX)(R8*1);  \
	PREFETCHT0 AHEAD(BX)(R8*2);  \
	PREFETCHT0 AHEAD(BX)(R9*1);  \
	DIRECTSTEP(ROW, LOAD, 0);    \
	DIRECTSTEP(ROW, LOAD, 1);    \
	DIRECTSTEP(ROW, LOAD, 2);    \
	DIRECTSTEP(ROW, LOAD, 3);    \
	DIRECTSTEP(ROW, LOAD, 4);    \
	DIRECTSTEP(ROW, LOAD, 5);    \
	DIRECTSTEP(ROW, LOAD, 6);    \
	DIRECTSTEP(ROW, LOAD, 7);    \
	ADDQ  $(8*96), AX;           \
	ADDQ  $(8*ES), BX;           \
	DECQ  CX;                    \
	JMP   eight;                 \
one: \
	TESTQ DX, DX;                \
	JZ    finish;                \
	DIRECTSTEP(ROW, LOAD, 0);    \
	ADDQ  $96, AX;               \
	ADDQ  $ES, BX;               \
	DECQ  DX;                    \
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
	ANDQ $3, DX
	SHRQ $2, CX
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
	CMPQ R12, $(2*LANES)
	JLE  narrow
	CMPQ R8, $4
	JEQ  four43
	CMPQ R8, $3
	JEQ  four33
	CMPQ R8, $2
	JEQ  four23
	STEPS(1, ROWS1, ROW3, VECTORS3, four13, fetch13, fetched13, one13)
	STEPS(2, ROWS2, ROW3, VECTORS3, four23, fetch23, fetched23, one23)
	STEPS(3, ROWS3, ROW3, VECTORS3, four33, fetch33, fetched33, one33)
	STEPS(4, ROWS4, ROW3, VECTORS3, four43, fetch43, fetched43, one43)
narrow:
	CMPQ R8, $4
	JEQ  four42
	CMPQ R8, $3
	JEQ  four32
	CMPQ R8, $2
	JEQ  four22
	STEPS(1, ROWS1, ROW2, VECTORS2, four12, fetch12, fetched12, one12)
	STEPS(2, ROWS2, ROW2, VECTORS2, four22, fetch22, fetched22, one22)
	STEPS(3, ROWS3, ROW2, VECTORS2, four32, fetch32, fetched32, one32)
	STEPS(4, ROWS4, ROW2, VECTORS2, four42, fetch42, fetched42, one42)
direct:
	LEAQ (R9*ES), R8
	LEAQ (R8)(R8*2), R9
	MOVQ tile_kc(R13), CX
	MOVQ CX, DX
	ANDQ $7, DX
	SHRQ $3, CX
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
	DIRECTSTEPS(ROW3, VECTORS3, eight3, one3)
narrowDirect:
	DIRECTSTEPS(ROW2, VECTORS2, eight2, one2)

finish:
	MOVQ tile_rows(R13), R8
	ALPHA(Y15)
	MUL Y15, Y0, Y0
	MUL Y15, Y1, Y1
	MUL Y15, Y2, Y2
	MUL Y15, Y3, Y3
	MUL Y15, Y4, Y4
	MUL Y15, Y5, Y5
	MUL Y15, Y6, Y6
	MUL Y15, Y7, Y7
	MUL Y15, Y8, Y8
	MUL Y15, Y9, Y9
	MUL Y15, Y10, Y10
	MUL Y15, Y11, Y11
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
#undef ROW2
#undef ROW3
#undef ROWS1
#undef ROWS2
#undef ROWS3
#undef ROWS4
#undef STEPS
#undef DIRECTSTEP
#undef AHEAD
#undef DIRECTSTEPS
#undef STORE1
#undef ADDROW
#undef ADDALL
#undef PUTALL
#undef PUTROW
#undef LANEMASK
