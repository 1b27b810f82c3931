// The AVX2 micro-kernel: tiles of up to 4 rows by three vectors of 256 bits, 12
// accumulators in Y0 to Y11. It is included once per element type, with these
// names defined:
//
//	TILE                the name of the routine
//	ES, LANES           bytes of an element, elements of a vector
//	BCAST FMA MOV MUL ADD MASKMOV  the instructions for the element type
//	ALPHA(y)            alpha in all lanes of y
//	VECTORS(o)          one step of a, of 96 bytes, at byte offset o from AX into Y12 to Y14
//
// The contract stands at the type tile in tile.go. Registers: AX a, BX b, CX
// groups of four steps left, DX single steps left, DI c, SI ldc in bytes, R8 rows
// left, R9 scratch, R10 lines to fetch, R11 where to fetch, R12 scratch, R13 the
// argument.

#define ROW(o, c0, c1, c2) \
	BCAST o(BX), Y15;   \
	FMA   Y15, Y12, c0; \
	FMA   Y15, Y13, c1; \
	FMA   Y15, Y14, c2

#define ROWS1(o) ROW(o, Y0, Y1, Y2)
#define ROWS2(o) ROWS1(o); ROW(o+1*ES, Y3, Y4, Y5)
#define ROWS3(o) ROWS2(o); ROW(o+2*ES, Y6, Y7, Y8)
#define ROWS4(o) ROWS3(o); ROW(o+3*ES, Y9, Y10, Y11)

// The loop over p for n rows, four steps at a time; then the one store.
#define STEPS(n, ROWS, four, fetch, fetched, one) \
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
	VECTORS(0);         \
	ROWS(0);            \
	VECTORS(96);        \
	ROWS(n*ES);         \
	VECTORS(192);       \
	ROWS(2*n*ES);       \
	VECTORS(288);       \
	ROWS(3*n*ES);       \
	ADDQ  $384, AX;     \
	ADDQ  $(4*n*ES), BX; \
	DECQ  CX;           \
	JMP   four;         \
one: \
	TESTQ DX, DX;       \
	JZ    finish;       \
	VECTORS(0);         \
	ROWS(0);            \
	ADDQ  $96, AX;      \
	ADDQ  $(n*ES), BX;  \
	DECQ  DX;           \
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
	MOVQ tile_kc(R13), CX
	MOVQ CX, DX
	ANDQ $3, DX
	SHRQ $2, CX
	MOVQ tile_next(R13), R11
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
	CMPQ R8, $4
	JEQ  four4
	CMPQ R8, $3
	JEQ  four3
	CMPQ R8, $2
	JEQ  four2

	STEPS(1, ROWS1, four1, fetch1, fetched1, one1)
	STEPS(2, ROWS2, four2, fetch2, fetched2, one2)
	STEPS(3, ROWS3, four3, fetch3, fetched3, one3)
	STEPS(4, ROWS4, four4, fetch4, fetched4, one4)

finish:
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
	LEAQ laneWindow<>(SB), AX
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
#undef ROW
#undef ROWS1
#undef ROWS2
#undef ROWS3
#undef ROWS4
#undef STEPS
#undef STORE1
#undef ADDROW
#undef ADDALL
#undef PUTALL
#undef PUTROW
#undef LANEMASK
