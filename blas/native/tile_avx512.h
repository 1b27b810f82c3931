// The AVX-512 micro-kernels: tiles of up to 8 rows by three vectors, 24
// accumulators in Z0 to Z23; a tile of fewer columns takes as many vectors as
// those fill. TILE is the body of a routine; it expects these names:
//
//	ASTEP           bytes of a from one step of p to the next: an operand
//	ALOAD1(o, r)    the first vector of a at byte offset o from r into Z24
//	ALOAD2, ALOAD3  also the second into Z25, the third into Z26
//	ES, LANES       bytes of an element, elements of a vector
//	BCAST FMA MOV   the instructions for the element type; FMABCST is FMA on an element in memory
//	ALPHA(z)        alpha in all lanes of z
//
// The contract stands at the type tile in tile.go. Registers: AX a, BX b, CX
// groups of steps left, DX single steps left, DI c, SI ldc in bytes, R8 and R9
// scratch or strides of b, R10 lines to fetch, R11 where to fetch, R12 scratch,
// R13 the argument.

// One row: its element of b times the one, two or three vectors of a. With one vector a separate broadcast
// is what takes longest: 11.2 cycles a step of eight rows against 8.1 (Zen 4).
#define ROW1(b, x, c0, c1, c2) \
	FMABCST b, Z24, c0
#define ROW2(b, x, c0, c1, c2) \
	BCAST b, x;       \
	FMA   x, Z24, c0; \
	FMA   x, Z25, c1
#define ROW3(b, x, c0, c1, c2) \
	ROW2(b, x, c0, c1, c2); \
	FMA   x, Z26, c2

// One step of p at byte offset o of b for one to eight rows; ROW is one of the three above.
#define ROWS1(ROW, o) ROW(o(BX), Z27, Z0, Z1, Z2)
#define ROWS2(ROW, o) ROWS1(ROW, o); ROW(o+1*ES(BX), Z28, Z3, Z4, Z5)
#define ROWS3(ROW, o) ROWS2(ROW, o); ROW(o+2*ES(BX), Z29, Z6, Z7, Z8)
#define ROWS4(ROW, o) ROWS3(ROW, o); ROW(o+3*ES(BX), Z30, Z9, Z10, Z11)
#define ROWS5(ROW, o) ROWS4(ROW, o); ROW(o+4*ES(BX), Z31, Z12, Z13, Z14)
#define ROWS6(ROW, o) ROWS5(ROW, o); ROW(o+5*ES(BX), Z27, Z15, Z16, Z17)
#define ROWS7(ROW, o) ROWS6(ROW, o); ROW(o+6*ES(BX), Z28, Z18, Z19, Z20)
#define ROWS8(ROW, o) ROWS7(ROW, o); ROW(o+7*ES(BX), Z29, Z21, Z22, Z23)

// The loop over p for n rows, four steps at a time; then the one store. LOAD
// loads as many vectors of a as ROW multiplies.
#define STEPS(n, ROWS, ROW, LOAD, four, one) \
four: \
	TESTQ CX, CX;          \
	JZ    one;             \
	FETCH;                 \
	LOAD(0, AX);           \
	ROWS(ROW, 0);          \
	LOAD(ASTEP, AX);       \
	ROWS(ROW, n*ES);       \
	LOAD(2*ASTEP, AX);     \
	ROWS(ROW, 2*n*ES);     \
	LOAD(3*ASTEP, AX);     \
	ROWS(ROW, 3*n*ES);     \
	ADDQ  $(4*ASTEP), AX;  \
	ADDQ  $(4*n*ES), BX;   \
	DECQ  CX;              \
	JMP   four;            \
one: \
	TESTQ DX, DX;          \
	JZ    finish;          \
	LOAD(0, AX);           \
	ROWS(ROW, 0);          \
	ADDQ  $ASTEP, AX;      \
	ADDQ  $(n*ES), BX;     \
	DECQ  DX;              \
	JMP   one

// R10 lines from R11 on are fetched.
#define FETCH \
	MOVQ  R10, R12;     \
	TESTQ R12, R12;     \
	JZ    5(PC);        \
	PREFETCHT1 (R11);   \
	ADDQ  $64, R11;     \
	DECQ  R12;          \
	JNZ   -3(PC)

