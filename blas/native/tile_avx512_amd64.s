//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"
#include "tile_avx512.h"

// The frames are larger than the routines need: a routine with a frame this large
// looks at the stack bound when entered, and there the garbage collector and the
// scheduler can stop a goroutine that does nothing but call it.

#define ASTEP 192

#define ALOAD1(o, r) VMOVUPD o(r), Z24
#define ALOAD2(o, r) ALOAD1(o, r); VMOVUPD o+64(r), Z25
#define ALOAD3(o, r) ALOAD2(o, r); VMOVUPD o+128(r), Z26
#define ES 8
#define LANES 8
#define BCAST VBROADCASTSD
#define FMA VFMADD231PD
#define FMABCST VFMADD231PD.BCST
#define MOV VMOVUPD
#define ALPHA(z) VBROADCASTSD tile_alpha(R13), z

// func tileF64AVX512(t *tile): float64, 24×8.
TEXT ·tileF64AVX512(SB), 0, $128-8
	TILE

#undef ALOAD1
#define ALOAD1(o, r) VCVTPS2PD o(r), Z24
#undef ALOAD2
#define ALOAD2(o, r) ALOAD1(o, r); VCVTPS2PD o+32(r), Z25
#undef ALOAD3
#define ALOAD3(o, r) ALOAD2(o, r); VCVTPS2PD o+64(r), Z26

// func tileMixedAVX512(t *tile): a float32 in panels of 48, of which 24 columns
// enter; b and c float64. 24×8.
TEXT ·tileMixedAVX512(SB), 0, $128-8
	TILE

#undef ALOAD1
#undef ALOAD2
#undef ALOAD3
#undef ES
#undef LANES
#undef BCAST
#undef FMA
#undef FMABCST
#undef MOV
#undef ALPHA
#define ALOAD1(o, r) VMOVUPS o(r), Z24
#define ALOAD2(o, r) ALOAD1(o, r); VMOVUPS o+64(r), Z25
#define ALOAD3(o, r) ALOAD2(o, r); VMOVUPS o+128(r), Z26
#define ES 4
#define LANES 16
#define BCAST VBROADCASTSS
#define FMA VFMADD231PS
#define FMABCST VFMADD231PS.BCST
#define MOV VMOVUPS
#define ALPHA(z) VCVTSD2SS tile_alpha(R13), X31, X31; VBROADCASTSS X31, z

// func tileF32AVX512(t *tile): float32, 48×8.
TEXT ·tileF32AVX512(SB), 0, $128-8
	TILE
