package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/table"
)

const exitOK, exitFailed, exitUsage = status.OK, status.Failed, status.Usage

// result is how a command ended.
type result struct {
	status         int
	stdout, stderr string
}

// iokl runs a command line in dir, given as words without spaces.
func command(t *testing.T, dir, line string) result {
	t.Helper()
	return commandWith(t, context.Background(), dir, line, "")
}

func commandWith(t *testing.T, ctx context.Context, dir, line, stdin string) result {
	t.Helper()
	t.Chdir(dir)
	be := blas.Active()
	defer func() { blas.Use(be); blas.SetThreads(0) }()
	var out, err bytes.Buffer
	status := run(ctx, strings.Fields(line), strings.NewReader(stdin), &out, &err)
	return result{status, out.String(), err.String()}
}

// object parses standard output, which must be one JSON object and nothing else.
func (r result) object(t *testing.T, v any) {
	t.Helper()
	if r.status != exitOK {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("standard output is not one JSON object: %v\n%s", err, r.stdout)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// csvRows makes rows of a smooth function: two inputs a, b, then two targets u, v.
func csvRows(l int, shift float64) (x, y string) {
	x, y = "a,b\n", "u,v\n"
	for i := range l {
		a, b := math.Sin(float64(7*i)+shift), math.Cos(float64(3*i)+shift)
		x += fmt.Sprintf("%g,%g\n", a, b)
		y += fmt.Sprintf("%g,%g\n", math.Sin(2*a)+b, 3-a*b)
	}
	return x, y
}

// folder has small data of every kind.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	x, y := csvRows(40, 0)
	write(t, dir, "x.csv", x)
	write(t, dir, "y.csv", y)
	x, y = csvRows(15, 0.3)
	write(t, dir, "xt.csv", x)
	write(t, dir, "yt.csv", y)
	golden, err := os.ReadFile("testdata/joint_p1.7.npz")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "g.npz", string(golden))
	return dir
}

