//go:build !purego

#include "textflag.h"

// Stages of the Hadamard transform on rows of 64 bytes. SI walks over the
// groups up to CX, R8 over the first rows of a group up to R10, DX is h rows in
// bytes. The 256-bit forms take each row in two halves: R8 steps by 32 bytes.

#define STAGE \
	MOVQ x_base+0(FP), SI; \
	MOVQ x_len+8(FP), CX;  \
	SHLQ $3, CX;           \
	ADDQ SI, CX;           \
	MOVQ h+24(FP), DX;     \
	SHLQ $6, DX;           \
	LEAQ (DX)(DX*2), R9

#define RADIX4(WIDTH, A, B, C, D, S, T, U, V) \
group:  \
	CMPQ    SI, CX;          \
	JGE     done;            \
	MOVQ    SI, R8;          \
	LEAQ    (SI)(DX*1), R10; \
	row:                     \
	VMOVUPD (R8), A;         \
	VMOVUPD (R8)(DX*1), B;   \
	VMOVUPD (R8)(DX*2), C;   \
	VMOVUPD (R8)(R9*1), D;   \
	VADDPD  B, A, S;         \
	VSUBPD  B, A, T;         \
	VADDPD  D, C, U;         \
	VSUBPD  D, C, V;         \
	VADDPD  U, S, A;         \
	VADDPD  V, T, B;         \
	VSUBPD  U, S, C;         \
	VSUBPD  V, T, D;         \
	VMOVUPD A, (R8);         \
	VMOVUPD B, (R8)(DX*1);   \
	VMOVUPD C, (R8)(DX*2);   \
	VMOVUPD D, (R8)(R9*1);   \
	ADDQ    $WIDTH, R8;      \
	CMPQ    R8, R10;         \
	JLT     row;             \
	LEAQ    (SI)(DX*4), SI;  \
	JMP     group;           \
	done:       \
	VZEROUPPER; \
	RET

#define RADIX2(WIDTH, A, B, S, T) \
group:  \
	CMPQ    SI, CX;          \
	JGE     done;            \
	MOVQ    SI, R8;          \
	LEAQ    (SI)(DX*1), R10; \
	row:                     \
	VMOVUPD (R8), A;         \
	VMOVUPD (R8)(DX*1), B;   \
	VADDPD  B, A, S;         \
	VSUBPD  B, A, T;         \
	VMOVUPD S, (R8);         \
	VMOVUPD T, (R8)(DX*1);   \
	ADDQ    $WIDTH, R8;      \
	CMPQ    R8, R10;         \
	JLT     row;             \
	LEAQ    (SI)(DX*2), SI;  \
	JMP     group;           \
	done:       \
	VZEROUPPER; \
	RET

// func radix4AVX512(x []float64, h int)
TEXT ·radix4AVX512(SB), NOSPLIT, $0-32
	STAGE
	RADIX4(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

// func radix2AVX512(x []float64, h int)
TEXT ·radix2AVX512(SB), NOSPLIT, $0-32
	STAGE
	RADIX2(64, Z0, Z1, Z2, Z3)

// func radix4AVX2(x []float64, h int)
TEXT ·radix4AVX2(SB), NOSPLIT, $0-32
	STAGE
	RADIX4(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

// func radix2AVX2(x []float64, h int)
TEXT ·radix2AVX2(SB), NOSPLIT, $0-32
	STAGE
	RADIX2(32, Y0, Y1, Y2, Y3)
