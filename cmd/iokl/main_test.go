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

// result is how a command line ended. Its methods fail the test where it ended in another way, and return it.
type result struct {
	t              *testing.T
	line           string
	status         int
	stdout, stderr string
}

// command runs a command line in dir, given as words without spaces.
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
	return result{t, line, status, out.String(), err.String()}
}

// succeed runs a command line that must succeed.
func succeed(t *testing.T, dir, line string) result {
	t.Helper()
	return command(t, dir, line).succeeded()
}

// fail runs a command line whose work must fail.
func fail(t *testing.T, dir, line string) result {
	t.Helper()
	return command(t, dir, line).ended(exitFailed)
}

// refuse runs a command line that must be refused in one line, and leave no file behind.
func refuse(t *testing.T, dir, line string) result {
	t.Helper()
	before := listing(t, dir)
	r := command(t, dir, line).ended(exitUsage)
	if r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "iokl: ") {
		t.Errorf("%s: want one line on standard error alone: %.300q, %.3000q", r.line, r.stdout, r.stderr)
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("%s: files before %v, after %v", r.line, before, after)
	}
	return r
}

// refuseAll runs the lines of a table, LINE => TEXT, each of which must be refused with the text.
func refuseAll(t *testing.T, dir, table string) {
	t.Helper()
	for row := range strings.Lines(strings.TrimSpace(table)) {
		line, text, _ := strings.Cut(row, "=>")
		t.Run(line, func(t *testing.T) { refuse(t, dir, line).err(strings.TrimSpace(text)) })
	}
}

// listing is the names of the files in dir.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (r result) ended(status int) result {
	r.t.Helper()
	if r.status != status {
		r.t.Errorf("%s: status %d, want %d: %.300s%.3000s", r.line, r.status, status, r.stdout, r.stderr)
	}
	return r
}

func (r result) succeeded() result {
	r.t.Helper()
	if r.status != exitOK {
		r.t.Fatalf("%s: status %d: %.300s%.3000s", r.line, r.status, r.stdout, r.stderr)
	}
	return r
}

// out, err, noOut and noErr ask that texts are, or are not, on standard output or standard error.
func (r result) out(texts ...string) result   { return r.holds("output", r.stdout, true, texts) }
func (r result) err(texts ...string) result   { return r.holds("error", r.stderr, true, texts) }
func (r result) noOut(texts ...string) result { return r.holds("output", r.stdout, false, texts) }
func (r result) noErr(texts ...string) result { return r.holds("error", r.stderr, false, texts) }

// prints asks what standard output is.
func (r result) prints(text string) result {
	r.t.Helper()
	if r.stdout != text {
		r.t.Errorf("%s: status %d: %.3000s%.3000s, want %.3000s", r.line, r.status, r.stdout, r.stderr, text)
	}
	return r
}

// begins asks how standard output begins.
func (r result) begins(text string) result {
	r.t.Helper()
	if !strings.HasPrefix(r.stdout, text) {
		r.t.Errorf("%s: status %d, standard output does not begin with %q: %.3000s%.3000s", r.line, r.status, text,
			r.stdout, r.stderr)
	}
	return r
}

// matches asks that standard output has a place like each of the patterns.
func (r result) matches(patterns ...string) result {
	r.t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(r.stdout) {
			r.t.Errorf("%s: status %d, no %s on standard output: %.3000s", r.line, r.status, p, r.stdout)
		}
	}
	return r
}

func (r result) holds(what, stream string, want bool, texts []string) result {
	r.t.Helper()
	for _, text := range texts {
		if strings.Contains(stream, text) != want {
			r.t.Errorf("%s: status %d, %q is on standard %s: %t: %.3000s", r.line, r.status, text, what, !want, stream)
		}
	}
	return r
}

// lines is standard output in lines.
func (r result) lines() []string { return strings.Split(strings.TrimSpace(r.stdout), "\n") }

// object runs a command line that must succeed, and returns its JSON object.
func object[T any](t *testing.T, dir, line string) (v T) {
	t.Helper()
	command(t, dir, line).object(&v)
	return v
}

