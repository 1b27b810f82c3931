package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/build"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/kernel"
)

func TestHelp(t *testing.T) {
	for _, line := range []string{
		"--help", "fit --help", "predict --help", "cv --help", "info --help",
		"update --help", "granger --help", "export --help", "help kernels", "help tables", "completion bash",
	} {
		if r := succeed(t, t.TempDir(), line); len(r.stdout) < 200 || r.stderr != "" {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

// The help of the command starts with what it does for a table and an example of that, and sentences of all help, of
// the README and of the guides have one reading.
func TestHelpOpensWithATable(t *testing.T) {
	root := moduleRoot(t)
	text := command(t, t.TempDir(), "--help").stdout
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(lines[0], "iokl predicts columns of a table from its other columns") ||
		!strings.HasPrefix(lines[3], "  iokl fit --x table.csv --y-columns price") {
		t.Errorf("help opens with %q", lines[:5])
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%v, pages %q", err, pages)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text += mustRead(t, page)
	}
	for _, line := range []string{
		"fit --help", "predict --help", "cv --help", "info --help", "update --help", "granger --help", "help kernels",
		"help tables",
	} {
		text += command(t, t.TempDir(), line).stdout
	}
	text = strings.Join(strings.Fields(text), " ")
	for _, sentence := range []string{
		"tell about it", "rows are dealt to folds by", "what the targets tell", "turns them too",
		"rows with the same value of which", "what is learned from", "without each of so many", "of --standardize none",
		"held-out targets tell", "makes of a model", "All of a fold", "forecasts of the steps before in for values",
	} {
		if strings.Contains(text, sentence) {
			t.Errorf("there is %q still", sentence)
		}
	}
	succeed(t, t.TempDir(), "help kernels").out("  ranks  ", "  relevant  ", "  directions  ")
}

// moduleRoot is the folder of the module.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// withBench is a folder with a link to the module's folder bench.
func withBench(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(moduleRoot(t), "bench"), filepath.Join(dir, "bench")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	return dir
}

// The first example of the README runs as it stands, on a table that is in the repository.
func TestReadmeExample(t *testing.T) {
	root, dir := moduleRoot(t), withBench(t)
	count := 0
	for line := range strings.Lines(mustRead(t, filepath.Join(root, "README.md"))) {
		line, ok := strings.CutPrefix(line, "    bin/iokl ")
		if !ok {
			continue
		}
		line, _, _ = strings.Cut(line, "   ") // what it is for
		count++
		succeed(t, dir, line)
	}
	if count != 3 {
		t.Errorf("%d lines of the example", count)
	}
	for _, name := range []string{"model.iokl", "page.html", "predicted.csv"} {
		if len(mustRead(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// Help has a line for every kernel of the library.
func TestHelpListsKernels(t *testing.T) {
	help := succeed(t, t.TempDir(), "help kernels")
	for _, kind := range kernel.Kinds() {
		help.out("\n  "+string(kind)+":", kind.Formula())
	}
}

// The examples that help shows run, in a folder with the files they name.
func TestHelpExamplesRun(t *testing.T) {
	dir := exampleFolder(t)
	t.Chdir(dir)
	var last []string // those that need what others have written
	count := 0
	for _, cmd := range newRoot().Commands() {
		if cmd.Name() == "granger" {
			continue // its files are its own tests' matter
		}
		for line := range strings.Lines(cmd.Example) {
			line, ok := strings.CutPrefix(strings.TrimSpace(line), "iokl ")
			if !ok {
				continue
			}
			line, _, _ = strings.Cut(line, " >")
			if testing.Short() && (cmd.Name() == "fit" || cmd.Name() == "cv") && !strings.Contains(line, "--kernel") {
				line = strings.Replace(line, " --budget 60s", "", 1) + " --budget 1s"
			}
			if count++; strings.Contains(line, "model.iokl") && cmd.Name() != "fit" && cmd.Name() != "cv" {
				last = append(last, line)
				continue
			}
			succeed(t, dir, line)
		}
	}
	const fit = "fit --lambda 0.005 --out model.iokl "
	for _, line := range last {
		if strings.Contains(line, "--gram") {
			succeed(t, dir, fit+"--gram kernels.npz:Ks --y kernels.npz:Y")
		} else {
			succeed(t, dir, fit+"--x x.csv --y y.csv --kernel gaussian:all")
		}
		succeed(t, dir, line)
	}
	if count < 12 {
		t.Errorf("only %d examples", count)
	}
}

// exampleFolder has small files of the names in the examples.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	for from, to := range map[string][]string{
		"x.csv": {"series.csv"}, "y.csv": {"next.csv"},
		"xt.csv": {"new.csv", "test.csv"}, "yt.csv": {"truth.csv"}, "g.npz": {"kernels.npz"},
	} {
		for _, name := range to {
			write(t, dir, name, mustRead(t, filepath.Join(dir, from)))
		}
	}
	writeNpy(t, dir, "new.npy", mustTable(t, filepath.Join(dir, "new.csv")).Data)
	holes := mustTable(t, filepath.Join(dir, "y.csv"))
	write(t, dir, "hours.csv", rowsText("hour", holes.Data.Cols, strconv.Itoa))
	write(t, dir, "table.csv", rowsText("rooms,town,price", 40, func(i int) string {
		return fmt.Sprintf("%d,%s,%d", 1+i%7, []string{"Ulm", "Bern"}[i%2], 1000*(i%7)+100*(i%2)+i)
	}))
	for i := range holes.Data.Rows / 3 {
		holes.Data.Data[5*i] = math.NaN()
	}
	write(t, dir, "holes.csv", csvOf(holes))
	digits := mustTable(t, filepath.Join("..", "..", "bench", "data", "digits.csv.gz"))
	write(t, dir, "digits.csv.gz", packed(csvOf(&table.Table{Data: blas.View(digits.Data, 0, 0, 30, 65)})))
	write(t, dir, "cv.json", command(t, dir, "cv --x x.csv --y y.csv --kernel linear:all --lambdas 1e-2,1e-3 --folds "+
		"3 --json").stdout)
	return dir
}

// packed is the text gzipped.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func TestVersion(t *testing.T) {
	for _, line := range []string{"version", "--version"} {
		i := object[build.Info](t, t.TempDir(), line+" --json")
		if i.Version != build.Version || i.Go != runtime.Version() || i.Backend != blas.Default().Name() {
			t.Errorf("%s: %+v", line, i)
		}
		r := succeed(t, t.TempDir(), line).begins("iokl " + build.Version + ", commit ")
		if strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for _, line := range []string{"--json", "version 2", "--version fit"} {
		refuse(t, t.TempDir(), line)
	}
}

// TestFlagsToldOf checks that every flag of every command is told of, and that nothing is told of what is no flag.
func TestFlagsToldOf(t *testing.T) {
	told := map[string]bool{}
	for _, block := range strings.Split(strings.TrimSpace(mustRead(t, "help/flags.txt")), "\n\n") {
		name, text, _ := strings.Cut(block, "\n")
		if told[name] || text == "" {
			t.Errorf("%q stands twice in flags.txt, or without a text", name)
		}
		told[name] = true
	}
	root := newRoot()
	used := map[string]bool{}
	for _, c := range append(root.Commands(), root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("nothing is said about %s --%s", c.Name(), f.Name)
			}
			if own := c.Name() + " --" + f.Name; told[own] {
				used[own] = true
			} else {
				used["--"+f.Name] = true
			}
		})
	}
	for name := range told {
		if !used[name] {
			t.Errorf("flags.txt tells of %q, which is no flag", name)
		}
	}
}

// csvOf is a table as CSV, with NaN as an empty cell.
func csvOf(tab *table.Table) string {
	return rowsText(strings.Join(tab.Names, ","), tab.Data.Rows, func(i int) string {
		cells := strings.Fields(strings.Trim(fmt.Sprint(blas.Row(tab.Data, i)), "[]"))
		return strings.ReplaceAll(strings.Join(cells, ","), "NaN", "")
	})
}
