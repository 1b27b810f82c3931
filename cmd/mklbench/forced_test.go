package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
)

// TestMain lets the tests start this program as the command.
func TestMain(m *testing.M) {
	if os.Getenv("MKLBENCH_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A core that the environment forces is named and warned about; --own-cores unsets it.
func TestOwnCores(t *testing.T) {
	describe := func(args ...string) (m bench.Machine, stderr string) {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, append([]string{"run", quickest, "--quick", "--json"}, args...)...)
		cmd.Env = append(unforced(), "MKLBENCH_TEST_MAIN=1", "OPENBLAS_CORETYPE=Nehalem")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		var file bench.File
		if err := json.Unmarshal(out.Bytes(), &file); err != nil {
			t.Fatal(err)
		}
		return file.Machine, errs.String()
	}
	m, says := describe()
	if !slices.Equal(m.Forced, []string{"OPENBLAS_CORETYPE=Nehalem"}) ||
		!strings.Contains(says, "OPENBLAS_CORETYPE=Nehalem (--own-cores") {
		t.Errorf("forced %q, and says %q", m.Forced, says)
	}
	for _, b := range m.Backends {
		if b.Backend == "openblas" && runtime.GOARCH == "amd64" && b.Kernel != "Nehalem" {
			t.Errorf("OpenBLAS runs %s, and was forced to run Nehalem", b.Kernel)
		}
	}
	if runtime.GOOS == "windows" {
		return // a process cannot be replaced there
	}
	if m, says := describe("--own-cores"); len(m.Forced) > 0 || strings.Contains(says, "own-cores") {
		t.Errorf("with --own-cores: forced %q, and says %q", m.Forced, says)
	}
}
