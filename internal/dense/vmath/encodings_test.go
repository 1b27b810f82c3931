package vmath

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEncodings disassembles the macros of neon.h, which make instructions of arm64 of their fields.
func TestEncodings(t *testing.T) {
	header, err := filepath.Abs("neon.h")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{ // where they are not those of the instructions
		"FMLAE": "fmla", "FMLSE": "fmls", "FMULE": "fmul", "FCMEQ0": "fcmeq", "SSHR1": "sshr", "SHL52": "shl",
		"ADD2": "add", "SUB2": "sub", "OR2": "orr", "BIC2": "bic",
	}
	operands := map[string]string{ // where they are not as many vectors of two doubles as there are arguments
		"OR2": "vd.16b, vn.16b, vm.16b", "BIC2": "vd.16b, vn.16b, vm.16b", "MOV": "vd.16b, vn.16b",
		"FMLAE": "vd.2d, vn.2d, vm.d[i]", "FMLSE": "vd.2d, vn.2d, vm.d[i]", "FMULE": "vd.2d, vn.2d, vm.d[i]",
		"DUP": "vd.2d, vn.d[i]", "FCMEQ0": "vd.2d, vn.2d, #0",
		"FCVTN": "vd.2s, vn.2d", "FCVTN2": "vd.4s, vn.2d", "SSHR1": "vd.2d, vn.2d, #1", "SHL52": "vd.2d, vn.2d, #52",
	}
	macros := regexp.MustCompile(`(?m)^#define (\w+)\(([dnmi, ]+)\) WORD`).FindAllStringSubmatch(string(text), -1)
	if len(macros) != strings.Count(string(text), "#define") {
		t.Fatalf("%d macros of %d were read", len(macros), strings.Count(string(text), "#define"))
	}
	source := "#include \"neon.h\"\nTEXT ·f(SB), 4, $0\n"
	var want []string
	// no bit is 1 in both
	for _, v := range [][]string{{"d", "1", "n", "2", "m", "3", "i", "1"}, {
		"d", "30", "n", "29", "m", "28", "i", "0",
	}} {
		arguments, registers := strings.NewReplacer(v...), strings.NewReplacer("vd", "v"+v[1], "vn", "v"+v[3], "vm",
			"v"+v[5], "[i]", "["+v[7]+"]")
		for _, m := range macros {
			source += "\t" + m[1] + "(" + arguments.Replace(m[2]) + ")\n"
			name, vectors := names[m[1]], operands[m[1]]
			if name == "" {
				name = strings.ToLower(m[1])
			}
			if vectors == "" {
				vectors = strings.Join([]string{"vd.2d", "vn.2d", "vm.2d"}[:strings.Count(m[2], ",")+1], ", ")
			}
			want = append(want, name+" "+registers.Replace(vectors))
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.s"), []byte(source+"\tRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"tool"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=arm64")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	tool("asm", "-p", "f", "-I", filepath.Dir(header), "-o", "f.o", "f.s")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\s+f\.s:.*// (.*?)\s*$`).FindAllStringSubmatch(tool("objdump", "-gnu",
		"f.o"), -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, append(want, "ret")) {
		for i, g := range got {
			if i < len(want) && g != want[i] {
				t.Errorf("%s, want %s", g, want[i])
			}
		}
		t.Fatalf("%d instructions, want %d and ret", len(got), len(want))
	}
}
