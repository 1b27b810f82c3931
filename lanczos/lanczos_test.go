package lanczos_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

var bg = context.Background()

// spectrum returns Q·diag(w)·Qᵀ for a random orthogonal Q.
func spectrum(rng *rand.Rand, w []float64) blas.General {
	n := len(w)
	q, qw, a := blas.NewGeneral(n, n), blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	for i := range q.Data {
		q.Data[i] = rng.NormFloat64()
	}
	be := blas.Active()
	be.QR(q, blas.General{})
	for i := range n {
		for j := range n {
			qw.Data[i*n+j] = q.Data[i*n+j] * w[j]
		}
	}
	blas.Mul(be, a, false, true, qw, q)
	for i := range n {
		for j := range i {
			a.Data[j*n+i] = a.Data[i*n+j]
		}
	}
	return a
}

func fill(n int, f func(i int) float64) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = f(i)
	}
	return w
}

var spectra = []struct {
	name   string
	w      []float64
	maxDim int // where the small end of the spectrum needs a larger space
}{
	{"uniform", fill(200, func(i int) float64 { return float64(i + 1) }), 0},
	{"graded", fill(200, func(i int) float64 { return math.Pow(10, -float64(i)/10) }), 200},
	{"clustered at the top", fill(200, func(i int) float64 {
		if i < 10 {
			return 1 - 1e-6*float64(i)
		}
		return 0.9 * float64(i) / 200
	}), 0},
	{"clusters", fill(200, func(i int) float64 { return float64(1+i/40) + 1e-9*float64(i%40) }), 0},
	{"repeated", fill(200, func(i int) float64 { return float64(1 + i/50) }), 0},
	{"identity", fill(200, func(int) float64 { return 1 }), 0},
	{"rank one", fill(200, func(i int) float64 { return map[bool]float64{true: 5}[i == 0] }), 0},
	{"indefinite", fill(200, func(i int) float64 { return math.Sin(float64(i)) * float64(i) }), 0},
	{"negative", fill(200, func(i int) float64 { return -1 - float64(i*i) }), 0},
	{"tiny", fill(200, func(i int) float64 { return 1e-200 * float64(i+1) }), 0},
	{"huge", fill(200, func(i int) float64 { return 1e150 * float64(i+1) }), 0},
	{"zero", make([]float64, 200), 0},
	{"n = 1", []float64{-3}, 0},
	{"n = 2", []float64{1, 2}, 0},
	{"n = 12", fill(12, func(i int) float64 { return float64(i * i) }), 0},
}

// The largest eigenvalue agrees with the dense one to 1e-10 relative to ‖A‖.
func TestExtremal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range spectra {
		t.Run(c.name, func(t *testing.T) {
			a := spectrum(rng, c.w)
			n := a.Rows
			dense := make([]float64, n)
			if err := blas.Active().Syevals(blas.Clone(a), dense); err != nil {
				t.Fatal(err)
			}
			norm := max(math.Abs(dense[0]), math.Abs(dense[n-1]))
			for _, which := range []lanczos.Which{lanczos.Largest, lanczos.Smallest} {
				want := dense[n-1]
				if which == lanczos.Smallest {
					want = dense[0]
				}
				res, err := lanczos.Eigs(bg, linop.NewDense(a, nil), lanczos.Options{
					Which: which, Tol: 1e-10, MaxDim: c.maxDim,
				})
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(res.Values[0]-want) <= 1e-10*norm) {
					t.Errorf("which %d: %.17g, want %.17g", which, res.Values[0], want)
				}
				checkPairs(t, a, res, 1e-10*norm)
				t.Logf("which %d: %d multiplies, %d restarts", which, res.Applies, res.Restarts)
			}
		})
	}
}

// checkPairs recomputes the residuals and the orthonormality of the vectors.
func checkPairs(t *testing.T, a blas.General, res lanczos.Result, tol float64) {
	t.Helper()
	n, k := a.Rows, len(res.Values)
	av, g := blas.NewGeneral(n, k), blas.NewGeneral(k, k)
	blas.Mul(blas.NewGonum(), av, false, false, a, res.Vectors)
	blas.Mul(blas.NewGonum(), g, true, false, res.Vectors, res.Vectors)
	for j, theta := range res.Values {
		r := make([]float64, n)
		for i := range r {
			r[i] = av.Data[i*k+j] - theta*res.Vectors.Data[i*k+j]
		}
		norm := blas.Nrm2(r)
		if !(norm <= tol*1.01) || !(math.Abs(norm-res.Residuals[j]) <= 0.01*tol) {
			t.Errorf("pair %d: residual %g, reported %g, wanted %g", j, norm, res.Residuals[j], tol)
		}
		for i := range k {
			want := 0.0
			if i == j {
				want = 1
			}
			if !(math.Abs(g.Data[i*k+j]-want) <= 1e-12) {
				t.Errorf("vectors %d and %d have inner product %g", i, j, g.Data[i*k+j])
			}
		}
	}
}

