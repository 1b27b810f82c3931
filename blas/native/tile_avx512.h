// The AVX-512 micro-kernel: tiles of up to 8 rows by three vectors, 24
// accumulators in Z0 to Z23. It is included once per element type, with these
// names defined:
//
//	TILE            the name of the routine
//	ASTEP           bytes of a from one step of p to the next: an operand
//	ALOAD(o)        the three vectors of a at byte offset o into Z24, Z25, Z26
//	ES, LANES       bytes of an element, elements of a vector
//	BCAST FMA MOV   the instructions for the element type; MASK sets a mask register
//
// The contract stands at the type tile in tile.go. Registers: AX a, BX b, CX
// groups of four steps left, DX single steps left, DI c, SI ldc in bytes, R8
// bytes from one step of a to the next, R9 three times that, R10 lines to fetch,
// R11 where to fetch, R12 scratch, R13 the argument.

// One row: its element of b times the three vectors of a.
#define ROW(o, x, c0, c1, c2) \
	BCAST o(BX), x;   \
	FMA   x, Z24, c0; \
	FMA   x, Z25, c1; \
	FMA   x, Z26, c2

#define ROWS1(o) ROW(o, Z27, Z0, Z1, Z2)
#define ROWS2(o) ROWS1(o); ROW(o+1*ES, Z28, Z3, Z4, Z5)
#define ROWS3(o) ROWS2(o); ROW(o+2*ES, Z29, Z6, Z7, Z8)
#define ROWS4(o) ROWS3(o); ROW(o+3*ES, Z30, Z9, Z10, Z11)
#define ROWS5(o) ROWS4(o); ROW(o+4*ES, Z31, Z12, Z13, Z14)
#define ROWS6(o) ROWS5(o); ROW(o+5*ES, Z27, Z15, Z16, Z17)
#define ROWS7(o) ROWS6(o); ROW(o+6*ES, Z28, Z18, Z19, Z20)
#define ROWS8(o) ROWS7(o); ROW(o+7*ES, Z29, Z21, Z22, Z23)

// The loop over p for n rows, four steps at a time; then the one store.
#define STEPS(n, ROWS, four, fetch, fetched, one) \
four: \
	TESTQ  CX, CX;        \
	JZ     one;           \
	MOVQ   R10, R12;      \
	TESTQ  R12, R12;      \
	JZ     fetched;       \
fetch: \
	PREFETCHT1 (R11);     \
	ADDQ   $64, R11;      \
	DECQ   R12;           \
	JNZ    fetch;         \
fetched: \
	ALOAD(0, AX);         \
	ROWS(0);              \
	ALOAD(ASTEP, AX);     \
	ROWS(n*ES);           \
	ALOAD(2*ASTEP, AX);   \
	ROWS(2*n*ES);         \
	ALOAD(3*ASTEP, AX);   \
	ROWS(3*n*ES);         \
	ADDQ   $(4*ASTEP), AX; \
	ADDQ   $(4*n*ES), BX; \
	DECQ   CX;            \
	JMP    four;          \
one: \
	TESTQ  DX, DX;        \
	JZ     finish;        \
	ALOAD(0, AX);         \
	ROWS(0);              \
	ADDQ   $ASTEP, AX;    \
	ADDQ   $(n*ES), BX;   \
	DECQ   DX;            \
	JMP    one

// One row of c: alpha times the accumulators, plus c where K4 to K6 read it.
#define STORE(c0, c1, c2) \
	MOV.Z  (DI), K4, Z24;    \
	MOV.Z  64(DI), K5, Z25;  \
	MOV.Z  128(DI), K6, Z26; \
	FMA    Z31, c0, Z24;     \
	FMA    Z31, c1, Z25;     \
	FMA    Z31, c2, Z26;     \
	MOV    Z24, K1, (DI);    \
	MOV    Z25, K2, 64(DI);  \
	MOV    Z26, K3, 128(DI); \
	ADDQ   SI, DI;           \
	DECQ   R8;               \
	JZ     done

#define ZERO(c0, c1, c2) \
	VPXORQ c0, c0, c0; \
	VPXORQ c1, c1, c1; \
	VPXORQ c2, c2, c2

// The mask of the lanes of one vector that lie below R12, the columns left.
#define LANEMASK(k) \
	MOVQ    $LANES, R9;   \
	CMPQ    R12, R9;      \
	CMOVQLT R12, R9;      \
	XORQ    CX, CX;       \
	CMPQ    R9, CX;       \
	CMOVQLT CX, R9;       \
	MOVQ    $-1, DX;      \
	MOVQ    R9, CX;       \
	SHLQ    CX, DX;       \
	NOTQ    DX;           \
	KMOVW   DX, k;        \
	SUBQ    $LANES, R12

// The frame is larger than the routine needs: a routine with a frame this large
// looks at the stack bound when entered, and there the garbage collector and the
// scheduler can stop a goroutine that does nothing but call it.
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

	ZERO(Z0, Z1, Z2)
	ZERO(Z3, Z4, Z5)
	ZERO(Z6, Z7, Z8)
	ZERO(Z9, Z10, Z11)
	ZERO(Z12, Z13, Z14)
	ZERO(Z15, Z16, Z17)
	ZERO(Z18, Z19, Z20)
	ZERO(Z21, Z22, Z23)

	MOVQ tile_rows(R13), R8
	MOVQ DI, R9
warm:
	PREFETCHT0 (R9)
	PREFETCHT0 64(R9)
	PREFETCHT0 128(R9)
	ADDQ SI, R9
	DECQ R8
	JNZ  warm

	MOVQ tile_rows(R13), R8
	CMPQ R8, $8
	JEQ  four8
	CMPQ R8, $7
	JEQ  four7
	CMPQ R8, $6
	JEQ  four6
	CMPQ R8, $5
	JEQ  four5
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
	STEPS(5, ROWS5, four5, fetch5, fetched5, one5)
	STEPS(6, ROWS6, four6, fetch6, fetched6, one6)
	STEPS(7, ROWS7, four7, fetch7, fetched7, one7)
	STEPS(8, ROWS8, four8, fetch8, fetched8, one8)

finish:
	MOVQ tile_width(R13), R12
	LANEMASK(K1)
	LANEMASK(K2)
	LANEMASK(K3)
	KXORW K4, K4, K4
	KXORW K5, K5, K5
	KXORW K6, K6, K6
	CMPQ tile_add(R13), $0
	JEQ  scale
	KMOVW K1, K4
	KMOVW K2, K5
	KMOVW K3, K6
scale:
	ALPHA(Z31)
	STORE(Z0, Z1, Z2)
	STORE(Z3, Z4, Z5)
	STORE(Z6, Z7, Z8)
	STORE(Z9, Z10, Z11)
	STORE(Z12, Z13, Z14)
	STORE(Z15, Z16, Z17)
	STORE(Z18, Z19, Z20)
	STORE(Z21, Z22, Z23)
done:
	VZEROUPPER
	RET

#undef TILE
#undef ALOAD
#undef ASTEP
#undef ES
#undef LANES
#undef BCAST
#undef FMA
#undef MOV
#undef ALPHA
#undef ROW
#undef ROWS1
#undef ROWS2
#undef ROWS3
#undef ROWS4
#undef ROWS5
#undef ROWS6
#undef ROWS7
#undef ROWS8
#undef STEPS
#undef STORE
#undef ZERO
#undef LANEMASK
