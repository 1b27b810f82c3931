package native

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEncodings disassembles the NEON kernels, whose multiplications by an element and
// vector additions are words made in macros, and counts what the words decode as.
func TestEncodings(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for arm64")
	}
	file := filepath.Join(t.TempDir(), "native.test")
	build := exec.Command("go", "test", "-c", "-o", file, ".")
	build.Env = append(build.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := exec.Command("go", "tool", "objdump", "-s", "NEON", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^TEXT .*native\.(\w+)\.abi0`)
	// Word, mnemonic and operands of an instruction.
	line := regexp.MustCompile(`^\s+\w+neon\.h:\d+\s+0x[0-9a-f]+\s+([0-9a-f]{8})\s+(\S+)\s?(.*)$`)
	got, rows := map[string]map[string]int{}, map[string]int{}
	current := ""
	for l := range strings.Lines(string(text)) {
		l = strings.TrimRight(l, "\t \n")
		if m := name.FindStringSubmatch(l); m != nil {
			current = m[1]
			got[current] = map[string]int{}
		} else if m := line.FindStringSubmatch(l); m != nil && current != "" {
			if m[2] == "?" && m[1] != "00000000" { // which aligns the next routine
				t.Errorf("%s: %s is no instruction", current, m[1])
			}
			got[current][m[2]]++
			if strings.HasPrefix(current, "tile") && m[2] == "VFMLA" {
				rows[current+" "+m[3]]++
			}
		}
	}
	for _, kind := range []string{"F64", "F32", "Mixed"} {
		halves := map[string]int{"F64": 0, "F32": 1, "Mixed": 1}[kind] // conversions of a vector of single precision
		for name, want := range map[string]map[string]int{
			// One to six rows of four vectors, in groups of four steps and one by one.
			"tile": {
				"VFMLA": 4 * 5 * (1 + 2 + 3 + 4 + 5 + 6), "FMUL": 24, "FADD": 4,
				"VFCVTL": map[string]int{"Mixed": 2 * 5 * 6}[kind],
			},
			// Two columns of a panel by one column, then by two.
			"few": {
				"VFMLA": 2*7 + 4*7, "FMUL": 2 + 4, "FADD": 1 + 4 + 2 + 4 + 4, "VFADDP": 1 + 2,
				"VFCVTL": 8 * halves, "VFCVTL2": 8 * halves,
			},
			"dot":   {"VFMLA": 5, "FADD": 3, "FADDP": 1},
			"outer": {"VFMLA": 5},
			"scal":  {"FMUL": 5},
			"dot4":  {"VFMLA": 12, "FADD": 4, "FADDP": 4},
			"axpy4": {"VFMLA": 12},
			"symv4": {"VFMLA": 7, "FMUL": 1, "FADD": 1, "FADDP": 4},
		} {
			if kind != "F64" && name != "tile" && name != "few" { // vectors are in double precision
				continue
			}
			if name += kind + "NEON"; got[name] == nil && kind == "Mixed" {
				continue
			}
			for mnemonic, n := range want {
				if have := got[name][mnemonic]; have != n {
					t.Errorf("%s: %d of %s, want %d: %v", name, have, mnemonic, n, got[name])
				}
			}
		}
		// Accumulator v takes vector v mod 4 of a, and row v/4 of b in every variant that has the row.
		lanes, perRegister := "D2", 2
		if kind == "F32" {
			lanes, perRegister = "S4", 4
		}
		for v := range 24 {
			row, count := v/4, 0
			for what, n := range rows {
				operands := strings.TrimPrefix(what, "tile"+kind+"NEON ")
				if operands != what && strings.HasSuffix(operands, fmt.Sprintf(", V%d.%s, V%d.%s", 24+v%4, lanes, v,
					lanes)) {
					count += n
					element := fmt.Sprintf("V%d.%s[%d]", 28+row/perRegister, lanes[:1], row%perRegister)
					last := row == 2 && kind == "F32" && strings.HasPrefix(operands, "V29.S[0]") // of three
					if !strings.HasPrefix(operands, element) && !last {
						t.Errorf("%s, row %d: %s", kind, row, operands)
					}
				}
			}
			if want := 5 * (6 - row); count != want {
				t.Errorf("%s: %d multiply-adds to V%d, want %d", kind, count, v, want)
			}
		}
	}
}