// The loops for one width, and where to find the one for R8 rows.
#define WIDTH(ROW, LOAD, f1, f2, f3, f4, f5, f6, f7, f8, o1, o2, o3, o4, o5, o6, o7, o8) \
	CMPQ R8, $8; \
	JEQ  f8;     \
	CMPQ R8, $7; \
	JEQ  f7;     \
	CMPQ R8, $6; \
	JEQ  f6;     \
	CMPQ R8, $5; \
	JEQ  f5;     \
	CMPQ R8, $4; \
	JEQ  f4;     \
	CMPQ R8, $3; \
	JEQ  f3;     \
	CMPQ R8, $2; \
	JEQ  f2;     \
	STEPS(1, ROWS1, ROW, LOAD, f1, o1); \
	STEPS(2, ROWS2, ROW, LOAD, f2, o2); \
	STEPS(3, ROWS3, ROW, LOAD, f3, o3); \
	STEPS(4, ROWS4, ROW, LOAD, f4, o4); \
	STEPS(5, ROWS5, ROW, LOAD, f5, o5); \
	STEPS(6, ROWS6, ROW, LOAD, f6, o6); \
	STEPS(7, ROWS7, ROW, LOAD, f7, o7); \
	STEPS(8, ROWS8, ROW, LOAD, f8, o8)

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

// The arguments, the accumulators zero, and the tile of c on its way. The next tile starts again with its panel in AX,
// and what is to be fetched next in R11.
#define START \
	NO_LOCAL_POINTERS;        \
	MOVQ t+0(FP), R13;        \
	MOVQ tile_a(R13), AX;     \
	MOVQ tile_b(R13), BX;     \
	MOVQ tile_c(R13), DI;     \
	MOVQ tile_ldc(R13), SI;   \
	IMULQ $ES, SI;            \
	MOVQ tile_next(R13), R11; \
again:                        \
	MOVQ tile_kc(R13), CX;    \
	MOVQ CX, DX;              \
	ZERO(Z0, Z1, Z2);         \
	ZERO(Z3, Z4, Z5);         \
	ZERO(Z6, Z7, Z8);         \
	ZERO(Z9, Z10, Z11);       \
	ZERO(Z12, Z13, Z14);      \
	ZERO(Z15, Z16, Z17);      \
	ZERO(Z18, Z19, Z20);      \
	ZERO(Z21, Z22, Z23);      \
	MOVQ tile_rows(R13), R8;  \
	MOVQ DI, R9;              \
warm:                         \
	PREFETCHT0 (R9);          \
	PREFETCHT0 64(R9);        \
	PREFETCHT0 128(R9);       \
	ADDQ SI, R9;              \
	DECQ R8;                  \
	JNZ  warm

// The one store, and then the next tile, 192 bytes further.
#define FINISH \
finish:                       \
	MOVQ tile_width(R13), R12; \
	LANEMASK(K1);             \
	LANEMASK(K2);             \
	LANEMASK(K3);             \
	KXORW K4, K4, K4;         \
	KXORW K5, K5, K5;         \
	KXORW K6, K6, K6;         \
	CMPQ tile_add(R13), $0;   \
	JEQ  scale;               \
	KMOVW K1, K4;             \
	KMOVW K2, K5;             \
	KMOVW K3, K6;             \
scale:                        \
	ALPHA(Z31);               \
	MOVQ tile_rows(R13), R8;  \
	STORE(Z0, Z1, Z2);        \
	STORE(Z3, Z4, Z5);        \
	STORE(Z6, Z7, Z8);        \
	STORE(Z9, Z10, Z11);      \
	STORE(Z12, Z13, Z14);     \
	STORE(Z15, Z16, Z17);     \
	STORE(Z18, Z19, Z20);     \
	STORE(Z21, Z22, Z23);     \
done:                         \
	DECQ tile_count(R13);     \
	JLE  last;                \
	MOVQ tile_rows(R13), R8;  \
	IMULQ SI, R8;             \
	SUBQ R8, DI;              \
	ADDQ $192, DI;            \
	MOVQ tile_b(R13), BX;     \
	JMP  again;               \
last:                         \
	VZEROUPPER;               \
	RET

