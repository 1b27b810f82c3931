package bcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// missingJoint is the golden problem with missing cells, of minimum 0.3026890874626972.
func missingJoint(t testing.TB) (*Problem, map[string]array) {
	z := golden(t, "missing_joint")
	return &Problem{Space: NewSamples(gram(z["Ks"]), z["Y"].matrix()), Lambda: 0.02, Tau: 4}, z
}

const missingJointF = 0.3026890874626972

// withHoles is a copy of Y with NaN in the given share of the cells.
func withHoles(Y blas.General, share float64, seed uint64) blas.General {
	rng, Z := newRand(seed), blas.Clone(Y)
	for i := range Z.Data {
		if rng.Float64() < share {
			Z.Data[i] = math.NaN()
		}
	}
	return Z
}

func TestMissingGolden(t *testing.T) {
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			p, z := missingJoint(t)
			res, err := Solve(t.Context(), p, Options{Tol: 1e-8, Sylvester: name})
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(res.Objective-missingJointF) <= 1e-8*missingJointF) || !(res.RelativeGap <= 1e-8) {
				t.Errorf("objective %.12g (reference %.12g), relative gap %g", res.Objective, missingJointF,
					res.RelativeGap)
			}
			want := z["predictions"].matrix()
			if d := math.Sqrt(distance2(predict(z["Kx"], res), want)); !(d <= 1e-4*blas.Frob(want)) {
				t.Errorf("predictions differ by %g of %g", d, blas.Frob(want))
			}
			for i, v := range z["Y"].data {
				if math.IsNaN(v) && res.C.Data[i] != 0 {
					t.Fatalf("coefficient %d of a missing cell is %g", i, res.C.Data[i])
				}
			}
			t.Logf("%d steps, %d solves", res.OuterIterations, res.SylvesterSolves)
		})
	}
}

// Every method lowers the objective, and its certificate covers what the best point is short of.
func TestMissingMethods(t *testing.T) {
	for _, solver := range Solvers() {
		t.Run(solver, func(t *testing.T) {
			p, _ := missingJoint(t)
			last := math.Inf(1)
			res, err := Solve(t.Context(), p, Options{
				Solver: solver, Sylvester: "cholesky", Tol: 1e-8, InnerTol: 1e-12,
				MaxOuter: 60, Trace: func(s Step) error {
					if solver != "reduced" && s.Objective > last*(1+1e-9) {
						t.Errorf("step %d raises the objective from %.12g to %.12g", s.Iter, last, s.Objective)
					}
					last = s.Objective
					return nil
				},
			})
			if err != nil && !errors.Is(err, ErrNotConverged) {
				t.Fatal(err)
			}
			t.Logf("objective %.9g, gaps %.3g and %.3g after %d steps", res.Objective, res.GapEta, res.GapL,
				res.OuterIterations)
			if solver != "okl" && !(res.Objective >= missingJointF*(1-1e-8) && res.Objective <= 1.01*missingJointF) {
				t.Errorf("objective %.9g, the least is %.9g", res.Objective, missingJointF)
			}
		})
	}
}

// Where most cells are missing, steps from L that fill them in would each close a tenth of the gap.
func TestMissingManyCells(t *testing.T) {
	rng := newRand(33)
	K := linop.NewGramSum([]*blas.Sym{gaussian(randn(rng, 33, 3), 0.2, blas.Float64), gaussian(randn(rng, 33, 3), 0.02,
		blas.Float64)}, nil, blas.Float64)
	p := &Problem{Space: NewSamples(K, withHoles(randn(rng, 33, 35), 0.9, 34)), Lambda: 1e-4, Tau: 35}
	res, err := Solve(t.Context(), p, Options{Tol: 1e-4})
	if err != nil || res.OuterIterations > 100 {
		t.Errorf("%d steps, %v", res.OuterIterations, err)
	}
}

