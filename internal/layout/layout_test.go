package layout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/iokl/iokl"

// rank orders the packages: a package may import only packages of a lower rank,
// or of its own directory tree. "" is the root package. Of a path the longest part
// that is listed counts.
var rank = map[string]int{
	"internal/base": 0, "internal/layout": 0,
	"internal/dense": 1, "formula": 1,
	"blas": 2, "schema": 2,
	"internal/files": 3,
	"linop":          4, "kernel": 4,
	"cg": 5, "lanczos": 5, "rff": 5,
	"frankwolfe": 6, "sylvester": 6, "stream": 6, "loss": 6,
	"regularizer":          7,
	"bcd":                  8,
	"reml":                 9,
	"internal/learn/fault": 9, "internal/learn/defaults": 9, "internal/learn/learntest": 9,
	"internal/learn/columns":    10,
	"internal/learn/dictionary": 11, "internal/learn/model": 11,
	"internal/learn":      12,
	"internal/learn/sums": 13, "internal/learn/choose": 13,
	"internal/learn/samples": 14,
	"internal/learn/update":  15,
	"":                       16, "granger": 16,
	"internal/host": 17, "internal/fittest": 17, "cmd/internal": 17,
	"cmd/iokl": 18, "bench": 18,
	"bench/data":   19,
	"bench/cases":  20,
	"bench/report": 21,
	"cmd":          22, "capi": 22,
}

// solvers neither log nor read clocks or the environment.
var solvers = []string{
	"linop", "cg", "lanczos", "frankwolfe", "sylvester", "regularizer", "loss", "bcd", "reml",
}

// cgo lists the only packages that may import "C".
var cgo = []string{"blas/openblas", "internal/base/mpi", "capi"}

// light lists the modules that a program embedding the library may take along.
var light = []string{
	module,
	"gonum.org/v1/gonum",
	"gonum.org/v1/netlib", // tag openblas
	"github.com/klauspost/cpuid/v2",
	"golang.org/x/sys",   // of cpuid
	"golang.org/x/tools", // of gonum's optimize
}

// heavy packages serve the commands and may use plots, flags and file formats.
var heavy = []string{"bench", "cmd", "internal/files/page", "internal/files/picture", "internal/files/table"}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Export     string // file with its export data, where go list was asked for it
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// list runs go list on the module with the given build tags.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// inside returns the path of a package below the module's root.
func inside(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// room is the part of a path that has a rank, "?" for none.
func room(path string) string {
	for {
		if _, known := rank[path]; known {
			return path
		}
		at := strings.LastIndex(path, "/")
		if at < 0 {
			return "?"
		}
		path = path[:at]
	}
}

// under tells whether path is one of dirs or below one.
func under(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
}

// violation says what is wrong with package from importing to, both below the root; "" means nothing.
func violation(from, to string) string {
	from, target := room(from), room(to)
	rf, known := rank[from]
	if !known {
		return "is not in the layout: give it a rank in internal/layout"
	}
	rt, known := rank[target]
	switch {
	case !known:
		return "imports " + to + ", which is not in the layout"
	case from == target || rt < rf:
		return ""
	}
	return "imports " + to + ", which is not below it"
}

func TestImportDirection(t *testing.T) {
	for _, p := range list(t, "./...") {
		from, _ := inside(p.ImportPath)
		if msg := violation(from, from); msg != "" {
			t.Errorf("%s %s", p.ImportPath, msg)
			continue
		}
		for _, imp := range p.Imports {
			if to, ok := inside(imp); ok {
				if msg := violation(from, to); msg != "" {
					t.Errorf("%s %s", p.ImportPath, msg)
				}
			}
		}
	}
}

func TestViolations(t *testing.T) {
	for _, c := range []struct {
		from, to string
		bad      bool
	}{
		{"linop", "blas", false},
		{"blas/native", "blas", false},
		{"blas", "linop", true},
		{"cg", "lanczos", true},
		{"sylvester", "cg", false},
		{"bcd", "", true},
		{"", "bcd", false},
		{"bench", "cmd/mklbench", true},
		{"bench", "bench/data", true},
		{"bench/cases/peers", "bench/data", false},
		{"bench/cases/peers", "bench/report", true},
		{"cmd/iokl", "bench/data", true},
		{"cmd/mklbench", "bench", false},
		{"unheard", "blas", true},
		{"bcd", "unheard", true},
		{"internal/files/table", "blas", false},
		{"blas", "internal/files/table", true},
		{"internal/base/par", "bcd", true},
		{"internal/learn/sums", "internal/learn", false},
		{"internal/learn/samples", "internal/learn/sums", false},
		{"internal/learn", "internal/learn/samples", true},
		{"internal/learn/choose", "internal/learn/samples", true},
		{"bcd", "internal/learn/fault", true},
		{"", "internal/learn/sums", false},
	} {
		if got := violation(c.from, c.to); (got != "") != c.bad {
			t.Errorf("%q importing %q: %q", c.from, c.to, got)
		}
	}
}

func TestSolversStayQuiet(t *testing.T) {
	for _, p := range list(t, "./...") {
		from, _ := inside(p.ImportPath)
		if !under(from, solvers) {
			continue
		}
		for _, bad := range []string{"log", "log/slog", "os", "time"} {
			if slices.Contains(p.Imports, bad) {
				t.Errorf("%s imports %s: solvers neither print, log nor read clocks", p.ImportPath, bad)
			}
		}
	}
}

// sources calls f with the path below the root and the text of every file of the tree whose name has one of
// these endings, whatever build tags it asks for.
func sources(t *testing.T, endings []string, f func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains(endings, filepath.Ext(path)) {
			return err
		}
		seen++
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(filepath.ToSlash(rel), text)
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d files read: %v", seen, err)
	}
}

