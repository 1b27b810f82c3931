//go:build (amd64 || arm64) && !purego

#include "textflag.h"

// Constants of the exponential with AVX2 and NEON, in the order these load them:
// log₂e, ln 2 in two parts, and q₀…q₉ with exp(r) = 1 + r + r²·q(r) to
// 0.08 ulp for |r| ≤ ln2/2, from interpolation at Chebyshev nodes.
DATA ·expConst+0(SB)/8, $1.4426950408889634
DATA ·expConst+8(SB)/8, $0.69314718055994529
DATA ·expConst+16(SB)/8, $2.3190468138462996e-17
DATA ·expConst+24(SB)/8, $0.50000000000000011
DATA ·expConst+32(SB)/8, $0.16666666666666669
DATA ·expConst+40(SB)/8, $0.041666666666624129
DATA ·expConst+48(SB)/8, $0.0083333333333300615
DATA ·expConst+56(SB)/8, $0.0013888888917213717
DATA ·expConst+64(SB)/8, $0.00019841269863053618
DATA ·expConst+72(SB)/8, $2.4801521295954376e-05
DATA ·expConst+80(SB)/8, $2.7557268459997064e-06
DATA ·expConst+88(SB)/8, $2.7620088445409746e-07
DATA ·expConst+96(SB)/8, $2.510038549551032e-08
DATA ·expConst+104(SB)/8, $1.0
DATA ·expConst+112(SB)/8, $-1000.0
DATA ·expConst+120(SB)/8, $1000.0
// 1.5·2⁵², whose sum with an integer holds it in the low
// bits, and the exponent bias in both halves of a quadword.
DATA ·expConst+128(SB)/8, $6755399441055744.0
DATA ·expConst+136(SB)/8, $0x000003FF000003FF
GLOBL ·expConst(SB), RODATA|NOPTR, $144

// Constants of the exponential with AVX-512: log₂e, 1.5·2⁴⁸, whose sum with a
// number holds it in sixteenths in the low bits, ln 2 in two parts, q₀…q₅ with
// exp(r) = 1 + r + r²·q(r) to 0.0002 ulp for |r| ≤ ln2/32, from interpolation at
// Chebyshev nodes, the bounds of the argument, 1, and 2^(k/16) for k = 0…15.
DATA ·exp512Const+0(SB)/8, $1.4426950408889634
DATA ·exp512Const+8(SB)/8, $422212465065984.0
DATA ·exp512Const+16(SB)/8, $0.69314718055994529
DATA ·exp512Const+24(SB)/8, $2.3190468138462996e-17
DATA ·exp512Const+32(SB)/8, $0.5000000000000001
DATA ·exp512Const+40(SB)/8, $0.16666666666666669
DATA ·exp512Const+48(SB)/8, $0.04166666666359425
DATA ·exp512Const+56(SB)/8, $0.008333333332991954
DATA ·exp512Const+64(SB)/8, $0.001388906347556763
DATA ·exp512Const+72(SB)/8, $0.00019841463826261545
DATA ·exp512Const+80(SB)/8, $-1000.0
DATA ·exp512Const+88(SB)/8, $1000.0
DATA ·exp512Const+96(SB)/8, $1.0
DATA ·exp512Const+104(SB)/8, $1.0
DATA ·exp512Const+112(SB)/8, $1.0442737824274138
DATA ·exp512Const+120(SB)/8, $1.0905077326652577
DATA ·exp512Const+128(SB)/8, $1.1387886347566916
DATA ·exp512Const+136(SB)/8, $1.189207115002721
DATA ·exp512Const+144(SB)/8, $1.241857812073484
DATA ·exp512Const+152(SB)/8, $1.2968395546510096
DATA ·exp512Const+160(SB)/8, $1.3542555469368927
DATA ·exp512Const+168(SB)/8, $1.4142135623730951
DATA ·exp512Const+176(SB)/8, $1.4768261459394993
DATA ·exp512Const+184(SB)/8, $1.5422108254079407
DATA ·exp512Const+192(SB)/8, $1.6104903319492543
DATA ·exp512Const+200(SB)/8, $1.681792830507429
DATA ·exp512Const+208(SB)/8, $1.7562521603732995
DATA ·exp512Const+216(SB)/8, $1.8340080864093424
DATA ·exp512Const+224(SB)/8, $1.9152065613971474
GLOBL ·exp512Const(SB), RODATA|NOPTR, $232

