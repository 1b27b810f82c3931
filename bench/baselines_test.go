package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// TestBaselineNames compares the names of the baselines with the machines that they describe.
func TestBaselineNames(t *testing.T) {
	names, err := filepath.Glob("baselines/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v: no baselines", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Machine Machine }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(name, err)
		}
		m := file.Machine
		want := strings.ToLower(strings.ReplaceAll(
			fmt.Sprintf("%s-%s-%dx%s-family", m.Arch, m.Backend.Kernel, m.CPUs, m.CPU), " ", "-"))
		if m.Family > 0 {
			want += fmt.Sprintf("%d-model%d.json", m.Family, m.Model)
		}
		if got := filepath.Base(name); !strings.HasPrefix(got, want) {
			t.Errorf("baseline %s is of %s", got, want)
		}
	}
}

func TestDescribeProcessor(t *testing.T) {
	if m := Describe(quickEnv()); m.Family != cpuid.CPU.Family || m.Model != cpuid.CPU.Model {
		t.Errorf("family %d model %d, cpuid says %d and %d", m.Family, m.Model, cpuid.CPU.Family, cpuid.CPU.Model)
	}
}
