package layout

import (
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upward are the arrows against the order of the code that there may be, and why; [mostUpward] at most. An arrow is an
// import of a package on a higher layer of docs/architecture.md, or a pair of files of the root package each of which
// uses a function, method, constant or variable of the other.
var upward = map[string]string{
	"fit.go and noise.go":       "a fit that learns the noise is several fits",
	"fit.go and within.go":      "a fit within a time is fits to growing parts of the rows",
	"options.go and weights.go": "weights, noise and loss are options, and are checked with the others",
}

const mostUpward = 8

// layers returns the layers of the table in docs/architecture.md by package. A package stands for those below it too.
func layers(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*?) \|`).FindAllStringSubmatch(string(page), -1) {
		layer, _ := strconv.Atoi(row[1])
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			list[strings.TrimSuffix(name[1], "/…")] = layer
		}
	}
	return list
}

// TestUpward compares the arrows against the order of the code with the list.
func TestUpward(t *testing.T) {
	layers := layers(t)
	layer := func(path string) int {
		if path == "" {
			path = "iokl"
		}
		for ; path != "."; path = filepath.ToSlash(filepath.Dir(path)) {
			if n, known := layers[path]; known {
				return n
			}
		}
		return -1
	}
	found := map[string]bool{}
	units(t, func(u *unit) {
		if u.path == "" {
			maps.Copy(found, u.mutual())
		}
		for _, i := range u.types.Imports() {
			if to, own := inside(i.Path()); own && layer(u.path) >= 0 && layer(to) > layer(u.path) {
				found[u.path+" imports "+to] = true
			}
		}
	})
	for arrow := range found {
		if upward[arrow] == "" {
			t.Errorf("%s", arrow)
		}
	}
	for arrow := range upward {
		if !found[arrow] {
			t.Errorf("%s: listed, and not so", arrow)
		}
	}
	if len(upward) > mostUpward || layer("") < 1 || layer("internal/learn/choose") < 1 {
		t.Errorf("%d arrows are allowed, and at most %d may be; the layers are %v", len(upward), mostUpward, layers)
	}
}

// TestLayersHaveAll checks that every package has a layer, except those for tests.
func TestLayersHaveAll(t *testing.T) {
	layers := layers(t)
	tests := []string{"internal/fittest", "internal/layout"}
	for _, p := range list(t, "./...") {
		path, _ := inside(p.ImportPath)
		if path != "" && !slices.Contains(tests, path) && !under(path, slices.Collect(maps.Keys(layers))) {
			t.Errorf("%s is on no layer of docs/architecture.md", path)
		}
	}
}

// mutual are the pairs of files each of which uses a function, method, constant or variable of the other.
func (u *unit) mutual() map[string]bool {
	type arrow struct{ from, to string }
	in := map[types.Object]string{} // the file of each of them
	for id, o := range u.info.Defs {
		switch o := o.(type) {
		case *types.Func:
			in[o] = u.file(id)
		case *types.Const, *types.Var:
			if o.Parent() == u.types.Scope() {
				in[o] = u.file(id)
			}
		}
	}
	uses := map[arrow]bool{}
	for id, o := range u.info.Uses {
		if to, known := in[o]; known {
			uses[arrow{u.file(id), to}] = true
		}
	}
	found := map[string]bool{}
	for a := range uses {
		if a.from < a.to && uses[arrow{a.to, a.from}] {
			found[a.from+" and "+a.to] = true
		}
	}
	return found
}
