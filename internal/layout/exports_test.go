package layout

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mostExported bounds the exported identifiers that a package declares at package level: types, functions,
// constants and variables, each name counted once, as `go doc -short` lists them with constants and variables one by
// one. Methods and fields do not count.
var mostExported = map[string]int{"sylvester": 40, "linop": 75, "blas": 95}

// mostMethods bounds the methods of an interface, those of embedded interfaces included.
const mostMethods = 8

// wide are the interfaces that may have more methods.
var wide = []string{"blas.Backend"}

// unit is a package of the module, type-checked without its tests and without cgo.
type unit struct {
	path  string // below the root
	set   *token.FileSet
	files []*ast.File
	types *types.Package
	info  types.Info
}

// file is the name of the file of id.
func (u *unit) file(id *ast.Ident) string { return filepath.Base(u.set.Position(id.Pos()).Filename) }

// units calls f with every package of the module.
func units(t *testing.T, f func(u *unit)) {
	t.Helper()
	all := list(t, "-export", "-deps", "./...")
	export := map[string]string{}
	for _, p := range all {
		export[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(export[path])
	})
	for _, p := range all {
		path, own := inside(p.ImportPath)
		if !own {
			continue
		}
		u := &unit{path: path, set: set, info: types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{},
		}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			u.files = append(u.files, file)
		}
		config, err := types.Config{Importer: from}, error(nil)
		if u.types, err = config.Check(p.ImportPath, set, u.files, &u.info); err != nil {
			t.Fatal(err)
		}
		f(u)
	}
}

// TestExported bounds what packages export.
func TestExported(t *testing.T) {
	counted := 0
	units(t, func(u *unit) {
		most, bounded := mostExported[u.path]
		if !bounded {
			return
		}
		counted++
		names := slices.DeleteFunc(u.types.Scope().Names(), func(name string) bool { return !token.IsExported(name) })
		if len(names) > most {
			t.Errorf("package %s exports %d names, more than %d", u.path, len(names), most)
		}
	})
	if counted != len(mostExported) {
		t.Errorf("%d of %d packages were found", counted, len(mostExported))
	}
}

// TestInterfaces bounds the methods of every interface of the module, named or not.
func TestInterfaces(t *testing.T) {
	most, found := 0, 0
	units(t, func(u *unit) {
		for _, file := range u.files {
			name := "" // of the type declaration above
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					name = u.path + "." + n.Name.Name
				case *ast.InterfaceType:
					methods := u.info.TypeOf(n).Underlying().(*types.Interface).NumMethods()
					if slices.Contains(wide, name) {
						found++
						return true
					}
					if most = max(most, methods); methods > mostMethods {
						t.Errorf("%s has %d methods, more than %d", name, methods, mostMethods)
					}
				}
				return true
			})
		}
	})
	if found != len(wide) || most < 2 {
		t.Errorf("%d of %d wide interfaces were found, and others with up to %d methods", found, len(wide), most)
	}
}
