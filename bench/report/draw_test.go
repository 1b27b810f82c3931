package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
)

func TestDraw(t *testing.T) {
	r := bench.Result{Case: "digits", Name: "a", Trace: []bench.Point{
		{Seconds: 0.01, Objective: bench.Num(2), RelativeGap: bench.Num(0.5), Accuracy: bench.Num(0.8)},
		{Seconds: 0.1, Objective: bench.Num(1), RelativeGap: bench.Num(0), Accuracy: bench.Num(0.9)},
		{Seconds: 0.2, Objective: bench.Num(1), RelativeGap: bench.Num(0.1), Accuracy: bench.Num(0.9)},
	}}
	dir := t.TempDir()
	names, err := Draw(&bench.File{Results: []bench.Result{r}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 || !slices.Contains(names, filepath.Join(dir, "digits-objective.svg")) {
		t.Errorf("drew %v", names)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBenchFormat(t *testing.T) {
	r := bench.Result{Case: "gemm", Name: "a b/c", Params: map[string]any{"k": 2}}
	r.Time([]float64{0.5, 1})
	r.GFlops = 3
	f := bench.File{Machine: bench.Describe(benchtest.Quick()), Results: []bench.Result{r}}
	var buf bytes.Buffer
	if err := WriteBench(&buf, &f); err != nil {
		t.Fatal(err)
	}
	want := "BenchmarkGemm/name=a_b:c/k=2\t1\t500000000 ns/op\t3 GFLOP/s\n"
	if !strings.Contains(buf.String(), want) {
		t.Errorf("no line %q in\n%s", want, buf.String())
	}
}
