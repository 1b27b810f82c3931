package bcd

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// TestResumeBehindFactor cancels a fit of a kernel of single precision, whose linear systems are solved behind a factor
// of it, and goes on from its checkpoint to the same optimum.
func TestResumeBehindFactor(t *testing.T) {
	if testing.Short() {
		t.Skip("in its long form")
	}
	const l, tol = linop.KeepBoth + 8, 1e-4
	be, rng := blas.Default(), rand.New(rand.NewPCG(3, 4))
	X, Y := blas.NewGeneral(l, 8), blas.NewGeneral(l, 2)
	for i := range l {
		sum, product := 0., 1.
		for j := range X.Cols {
			x := rng.Float64()
			X.Data[i*X.Stride+j] = x
			sum += math.Sin(float64(j+1) * x)
			product *= .5 + x
		}
		Y.Data[2*i], Y.Data[2*i+1] = sum+.01*rng.NormFloat64(), sum+product+.01*rng.NormFloat64()
	}
	P, line := be.NewPacked(l, blas.Float32), make([]float64, l)
	for i := range l {
		for j := range i + 1 {
			sum := 0.0
			for k, v := range blas.Row(X, i) {
				sum += (v - blas.Row(X, j)[k]) * (v - blas.Row(X, j)[k])
			}
			line[j] = math.Exp(-sum / 2)
		}
		P.Set(i, 0, line[:i+1])
	}
	P.Complete()
	p := &Problem{
		Space: NewSamples(linop.NewGram(P, be), Y), Lambda: 1e-5 / l, Tau: 2, Norm: regularizer.Lp{P: 1}, Model: Output,
	}
	opt := Options{Tol: tol}
	whole, err := Solve(t.Context(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Sylvester != "cholesky" {
		t.Errorf("solved by %s", whole.Sylvester)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var saved bytes.Buffer
	opt.Trace = func(s Step) error {
		if s.SylvesterSolves == 0 || saved.Len() > 0 {
			return nil
		}
		cancel()
		return s.State().Encode(&saved, p)
	}
	if _, err := Solve(ctx, p, opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	opt.Trace = nil
	if opt.Start, err = DecodeState(&saved, p); err != nil {
		t.Fatal(err)
	}
	res, err := Solve(t.Context(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(res.Objective-whole.Objective) <= 2*tol*whole.Objective) || res.Sylvester != whole.Sylvester ||
		res.SylvesterSolves <= opt.Start.SylvesterSolves {
		t.Errorf("resumed by %s to %.8g after %d solves, uninterrupted %.8g after %d", res.Sylvester, res.Objective,
			res.SylvesterSolves, whole.Objective, whole.SylvesterSolves)
	}
}
