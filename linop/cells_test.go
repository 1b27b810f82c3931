package linop_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

// addKronecker computes a += K⊗L.
func addKronecker(a, K, L blas.General) {
	for i := range a.Rows {
		for j := range a.Cols {
			a.Data[i*a.Stride+j] += K.Data[i/L.Rows*K.Stride+j/L.Rows] * L.Data[i%L.Rows*L.Stride+j%L.Rows]
		}
	}
}

// kroneckerSum is a random sum with output kernels of the given ranks, and the same as a matrix.
func kroneckerSum(t *testing.T, rng *rand.Rand, l, n int, ranks []int, mu float64) (*linop.KroneckerSum, blas.General) {
	t.Helper()
	sum, want := &linop.KroneckerSum{Mu: mu}, blas.NewGeneral(l*n, l*n)
	for i := range want.Rows {
		want.Data[i*want.Stride+i] = mu
	}
	for _, r := range ranks {
		K, L := outer(random(rng, l, 1+l/2)), blas.NewGeneral(n, n)
		if r > 0 {
			L = outer(random(rng, n, r))
		}
		spec, err := linop.NewSpectral(blas.Active(), L, 1e-13)
		if err != nil {
			t.Fatal(err)
		}
		sum.Terms = append(sum.Terms, linop.Term{K: linop.NewDense(K, nil), L: spec})
		addKronecker(want, K, L)
	}
	return sum, want
}

func TestKroneckerSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	for _, c := range []struct {
		l, n  int
		ranks []int
	}{
		{1, 1, []int{1}},
		{1, 4, []int{2, 4}},
		{9, 1, []int{1, 1, 1}},
		{8, 5, []int{0, 2, 5, 1}},
		{8, 5, []int{0}},
		{8, 5, []int{2}},
	} {
		t.Run(fmt.Sprintf("l=%d/n=%d/ranks=%v", c.l, c.n, c.ranks), func(t *testing.T) {
			A, want := kroneckerSum(t, rng, c.l, c.n, c.ranks, 0.3)
			linoptest.Run(t, A, want, linoptest.Options{})
			C, F := random(rng, c.l, c.n), blas.NewGeneral(c.l, c.n+2)
			wide := blas.NewGeneral(c.l, c.n+3)
			blas.Copy(blas.View(wide, 0, 1, c.l, c.n), C)
			f := blas.View(F, 0, 1, c.l, c.n)
			A.ApplyMatrix(f, blas.View(wide, 0, 1, c.l, c.n))
			vec := blas.NewGeneral(A.Dim(), 1)
			A.Apply(vec, blas.Vector(C.Data))
			for i := range c.l {
				for j, v := range blas.Row(f, i) {
					if w := vec.Data[i*c.n+j]; v != w {
						t.Fatalf("element (%d,%d): %g as a matrix, %g as a vector", i, j, v, w)
					}
				}
			}
		})
	}
}

// masks are sets of cells of every kind.
func masks(rng *rand.Rand, l, n int) map[string]*linop.Cells {
	return map[string]*linop.Cells{
		"all":     linop.NewCells(l, n, func(int, int) bool { return true }),
		"none":    linop.NewCells(l, n, func(int, int) bool { return false }),
		"one":     linop.NewCells(l, n, func(i, j int) bool { return i == l/2 && j == 0 }),
		"no row":  linop.NewCells(l, n, func(i, _ int) bool { return i != 0 }),
		"no col":  linop.NewCells(l, n, func(_, j int) bool { return j != n-1 }),
		"random":  linop.NewCells(l, n, func(int, int) bool { return rng.Float64() < 0.6 }),
		"corners": linop.NewCells(l, n, func(i, j int) bool { return 2*i < l == (2*j < n) }),
	}
}

func TestMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	for _, size := range []struct{ l, n int }{{1, 1}, {7, 3}} {
		A, full := kroneckerSum(t, rng, size.l, size.n, []int{1, size.n}, 0.7)
		for name, cells := range masks(rng, size.l, size.n) {
			want := blas.Clone(full)
			count := 0
			for i := range want.Rows {
				in := func(k int) bool { return cells.Has(k/size.n, k%size.n) }
				if in(i) {
					count++
				}
				for j := range want.Cols {
					if !in(i) || !in(j) {
						want.Data[i*want.Stride+j] = 0
					}
				}
			}
			t.Run(fmt.Sprintf("l=%d/n=%d/%s", size.l, size.n, name), func(t *testing.T) {
				if cells.Count() != count || cells.Complete() != (count == size.l*size.n) {
					t.Errorf("Count() = %d, Complete() = %v, want %d cells", cells.Count(), cells.Complete(), count)
				}
				linoptest.Run(t, &linop.Mask{A: A, Cells: cells}, want, linoptest.Options{})
				linoptest.Run(t, &linop.Mask{A: linop.NewDense(full, nil), Cells: cells}, want, linoptest.Options{})
			})
		}
	}
}

// What lies outside Ω must not enter, NaN included.
func TestMaskIgnoresMissing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	A, _ := kroneckerSum(t, rng, 5, 3, []int{3}, 1)
	Y := random(rng, 5, 3)
	Y.Data[4], Y.Data[7] = math.NaN(), math.NaN()
	cells := linop.ObservedCells(Y)
	if cells.Count() != 13 || cells.Has(1, 1) || cells.Has(2, 1) || !cells.Has(0, 0) {
		t.Fatalf("%d observed cells", cells.Count())
	}
	got, want, zeroed := blas.NewGeneral(15, 1), blas.NewGeneral(15, 1), blas.NewGeneral(5, 3)
	cells.Project(zeroed, Y)
	m := &linop.Mask{A: A, Cells: cells}
	m.Apply(got, blas.Vector(Y.Data))
	m.Apply(want, blas.Vector(zeroed.Data))
	for i, v := range got.Data {
		if v != want.Data[i] || math.IsNaN(v) {
			t.Errorf("element %d: %g, want %g", i, v, want.Data[i])
		}
	}
	both := blas.NewGeneral(5, 3)
	cells.ProjectMissing(both, random(rng, 5, 3))
	for i, v := range both.Data {
		if (v != 0) != math.IsNaN(Y.Data[i]) {
			t.Errorf("ProjectMissing: element %d is %g", i, v)
		}
	}
}

func TestKroneckerSumConcurrently(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	sum, _ := kroneckerSum(t, rng, 20, 4, []int{2, 4}, 1)
	A := &linop.Mask{A: sum, Cells: masks(rng, 20, 4)["random"]}
	x, want := random(rng, A.Dim(), 1), blas.NewGeneral(A.Dim(), 1)
	A.Apply(want, x)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got := blas.NewGeneral(A.Dim(), 1)
			for range 20 {
				A.Apply(got, x)
				for i, v := range got.Data {
					if v != want.Data[i] {
						t.Errorf("element %d: %g beside others, %g alone", i, v, want.Data[i])
						return
					}
				}
			}
		}()
	}
	wg.Wait()
}

func TestCellsPanic(t *testing.T) {
	cells := linop.NewCells(2, 2, func(i, j int) bool { return i == j })
	a := blas.NewGeneral(2, 3)
	for name, call := range map[string]func(){
		"negative": func() { linop.NewCells(-1, 2, nil) },
		"project":  func() { cells.Project(a, a) },
		"order": func() {
			m := &linop.Mask{A: linop.NewDense(blas.NewGeneral(3, 3), nil), Cells: cells}
			m.Apply(blas.NewGeneral(3, 1), blas.NewGeneral(3, 1))
		},
		"shape": func() {
			m := &linop.Mask{A: linop.NewDense(blas.NewGeneral(4, 4), nil), Cells: cells}
			m.Apply(blas.NewGeneral(4, 1), blas.NewGeneral(3, 1))
		},
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
