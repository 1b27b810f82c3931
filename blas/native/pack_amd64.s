//go:build !purego

#include "textflag.h"
#include "funcdata.h"

// Four registers of 128-bit lanes, a to d, transposed: lane i of a to d goes to
// register i of w, x, y, z. a and c are overwritten, Z30 and Z31 are scratch.
#define LANES(a, b, c, d, w, x, y, z) \
	VSHUFF64X2 $0x88, b, a, Z30;   \
	VSHUFF64X2 $0xDD, b, a, a;     \
	VSHUFF64X2 $0x88, d, c, Z31;   \
	VSHUFF64X2 $0xDD, d, c, c;     \
	VSHUFF64X2 $0x88, Z31, Z30, w; \
	VSHUFF64X2 $0xDD, Z31, Z30, y; \
	VSHUFF64X2 $0x88, c, a, x;     \
	VSHUFF64X2 $0xDD, c, a, z

// func turnF64AVX512(dst []float64, w int, src []float64, ld, np int)
//
// Eight rows of src become eight elements of each of np steps of dst, eight
// columns at a time: pairs of rows are interleaved, then lanes transposed.
// The row eight below is fetched too: it is what is turned next.
TEXT ·turnF64AVX512(SB), 0, $128-72
	NO_LOCAL_POINTERS
	MOVQ dst_base+0(FP), DI
	MOVQ w+24(FP), R8
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R9
	LEAQ (DI)(R8*4), DX
	MOVQ src_base+32(FP), SI
	MOVQ ld+56(FP), R10
	SHLQ $3, R10
	LEAQ (R10)(R10*2), R11
	LEAQ (SI)(R10*4), AX
	LEAQ (SI)(R10*8), BX
	LEAQ (BX)(R10*4), R12
	MOVQ np+64(FP), CX

loop:
	PREFETCHT0 (BX)
	PREFETCHT0 (BX)(R10*1)
	PREFETCHT0 (BX)(R10*2)
	PREFETCHT0 (BX)(R11*1)
	PREFETCHT0 (R12)
	PREFETCHT0 (R12)(R10*1)
	PREFETCHT0 (R12)(R10*2)
	PREFETCHT0 (R12)(R11*1)
	VMOVUPD    (SI), Z0
	VMOVUPD    (SI)(R10*1), Z1
	VMOVUPD    (SI)(R10*2), Z2
	VMOVUPD    (SI)(R11*1), Z3
	VMOVUPD    (AX), Z4
	VMOVUPD    (AX)(R10*1), Z5
	VMOVUPD    (AX)(R10*2), Z6
	VMOVUPD    (AX)(R11*1), Z7
	VUNPCKLPD  Z1, Z0, Z8
	VUNPCKHPD  Z1, Z0, Z9
	VUNPCKLPD  Z3, Z2, Z10
	VUNPCKHPD  Z3, Z2, Z11
	VUNPCKLPD  Z5, Z4, Z12
	VUNPCKHPD  Z5, Z4, Z13
	VUNPCKLPD  Z7, Z6, Z14
	VUNPCKHPD  Z7, Z6, Z15
	LANES(Z8, Z10, Z12, Z14, Z16, Z18, Z20, Z22)
	LANES(Z9, Z11, Z13, Z15, Z17, Z19, Z21, Z23)
	VMOVUPD    Z16, (DI)
	VMOVUPD    Z17, (DI)(R8*1)
	VMOVUPD    Z18, (DI)(R8*2)
	VMOVUPD    Z19, (DI)(R9*1)
	VMOVUPD    Z20, (DX)
	VMOVUPD    Z21, (DX)(R8*1)
	VMOVUPD    Z22, (DX)(R8*2)
	VMOVUPD    Z23, (DX)(R9*1)
	LEAQ       (DI)(R8*8), DI
	LEAQ       (DX)(R8*8), DX
	ADDQ       $64, SI
	ADDQ       $64, AX
	ADDQ       $64, BX
	ADDQ       $64, R12
	SUBQ       $8, CX
	JGT        loop
	VZEROUPPER
	RET

// Four columns from byte o of four rows on become four steps of dst: pairs of rows
// are interleaved, then halves are joined.
#define TURN4(o) \
	VMOVUPD    o(SI), Y0;          \
	VMOVUPD    o(SI)(R10*1), Y1;   \
	VMOVUPD    o(SI)(R10*2), Y2;   \
	VMOVUPD    o(SI)(R11*1), Y3;   \
	VUNPCKLPD  Y1, Y0, Y4;         \
	VUNPCKHPD  Y1, Y0, Y5;         \
	VUNPCKLPD  Y3, Y2, Y6;         \
	VUNPCKHPD  Y3, Y2, Y7;         \
	VPERM2F128 $0x20, Y6, Y4, Y8;  \
	VPERM2F128 $0x20, Y7, Y5, Y9;  \
	VPERM2F128 $0x31, Y6, Y4, Y10; \
	VPERM2F128 $0x31, Y7, Y5, Y11; \
	VMOVUPD    Y8, (DI);           \
	VMOVUPD    Y9, (DI)(R8*1);     \
	VMOVUPD    Y10, (DI)(R8*2);    \
	VMOVUPD    Y11, (DI)(R9*1);    \
	LEAQ       (DI)(R8*4), DI