// Several pairs at once, copies of repeated eigenvalues included.
func TestSeveral(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range spectra {
		n := len(c.w)
		k := min(6, n)
		a := spectrum(rng, c.w)
		dense := make([]float64, n)
		if err := blas.Active().Syevals(blas.Clone(a), dense); err != nil {
			t.Fatal(err)
		}
		norm := max(math.Abs(dense[0]), math.Abs(dense[n-1]))
		for _, which := range []lanczos.Which{lanczos.Largest, lanczos.Smallest} {
			t.Run(c.name, func(t *testing.T) {
				res, err := lanczos.Eigs(bg, linop.NewDense(a, nil), lanczos.Options{
					K: k, Which: which, Tol: 1e-9, Seed: 7, MaxDim: c.maxDim,
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range res.Values {
					want := dense[n-1-i]
					if which == lanczos.Smallest {
						want = dense[i]
					}
					if !(math.Abs(v-want) <= 1e-9*norm) {
						t.Errorf("value %d: %.17g, want %.17g", i, v, want)
					}
				}
				checkPairs(t, a, res, 1e-9*norm)
				t.Logf("which %d: %d multiplies, %d restarts", which, res.Applies, res.Restarts)
			})
		}
	}
}

func TestStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w := fill(300, func(i int) float64 { return math.Sqrt(float64(i + 1)) })
	a := spectrum(rng, w)
	A := linop.NewDense(a, nil)
	cold, err := lanczos.Eigs(bg, A, lanczos.Options{Tol: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	// The vector of the second eigenvalue, which a start without noise would mistake for the first.
	two, err := lanczos.Eigs(bg, A, lanczos.Options{K: 2, Tol: 1e-12})
	if err != nil {
		t.Fatal(err)
	}
	second := blas.NewGeneral(300, 1)
	blas.Copy(second, blas.View(two.Vectors, 0, 1, 300, 1))
	for name, start := range map[string]blas.General{
		"first": blas.Clone(cold.Vectors), "second": second, "zero": blas.NewGeneral(300, 1),
	} {
		res, err := lanczos.Eigs(bg, A, lanczos.Options{Tol: 1e-6, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(res.Values[0]-math.Sqrt(300)) <= 1e-8) {
			t.Errorf("start %s: %.12g, want %.12g", name, res.Values[0], math.Sqrt(300))
		}
		if name == "first" && res.Applies >= cold.Applies {
			t.Errorf("a start at the answer takes %d multiplies, a random one %d", res.Applies, cold.Applies)
		}
	}
}

func TestFailures(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a := spectrum(rng, fill(100, func(i int) float64 { return 1 + 1e-3*float64(i) }))
	A := linop.NewDense(a, nil)
	nan := blas.Clone(a)
	nan.Data[5] = math.NaN()
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	stop := errors.New("enough")
	start := blas.NewGeneral(100, 1)
	start.Data[3] = math.Inf(1)
	for _, c := range []struct {
		name string
		ctx  context.Context
		A    linop.Operator
		opt  lanczos.Options
		err  error
		pair bool // the best pair so far is returned
	}{
		{"NaN in A", bg, linop.NewDense(nan, nil), lanczos.Options{}, lanczos.ErrNotFinite, false},
		{"infinite start", bg, A, lanczos.Options{Start: start}, lanczos.ErrNotFinite, false},
		{"cancelled", cancelled, A, lanczos.Options{}, context.Canceled, false},
		{"too few iterations", bg, A, lanczos.Options{MaxIter: 5}, lanczos.ErrNotConverged, true},
		{"below rounding", bg, A, lanczos.Options{Tol: 1e-30}, lanczos.ErrNotConverged, true},
		{"NaN tolerance", bg, A, lanczos.Options{Tol: math.NaN(), MaxIter: 20}, lanczos.ErrNotConverged, true},
		{"absolute tolerance", bg, A, lanczos.Options{Tol: 1e-30, AbsTol: 1e-3, MaxIter: 60}, nil, true},
		{"small space", bg, A, lanczos.Options{MaxDim: 4, MaxIter: 2000, Tol: 1e-6}, nil, true},
		{"wide block", bg, A, lanczos.Options{Block: 7, Tol: 1e-6}, nil, true},
		{
			"block wider than A", bg, linop.NewDense(spectrum(rng, []float64{1, 2, 3}), nil),
			lanczos.Options{Block: 7},
			nil, true,
		},
		{"trace says stop", bg, A, lanczos.Options{Trace: func(s lanczos.Step) error {
			if s.Iter == 3 && len(s.Values) == 1 && s.Dim == 3 {
				return stop
			}
			return nil
		}}, stop, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := lanczos.Eigs(c.ctx, c.A, c.opt)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if got := len(res.Values) == 1; got != c.pair {
				t.Fatalf("pairs returned: %v", res.Values)
			}
			if c.pair && (!(res.Residuals[0] >= 0) || res.Values[0] > 3+1e-9) {
				t.Errorf("value %g with residual %g", res.Values[0], res.Residuals[0])
			}
		})
	}
}

// Whatever the block, all copies of an eigenvalue are found: the values are those of a dense method.
func TestCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for name, w := range map[string][]float64{
		"at the top":    fill(150, func(i int) float64 { return float64(min(i, 145)) }),
		"at the bottom": fill(150, func(i int) float64 { return float64(max(i, 5)) }),
		"below the top": fill(150, func(i int) float64 {
			return float64([]int{-9, 9, -7, -7, -7, 7, 7, 7, 3, -3, 0}[min(i, 10)])
		}),
		"of both ends":        fill(150, func(i int) float64 { return float64(i % 3) }),
		"nearly":              fill(150, func(i int) float64 { return float64(max(i, 145)) + 1e-12*float64(i) }),
		"of negative numbers": fill(150, func(i int) float64 { return -1 - float64(i/4) }),
		"of few":              {5, 5, 1, 0.5},
		"of tiny numbers":     fill(80, func(i int) float64 { return 1e-200 * float64(max(i, 75)) }),
		"none":                fill(150, func(i int) float64 { return float64(i * i) }),
		"identity":            fill(60, func(int) float64 { return 1 }),
		"zero":                make([]float64, 60),
	} {
		a := spectrum(rng, w)
		A, dense := linop.NewDense(a, nil), make([]float64, len(w))
		if err := blas.Active().Syevals(blas.Clone(a), dense); err != nil {
			t.Fatal(err)
		}
		norm := max(math.Abs(dense[0]), math.Abs(dense[len(w)-1]))
		for _, which := range []lanczos.Which{lanczos.Largest, lanczos.Smallest} {
			if which == lanczos.Largest {
				slices.Reverse(dense)
			} else {
				slices.Sort(dense)
			}
			for _, k := range []int{2, 3, 6} {
				k = min(k, len(w)-1)
				for block := range k {
					block++
					res, err := lanczos.Eigs(bg, A, lanczos.Options{
						K: k, Block: block, Which: which, Tol: 1e-9, Seed: uint64(block),
					})
					if err != nil {
						t.Fatalf("%s, block %d of %d: %v", name, block, k, err)
					}
					checkPairs(t, a, res, 1e-9*norm)
					for i, v := range res.Values {
						if !(math.Abs(v-dense[i]) <= 1e-8*norm) {
							t.Errorf("%s, block %d: values %v, want %v", name, block, res.Values, dense[:k])
							break
						}
					}
				}
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	a := spectrum(rng, fill(150, func(i int) float64 { return math.Log(float64(i + 2)) }))
	var A linop.Operator = linop.NewDense(a, nil)
	var w lanczos.Workspace
	for _, k := range []int{1, 3} {
		opt := lanczos.Options{K: k, Tol: 1e-8, MaxDim: 30}
		if n := linoptest.Allocations(3, func() {
			if res, err := w.Eigs(bg, A, opt); err != nil || res.Restarts == 0 {
				t.Fatal(res.Restarts, err)
			}
		}); n > 0 {
			t.Errorf("K = %d: %g allocations", k, n)
		}
	}
}

// A used workspace gives what a fresh one gives.
func TestReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var w lanczos.Workspace
	for _, n := range []int{80, 5, 120, 80} {
		A := linop.NewDense(spectrum(rng, fill(n, func(i int) float64 { return math.Cos(float64(3 * i)) })), nil)
		opt := lanczos.Options{K: 2, Which: lanczos.Smallest, Seed: 4}
		got, err := w.Eigs(bg, A, opt)
		if err != nil {
			t.Fatal(err)
		}
		want, err := lanczos.Eigs(bg, A, opt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Values {
			if got.Values[i] != want.Values[i] || got.Residuals[i] != want.Residuals[i] {
				t.Fatalf("n = %d: %v, want %v", n, got.Values, want.Values)
			}
		}
	}
}

// The context is looked at between any two applications of A: at most one follows its end.
func TestCancelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	A := linop.NewDense(spectrum(rng, fill(200, func(i int) float64 { return 1 / float64(i+1) })), nil)
	for k := 1; ; k++ {
		ctx, cancel := context.WithCancel(context.Background())
		applied := 0
		count := linop.Func{N: 200, F: func(dst, x blas.General) {
			if applied++; applied == k {
				cancel()
			}
			A.Apply(dst, x)
		}}
		_, err := lanczos.Eigs(ctx, count, lanczos.Options{K: 12, MaxDim: 40, Block: 2, Tol: 1e-10})
		cancel()
		if applied < k {
			if k < 10 || err != nil {
				t.Errorf("%d applications: %v", applied, err)
			}
			return
		}
		if applied > k+1 {
			t.Fatalf("%d applications after the context ended at application %d", applied-k, k)
		}
	}
}
