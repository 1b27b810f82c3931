package sylvester_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

func iterative() []string { return []string{"cg", "rotated", "nystrom"} }

func TestLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	K := spectrum(rng, decay(200, 100, 0.98))
	L := outputKernel(rng, 5, decay(5, 2, 0.5))
	Y := gaussian(rng, 200, 5)
	sys := system(K, L, 1e-4)
	boom := errors.New("boom")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range iterative() {
		for _, c := range []struct {
			name  string
			ctx   context.Context
			opt   sylvester.Options
			start float64
			want  error
		}{
			{"limit", context.Background(), sylvester.Options{Tol: 1e-10, MaxIter: 3}, 0, sylvester.ErrNotConverged},
			{
				"out of reach", context.Background(),
				sylvester.Options{Tol: 1e-19, MaxIter: 5000},
				0,
				sylvester.ErrNotConverged,
			},
			{"cancelled", cancelled, sylvester.Options{}, 0, context.Canceled},
			{"trace stops", context.Background(), sylvester.Options{Trace: func(s sylvester.Step) error {
				if s.Iter >= 4 {
					return boom
				}
				return nil
			}}, 0, boom},
			{"NaN tolerance", context.Background(), sylvester.Options{Tol: math.NaN()}, 0, sylvester.ErrNotFinite},
			{"start not finite", context.Background(), sylvester.Options{}, math.NaN(), sylvester.ErrNotFinite},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				C := blas.NewGeneral(200, 5)
				C.Data[7] = c.start
				res, err := solverNamed(t, name).Solve(c.ctx, C, sys, Y, c.opt)
				if !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				if res.KC.Data == nil {
					return // stopped before the first step
				}
				if r := residual(K, L, 1e-4, C, Y); !(math.Abs(r-res.Residual) <= 1e-6*r) {
					t.Errorf("residual %g, claimed %g", r, res.Residual)
				}
			})
		}
	}
}

// K·C, which a result holds, overflows although K·C·L does not.
func TestProductOverflows(t *testing.T) {
	K, L := blas.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1e200}}, outputKernel(rand.New(rand.NewPCG(1, 1)),
		1, []float64{1e-200})
	for _, name := range sylvester.Names() {
		Y := blas.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1e150}}
		_, err := solverNamed(t, name).Solve(context.Background(), blas.NewGeneral(1, 1), system(K, L, 1), Y,
			sylvester.Options{})
		if !errors.Is(err, sylvester.ErrNotFinite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTraceSeesEveryIteration(t *testing.T) {
	c := cases()[0]
	for _, name := range iterative() {
		t.Run(name, func(t *testing.T) {
			var steps []sylvester.Step
			opt := sylvester.Options{Tol: 1e-8, Trace: func(s sylvester.Step) error {
				steps = append(steps, s)
				return nil
			}}
			C := blas.NewGeneral(c.Y.Rows, c.Y.Cols)
			if _, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y,
				opt); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(steps); i++ {
				if steps[i].Iter != steps[i-1].Iter+1 || steps[i].Columns < steps[i-1].Columns {
					t.Errorf("step %+v follows %+v", steps[i], steps[i-1])
				}
			}
			if first, last := steps[0].Residual, steps[len(steps)-1].Residual; !(last <= 1e-8) ||
				math.Abs(first-1) > 1e-9 && name != "nystrom" {
				t.Errorf("residuals from %g to %g", first, last)
			}
		})
	}
}

func TestUnknownSolver(t *testing.T) {
	if _, err := sylvester.New("magic", sylvester.Config{}); err == nil {
		t.Error("no error for an unknown solver")
	}
}

func TestShapesPanic(t *testing.T) {
	c := cases()[0]
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			C := blas.NewGeneral(c.Y.Rows, c.Y.Cols-1)
			_, _ = solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, sylvester.Options{})
		})
	}
}
