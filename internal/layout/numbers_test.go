package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostNumbers is how many numbers the choice of a setting has at most.
const mostNumbers = 14

// formulas have numbers that a formula, the width of a number in bytes, or a text needs.
var formulas = []string{
	"Brief", "standardError", "atOnce", "rungs", "LambdasAround", // of package choose
	"Path", "Tol", "CompareTol", "ExactTol", "Folds", "StreamFolds", "IntervalLevel", "IntervalSamples",
	"IntervalNumbers", "SurveySamples", "RowsPerFeature", "CheckpointEvery", // of defaults, which no choice asks
	"Outline", "InFeatures", "Features", "standardising", "bent", // of dictionary
	"shapes", "rowsAtOnce", "minimize", // of lengths
}

// TestNumbers compares the numbers of the choice of a setting with the table of docs/race.md. A number is any but
// 0, 1, 2 and those in base 16, which are of rounding; its name is that of its constant or function.
func TestNumbers(t *testing.T) {
	page, err := os.ReadFile("../../docs/race.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // names and values
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			rows[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	count := 0
	for _, dir := range []string{"choose", "defaults", "dictionary", "dictionary/lengths"} {
		for name, values := range numbers(t, filepath.Join("../learn", dir)) {
			if slices.Contains(formulas, name) {
				continue
			}
			if value := strings.Join(values, " "); rows[name] != value {
				t.Errorf("%s has the numbers %s, of which docs/race.md says %q", name, value, rows[name])
			}
			delete(rows, name)
			count++
		}
	}
	for name := range rows {
		t.Errorf("docs/race.md has %s, which is no number of the choice", name)
	}
	if bounds := 4; count > mostNumbers+bounds { // of time and memory
		t.Errorf("the choice has %d numbers", count-bounds)
	}
}

// numbers are the numbers of a package by the constant, variable or function that has them.
func numbers(t *testing.T, dir string) map[string][]string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	collect := func(name string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && (lit.Kind == token.INT || lit.Kind == token.FLOAT) &&
				!slices.Contains([]string{"0", "1", "2", "0.0", "1."}, lit.Value) &&
				!strings.HasPrefix(lit.Value, "0x") {
				found[name] = append(found[name], lit.Value)
			}
			return true
		})
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				collect(d.Name.Name, d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						collect(v.Names[0].Name, v)
					}
				}
			}
		}
	}
	return found
}