// Eight rows of b that are not packed: (BX), three more R8 bytes apart, and as many from R10 on.
#define DIRECT8(ROW, o) \
	ROW(o(BX), Z27, Z0, Z1, Z2);             \
	ROW(o(BX)(R8*1), Z28, Z3, Z4, Z5);       \
	ROW(o(BX)(R8*2), Z29, Z6, Z7, Z8);       \
	ROW(o(BX)(R9*1), Z30, Z9, Z10, Z11);     \
	ROW(o(R10), Z31, Z12, Z13, Z14);         \
	ROW(o(R10)(R8*1), Z27, Z15, Z16, Z17);   \
	ROW(o(R10)(R8*2), Z28, Z18, Z19, Z20);   \
	ROW(o(R10)(R9*1), Z29, Z21, Z22, Z23)

#define DIRECTSTEP(ROW, LOAD, p) \
	LOAD(p*ASTEP, AX); \
	DIRECT8(ROW, p*ES)

// How far ahead of its use a row of b is fetched, in bytes.
#define AHEAD 768

#define DIRECTSTEPS(ROW, LOAD, eight, one) \
eight: \
	TESTQ CX, CX;                 \
	JZ    one;                    \
	PREFETCHT0 AHEAD(BX);         \
	PREFETCHT0 AHEAD(BX)(R8*1);   \
	PREFETCHT0 AHEAD(BX)(R8*2);   \
	PREFETCHT0 AHEAD(BX)(R9*1);   \
	PREFETCHT0 AHEAD(R10);        \
	PREFETCHT0 AHEAD(R10)(R8*1);  \
	PREFETCHT0 AHEAD(R10)(R8*2);  \
	PREFETCHT0 AHEAD(R10)(R9*1);  \
	DIRECTSTEP(ROW, LOAD, 0);     \
	DIRECTSTEP(ROW, LOAD, 1);     \
	DIRECTSTEP(ROW, LOAD, 2);     \
	DIRECTSTEP(ROW, LOAD, 3);     \
	DIRECTSTEP(ROW, LOAD, 4);     \
	DIRECTSTEP(ROW, LOAD, 5);     \
	DIRECTSTEP(ROW, LOAD, 6);     \
	DIRECTSTEP(ROW, LOAD, 7);     \
	ADDQ  $(8*ASTEP), AX;         \
	ADDQ  $(8*ES), BX;            \
	ADDQ  $(8*ES), R10;           \
	DECQ  CX;                     \
	JMP   eight;                  \
one: \
	TESTQ DX, DX;                 \
	JZ    finish;                 \
	DIRECTSTEP(ROW, LOAD, 0);     \
	ADDQ  $ASTEP, AX;             \
	ADDQ  $ES, BX;                \
	ADDQ  $ES, R10;               \
	DECQ  DX;                     \
	JMP   one

#define TILE \
	START; \
	MOVQ tile_ldb(R13), R8; \
	TESTQ R8, R8; \
	JNZ  direct; \
	ANDQ $3, DX; \
	SHRQ $2, CX; \
	MOVQ tile_lines(R13), R10; \
	MOVQ tile_rows(R13), R8; \
	MOVQ tile_width(R13), R9; \
	CMPQ R9, $LANES; \
	JLE  narrow; \
	CMPQ R9, $(2*LANES); \
	JLE  middle; \
	WIDTH(ROW3, ALOAD3, f13, f23, f33, f43, f53, f63, f73, f83, o13, o23, o33, o43, o53, o63, o73, o83); \
narrow: \
	WIDTH(ROW1, ALOAD1, f11, f21, f31, f41, f51, f61, f71, f81, o11, o21, o31, o41, o51, o61, o71, o81); \
middle: \
	WIDTH(ROW2, ALOAD2, f12, f22, f32, f42, f52, f62, f72, f82, o12, o22, o32, o42, o52, o62, o72, o82); \
direct: \
	ANDQ $7, DX; \
	SHRQ $3, CX; \
	IMULQ $ES, R8; \
	LEAQ (R8)(R8*2), R9; \
	LEAQ (BX)(R8*4), R10; \
	MOVQ tile_width(R13), R12; \
	CMPQ R12, $LANES; \
	JLE  narrowDirect; \
	CMPQ R12, $(2*LANES); \
	JLE  middleDirect; \
	DIRECTSTEPS(ROW3, ALOAD3, eight3, one3); \
narrowDirect: \
	DIRECTSTEPS(ROW1, ALOAD1, eight1, one1); \
middleDirect: \
	DIRECTSTEPS(ROW2, ALOAD2, eight2, one2); \
	FINISH
