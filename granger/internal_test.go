package granger

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

func randomTerms(rng *rand.Rand, l, m int) ([]*blas.Sym, []blas.General) {
	var terms []*blas.Sym
	var dense []blas.General
	for range m {
		z, k := blas.NewGeneral(l, 4), blas.NewGeneral(l, l)
		for i := range z.Data {
			z.Data[i] = rng.NormFloat64()
		}
		blas.Mul(blas.Active(), k, false, true, z, z)
		s := blas.SymFrom(k, blas.Float32)
		s.Dense(k)
		terms, dense = append(terms, s), append(dense, k)
	}
	return terms, dense
}

// The projected sum over repeated samples keeps the contract of linop.Sum.
func TestReducedSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const l, m = 20, 3
	terms, dense := randomTerms(rng, l, m)
	idx := []int{0, 3, 3, 4, 7, 9, 12, 12, 12, 19}
	for _, k := range []int{1, 2} {
		var kept [][]float64
		for range k {
			v := make([]float64, len(idx))
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			kept = appendOrthonormal(kept, v, len(idx))
		}
		U := blas.NewGeneral(len(idx), k)
		for c, q := range kept {
			for i, v := range q {
				U.Data[i*k+c] = v
			}
		}
		want := make([]blas.General, m)
		for j, d := range dense {
			want[j] = blas.NewGeneral(len(idx), len(idx))
			for a, p := range idx {
				for b, q := range idx {
					want[j].Data[a*len(idx)+b] = d.Data[p*l+q]
				}
			}
			for range 2 { // P·K·P by columns, then by rows
				projectOff(blas.Active(), want[j], U)
				flip(want[j])
			}
		}
		s := &reducedSum{inner: linop.NewGramSum(terms, nil, blas.Float64), be: blas.Active(), idx: idx, U: U}
		linoptest.RunSum(t, s, want, linoptest.Options{Unit: 0x1p-22, Allocates: true})
	}
}

func flip(a blas.General) {
	for i := range a.Rows {
		for j := range i {
			x, y := &a.Data[i*a.Stride+j], &a.Data[j*a.Stride+i]
			*x, *y = *y, *x
		}
	}
}

