//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func tileF64NEON(t *tile): float64, 8×6.
#define TILE ·tileF64NEON
#define ES 8
#define SHIFT 3
#define FMLA(d, n, m, i) WORD $(0x4FC01000 | ((m)<<16) | ((i)<<11) | ((n)<<5) | (d))
#define FMUL(d, n) WORD $(0x4FC09000 | (24<<16) | ((n)<<5) | (d))
#define FADD(d, n) WORD $(0x4E60D400 | ((n)<<16) | ((d)<<5) | (d))
#define ALPHA FMOVD tile_alpha(R0), F24
#define VECTORS FLDPQ (R1), (F24, F25); FLDPQ 32(R1), (F26, F27); ADD $64, R1
#define LOAD1 FMOVD (R2), F28
#define LOAD2 FMOVQ (R2), F28
#define LOAD3 FMOVQ (R2), F28; FMOVD 16(R2), F29
#define LOAD4 FLDPQ (R2), (F28, F29)
#define LOAD5 FLDPQ (R2), (F28, F29); FMOVD 32(R2), F30
#define LOAD6 FLDPQ (R2), (F28, F29); FMOVQ 32(R2), F30
#define M0 28
#define I0 0
#define M1 28
#define I1 1
#define M2 29
#define I2 0
#define M3 29
#define I3 1
#define M4 30
#define I4 0
#define M5 30
#define I5 1
#define SCALAR FMOVD
#define ADDS FADDD
#include "tile_neon.h"

// func tileMixedNEON(t *tile): a float32 in panels of 16, of which 8 columns enter;
// b and c float64. 8×6.
#define TILE ·tileMixedNEON
#undef VECTORS
#define VECTORS \
	FLDPQ (R1), (F24, F26); \
	FCVTL2(25, 24);         \
	FCVTL(24, 24);          \
	FCVTL2(27, 26);         \
	FCVTL(26, 26);          \
	ADD   $64, R1

#define FCVTL(d, n) WORD $(0x0E617800 | ((n)<<5) | (d))
#define FCVTL2(d, n) WORD $(0x4E617800 | ((n)<<5) | (d))
#include "tile_neon.h"

#undef VECTORS
#undef ES
#undef SHIFT
#undef FMLA
#undef FMUL
#undef FADD
#undef ALPHA
#undef LOAD1
#undef LOAD2
#undef LOAD3
#undef LOAD4
#undef LOAD5
#undef LOAD6
#undef M0
#undef I0
#undef M1
#undef I1
#undef M2
#undef I2
#undef M3
#undef I3
#undef M4
#undef I4
#undef M5
#undef I5
#undef SCALAR
#undef ADDS

// func tileF32NEON(t *tile): float32, 16×6.
#define TILE ·tileF32NEON
#define ES 4
#define SHIFT 2
#define FMLA(d, n, m, i) WORD $(0x4F801000 | ((m)<<16) | (((i)&1)<<21) | (((i)>>1)<<11) | ((n)<<5) | (d))
#define FMUL(d, n) WORD $(0x4F809000 | (24<<16) | ((n)<<5) | (d))
#define FADD(d, n) WORD $(0x4E20D400 | ((n)<<16) | ((d)<<5) | (d))
#define ALPHA FMOVD tile_alpha(R0), F24; FCVTDS F24, F24
#define VECTORS FLDPQ (R1), (F24, F25); FLDPQ 32(R1), (F26, F27); ADD $64, R1
#define LOAD1 FMOVS (R2), F28
#define LOAD2 FMOVD (R2), F28
#define LOAD3 FMOVD (R2), F28; FMOVS 8(R2), F29
#define LOAD4 FMOVQ (R2), F28
#define LOAD5 FMOVQ (R2), F28; FMOVS 16(R2), F29
#define LOAD6 FMOVQ (R2), F28; FMOVD 16(R2), F29
#define M0 28
#define I0 0
#define M1 28
#define I1 1
#define M2 28
#define I2 2
#define M3 28
#define I3 3
#define M4 29
#define I4 0
#define M5 29
#define I5 1
#define SCALAR FMOVS
#define ADDS FADDS
#include "tile_neon.h"
