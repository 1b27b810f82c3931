package linop_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

func random(rng *rand.Rand, r, c int) blas.General {
	g := blas.NewGeneral(r, c)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	return g
}

// outer is Z·Zᵀ.
func outer(z blas.General) blas.General {
	k := blas.NewGeneral(z.Rows, z.Rows)
	blas.Mul(blas.NewGonum(), k, false, true, z, z)
	return k
}

func gramTerms(n, m int, prec blas.Precision) ([]*blas.Sym, []blas.General) {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	var terms []*blas.Sym
	var dense []blas.General
	for range m {
		s := blas.SymFrom(outer(random(rng, n, 1+n/2)), prec)
		k := blas.NewGeneral(n, n)
		s.Dense(k) // what is stored, rounded
		terms, dense = append(terms, s), append(dense, k)
	}
	return terms, dense
}

func TestGramSum(t *testing.T) {
	for _, be := range blas.Backends() {
		for _, n := range []int{1, 5, 65, 130} {
			for _, c := range []struct {
				terms, packed blas.Precision
				unit          float64
			}{
				{blas.Float64, blas.Float64, 0x1p-53},
				{blas.Float32, blas.Float64, 0x1p-24}, // the tile of P is rounded
				{blas.Float64, blas.Float32, 0x1p-24},
				{blas.Float32, blas.Float32, 0x1p-24},
			} {
				t.Run(fmt.Sprintf("%s/n=%d/%v/%v", be.Name(), n, c.terms, c.packed), func(t *testing.T) {
					terms, dense := gramTerms(n, 3, c.terms)
					opt := linoptest.Options{Unit: c.unit}
					// gonum's products start goroutines above this size, and its operator in single precision converts.
					opt.Allocates = be.Name() != "native" && (n > 64 || c.packed == blas.Float32)
					linoptest.RunSum(t, linop.NewGramSum(terms, be, c.packed), dense, opt)
				})
			}
		}
	}
}

// At this order a block row takes more than one tile.
func TestFormsWide(t *testing.T) {
	const n = 600
	terms, dense := gramTerms(n, 2, blas.Float64)
	rng := rand.New(rand.NewPCG(10, 10))
	U, V, kv := random(rng, n, 2), random(rng, n, 2), blas.NewGeneral(n, 2)
	got := make([]float64, 2)
	linop.NewGramSum(terms, nil, blas.Float64).Forms(got, U, V, []int{0, 1})
	for j := range got {
		blas.Mul(blas.Active(), kv, false, false, dense[j], V)
		if want := blas.Inner(U, kv); !(math.Abs(got[j]-want) <= 1e-13*blas.Frob(dense[j])*blas.Frob(U)*blas.Frob(V)) {
			t.Errorf("term %d: %g, want %g", j, got[j], want)
		}
	}
}

// Inner products must survive data whose products leave the range of float32.
func TestFormsScales(t *testing.T) {
	terms, dense := gramTerms(70, 2, blas.Float32)
	s := linop.NewGramSum(terms, nil, blas.Float32)
	u := random(rand.New(rand.NewPCG(4, 4)), 70, 3)
	kv := blas.NewGeneral(70, 3)
	for _, c := range []float64{1e-30, 1, 1e30} {
		v := blas.Clone(u)
		blas.Scal(c, v.Data)
		got := make([]float64, 2)
		s.Forms(got, v, v, []int{0, 1})
		for j := range got {
			blas.Mul(blas.Active(), kv, false, false, dense[j], v)
			want := blas.Inner(v, kv)
			if !(math.Abs(got[j]-want) <= 1e-5*want) {
				t.Errorf("scale %g, term %d: %g, want %g", c, j, got[j], want)
			}
		}
	}
}

func TestFormsSameForAnyThreads(t *testing.T) {
	terms, _ := gramTerms(300, 3, blas.Float64)
	s := linop.NewGramSum(terms, nil, blas.Float64)
	u := random(rand.New(rand.NewPCG(5, 5)), 300, 4)
	var want []float64
	for _, threads := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(threads)
		got := make([]float64, 3)
		s.Forms(got, u, u, []int{0, 1, 2})
		runtime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		for j := range got {
			if got[j] != want[j] {
				t.Fatalf("%d threads: %v, want %v", threads, got, want)
			}
		}
	}
}

func TestFactorSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{1, 6, 60} {
		for _, widths := range [][]int{{1}, {2, 1, 3}, {140, 2, 0, 5}, {100, 60, 1, 1}} {
			t.Run(fmt.Sprintf("n=%d/d=%v", n, widths), func(t *testing.T) {
				var factors, dense []blas.General
				for _, d := range widths {
					z := random(rng, n, d)
					factors = append(factors, z)
					if d == 0 {
						dense = append(dense, blas.NewGeneral(n, n))
						continue
					}
					dense = append(dense, outer(z))
				}
				opt := linoptest.Options{Allocates: blas.Active().Name() != "native" && widths[0] > 64}
				linoptest.RunSum(t, linop.NewFactorSum(factors, nil), dense, opt)
			})
		}
	}
}