// func turn4F64AVX2(dst []float64, w int, src []float64, ld, np int): of four rows, np a multiple of 4.
TEXT ·turn4F64AVX2(SB), 0, $128-72
	NO_LOCAL_POINTERS
	MOVQ dst_base+0(FP), DI
	MOVQ w+24(FP), R8
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R9
	MOVQ src_base+32(FP), SI
	MOVQ ld+56(FP), R10
	SHLQ $3, R10
	LEAQ (R10)(R10*2), R11
	LEAQ (SI)(R10*4), BX
	MOVQ np+64(FP), CX
	SUBQ $8, CX
	JLT  last

loop:
	PREFETCHT0 (BX)
	PREFETCHT0 (BX)(R10*1)
	PREFETCHT0 (BX)(R10*2)
	PREFETCHT0 (BX)(R11*1)
	TURN4(0)
	TURN4(32)
	ADDQ       $64, BX
	ADDQ       $64, SI
	SUBQ       $8, CX
	JGE        loop

last:
	CMPQ CX, $-4
	JNE  done
	TURN4(0)

done:
	VZEROUPPER
	RET

// func turn4F32AVX2(dst []float32, w int, src []float32, ld, np int): of four rows.
TEXT ·turn4F32AVX2(SB), 0, $128-72
	NO_LOCAL_POINTERS
	MOVQ dst_base+0(FP), DI
	MOVQ w+24(FP), R8
	SHLQ $2, R8
	LEAQ (R8)(R8*2), R9
	MOVQ src_base+32(FP), SI
	MOVQ ld+56(FP), R10
	SHLQ $2, R10
	LEAQ (R10)(R10*2), R11
	LEAQ (SI)(R10*4), BX
	MOVQ np+64(FP), CX

loop:
	PREFETCHT0   (BX)
	PREFETCHT0   (BX)(R10*1)
	PREFETCHT0   (BX)(R10*2)
	PREFETCHT0   (BX)(R11*1)
	VMOVUPS      (SI), Y0
	VMOVUPS      (SI)(R10*1), Y1
	VMOVUPS      (SI)(R10*2), Y2
	VMOVUPS      (SI)(R11*1), Y3
	VUNPCKLPS    Y1, Y0, Y4
	VUNPCKHPS    Y1, Y0, Y5
	VUNPCKLPS    Y3, Y2, Y6
	VUNPCKHPS    Y3, Y2, Y7
	VUNPCKLPD    Y6, Y4, Y0         // columns 0 and 4
	VUNPCKHPD    Y6, Y4, Y1         // 1, 5
	VUNPCKLPD    Y7, Y5, Y2         // 2, 6
	VUNPCKHPD    Y7, Y5, Y3         // 3, 7
	VMOVUPS      X0, (DI)
	VMOVUPS      X1, (DI)(R8*1)
	VMOVUPS      X2, (DI)(R8*2)
	VMOVUPS      X3, (DI)(R9*1)
	LEAQ         (DI)(R8*4), DI
	VEXTRACTF128 $1, Y0, (DI)
	VEXTRACTF128 $1, Y1, (DI)(R8*1)
	VEXTRACTF128 $1, Y2, (DI)(R8*2)
	VEXTRACTF128 $1, Y3, (DI)(R9*1)
	LEAQ         (DI)(R8*4), DI
	ADDQ         $32, SI
	ADDQ         $32, BX
	SUBQ         $8, CX
	JGT          loop
	VZEROUPPER
	RET

// func turnF32AVX2(dst []float32, w int, src []float32, ld, np int)
//
// The same as turnF64AVX512 in single precision: pairs of rows are interleaved, then pairs of
// those, then the halves of four rows and the other four are joined.
TEXT ·turnF32AVX2(SB), 0, $128-72
	NO_LOCAL_POINTERS
	MOVQ dst_base+0(FP), DI
	MOVQ w+24(FP), R8
	SHLQ $2, R8
	LEAQ (R8)(R8*2), R9
	LEAQ (DI)(R8*4), DX
	MOVQ src_base+32(FP), SI
	MOVQ ld+56(FP), R10
	SHLQ $2, R10
	LEAQ (R10)(R10*2), R11
	LEAQ (SI)(R10*4), AX
	LEAQ (SI)(R10*8), BX
	LEAQ (BX)(R10*4), R12
	MOVQ np+64(FP), CX

loop:
	TESTQ      $8, CX       // a line holds two steps of the loop
	JNZ        turn
	PREFETCHT0 (BX)
	PREFETCHT0 (BX)(R10*1)
	PREFETCHT0 (BX)(R10*2)
	PREFETCHT0 (BX)(R11*1)
	PREFETCHT0 (R12)
	PREFETCHT0 (R12)(R10*1)
	PREFETCHT0 (R12)(R10*2)
	PREFETCHT0 (R12)(R11*1)
	ADDQ       $64, BX
	ADDQ       $64, R12

