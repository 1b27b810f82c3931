//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func tileF64AVX512(t *tile): float64, 24×8.
#define TILE ·tileF64AVX512
#define ASTEP 192
#define ALOAD(o, r) VMOVUPD o(r), Z24; VMOVUPD o+64(r), Z25; VMOVUPD o+128(r), Z26
#define ES 8
#define LANES 8
#define BCAST VBROADCASTSD
#define FMA VFMADD231PD
#define MOV VMOVUPD
#define ALPHA(z) VBROADCASTSD tile_alpha(R13), z
#include "tile_avx512.h"

// func tileF32AVX512(t *tile): float32, 48×8.
#define TILE ·tileF32AVX512
#define ASTEP 192
#define ALOAD(o, r) VMOVUPS o(r), Z24; VMOVUPS o+64(r), Z25; VMOVUPS o+128(r), Z26
#define ES 4
#define LANES 16
#define BCAST VBROADCASTSS
#define FMA VFMADD231PS
#define MOV VMOVUPS
#define ALPHA(z) VCVTSD2SS tile_alpha(R13), X31, X31; VBROADCASTSS X31, z
#include "tile_avx512.h"

// func tileMixedAVX512(t *tile): a float32 in panels of 48, of which 24 columns
// enter; b and c float64. 24×8.
#define TILE ·tileMixedAVX512
#define ASTEP 192
#define ALOAD(o, r) VCVTPS2PD o(r), Z24; VCVTPS2PD o+32(r), Z25; VCVTPS2PD o+64(r), Z26
#define ES 8
#define LANES 8
#define BCAST VBROADCASTSD
#define FMA VFMADD231PD
#define MOV VMOVUPD
#define ALPHA(z) VBROADCASTSD tile_alpha(R13), z
#include "tile_avx512.h"
