// This file makes solvers by their names.

package sylvester

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
)

// Config is what a solver is built with. The zero value is useful.
type Config struct {
	Backend blas.Backend `json:"-"` // nil means blas.Active()
	Seed    uint64       // of the randomized preconditioner
}

// engines holds the constructor of every solver under its name.
var engines = map[string]func(Config) engine{
	"auto":            newAuto,
	"bartels-stewart": func(Config) engine { return &direct{name: "bartels-stewart", factors: &eigen{}} },
	"cg":              newJoint,
	"cholesky":        func(Config) engine { return &direct{name: "cholesky", factors: &cholesky{}} },
	"eigen":           func(Config) engine { return &direct{name: "eigen", factors: &eigen{}} },
	"krylov":          newKrylov,
	"nystrom":         func(cfg Config) engine { return newNystrom(cfg) },
	"rotated":         func(Config) engine { return &rotated{} },
	"tridiagonal":     func(Config) engine { return &direct{name: "tridiagonal", factors: &tridiagonal{}} },
}

// Names lists the solvers of this package in alphabetical order.
func Names() []string {
	return slices.Sorted(maps.Keys(engines))
}

// New returns the solver of that name; see the package comment for what each one does.
func New(name string, cfg Config) (Solver, error) {
	build, ok := engines[name]
	if !ok {
		return nil, fmt.Errorf("sylvester: unknown solver %q (have %s)", name, strings.Join(Names(), ", "))
	}
	cfg.Backend = blas.Or(cfg.Backend)
	s := solver{frame: frame{own: cfg.Backend}, engine: build(cfg)}
	if _, ok := s.engine.(surveyor); ok {
		return &sketchSolver{s}, nil
	}
	return &s, nil
}