// Rows without an observed cell change nothing.
func TestMissingRows(t *testing.T) {
	z := golden(t, "missing_joint")
	Ks, Y := z["Ks"], z["Y"].matrix()
	l, m := Y.Rows, Ks.shape[0]
	var keep []int
	for i := range l {
		if i%4 != 1 {
			keep = append(keep, i)
		}
	}
	blank, part := blas.Clone(Y), blas.NewGeneral(len(keep), Y.Cols)
	for i := range l {
		if i%4 == 1 {
			fill(blas.Row(blank, i), math.NaN())
		}
	}
	less := array{shape: []int{m, len(keep), len(keep)}}
	for j := range m {
		for _, a := range keep {
			for _, b := range keep {
				less.data = append(less.data, Ks.slab(j).Data[a*l+b])
			}
		}
	}
	for k, i := range keep {
		copy(blas.Row(part, k), blas.Row(Y, i))
	}
	solve := func(K *linop.GramSum, Y blas.General) *Result {
		res, err := Solve(t.Context(), &Problem{Space: NewSamples(K, Y), Lambda: 0.02, Tau: 4}, Options{Tol: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	with, without := solve(gram(Ks), blank), solve(gram(less), part)
	if d := math.Abs(with.Objective - without.Objective); !(d <= 1e-8*without.Objective) {
		t.Errorf("objective %.12g with the empty rows, %.12g without", with.Objective, without.Objective)
	}
	for i := range l {
		if i%4 == 1 && slices.ContainsFunc(blas.Row(with.C, i), func(v float64) bool { return v != 0 }) {
			t.Errorf("the empty row %d has coefficients", i)
		}
	}
}

// A target that is observed everywhere makes the space that it made before there were others.
func TestMissingNone(t *testing.T) {
	z := golden(t, "joint_p1.0")
	if !NewSamples(gram(z["Ks"]), z["Y"].matrix()).shared().complete() {
		t.Error("targets without a missing cell are not taken as complete")
	}
	Y := z["Y"].matrix()
	for i := range Y.Data {
		Y.Data[i] = math.NaN()
	}
	if _, err := Solve(t.Context(), &Problem{Space: NewSamples(gram(z["Ks"]), Y), Lambda: 1, Tau: 1},
		Options{}); !errors.Is(err, ErrInput) {
		t.Errorf("error %v without an observed cell", err)
	}
}

// A fit that is stopped goes on from its checkpoint to the same optimum.
func TestMissingResume(t *testing.T) {
	p, z := missingJoint(t)
	stop := errors.New("stop")
	var state *State
	_, err := Solve(t.Context(), p, Options{Tol: 1e-8, Trace: func(s Step) error {
		if s.Iter < 6 {
			return nil
		}
		state = s.State()
		return stop
	}})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := state.Encode(&file, p); err != nil {
		t.Fatal(err)
	}
	saved := file.Bytes()
	state, err = DecodeState(bytes.NewReader(saved), p)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Solve(t.Context(), p, Options{Tol: 1e-8, Start: state})
	if err != nil || !(math.Abs(res.Objective-missingJointF) <= 1e-8*missingJointF) {
		t.Errorf("objective %.12g, %v", res.Objective, err)
	}
	// A cell that is 0 is not one that is missing.
	Y := blas.Clone(z["Y"].matrix())
	Y.Data[slices.IndexFunc(Y.Data, math.IsNaN)] = 0
	other := *p
	other.Space = NewSamples(gram(z["Ks"]), Y)
	if _, err := DecodeState(bytes.NewReader(saved), &other); !errors.Is(err, ErrForeign) {
		t.Errorf("error %v for a cell more", err)
	}
}

// Fits of realistic size converge, and warm starts make C steps cheap.
func TestMissingCells(t *testing.T) {
	if testing.Short() {
		t.Skip("fits of 300 samples")
	}
	K, Y := wideTask(300, 20)
	for _, share := range []float64{0.02, 0.3, 0.6} {
		for _, lambda := range []float64{1e-2, 1e-4} {
			t.Run(fmt.Sprintf("missing=%g/lambda=%g", share, lambda), func(t *testing.T) {
				p := &Problem{Space: NewSamples(K, withHoles(Y, share, 3)), Lambda: lambda, Tau: 20}
				res, err := Solve(context.Background(), p, Options{Tol: 1e-5})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("objective %.9g, relative gap %.2g, %d steps, %d solves, %d columns by %s", res.Objective,
					res.RelativeGap, res.OuterIterations, res.SylvesterSolves, res.KernelMultiplies, res.Sylvester)
			})
		}
	}
}