// object parses standard output, which must be one JSON object and nothing else.
func (r result) object(v any) {
	r.t.Helper()
	r.succeeded()
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		r.t.Fatalf("standard output is not one JSON object: %v\n%s", err, r.stdout)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rowsText is a table of a header, unless that is "", and n rows.
func rowsText(header string, n int, row func(i int) string) string {
	var b strings.Builder
	if header != "" {
		fmt.Fprintln(&b, header)
	}
	for i := range n {
		fmt.Fprintln(&b, row(i))
	}
	return b.String()
}

// writeXY writes x.csv and y.csv of n rows.
func writeXY(t *testing.T, dir, xHead, yHead string, n int, row func(i int) (x, y string)) {
	t.Helper()
	y := make([]string, n)
	write(t, dir, "x.csv", rowsText(xHead, n, func(i int) (x string) {
		x, y[i] = row(i)
		return x
	}))
	write(t, dir, "y.csv", rowsText(yHead, n, func(i int) string { return y[i] }))
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
	write(t, dir, "g.npz", mustRead(t, "testdata/joint_p1.7.npz"))
	return dir
}

func TestFitGolden(t *testing.T) {
	dir := folder(t)
	r := command(t, dir, "fit --gram g.npz:Ks --y g.npz:Y --lambda 0.005 --tau 4 --norm lp:1.7 --tol 1e-8 --json "+
		"--out m.iokl")
	var raw map[string]any
	r.object(&raw)
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
	r.object(&got)
	const F = 0.18252130379156023
	if !got.Converged || !(got.Objective <= F*(1+1e-8)) || !(got.RelativeGap <= 1e-8) {
		t.Errorf("objective %.12g, relative gap %.2g, converged %v; want %.12g", got.Objective, got.RelativeGap,
			got.Converged, F)
	}
	if r := succeed(t, dir, "predict --model m.iokl --gram g.npz:Kx --out p.npy"); r.stdout != "" {
		t.Errorf("predict: %+v", r)
	}
	near(t, "predictions", mustTable(t, "p.npy").Data.Data, mustTable(t, "g.npz:predictions").Data.Data, 1e-3)
}

func TestFitPredictInfo(t *testing.T) {
	dir := folder(t)
	r := succeed(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all --out m.iokl").out("certified")
	if !regexp.MustCompile(`^iokl: held out, 5 folds: u is off by 0\.00\d+ ± 0\.000\d+, its mean by 1\.06; ` +
		`v is off by .*; \d.* s\n$`).MatchString(r.stderr) {
		t.Fatalf("fit: %+v", r)
	}
	r = succeed(t, dir, "predict --model m.iokl --x xt.csv")
	if lines := r.lines(); len(lines) != 16 || lines[0] != "u,v" {
		t.Errorf("predict: %+v", r)
	}
	if piped := commandWith(t, context.Background(), dir, "predict --model m.iokl --x -",
		mustRead(t, "xt.csv")); piped.stdout != r.stdout {
		t.Errorf("from standard input: %+v", piped)
	}
	succeed(t, dir, "predict --model m.iokl --x xt.csv --out p.csv")
	if got := mustRead(t, "p.csv"); got != r.stdout {
		t.Error("--out writes other predictions than standard output")
	}
	succeed(t, dir, "predict --model m.iokl --x xt.csv --out p.csv.gz")
	if packed := mustTable(t, "p.csv.gz"); mustRead(t, "p.csv.gz")[:2] != "\x1f\x8b" ||
		!slices.Equal(packed.Data.Data, mustTable(t, "p.csv").Data.Data) {
		t.Error("p.csv.gz has other predictions")
	}
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel matern52:ard --kernel gaussian:relevant --lambda 1e-3 --out "+
		"r.iokl")
	relevant := object[results.Info](t, dir, "info r.iokl --json")
	succeed(t, dir, "info r.iokl").out("inputs by relevance")
	if len(relevant.Relevance) != 2 || slices.Max(relevant.Relevance) != 1 {
		t.Errorf("relevance %v", relevant.Relevance)
	}
	if html := writtenPage(t, dir, "report r.iokl --out r.html"); !strings.Contains(html, "relevance.csv") {
		t.Error("the page has no table of relevance")
	}
	scored := object[predictReport](t, dir, "predict --model m.iokl --x xt.csv --y yt.csv --json")
	if scored.Rows != 15 || len(scored.Predictions) != 15 || !(scored.Scores.ARRMSE < 0.1) {
		t.Errorf("scores %+v", scored.Scores)
	}
	// The same columns in another order are recognised by name.
	write(t, dir, "swapped.csv", reversed(mustRead(t, "xt.csv")))
	if again := command(t, dir, "predict --model m.iokl --x swapped.csv"); again.stdout != r.stdout {
		t.Errorf("columns in another order: %+v", again)
	}
	succeed(t, dir, "info m.iokl").out("kernels")
	info := object[results.Info](t, dir, "info m.iokl --json --plot pics --x xt.csv --y yt.csv")
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

func mustTable(t *testing.T, name string) *table.Table {
	t.Helper()
	tab, err := table.Read(name, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// near asks that numbers are others, to an absolute tolerance.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tol) {
			t.Fatalf("%s: number %d is %g, want %g", what, i, got[i], v)
		}
	}
}

func mustLoad(t *testing.T, path string) *iokl.Model {
	t.Helper()
	m, err := iokl.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCV(t *testing.T) {
	dir := folder(t)
	got := object[results.CV](t, dir, "cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1,1e-3,1e-6 --norm "+
		"lp:1 --folds 4 --metric rmse --json --plot pics --out m.iokl")
	if len(got.Points) != 3 || got.Best.Lambda == 1 || got.Folds != 4 || got.Metric != "rmse" ||
		len(got.Pictures) != 2 {
		t.Errorf("%+v", got)
	}
	if m := mustLoad(t, "m.iokl"); m.Certificate().Lambda != got.Best.Lambda {
		t.Errorf("model: %v", m)
	}
	for _, flags := range []string{"--time-ordered", "--fold-groups groups.csv", "--one-se --repeats 2"} {
		write(t, dir, "groups.csv", strings.Repeat("p\nq\nr\ns\nt\n", 8))
		succeed(t, dir, "cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1e-2 --folds 4 "+flags).out("← best")
	}
	command(t, dir, "cv --gram g.npz:Ks --y g.npz:Y --folds 3 --lambdas 1e-2,1e-3 --json").object(&got)
}

func TestClasses(t *testing.T) {
	dir := t.TempDir()
	codes, labels := "", ""
	for i := range 60 {
		k := i % 3
		a := 2.1*float64(k) + 0.4*math.Sin(float64(13*i))
		codes += fmt.Sprintf("%g,%g,%d\n", math.Cos(a), math.Sin(a), k)
		labels += []string{"low", "mid", "top"}[k] + "\n"
	}
	write(t, dir, "all.csv", codes)
	write(t, dir, "named.csv", "a,b,class\n"+codes)
	write(t, dir, "labels.csv", labels)
	succeed(t, dir, "fit --x all.csv --x-columns 0-1 --y labels.csv --classes --lambda 1e-3 --out m.iokl")
	r := succeed(t, dir, "predict --model m.iokl --x all.csv --x-columns 0,1")
	if lines := r.lines(); lines[0] != "class,low,mid,top" || !strings.HasPrefix(lines[1], "low,") {
		t.Errorf("%+v", r)
	}
	const score = "predict --model m.iokl --x all.csv --x-columns 0,1 --y labels.csv --json"
	if scored := object[predictReport](t, dir, score); !(scored.Scores.Accuracy > 0.95) {
		t.Errorf("accuracy %g", scored.Scores.Accuracy)
	}
	for _, columns := range []string{"--x all.csv --x-columns 0-1 --y-columns 2", "--x named.csv --y-columns class"} {
		cv := object[results.CV](t, dir, "cv --metric accuracy --lambdas 1e-3 --folds 5 --json "+columns)
		if !(cv.Best.Mean > 0.95) {
			t.Errorf("%s: cross-validated accuracy %g", columns, cv.Best.Mean)
		}
	}
}

func TestConstantColumnsWarn(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(30, 1)
	write(t, dir, "xc.csv", strings.ReplaceAll(x, "\n", ",1\n"))
	write(t, dir, "yc.csv", strings.ReplaceAll(y, "\n", ",2\n"))
	succeed(t, dir, "fit --x xc.csv --y yc.csv --header yes --lambda 1e-3 --out m.iokl").
		err("warning: dropped input column 1", "warning: target column 2 constant")
	r := command(t, dir, "fit --x xc.csv --y yc.csv --header yes --lambda 1e-3 --quiet").err("dropped input column 1")
	if strings.Count(r.stderr, "iokl: warning: ") != strings.Count(r.stderr, "\n") {
		t.Errorf("--quiet keeps warnings, and nothing else: %q", r.stderr)
	}
}

func TestMaxOuterIsNoFailure(t *testing.T) {
	dir := folder(t)
	r := command(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:each --lambda 1e-5 --tol 1e-12 --max-outer 2 "+
		"--json").
		err("stopped by --max-outer")
	var got results.Fit
	if r.object(&got); got.Converged || got.OuterIterations > 2 {
		t.Errorf("%+v", r)
	}
}

func TestVerboseSaysMemoryAndIterations(t *testing.T) {
	dir := folder(t)
	succeed(t, dir, "fit --x x.csv --y y.csv --lambda 1e-3 -v").
		err("Gram matrices of 40 samples", "iteration 1")
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
