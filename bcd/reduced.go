package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// reduced minimises h(η, L) = λ⟨Y, C(η,L)⟩ + λω(η) by projected spectral
// gradient after a closed-form warm-up.
func (r *run) reduced(ctx context.Context, pt *point) error {
	pt, err := r.warmUp(ctx, pt)
	if err != nil || r.done(pt) || r.iter >= r.opt.MaxOuter {
		return err
	}
	s := &spectral{run: r, history: []float64{pt.cert.objective}}
	return s.descend(ctx, pt)
}

// warmUpDrop is the relative decrease of the objective below which closed forms give way.
const warmUpDrop = 0.03

func (r *run) warmUp(ctx context.Context, pt *point) (*point, error) {
	last := math.Inf(1)
	for ; ; r.iter++ {
		if err := r.evaluate(ctx, pt, r.innerTol(pt)); err != nil {
			return pt, err
		}
		U := pt.cert.objective
		if r.done(pt) || r.iter >= r.opt.MaxOuter || !(last-U > warmUpDrop*math.Abs(U)) {
			return pt, nil
		}
		last = U
		eta, L, err := r.closedForms(pt)
		if err != nil {
			return pt, err
		}
		pt = r.step(pt, eta, L)
	}
}

// spectral is the state of the projected spectral gradient method: one
// Barzilai–Borwein step length for η and one for L.
type spectral struct {
	*run
	tEta, tL float64
	history  []float64 // recent objectives, for the non-monotone test
}

const (
	historyLen = 8
	armijo     = 1e-4
)

// descend runs until the certificate meets Tol.
func (s *spectral) descend(ctx context.Context, pt *point) error {
	cur := s.state(pt)
	s.tEta, s.tL = s.firstSteps(cur)
	for s.iter < s.opt.MaxOuter {
		next, err := s.search(ctx, cur)
		if err != nil || next == nil {
			return err
		}
		s.iter++
		if err := s.accept(ctx, next.pt); err != nil {
			return err
		}
		if s.done(next.pt) {
			return nil
		}
		s.history = append(s.history, next.pt.cert.objective)
		if len(s.history) > historyLen {
			s.history = s.history[1:]
		}
		s.steps(cur, next)
		cur = next
	}
	return nil
}

// state is a point with its gradient: of h along η, and along L.
type state struct {
	pt *point
	g  []float64    // −λc + λ∇ω
	L  blas.General // dense
}

func (s *spectral) state(pt *point) *state {
	st := &state{pt: pt, g: make([]float64, s.m)}
	if !s.fixEta {
		s.reg.Gradient(st.g, pt.eta)
		for j, c := range pt.c {
			st.g[j] = s.lambda * (st.g[j] - c)
		}
	}
	if !s.fixL {
		st.L = blas.NewGeneral(s.n, s.n)
		pt.L.Dense(s.be, st.L)
	}
	return st
}

// firstSteps are lengths with which a step changes each block by about its own size.
func (s *spectral) firstSteps(cur *state) (tEta, tL float64) {
	return blas.Nrm2(cur.pt.eta) / blas.Nrm2(cur.g) / 2, math.Sqrt(frob2(cur.pt.L)) / (s.lambda * blas.Frob(cur.pt.G)) / 2
}

// steps sets the Barzilai–Borwein lengths from the last move.
func (s *spectral) steps(old, now *state) {
	if !s.fixEta {
		var ss, sy, yy float64
		for j := range now.g {
			d, y := now.pt.eta[j]-old.pt.eta[j], now.g[j]-old.g[j]
			ss += d * d
			sy += d * y
			yy += y * y
		}
		s.tEta = s.length(s.tEta, ss, sy, yy)
	}
	if !s.fixL {
		var ss, sy, yy float64
		for i := range s.n {
			a, b := blas.Row(now.L, i), blas.Row(old.L, i)
			ga, gb := blas.Row(now.pt.G, i), blas.Row(old.pt.G, i)
			for j := range a {
				d, y := a[j]-b[j], -s.lambda*(ga[j]-gb[j])
				ss += d * d
				sy += d * y
				yy += y * y
			}
		}
		s.tL = s.length(s.tL, ss, sy, yy)
	}
}

func (s *spectral) length(t, ss, sy, yy float64) float64 {
	if ss == 0 {
		return t
	}
	if !(sy > 0) {
		return 10 * t
	}
	if s.iter%2 == 0 {
		return math.Min(sy/yy, 1e3*t)
	}
	return math.Min(ss/sy, 1e3*t)
}

// search moves from cur along the projected gradient direction.
func (s *spectral) search(ctx context.Context, cur *state) (*state, error) {
	eta := slices.Clone(cur.pt.eta)
	slope := 0.0
	if !s.fixEta {
		for j := range eta {
			eta[j] -= s.tEta * cur.g[j]
		}
		s.reg.Project(eta)
		for j := range eta {
			slope += cur.g[j] * (eta[j] - cur.pt.eta[j])
		}
	}
	L := cur.pt.L
	var target blas.General
	if !s.fixL {
		target = blas.Clone(cur.L)
		blas.AddScaled(target, s.tL*s.lambda, cur.pt.G)
		var err error
		if L, err = s.projectL(target); err != nil {
			return nil, err
		}
		L.Dense(s.be, target)
		for i := range s.n {
			a, b, g := blas.Row(target, i), blas.Row(cur.L, i), blas.Row(cur.pt.G, i)
			for j := range a {
				slope -= s.lambda * g[j] * (a[j] - b[j])
			}
		}
	}
	ref := maxOf(s.history)
	step := 1.0
	for range 30 {
		next := s.step(cur.pt, eta, L)
		if err := s.tryPoint(ctx, next, s.innerTol(cur.pt)); err != nil {
			return nil, err
		}
		U := s.objective(next)
		if U <= ref+armijo*step*slope+1e-14*ref {
			return s.state(next), nil
		}
		shrink := 0.5
		if q := -slope * step / (2 * (U - cur.pt.cert.objective - slope*step)); q > 0.1 && q < 0.9 {
			shrink = q
		}
		step *= shrink
		eta = slices.Clone(cur.pt.eta)
		for j := range eta {
			eta[j] += shrink * (next.eta[j] - cur.pt.eta[j])
		}
		if !s.fixL {
			mix := blas.Clone(cur.L)
			blas.AddScaled(mix, -shrink, cur.L)
			blas.AddScaled(mix, shrink, target)
			target = mix
			var err error
			if L, err = linop.NewSpectral(s.be, mix, 1e-15); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// tryPoint performs the C step at pt and measures it.
func (r *run) tryPoint(ctx context.Context, pt *point, tol float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.solve(ctx, pt, tol); err != nil {
		return err
	}
	return r.measure(ctx, pt, r.all)
}

// projectL projects the symmetric A on S(τ).
func (r *run) projectL(A blas.General) (*linop.Spectral, error) {
	V, w := blas.Clone(A), make([]float64, r.n)
	if err := r.be.Syevd(V, w); err != nil {
		return nil, err
	}
	for i, v := range w {
		w[i] = math.Max(v, 0) / r.tau
	}
	if sumOf(w) > 1 {
		projectSimplex(w)
	}
	k := 0
	for k < r.n && w[r.n-1-k] > 0 {
		k++
	}
	L := &linop.Spectral{V: blas.NewGeneral(r.n, k), S: make([]float64, k)}
	for j := range k {
		L.S[j] = r.tau * w[r.n-1-j]
		for i := range r.n {
			L.V.Data[i*L.V.Stride+j] = V.Data[i*V.Stride+r.n-1-j]
		}
	}
	return L, nil
}