// Constants of sine and cosine: 2/π, π/2 in two parts, s₀…s₅ with
// sin r = r + r³·s(r²), c₀…c₅ with cos r = 1 − r²/2 + r⁴·c(r²), both to 2⁻⁵⁶ for
// |r| ≤ π/4, then 1, ½, the sign bit, 1.5·2⁵², the integer 1, and 2³⁰.
DATA ·trigConst+0(SB)/8, $0.63661977236758138
DATA ·trigConst+8(SB)/8, $1.5707963267948966
DATA ·trigConst+16(SB)/8, $6.123233995736766e-17
DATA ·trigConst+24(SB)/8, $-0.16666666666666666
DATA ·trigConst+32(SB)/8, $0.0083333333333309254
DATA ·trigConst+40(SB)/8, $-0.00019841269836722418
DATA ·trigConst+48(SB)/8, $2.7557316083816358e-06
DATA ·trigConst+56(SB)/8, $-2.5051127944014188e-08
DATA ·trigConst+64(SB)/8, $1.5917848524808262e-10
DATA ·trigConst+72(SB)/8, $0.041666666666666664
DATA ·trigConst+80(SB)/8, $-0.0013888888888887382
DATA ·trigConst+88(SB)/8, $2.480158729874307e-05
DATA ·trigConst+96(SB)/8, $-2.7557317260008837e-07
DATA ·trigConst+104(SB)/8, $2.0876143827993133e-09
DATA ·trigConst+112(SB)/8, $-1.1382456778061306e-11
DATA ·trigConst+120(SB)/8, $1.0
DATA ·trigConst+128(SB)/8, $0.5
DATA ·trigConst+136(SB)/8, $0x8000000000000000
DATA ·trigConst+144(SB)/8, $6755399441055744.0
DATA ·trigConst+152(SB)/8, $1
DATA ·trigConst+160(SB)/8, $1073741824.0
GLOBL ·trigConst(SB), RODATA|NOPTR, $168

// Constants of the cosine alone: 1/π, π in two parts, and s₀…s₇ with
// sin r = r + r³·s(r²) to 2⁻⁵⁴ for |r| ≤ π/2, from interpolation at Chebyshev nodes.
DATA ·cosConst+0(SB)/8, $0.3183098861837907
DATA ·cosConst+8(SB)/8, $3.141592653589793
DATA ·cosConst+16(SB)/8, $1.2246467991473532e-16
DATA ·cosConst+24(SB)/8, $-0.16666666666666666
DATA ·cosConst+32(SB)/8, $0.008333333333333316
DATA ·cosConst+40(SB)/8, $-0.00019841269841254974
DATA ·cosConst+48(SB)/8, $2.7557319219163234e-06
DATA ·cosConst+56(SB)/8, $-2.5052107616996182e-08
DATA ·cosConst+64(SB)/8, $1.6058977312464087e-10
DATA ·cosConst+72(SB)/8, $-7.643970296798566e-13
DATA ·cosConst+80(SB)/8, $2.7314447669863206e-15
GLOBL ·cosConst(SB), RODATA|NOPTR, $88

// laneMask holds four ones and four zeros: read at 32 − 8·n it masks n lanes of AVX2.
DATA ·laneMask+0(SB)/8, $-1
DATA ·laneMask+8(SB)/8, $-1
DATA ·laneMask+16(SB)/8, $-1
DATA ·laneMask+24(SB)/8, $-1
DATA ·laneMask+32(SB)/8, $0
DATA ·laneMask+40(SB)/8, $0
DATA ·laneMask+48(SB)/8, $0
DATA ·laneMask+56(SB)/8, $0
GLOBL ·laneMask(SB), RODATA|NOPTR, $64