// imports calls f with the imports of every Go file of the tree.
func imports(t *testing.T, f func(path string, lines *token.File, specs []*ast.ImportSpec)) {
	t.Helper()
	sources(t, []string{".go"}, func(path string, text []byte) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		f(path, set.File(file.Pos()), file.Imports)
	})
}

// The root package declares its types: go doc shows no fields of an alias.
func TestRootDeclaresItsTypes(t *testing.T) {
	sources(t, []string{".go"}, func(path string, text []byte) {
		if strings.Contains(path, "/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Assign.IsValid() {
				t.Errorf("%s: %s is an alias", path, spec.Name)
			}
			return true
		})
	})
}

func TestCgo(t *testing.T) {
	imports(t, func(file string, _ *token.File, specs []*ast.ImportSpec) {
		for _, imp := range specs {
			if imp.Path.Value == `"C"` && !slices.Contains(cgo, path.Dir(file)) {
				t.Errorf("%s imports \"C\": only %v may", file, cgo)
			}
		}
	})
}

// Imports stand in groups: the standard library, other modules, this one.
func TestImportGroups(t *testing.T) {
	group := func(quoted string) int {
		switch _, own := inside(strings.Trim(quoted, `"`)); {
		case own:
			return 2
		case strings.Contains(strings.Split(quoted, "/")[0], "."):
			return 1
		}
		return 0
	}
	imports(t, func(file string, lines *token.File, specs []*ast.ImportSpec) {
		for i := 1; i < len(specs); i++ {
			a, b := specs[i-1], specs[i]
			ga, gb := group(a.Path.Value), group(b.Path.Value)
			apart := lines.Line(b.Pos())-lines.Line(a.Pos()) > 1
			if ga > gb || ga < gb && !apart {
				t.Errorf("%s: %s and %s: want the standard library, other modules and this one, each in a group", file,
					a.Path.Value, b.Path.Value)
			}
		}
	})
}

func TestLibraryStaysLight(t *testing.T) {
	for _, tags := range []string{"", "openblas"} {
		moduleOf := map[string]string{}
		all := list(t, "-e", "-deps", "-tags", tags, "./...")
		for _, p := range all {
			if p.Module != nil {
				moduleOf[p.ImportPath] = p.Module.Path
			}
		}
		for _, p := range all {
			from, ok := inside(p.ImportPath)
			if !ok || under(from, heavy) {
				continue
			}
			for _, dep := range p.Deps {
				if m := moduleOf[dep]; m != "" && !slices.Contains(light, m) {
					t.Errorf("%s (tags %q) takes along %s of module %s", p.ImportPath, tags, dep, m)
				}
			}
		}
	}
}

// TestColumns holds lines of Go, C and Python to 120 columns, a tab being four of them. Raw strings of Go and
// the flags of cgo are left alone.
func TestColumns(t *testing.T) {
	sources(t, []string{".go", ".c", ".h", ".py"}, func(path string, text []byte) {
		var raw map[int]bool
		if strings.HasSuffix(path, ".go") {
			raw = rawLines(text)
		}
		for i, line := range strings.Split(string(text), "\n") {
			wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if wide > 120 && !raw[i+1] && !strings.HasPrefix(line, "#cgo") {
				t.Errorf("%s:%d: %d columns", path, i+1, wide)
			}
		}
	})
}

// rawLines is the set of lines, from 1, that raw strings touch.
func rawLines(text []byte) map[int]bool {
	lines := map[int]bool{}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && lit[0] == '`' {
			for i := file.Line(pos); i <= file.Line(pos)+strings.Count(lit, "\n"); i++ {
				lines[i] = true
			}
		}
	}
}

// asOne are the folders that docs/architecture.md names in place of each package below them.
var asOne = []string{"bcd", "bench", "blas", "cmd", "internal/learn"}

// TestArchitecture compares the table of packages and their users with the imports.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	users := map[string][]string{}
	imports(t, func(file string, _ *token.File, specs []*ast.ImportSpec) {
		user := strings.Replace(path.Dir(file), ".", "iokl", 1)
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		users[user] = slices.Clip(users[user]) // a package without users is there too
		for _, f := range asOne {
			if under(user, []string{f}) {
				user = f
			}
		}
		for _, i := range specs {
			p, own := inside(strings.Trim(i.Path.Value, `"`))
			if p = cmp.Or(p, "iokl"); own && !slices.Contains(users[p], user) {
				users[p] = append(users[p], user)
			}
		}
	})
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ").FindAllStringSubmatch(string(text), -1) {
		if _, known := users[row[1]]; !known {
			t.Errorf("docs/architecture.md has a row of %s, which is no package", row[1])
		}
	}
	for p, by := range users {
		slices.Sort(by)
		row := "| `" + p + "` | `" + strings.Join(by, "`, `") + "` | "
		if by == nil {
			row = "`" + p + "`"
		}
		if !strings.HasPrefix(p, "bench/cases/") && !strings.Contains(string(text), row) {
			t.Errorf("docs/architecture.md lacks %s", row)
		}
	}
}