turn:
	VMOVUPS    (SI), Y0
	VMOVUPS    (SI)(R10*1), Y1
	VMOVUPS    (SI)(R10*2), Y2
	VMOVUPS    (SI)(R11*1), Y3
	VMOVUPS    (AX), Y4
	VMOVUPS    (AX)(R10*1), Y5
	VMOVUPS    (AX)(R10*2), Y6
	VMOVUPS    (AX)(R11*1), Y7
	VUNPCKLPS  Y1, Y0, Y8
	VUNPCKHPS  Y1, Y0, Y9
	VUNPCKLPS  Y3, Y2, Y10
	VUNPCKHPS  Y3, Y2, Y11
	VUNPCKLPS  Y5, Y4, Y12
	VUNPCKHPS  Y5, Y4, Y13
	VUNPCKLPS  Y7, Y6, Y14
	VUNPCKHPS  Y7, Y6, Y15
	VUNPCKLPD  Y10, Y8, Y0        // columns 0 and 4 of rows 0 to 3
	VUNPCKHPD  Y10, Y8, Y1        // 1, 5
	VUNPCKLPD  Y11, Y9, Y2        // 2, 6
	VUNPCKHPD  Y11, Y9, Y3        // 3, 7
	VUNPCKLPD  Y14, Y12, Y4       // and of rows 4 to 7
	VUNPCKHPD  Y14, Y12, Y5
	VUNPCKLPD  Y15, Y13, Y6
	VUNPCKHPD  Y15, Y13, Y7
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15
	VMOVUPS    Y8, (DI)
	VMOVUPS    Y9, (DI)(R8*1)
	VMOVUPS    Y10, (DI)(R8*2)
	VMOVUPS    Y11, (DI)(R9*1)
	VMOVUPS    Y12, (DX)
	VMOVUPS    Y13, (DX)(R8*1)
	VMOVUPS    Y14, (DX)(R8*2)
	VMOVUPS    Y15, (DX)(R9*1)
	LEAQ       (DI)(R8*8), DI
	LEAQ       (DX)(R8*8), DX
	ADDQ       $32, SI
	ADDQ       $32, AX
	SUBQ       $8, CX
	JGT        loop
	VZEROUPPER
	RET

// Bytes of one step of a panel: three vectors.
#define STEP 192

// func copyPanelsAVX512(dst, src unsafe.Pointer, ld, panel, np, panels int)
//
// np rows of src, ld bytes apart, become the steps of so many panels that
// lie panel bytes apart: STEP bytes of each row go to each. Rows to come are fetched.
TEXT ·copyPanelsAVX512(SB), 0, $128-48
	NO_LOCAL_POINTERS
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ ld+16(FP), R8
	MOVQ panel+24(FP), R9
	MOVQ np+32(FP), CX
	MOVQ panels+40(FP), DX

row:
	MOVQ SI, AX
	LEAQ (SI)(R8*8), R10
	MOVQ DI, BX
	MOVQ DX, R11

panel:
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	PREFETCHT0 128(R10)
	VMOVUPD    (AX), Z0
	VMOVUPD    64(AX), Z1
	VMOVUPD    128(AX), Z2
	VMOVUPD    Z0, (BX)
	VMOVUPD    Z1, 64(BX)
	VMOVUPD    Z2, 128(BX)
	ADDQ       $STEP, AX
	ADDQ       $STEP, R10
	ADDQ       R9, BX
	DECQ       R11
	JNZ        panel
	ADDQ       R8, SI
	ADDQ       $STEP, DI
	DECQ       CX
	JNZ        row
	VZEROUPPER
	RET

// func copyPanelsAVX2(dst, src unsafe.Pointer, ld, panel, np, panels int)
//
// The same for three vectors of half the length.
TEXT ·copyPanelsAVX2(SB), 0, $128-48
	NO_LOCAL_POINTERS
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ ld+16(FP), R8
	MOVQ panel+24(FP), R9
	MOVQ np+32(FP), CX
	MOVQ panels+40(FP), DX

row:
	MOVQ SI, AX
	LEAQ (SI)(R8*8), R10
	MOVQ DI, BX
	MOVQ DX, R11

panel:
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	VMOVUPD    (AX), Y0
	VMOVUPD    32(AX), Y1
	VMOVUPD    64(AX), Y2
	VMOVUPD    Y0, (BX)
	VMOVUPD    Y1, 32(BX)
	VMOVUPD    Y2, 64(BX)
	ADDQ       $(STEP/2), AX
	ADDQ       $(STEP/2), R10
	ADDQ       R9, BX
	DECQ       R11
	JNZ        panel
	ADDQ       R8, SI
	ADDQ       $(STEP/2), DI
	DECQ       CX
	JNZ        row
	VZEROUPPER
	RET
