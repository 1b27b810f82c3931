package bcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/checkpoint"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
)

// interrupted runs p until the given outer iteration and returns the checkpoint written there.
func interrupted(t *testing.T, p *Problem, opt Options, at int) []byte {
	t.Helper()
	var saved bytes.Buffer
	stop := errors.New("killed")
	opt.Trace = func(s Step) error {
		if s.Iter < at || s.SylvesterSolves == 0 {
			return nil
		}
		if err := s.State().Encode(&saved, p); err != nil {
			return err
		}
		return stop
	}
	if _, err := Solve(context.Background(), p, opt); !errors.Is(err, stop) {
		t.Fatalf("not interrupted: %v", err)
	}
	return saved.Bytes()
}

// A run continued from a checkpoint ends at the same optimum, in either space and
// with reduced outputs, and goes on counting.
func TestResume(t *testing.T) {
	K, Y := awkward(4, 20, 3)
	wide := blas.NewGeneral(20, 30) // more outputs than samples
	blas.Mul(blas.Active(), wide, false, false, Y, randn(newRand(1), 3, 30))
	_, feats := lowrank(t)
	for name, p := range map[string]*Problem{
		"samples":  {Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}},
		"wide":     {Space: NewSamples(K, wide), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}},
		"features": feats,
	} {
		for _, solver := range []string{"reduced", "paper"} {
			opt := Options{Solver: solver, Tol: 1e-8, Sylvester: "eigen"}
			if solver == "paper" {
				opt.Tol, opt.Schedule = 2e-3, []Inexact{{CG: 1e-8, SDP: 300}}
			}
			whole, err := Solve(context.Background(), p, opt)
			if err != nil {
				t.Fatal(name, solver, err)
			}
			b := interrupted(t, p, opt, 2)
			state, err := DecodeState(bytes.NewReader(b), p)
			if err != nil {
				t.Fatal(err)
			}
			opt.Start = state
			res, err := Solve(context.Background(), p, opt)
			if err != nil {
				t.Fatal(name, solver, err)
			}
			if math.Abs(res.Objective-whole.Objective) > 2*opt.Tol*whole.Objective {
				t.Errorf("%s, %s: resumed to %.12g, uninterrupted %.12g", name, solver, res.Objective, whole.Objective)
			}
			if res.OuterIterations <= state.Iter || res.SylvesterSolves <= state.SylvesterSolves {
				t.Errorf("%s, %s: %d iterations and %d solves after resuming from %d and %d", name, solver,
					res.OuterIterations, res.SylvesterSolves, state.Iter, state.SylvesterSolves)
			}
		}
	}
}

func TestCheckpointRefused(t *testing.T) {
	K, Y := awkward(4, 12, 2)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}}
	whole := interrupted(t, p, Options{Tol: 1e-8, Sylvester: "eigen"}, 1)
	if _, err := DecodeState(bytes.NewReader(whole), p); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := DecodeState(bytes.NewReader(whole[:n]), p); !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
		altered := bytes.Clone(whole)
		altered[n] ^= 0x10
		if _, err := DecodeState(bytes.NewReader(altered), p); !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("byte %d altered: %v", n, err)
		}
	}
	// It lists more output kernels than there are kernels: none of them is made.
	state, err := DecodeState(bytes.NewReader(whole), p)
	if err != nil {
		t.Fatal(err)
	}
	h := header{State: *state, Ranks: slices.Repeat([]int{2}, 1<<16)}
	h.Problem, h.Probes = p.fingerprint()
	var listed bytes.Buffer
	if err := checkpoint.Write(&listed, checkpointMagic, h, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeState(&listed, p); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), "65536") {
		t.Errorf("many output kernels: %v", err)
	}
	moved := blas.Clone(Y)
	moved.Data[0] += 1e-9
	var terms []*blas.Sym
	for j := range K.Len() {
		terms = append(terms, K.Term((j+1)%K.Len()))
	}
	for name, q := range map[string]Problem{
		"targets": {Space: NewSamples(K, moved), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}},
		"lambda":  {Space: NewSamples(K, Y), Lambda: 0.02, Tau: 3, Norm: regularizer.Lp{P: 1.3}},
		"norm":    {Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1}},
		"kernels": {
			Space: NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y), Lambda: 0.01, Tau: 3,
			Norm: regularizer.Lp{P: 1.3},
		},
	} {
		if _, err := DecodeState(bytes.NewReader(whole), &q); !errors.Is(err, ErrForeign) {
			t.Errorf("other %s: %v", name, err)
		}
	}
	weighted := func(first float64) *Problem {
		W := blas.Like(Y)
		fill(W.Data, 1)
		W.Data[0] = first
		return &Problem{Space: NewLoss(K, Y, W, loss.Loss{Kind: loss.Huber, Parameter: 1}, false), Lambda: 0.01, Tau: 3}
	}
	whole = interrupted(t, weighted(1), Options{Tol: 1e-8}, 1)
	if _, err := DecodeState(bytes.NewReader(whole), weighted(2)); !errors.Is(err, ErrForeign) {
		t.Errorf("other weights: %v", err)
	}
}