func TestDenseAndFunc(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, n := range []int{1, 40, 70} {
		a := random(rng, n, n)
		for i := range n {
			for j := range i {
				a.Data[i*n+j] = a.Data[j*n+i]
			}
		}
		opt := linoptest.Options{Allocates: n > 64}
		linoptest.Run(t, linop.NewDense(a, nil), a, opt)
		be := blas.Active()
		f := linop.Func{N: n, F: func(dst, x blas.General) { blas.Mul(be, dst, false, false, a, x) }}
		linoptest.Run(t, f, a, opt)
	}
}

func TestSpectral(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	be := blas.Active()
	for _, c := range []struct{ n, rank int }{{1, 1}, {6, 6}, {6, 3}, {6, 0}} {
		a := blas.NewGeneral(c.n, c.n)
		if c.rank > 0 {
			a = outer(random(rng, c.n, c.rank))
		}
		s, err := linop.NewSpectral(be, a, 1e-12)
		if err != nil {
			t.Fatal(err)
		}
		if s.Rank() != c.rank {
			t.Fatalf("rank %d, want %d", s.Rank(), c.rank)
		}
		C, got, want := random(rng, 4, c.n), random(rng, 4, c.n), blas.NewGeneral(4, c.n)
		var work blas.General
		s.MulRightWith(be, got, C, &work)
		blas.Mul(be, want, false, false, C, a)
		again := random(rng, 4, c.n)
		s.MulRight(be, again, C)
		for i := range got.Data {
			if !(math.Abs(got.Data[i]-want.Data[i]) <= 1e-13*float64(c.n)*(1+s.Trace())) ||
				again.Data[i] != got.Data[i] {
				t.Fatalf("MulRight: element %d is %g, want %g", i, got.Data[i], want.Data[i])
			}
		}
		if n := linoptest.Allocations(5, func() { s.MulRightWith(be, got, C, &work) }); n > 0 {
			t.Errorf("MulRightWith allocates %g times a call", n)
		}
		d := random(rng, c.n, c.n)
		s.Dense(be, d)
		for i, v := range d.Data {
			if !(math.Abs(v-a.Data[i]) <= 1e-13*float64(c.n)*(1+s.Trace())) {
				t.Fatalf("Dense: element %d is %g, want %g", i, v, a.Data[i])
			}
		}
		R := s.Factor()
		if R.Rows != c.n || R.Cols != c.rank {
			t.Fatalf("Factor is %d×%d, want %d×%d", R.Rows, R.Cols, c.n, c.rank)
		}
		if c.rank == 0 {
			continue
		}
		for i, v := range outer(R).Data {
			if !(math.Abs(v-a.Data[i]) <= 1e-13*float64(c.n)*(1+s.Trace())) {
				t.Fatalf("Factor: element %d of R·Rᵀ is %g, want %g", i, v, a.Data[i])
			}
		}
	}
	bad := blas.NewGeneral(2, 2)
	bad.Data[2] = math.NaN()
	if _, err := linop.NewSpectral(be, bad, 0); !errors.Is(err, linop.ErrNotFinite) {
		t.Errorf("a matrix with NaN: error %v, want ErrNotFinite", err)
	}
}

func TestPanics(t *testing.T) {
	a, b := blas.NewSym(3, blas.Float64), blas.NewSym(4, blas.Float64)
	z := blas.NewGeneral(3, 1)
	g := linop.NewGramSum([]*blas.Sym{a}, nil, blas.Float64)
	f := linop.NewFactorSum([]blas.General{z}, nil)
	for name, call := range map[string]func(){
		"no terms":          func() { linop.NewGramSum(nil, nil, blas.Float64) },
		"orders differ":     func() { linop.NewGramSum([]*blas.Sym{a, b}, nil, blas.Float64) },
		"no factors":        func() { linop.NewFactorSum(nil, nil) },
		"rows differ":       func() { linop.NewFactorSum([]blas.General{z, blas.NewGeneral(2, 1)}, nil) },
		"weights of Gram":   func() { g.SetWeights([]float64{1, 2}) },
		"weights of factor": func() { f.SetWeights(nil) },
		"forms of Gram":     func() { g.Forms(make([]float64, 1), z, blas.NewGeneral(3, 2), []int{0}) },
		"forms of factor":   func() { f.Forms(make([]float64, 2), z, z, []int{0}) },
		"shape":             func() { f.Apply(z, blas.NewGeneral(2, 1)) },
		"not square":        func() { linop.NewDense(z, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}
