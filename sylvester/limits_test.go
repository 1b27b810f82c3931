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
	rng := rand.New(rand.NewPCG(1, 2))
	c := testCase{
		K: spectrum(rng, decay(60, 10, 0.8)), L: outputKernel(rng, 7, decay(7, 3, 0.5)), mu: 0.3,
		Y: gaussian(rng, 60, 7), tol: 1e-10,
	}
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
