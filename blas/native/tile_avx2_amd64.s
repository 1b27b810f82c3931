//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// A window of 32 bytes on these is a mask of lanes.
DATA ·laneWindow+0(SB)/8, $0
DATA ·laneWindow+8(SB)/8, $0
DATA ·laneWindow+16(SB)/8, $0
DATA ·laneWindow+24(SB)/8, $0
DATA ·laneWindow+32(SB)/8, $-1
DATA ·laneWindow+40(SB)/8, $-1
DATA ·laneWindow+48(SB)/8, $-1
DATA ·laneWindow+56(SB)/8, $-1
DATA ·laneWindow+64(SB)/8, $0
DATA ·laneWindow+72(SB)/8, $0
DATA ·laneWindow+80(SB)/8, $0
DATA ·laneWindow+88(SB)/8, $0
GLOBL ·laneWindow(SB), RODATA|NOPTR, $96

#define VECTORS2(o) \
	MOV o(AX), Y12;     \
	MOV (o+32)(AX), Y13

#define VECTORS3(o) \
	VECTORS2(o);        \
	MOV (o+64)(AX), Y14

// The third vector is an operand in memory: an instruction less a step.
#define PACKED3(o) VECTORS2(o)
#define THIRD(o) (o+64)(AX)

// func tileF64AVX2(t *tile): float64, 12×4.
#define TILE ·tileF64AVX2
#define ES 8
#define LANES 4
#define BCAST VBROADCASTSD
#define BCAST2 VBROADCASTF128
#define SWAP2(y) VPERMILPD $5, y, y
#define BLEND VBLENDPD
#define ODD 0xa
#define FMA VFMADD231PD
#define MOV VMOVUPD
#define MUL VMULPD
#define ADD VADDPD
#define MASKMOV VMASKMOVPD
#define ALPHA(y) VBROADCASTSD tile_alpha(R13), y
#include "tile_avx2.h"

// func tileF32AVX2(t *tile): float32, 24×4.
#define TILE ·tileF32AVX2
#define ES 4
#define LANES 8
#define BCAST VBROADCASTSS
#define BCAST2 VBROADCASTSD
#define SWAP2(y) VPERMILPS $0xb1, y, y
#define BLEND VBLENDPS
#define ODD 0xaa
#define FMA VFMADD231PS
#define MOV VMOVUPS
#define MUL VMULPS
#define ADD VADDPS
#define MASKMOV VMASKMOVPS
#define ALPHA(y) VCVTSD2SS tile_alpha(R13), X15, X15; VBROADCASTSS X15, y
#include "tile_avx2.h"

#undef VECTORS2
#define VECTORS2(o) \
	VCVTPS2PD o(AX), Y12;     \
	VCVTPS2PD (o+16)(AX), Y13

#undef VECTORS3
#define VECTORS3(o) \
	VECTORS2(o);              \
	VCVTPS2PD (o+32)(AX), Y14

#undef PACKED3
#define PACKED3(o) VECTORS3(o)
#undef THIRD
#define THIRD(o) Y14

// func tileMixedAVX2(t *tile): a float32 in panels of 24, of which 12 columns
// enter; b and c float64. 12×4.
#define TILE ·tileMixedAVX2
#define ES 8
#define LANES 4
#define BCAST VBROADCASTSD
#define BCAST2 VBROADCASTF128
#define SWAP2(y) VPERMILPD $5, y, y
#define BLEND VBLENDPD
#define ODD 0xa
#define FMA VFMADD231PD
#define MOV VMOVUPD
#define MUL VMULPD
#define ADD VADDPD
#define MASKMOV VMASKMOVPD
#define ALPHA(y) VBROADCASTSD tile_alpha(R13), y
#include "tile_avx2.h"