// Kernels of low rank have factors in single precision, others have none, and both forms have the same fits.
func TestLowRank(t *testing.T) {
	g := LinearVAR(5, 200, 1, 2, 1, 6)
	if e, err := start(t.Context(), &g.Data, Options{Lag: 8}); err != nil || e.factors != nil || e.terms == nil {
		t.Errorf("lag 8: %d factors, %d Gram matrices, %v", len(e.factors), len(e.terms), err)
	}
	e, err := start(t.Context(), &g.Data, Options{Tol: 1e-6, MaxIter: 5000})
	if err != nil || e.factors == nil || e.terms != nil {
		t.Fatalf("lag 1: %d factors, %d Gram matrices, %v", len(e.factors), len(e.terms), err)
	}
	terms, err := e.grams(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for j, Z := range e.factors {
		K := blas.NewGeneral(e.l, e.l)
		terms[j].Dense(K)
		blas.Gemm(blas.Active(), false, true, -1, Z, Z, 1, K)
		if d := max(slices.Max(K.Data), -slices.Min(K.Data)); !(d <= 0x1p-20) || Z.Cols > 20 {
			t.Errorf("kernel %s: rank %d, off by %g", e.dict[j].Name, Z.Cols, d)
		}
	}
	tasks := e.tasks(sequence(0, 150), sequence(150, e.l), slices.Repeat([]float64{0.1}, 5))
	low, err := e.fitHere(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	full, err := (&engine{design: e.design, terms: terms}).fitHere(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range low {
		a, b := low[i], full[i]
		if !(math.Abs(a.Objective-b.Objective) <= 3e-6*b.Objective) {
			t.Errorf("node %d: objectives %.9g and %.9g", i, a.Objective, b.Objective)
		}
		blas.AddScaled(a.Predict, -1, b.Predict)
		if d := blas.Frob(a.Predict); !(d <= 1e-3*blas.Frob(b.Predict)) {
			t.Errorf("node %d: predictions differ by %g", i, d)
		}
	}
}

// On normal values the linear kernel of a node has about the variance of the Gaussian one.
func TestKernelsOfOneScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := &Data{Names: []string{"a", "b", "c"}, X: blas.NewGeneral(500, 3), Nodes: []Node{
		{"a", []int{0}},
		{"bc", []int{1, 2}},
	}}
	for k := range d.X.Data {
		d.X.Data[k] = rng.NormFloat64()
	}
	for _, lag := range []int{1, 3} {
		q, err := d.check(lag)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newDesign(q, Options{Lag: lag, Kernels: DefaultKernels, Decay: 1, Backend: blas.Active()})
		if err != nil {
			t.Fatal(err)
		}
		terms, err := g.grams(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for j, term := range terms {
			variance := 0.0 // the mean of the diagonal less that of all elements
			for a := range g.l {
				variance += term.At(a, a) / float64(g.l)
				for b := range g.l {
					variance -= term.At(a, b) / float64(g.l*g.l)
				}
			}
			if !(variance > 0.4 && variance < 0.6) {
				t.Errorf("lag %d: kernel %s has the variance %g", lag, g.dict[j].Name, variance)
			}
		}
	}
}

// No window of past values crosses from one replicate into another, older values
// count less, and every prefix of the samples is the earlier part of each replicate.
func TestReplicates(t *testing.T) {
	X := blas.NewGeneral(12, 1)
	for i := range 12 {
		X.Data[i] = float64(i * i)
	}
	d := &Data{Names: []string{"a"}, X: X, Replicate: []int{7, 7, 7, 7, 7, 7, 7, 7, 2, 2, 2, 2}}
	const decay = 0.25
	e, err := start(context.Background(), d, Options{Lag: 2, Decay: decay})
	if err != nil {
		t.Fatal(err)
	}
	if e.l != 6+2 {
		t.Fatalf("%d samples", e.l)
	}
	mean, scale := moments(X, 0)
	for i, r := range e.rows {
		if r == 8 || r == 9 || r < 2 {
			t.Errorf("row %d has no two rows before it in its replicate", r)
		}
		for age := 1; age <= 2; age++ {
			want := (X.Data[r-age] - mean) / scale / 2 * math.Pow(decay, float64(age-1))
			if got := e.X.Data[i*e.X.Stride+age-1]; math.Abs(got-want) > 1e-14 {
				t.Errorf("row %d, %d steps back: %g, want %g", r, age, got, want)
			}
		}
		if i > 0 && e.share[i] < e.share[i-1] {
			t.Errorf("sample %d is earlier than the one before it", i)
		}
	}
}

func TestBootstrapBlocks(t *testing.T) {
	d := LinearVAR(2, 40, 1, 0, 1, 1).Data
	d.Replicate = make([]int, 40)
	for i := 25; i < 40; i++ {
		d.Replicate[i] = 1
	}
	e, err := start(context.Background(), &d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	repeated := false
	for range 20 {
		idx := e.bootstrap(rng, 5)
		if len(idx) != e.l {
			t.Fatalf("%d samples drawn of %d", len(idx), e.l)
		}
		for i := 1; i < len(idx); i++ {
			repeated = repeated || idx[i] == idx[i-1]
		}
	}
	if !repeated {
		t.Error("nothing is drawn twice")
	}
}

// A reduced sum checks its terms without their projected diagonals.
func TestReducedSumCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	terms, _ := randomTerms(rng, 6, 2)
	s := &reducedSum{
		inner: linop.NewGramSum(terms, nil, blas.Float64), be: blas.Active(), idx: []int{0, 1, 2},
		U: blas.NewGeneral(3, 0),
	}
	solve := func() error {
		_, err := bcd.Solve(context.Background(),
			&bcd.Problem{Space: bcd.NewSamples(s, blas.Vector([]float64{1, 2, 3})), Lambda: 1, Tau: 1}, bcd.Options{})
		return err
	}
	if err := solve(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []float32{-1, float32(math.NaN())} {
		terms[1].F32[0] = bad
		if err := solve(); !errors.Is(err, bcd.ErrInput) || !strings.Contains(err.Error(), "kernel 1") {
			t.Errorf("%g on the diagonal: %v", bad, err)
		}
	}
}

// A form below 0 by more than the storage in single precision explains is not hidden.
func TestReducedSumShowsIndefinite(t *testing.T) {
	K := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 1.0001, 1.0001, 1}}
	s := &reducedSum{
		inner: linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float32)}, nil, blas.Float64),
		be:    blas.Active(), idx: []int{0, 1}, U: blas.NewGeneral(2, 0),
	}
	v, form := blas.Vector([]float64{1, -1}), []float64{0}
	if s.Forms(form, v, v, []int{0}); !(math.Abs(form[0]+2e-4) <= 1e-6) {
		t.Errorf("vᵀKv = %g, want -2e-4", form[0])
	}
}

// The step is of order four: on dx/dt = x it leaves the fifth term of the exponential series.
func TestRungeKutta(t *testing.T) {
	step := RungeKutta(1, func(dx, x []float64) { dx[0] = x[0] })
	for _, h := range []float64{0.1, 0.05} {
		x := []float64{1}
		step(x, h)
		if err, want := math.Exp(h)-x[0], math.Pow(h, 5)/120; !(math.Abs(err-want) <= 0.1*want) {
			t.Errorf("h = %g: error %g, want about %g", h, err, want)
		}
	}
}