// A state of other shapes cannot be started from.
func TestStartShapes(t *testing.T) {
	K, Y := awkward(4, 12, 2)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3}
	for name, s := range map[string]*State{
		"weights":      {Eta: make([]float64, 3), L: linop.ScaledIdentity(2, 1), X: blas.NewGeneral(12, 2)},
		"no L":         {Eta: make([]float64, 6), X: blas.NewGeneral(12, 2)},
		"L":            {Eta: make([]float64, 6), L: linop.ScaledIdentity(3, 1), X: blas.NewGeneral(12, 2)},
		"coefficients": {Eta: make([]float64, 6), L: linop.ScaledIdentity(2, 1), X: blas.NewGeneral(11, 2)},
	} {
		if res, err := Solve(context.Background(), p, Options{Start: s}); res != nil || !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecodeState changes the body of a checkpoint, behind its checksum.
func FuzzDecodeState(f *testing.F) {
	K, Y := awkward(4, 6, 2)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}}
	res, err := Solve(context.Background(), p, Options{Tol: 1e-2})
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	state := &State{Solver: "reduced", Iter: 3, Eta: res.Eta, L: res.L, X: res.C}
	if err := state.Encode(&whole, p); err != nil {
		f.Fatal(err)
	}
	from := len(checkpointMagic) + 8
	end := from + int(binary.LittleEndian.Uint64(whole.Bytes()[from-8:]))
	f.Add(whole.Bytes()[from:end], whole.Bytes()[end+8:whole.Len()-8])
	f.Fuzz(func(t *testing.T, head, body []byte) {
		numbers := make([]float64, len(body)/8)
		if _, err := binary.Decode(body, binary.LittleEndian, numbers); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		err := checkpoint.Write(&file, checkpointMagic, json.RawMessage(head), [][]float64{numbers})
		if err != nil {
			return // no JSON
		}
		text := file.Bytes()
		s, err := DecodeState(bytes.NewReader(text), p)
		if err != nil {
			if !errors.Is(err, ErrCheckpoint) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrInput) {
				t.Fatal(err)
			}
			return
		}
		if err := s.Encode(io.Discard, p); err != nil {
			t.Fatal(err)
		}
	})
}

// ending is a sum of kernels that ends a context at a product, and counts products.
type ending struct {
	linop.Sum
	at, count int
	cancel    context.CancelFunc
}

func (c *ending) Apply(dst, x blas.General) {
	if c.count++; c.count == c.at {
		c.cancel()
	}
	c.Sum.Apply(dst, x)
}

// TestResumeStep cancels the C step that is all of a fit in its middle: two products follow, and a fit that is resumed
// from the last state takes as many fewer as the step had taken, up to those that conjugate gradients lose by a new
// start.
func TestResumeStep(t *testing.T) {
	rng := newRand(5)
	const l = 400
	G := psd(rng, l, l, 1)
	terms := linop.NewGramSum([]*blas.Sym{blas.SymFrom(G, blas.Float64)}, nil, blas.Float64)
	Y := randn(rng, l, 1)
	problem := func(c *ending) *Problem {
		return &Problem{
			Space: NewSamples(c, Y), Lambda: 1e-6, Tau: 1, Eta: []float64{1}, Model: ProductOf(false, false),
		}
	}
	for _, solver := range []string{"rotated", "nystrom"} {
		opt := Options{Sylvester: solver, InnerTol: 1e-8}
		whole := &ending{Sum: terms}
		want, err := Solve(context.Background(), problem(whole), opt)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := &ending{Sum: terms, at: whole.count / 2, cancel: cancel}
		var last *State
		opt.Trace = func(s Step) error { last = s.State(); return nil }
		p := problem(c)
		if _, err := Solve(ctx, p, opt); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", solver, err)
		}
		if after := c.count - c.at; after > 2 {
			t.Errorf("%s: %d products after the end of the context", solver, after)
		}
		var file bytes.Buffer
		if err := last.Encode(&file, p); err != nil {
			t.Fatal(err)
		}
		rest := &ending{Sum: terms}
		p = problem(rest)
		opt.Trace = nil
		if opt.Start, err = DecodeState(&file, p); err != nil {
			t.Fatal(err)
		}
		got, err := Solve(context.Background(), p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(got.Objective-want.Objective) <= 1e-7*want.Objective) {
			t.Errorf("%s: objective %g, uninterrupted %g", solver, got.Objective, want.Objective)
		}
		t.Logf("%s: %d products, %d after half of them", solver, whole.count, rest.count)
		if rest.count >= whole.count*7/8 {
			t.Errorf("%s: %d products, and %d after half of them", solver, whole.count, rest.count)
		}
	}
}
