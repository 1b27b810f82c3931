package granger_test

import (
	"encoding/json"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// poisoned is a backend of which every method panics.
type poisoned struct{ blas.Backend }

// A backend of the options does all that a study does: the active one is not asked.
func TestBackendOfOptions(t *testing.T) {
	saved := blas.Active()
	t.Cleanup(func() { blas.Use(saved) })
	g := granger.LinearVAR(4, 60, 1, 1, 1, 1)
	for name, opt := range map[string]granger.Options{
		"default":   {},
		"groups":    {Kernels: []string{"gaussian:groups:median"}, Lambdas: []float64{0.01, 0.1}},
		"features":  {Kernels: []string{"rff:gaussian:groups:median:20"}},
		"landmarks": {Kernels: []string{"nystrom:gaussian:groups:median:10"}},
		"nonlinear": {Nonlinear: true},
	} {
		t.Run(name, func(t *testing.T) {
			blas.Use(poisoned{})
			defer blas.Use(saved)
			opt.Backend = blas.NewNative()
			s, err := granger.NewStudy(t.Context(), &g.Data, opt)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Infer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			// Some of these refuse some options.
			_, _ = s.Stability(t.Context(), 1, granger.Rounds{To: 2})
			_, _ = s.Null(t.Context(), granger.Rounds{To: 2})
			_, _ = s.Improvement(t.Context())
			_, _ = s.Forecast(t.Context(), 2, 0)
			_, _ = s.Responses(t.Context(), r.Links(0))
			_, _ = s.Simultaneous(t.Context(), 0)
			_, _ = s.Doubts(t.Context(), 0)
		})
	}
}
