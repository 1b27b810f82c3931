//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func fewF64NEON(t *fewTile)
#define FEW ·fewF64NEON
#define COLUMN(o, fa, fb, fc, fd, a, b, c, d) \
	FLDPQ o(R1), (fa, fb);     \
	FLDPQ (o+32)(R1), (fc, fd)

#include "few_neon.h"

// func fewF32NEON(t *fewTile)
#define FEW ·fewF32NEON
#define COLUMN(o, fa, fb, fc, fd, a, b, c, d) \
	FLDPQ o(R1), (fa, fc); \
	FCVTL2(b, a);          \
	FCVTL(a, a);           \
	FCVTL2(d, c);          \
	FCVTL(c, c)

#include "few_neon.h"
