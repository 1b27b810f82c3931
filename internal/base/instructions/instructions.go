// Package instructions decides which vector instructions the assembly uses: those of the processor, or fewer if the
// environment says so, to test or measure them on a machine that has more.
package instructions

import (
	"fmt"
	"os"
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// Variable is the environment variable with the most that may be used: generic, for no assembly, avx2
// or avx512 on amd64, and generic or neon on arm64. It is read when a program starts.
const Variable = "IOKL_INSTRUCTIONS"

var most, unknown = allowed(os.Getenv(Variable))

// Check returns an error where the variable has a value that means nothing. It limits nothing then.
func Check() error { return unknown }

// level is 0 for generic, 1 for what every processor of the last ten years has, and 2 for more.
type level int

func allowed(name string) (level, error) {
	switch name {
	case "generic":
		return 0, nil
	case "avx2", "neon":
		return 1, nil
	case "", "avx512":
		return 2, nil
	}
	return 2, fmt.Errorf("%s=%s: must be generic, neon, avx2, or avx512", Variable, name)
}

// AVX2 allows 256-bit vectors with fused multiply-add.
func AVX2() bool { return most.avx2() }

// AVX512 allows 512-bit vectors (F, DQ, VL).
func AVX512() bool { return most.avx512() }

// NEON allows the 128-bit vectors that every arm64 processor has.
func NEON() bool { return most.neon() }

func (m level) avx2() bool { return m >= 1 && cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3) }

func (m level) avx512() bool {
	return m >= 2 && m.avx2() && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL)
}

func (m level) neon() bool { return m >= 1 && runtime.GOARCH == "arm64" }
