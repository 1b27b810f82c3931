package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
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
	f := bench.File{Machine: bench.Describe(quickEnv()), Results: []bench.Result{r}}
	var buf bytes.Buffer
	if err := WriteBench(&buf, &f); err != nil {
		t.Fatal(err)
	}
	want := "BenchmarkGemm/name=a_b:c/k=2\t1\t500000000 ns/op\t3 GFLOP/s\n"
	if !strings.Contains(buf.String(), want) {
		t.Errorf("no line %q in\n%s", want, buf.String())
	}
}

// TestComparison writes every verdict, and the summary in one line.
func TestComparison(t *testing.T) {
	p := 0.01
	c := &bench.Comparison{
		Regressed: true, Threshold: 0.1, Geomean: &p, Warnings: []string{"the machine was disturbed"},
	}
	for _, v := range []bench.Verdict{
		bench.Same, bench.Faster, bench.Slower, bench.Worse, bench.Single, bench.Gone, bench.Added,
	} {
		c.Lines = append(c.Lines, bench.Change{
			Case: "c", Name: string(v) + "?", Old: 1, Ratio: 2, P: &p, Verdict: v, Note: "n",
		})
	}
	var all, changed bytes.Buffer
	if err := errors.Join(WriteComparison(&all, c, true), WriteComparison(&changed, c, false)); err != nil {
		t.Fatal(err)
	}
	const summary = "REGRESSION: 1 no difference, 1 faster, 1 slower, 1 worse answer, 1 too few repetitions, " +
		"1 only in the first, 1 only in the second; the medians' ratio new/old is 0.01 on (geometric) average " +
		"(threshold 10 %, p < 0.05, corrected for the number of lines)\n"
	if text := all.String(); !strings.HasPrefix(text, "note: the machine was disturbed\n") ||
		strings.Count(text, "\n") != 2+7+1 || !strings.HasSuffix(text, summary) ||
		!strings.Contains(text, "worse answer?") || !strings.Contains(text, "worse answer: n") {
		t.Errorf("all lines:\n%s", text)
	}
	if text := changed.String(); strings.Count(text, "\n") != 2+5+1 || strings.Contains(text, "no difference?") {
		t.Errorf("lines that changed:\n%s", text)
	}
}