func TestFitGolden(t *testing.T) {
	dir := folder(t)
	r := command(t, dir, "fit --gram g.npz:Ks --y g.npz:Y --lambda 0.005 --tau 4 --norm lp:1.7 --tol 1e-8 --json "+
		"--out m.iokl")
	var raw map[string]any
	r.object(t, &raw)
	for _, key := range []string{
		"objective", "gap_eta", "gap_l", "relative_gap", "converged", "eta", "trace_l",
		"rank_l", "outer_iterations", "sylvester_solves", "kernel_multiplies", "seconds", "solver", "sylvester",
		"backend", "threads", "seed",
	} {
		if _, ok := raw[key]; !ok {
			t.Errorf("no %q in the JSON object", key)
		}
	}
	var got results.Fit
	r.object(t, &got)
	const F = 0.18252130379156023
	if !got.Converged || !(got.Objective <= F*(1+1e-8)) || !(got.RelativeGap <= 1e-8) {
		t.Errorf("objective %.12g, relative gap %.2g, converged %v; want %.12g", got.Objective, got.RelativeGap,
			got.Converged, F)
	}
	if r := command(t, dir, "predict --model m.iokl --gram g.npz:Kx --out p.npy"); r.status != exitOK ||
		r.stdout != "" {
		t.Fatalf("predict: %+v", r)
	}
	P, err := table.Read("p.npy", table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.Read("g.npz:predictions", table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.Data.Data {
		if !(math.Abs(P.Data.Data[i]-v) <= 1e-3) {
			t.Fatalf("prediction %d is %g, want %g", i, P.Data.Data[i], v)
		}
	}
}

func TestFitPredictInfo(t *testing.T) {
	dir := folder(t)
	if r := command(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all --out m.iokl"); r.status != exitOK ||
		!strings.Contains(r.stdout, "certified") ||
		!regexp.MustCompile(
			`^iokl: held out, 5 folds: u is off by 0\.00\d+ ± 0\.000\d+, its mean by 1\.06; v is off by .*; \d.* s\n$`).MatchString(r.stderr) {
		t.Fatalf("fit: %+v", r)
	}
	r := command(t, dir, "predict --model m.iokl --x xt.csv")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.status != exitOK || len(lines) != 16 || lines[0] != "u,v" {
		t.Errorf("predict: %+v", r)
	}
	if piped := commandWith(t, context.Background(), dir, "predict --model m.iokl --x -",
		mustRead(t, "xt.csv")); piped.stdout != r.stdout {
		t.Errorf("from standard input: %+v", piped)
	}
	if r := command(t, dir, "predict --model m.iokl --x xt.csv --out p.csv"); r.status != exitOK {
		t.Errorf("predict --out: %+v", r)
	}
	if got := mustRead(t, "p.csv"); got != r.stdout {
		t.Error("--out writes other predictions than standard output")
	}
	if r := command(t, dir, "predict --model m.iokl --x xt.csv --out p.csv.gz"); r.status != exitOK {
		t.Errorf("predict --out p.csv.gz: %+v", r)
	}
	plain, err := table.Read("p.csv", table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if packed, err := table.Read("p.csv.gz", table.Options{}); err != nil ||
		!slices.Equal(packed.Data.Data, plain.Data.Data) || mustRead(t, "p.csv.gz")[:2] != "\x1f\x8b" {
		t.Errorf("p.csv.gz: %v", err)
	}
	if r := command(t, dir, "fit --x x.csv --y y.csv --kernel matern52:ard --kernel gaussian:relevant --lambda 1e-3 "+
		"--out r.iokl"); r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	var relevant results.Info
	command(t, dir, "info r.iokl --json").object(t, &relevant)
	if text := command(t, dir, "info r.iokl").stdout; len(relevant.Relevance) != 2 ||
		slices.Max(relevant.Relevance) != 1 || !strings.Contains(text, "inputs by relevance") {
		t.Errorf("relevance %v in %s", relevant.Relevance, text)
	}
	if html := writtenPage(t, dir, "report r.iokl --out r.html", "r.html"); !strings.Contains(html, "relevance.csv") {
		t.Error("the page has no table of relevance")
	}
	var scored predictReport
	command(t, dir, "predict --model m.iokl --x xt.csv --y yt.csv --json").object(t, &scored)
	if scored.Rows != 15 || len(scored.Predictions) != 15 || !(scored.Scores.ARRMSE < 0.1) {
		t.Errorf("scores %+v", scored.Scores)
	}
	// The same columns in another order are recognised by name.
	swapped := ""
	for _, line := range strings.Split(strings.TrimSpace(mustRead(t, "xt.csv")), "\n") {
		a, b, _ := strings.Cut(line, ",")
		swapped += b + "," + a + "\n"
	}
	write(t, dir, "swapped.csv", swapped)
	if again := command(t, dir, "predict --model m.iokl --x swapped.csv"); again.stdout != r.stdout {
		t.Errorf("columns in another order: %+v", again)
	}
	if r := command(t, dir, "info m.iokl"); r.status != exitOK || !strings.Contains(r.stdout, "kernels") {
		t.Errorf("info: %+v", r)
	}
	var info results.Info
	command(t, dir, "info m.iokl --json --plot pics --x xt.csv --y yt.csv").object(t, &info)
	if len(info.Pictures) != 14 || len(info.Correlation) != 2 || !info.Converged {
		t.Errorf("info: %+v", info)
	}
	for _, p := range info.Pictures {
		if s, err := os.Stat(p); err != nil || s.Size() < 1000 {
			t.Errorf("picture %s: %v", p, err)
		}
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCV(t *testing.T) {
	dir := folder(t)
	var got results.CV
	command(t, dir, "cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1,1e-3,1e-6 --norm lp:1 --folds 4 "+
		"--metric rmse --json --plot pics --out m.iokl").object(t, &got)
	if len(got.Points) != 3 || got.Best.Lambda == 1 || got.Folds != 4 || got.Metric != "rmse" ||
		len(got.Pictures) != 2 {
		t.Errorf("%+v", got)
	}
	if m, err := iokl.Load("m.iokl"); err != nil || m.Certificate().Lambda != got.Best.Lambda {
		t.Errorf("model: %v %v", m, err)
	}
	for _, flags := range []string{"--time-ordered", "--fold-groups groups.csv", "--one-se --repeats 2"} {
		write(t, dir, "groups.csv", strings.Repeat("p\nq\nr\ns\nt\n", 8))
		if r := command(t, dir,
			"cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1e-2 --folds 4 "+flags); r.status != exitOK ||
			!strings.Contains(r.stdout, "← best") {
			t.Errorf("%s: %+v", flags, r)
		}
	}
	command(t, dir, "cv --gram g.npz:Ks --y g.npz:Y --folds 3 --lambdas 1e-2,1e-3 --json").object(t, &got)
}

func TestClasses(t *testing.T) {
	dir := t.TempDir()
	all, labels := "", ""
	for i := range 60 {
		k := i % 3
		a := 2.1*float64(k) + 0.4*math.Sin(float64(13*i))
		label := []string{"low", "mid", "top"}[k]
		all += fmt.Sprintf("%g,%g,%s\n", math.Cos(a), math.Sin(a), label)
		labels += label + "\n"
	}
	write(t, dir, "all.csv", strings.NewReplacer(",low", ",0", ",mid", ",1", ",top", ",2").Replace(all))
	write(t, dir, "labels.csv", labels)
	r := command(t, dir, "fit --x all.csv --x-columns 0-1 --y labels.csv --classes --lambda 1e-3 --out m.iokl")
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	r = command(t, dir, "predict --model m.iokl --x all.csv --x-columns 0,1")
	if lines := strings.Split(r.stdout, "\n"); lines[0] != "class,low,mid,top" || !strings.HasPrefix(lines[1], "low,") {
		t.Errorf("%+v", r)
	}
	var scored predictReport
	command(t, dir, "predict --model m.iokl --x all.csv --x-columns 0,1 --y labels.csv --json").object(t, &scored)
	if !(scored.Scores.Accuracy > 0.95) {
		t.Errorf("accuracy %g", scored.Scores.Accuracy)
	}
	var cv results.CV
	command(t, dir,
		"cv --x all.csv --x-columns 0-1 --y-columns 2 --metric accuracy --lambdas 1e-3 --folds 5 --json").object(t, &cv)
	if !(cv.Best.Mean > 0.95) {
		t.Errorf("cross-validated accuracy %g", cv.Best.Mean)
	}
	write(t, dir, "named.csv", "a,b,class\n"+strings.NewReplacer(",low", ",0", ",mid", ",1", ",top", ",2").Replace(all))
	command(t, dir,
		"cv --x named.csv --y-columns class --metric accuracy --lambdas 1e-3 --folds 5 --json").object(t, &cv)
	if !(cv.Best.Mean > 0.95) {
		t.Errorf("cross-validated accuracy of a column with a name %g", cv.Best.Mean)
	}
}

func TestConstantColumnsWarn(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(30, 1)
	write(t, dir, "xc.csv", strings.ReplaceAll(x, "\n", ",1\n"))
	write(t, dir, "yc.csv", strings.ReplaceAll(y, "\n", ",2\n"))
	r := command(t, dir, "fit --x xc.csv --y yc.csv --header yes --lambda 1e-3 --out m.iokl")
	if r.status != exitOK || !strings.Contains(r.stderr, "warning: dropped input column 1") ||
		!strings.Contains(r.stderr, "warning: target column 2 constant") {
		t.Errorf("%+v", r)
	}
	if r := command(t, dir, "fit --x xc.csv --y yc.csv --header yes --lambda 1e-3 --quiet"); strings.Count(r.stderr,
		"iokl: warning: ") != strings.Count(r.stderr, "\n") || !strings.Contains(r.stderr, "dropped input column 1") {
		t.Errorf("--quiet keeps warnings, and nothing else: %q", r.stderr)
	}
}

func TestMaxOuterIsNoFailure(t *testing.T) {
	dir := folder(t)
	r := command(t, dir,
		"fit --x x.csv --y y.csv --kernel gaussian:each --lambda 1e-5 --tol 1e-12 --max-outer 2 --json")
	var got results.Fit
	r.object(t, &got)
	if got.Converged || got.OuterIterations > 2 || !strings.Contains(r.stderr, "stopped by --max-outer") {
		t.Errorf("%+v", r)
	}
}

func TestVerboseSaysMemoryAndIterations(t *testing.T) {
	dir := folder(t)
	r := command(t, dir, "fit --x x.csv --y y.csv --lambda 1e-3 -v")
	if r.status != exitOK || !strings.Contains(r.stderr, "Gram matrices of 40 samples") ||
		!strings.Contains(r.stderr, "iteration 1") {
		t.Errorf("%+v", r)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1e9": 1e9, "500MB": 5e8, "4GiB": 4 << 30, "2g": 2 << 30, "10 kb": 10000,
		"7B": 7, " 1.5 tib ": 3 << 39, "3m": 3 << 20, "2KB": 2000,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "GB", "7iB", "4Gi", "0", "-1k", "nan", "1e30T", "5x"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
