package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// library builds libiokl, and returns its directory and a C compiler.
func library(t *testing.T) (dir, cc string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a shared library")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the test programs use POSIX threads")
	}
	out, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	if cc, err = exec.LookPath(strings.Fields(string(out))[0]); err != nil {
		t.Skip("needs a C compiler; Debian: apt-get install gcc libc6-dev")
	}
	dir = t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-o", filepath.Join(dir, "libiokl.so"),
		".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, cc
}

// compile makes a program of a C file, which links with the library in dir.
func compile(t *testing.T, dir, cc, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	args := append([]string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_GNU_SOURCE", "-I."}, flags...)
	args = append(args, source, "-o", program, "-L"+dir, "-liokl", "-lm", "-lpthread", "-Wl,-rpath,"+dir)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return program
}

var (
	calls = flag.Int("calls", 2000, "calls with random arguments, 0 for no limit")
	soak  = flag.Duration("soak", 0, "time for calls with random arguments, 0 for no limit")
	seed  = flag.Uint64("seed", 1, "of the random arguments")
)

func TestC(t *testing.T) {
	dir, cc := library(t)
	t.Run("header", func(t *testing.T) { checkHeader(t, filepath.Join(dir, "libiokl.h")) })
	t.Run("example", func(t *testing.T) {
		out, err := exec.Command(compile(t, dir, cc, "../examples/c/fit.c")).Output()
		const want = "relative gap at most 1e-4: yes\nf(-0.5) = -1.00, -2.00\nf(0.0) = 0.00, 0.00\nf(0.5) = 1.00, " +
			"1.99\n"
		if err != nil || string(out) != want {
			t.Errorf("%v\n%s", err, out)
		}
	})
	for name, flags := range map[string][]string{
		"conformance": nil,
		"sanitizers":  {"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"},
	} {
		t.Run(name, func(t *testing.T) {
			if flags != nil && exec.Command(cc, append(flags, "-x", "c", "-o", filepath.Join(dir, "empty"),
				"testdata/empty.c")...).Run() != nil {
				t.Skip("the C compiler has no sanitizers")
			}
			if flags != nil {
				out, err := exec.Command(compile(t, dir, cc, "testdata/leak.c", flags...)).CombinedOutput()
				if err == nil || !strings.Contains(string(out), "detected memory leaks") {
					t.Errorf("a leak is not found: %v\n%s", err, out)
				}
			}
			program := compile(t, dir, cc, "testdata/conformance.c", flags...)
			if out, err := exec.Command(program, filepath.Join(dir, "m.iokl")).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			program = compile(t, dir, cc, "testdata/random.c", flags...)
			out, err := exec.Command(program, fmt.Sprint(*calls), fmt.Sprint(int(soak.Seconds())),
				fmt.Sprint(*seed)).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

var (
	prototype = regexp.MustCompile(`(?s)\b(iokl_status|uint32_t) (iokl_\w+)\(([^;{]*)\);`)
	exported  = regexp.MustCompile(`(?m)^extern (\w+) (iokl_\w+)\((.*)\);$`)
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	parameter = regexp.MustCompile(`\s*\b\w+$`)
)

// checkHeader compares iokl.h, which people read, with the header that cgo generates.
func checkHeader(t *testing.T, generated string) {
	functions := func(file string, re *regexp.Regexp) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range re.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
			var types []string
			for _, p := range strings.Split(m[3], ",") {
				p = strings.ReplaceAll(strings.TrimSpace(p), "const", "")
				if p != "void" {
					p = parameter.ReplaceAllString(p, "")
				}
				types = append(types, strings.Join(strings.Fields(strings.ReplaceAll(p, "*", " * ")), " "))
			}
			list = append(list, m[1]+" "+m[2]+"("+strings.Join(types, ", ")+")")
		}
		slices.Sort(list)
		return list
	}
	want, got := functions("iokl.h", prototype), functions(generated, exported)
	if len(want) == 0 || !slices.Equal(want, got) {
		t.Errorf("iokl.h declares\n%s\nthe library has\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}
