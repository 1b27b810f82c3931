package sylvester

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// asGeneral solves K·C·L + μC = Y as a general equation, by the method it is
// named after. It knows nothing of symmetry and is here to be compared with. The
// factors are kept until Invalidate while L stays the same. Memory: up to 9l² + 5n² + 6ln floats.
type asGeneral struct {
	frame
	name    string
	general interface {
		Factor(A, B blas.General) error
		Solve(X blas.General, mu float64, Q blas.General) (GeneralResult, error)
	}
	order int            // l of the factors kept
	L     linop.Spectral // of the factors kept
	norm  float64        // upper bound of ‖K‖₂
	kept  bool
}

func newBartelsStewart(cfg Config) Solver {
	return &asGeneral{frame: frame{be: cfg.Backend}, name: "bartels-stewart", general: &BartelsStewart{Backend: cfg.Backend}}
}

func newHessenbergSchur(cfg Config) Solver {
	return &asGeneral{frame: frame{be: cfg.Backend}, name: "hessenberg-schur", general: &HessenbergSchur{Backend: cfg.Backend}}
}

func (s *asGeneral) Name() string { return s.name }

func (s *asGeneral) Invalidate() { s.kept = false }

func (s *asGeneral) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	return s.exactly(s.Name(), C, opt, &s.norm, func(res *Result) error {
		res.Iter = 1
		return s.solve(ctx, C, sys, Y)
	})
}

func (s *asGeneral) solve(ctx context.Context, C blas.General, sys System, Y blas.General) error {
	if l, n := float64(Y.Rows), float64(Y.Cols); !s.kept {
		if err := memory.Check("sylvester: the solver "+s.Name(), 8*(9*l*l+5*n*n+6*l*n), "use the solver tridiagonal, or an iterative one"); err != nil {
			return err
		}
	}
	if err := s.begin(C, sys, Y); err != nil {
		return err
	}
	if err := s.factor(ctx); err != nil {
		return err
	}
	_, err := s.general.Solve(C, sys.Mu, Y)
	return err
}

// factor computes the Schur forms unless those of this K and L are kept.
func (s *asGeneral) factor(ctx context.Context) error {
	if s.kept && s.order == s.sys.K.Dim() && same(&s.L, s.sys.L) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.kept = false
	l, n := s.sys.K.Dim(), s.sys.L.Dim()
	K, L := blas.NewGeneral(l, l), blas.NewGeneral(n, n)
	linop.Dense(K, s.sys.K)
	s.sys.L.Dense(s.be, L)
	if err := s.general.Factor(K, L); err != nil {
		return err
	}
	s.norm = infNorm(K)
	s.L = *s.sys.L.Clone()
	s.order, s.kept = l, true
	return nil
}

// same reports whether a and b are equal element by element.
func same(a, b *linop.Spectral) bool {
	if a.Dim() != b.Dim() || a.Rank() != b.Rank() {
		return false
	}
	if !slices.Equal(a.S, b.S) {
		return false
	}
	for i := range a.Dim() {
		if !slices.Equal(blas.Row(a.V, i), blas.Row(b.V, i)) {
			return false
		}
	}
	return true
}
