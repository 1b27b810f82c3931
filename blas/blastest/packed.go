package blastest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/race"
)

// packed tests the operator that be's NewPacked returns, in both precisions.
func packed(t *testing.T, be blas.Backend) {
	for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
		t.Run("Packed/"+prec.String(), func(t *testing.T) {
			orders := []int{0, 1, 2, 23, 24, 25, 64, 65, 131, 260}
			if race.Enabled {
				orders = []int{0, 1, 25, 131}
			}
			for _, n := range orders {
				packedOnce(t, be, n, prec)
			}
			packedScales(t, be, prec)
			packedTogether(t, be, prec)
		})
	}
}

// roundoff is the rounding unit of a precision.
func roundoff(p blas.Precision) float64 {
	if p == blas.Float32 {
		return 0x1p-24
	}
	return unit
}

// sum makes terms in both precisions, one of them NaN with weight zero, and their weighted sum.
func sum(rng *rand.Rand, n int, scale float64) (w []float64, terms []*blas.Sym, dense blas.General) {
	dense = blas.NewGeneral(n, n)
	for t, prec := range []blas.Precision{blas.Float64, blas.Float32, blas.Float64} {
		a := blas.NewGeneral(n, n)
		for i := range n {
			for j := range i + 1 {
				v := float64(float32(rng.NormFloat64()))
				if t == 2 {
					v = math.NaN()
				}
				a.Data[i*n+j], a.Data[j*n+i] = v, v
			}
		}
		terms = append(terms, blas.SymFrom(a, prec))
		if t == 2 {
			w = append(w, 0)
			continue
		}
		w = append(w, scale*(0.5+rng.Float64()))
		blas.AddScaled(dense, w[t], a)
	}
	return w, terms, dense
}

func packedOnce(t *testing.T, be blas.Backend, n int, prec blas.Precision) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 8))
	p := be.NewPacked(n, prec)
	if p.Order() != n || p.Precision() != prec {
		t.Fatalf("order %d, precision %v", p.Order(), p.Precision())
	}
	if least := int64(n*n/2) * prec.Bytes(); p.Bytes() < least || float64(p.Bytes()) != be.PackedBytes(n, prec) {
		t.Errorf("n=%d: %d bytes, at least %d are needed and %g foretold", n, p.Bytes(), least, be.PackedBytes(n, prec))
	}
	for range 2 { // the second sum replaces the first
		w, terms, dense := sum(rng, n, 1)
		blas.PackSum(p, w, terms)
		got := blas.NewGeneral(n, n)
		blas.Unpack(got, p)
		equal(t, "Unpack", got, dense, nil, 16*roundoff(prec))
		for _, i := range []int{0, n / 2, n - 1} {
			if row := make([]float64, n); n > 0 {
				if p.Row(i, row); !slices.Equal(row, blas.Row(got, i)) || p.At(i, n/3) != row[n/3] {
					t.Errorf("n=%d: row %d differs from that of Unpack", n, i)
				}
			}
		}
		for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 102, 190} {
			multiply(t, p, dense, matrix(rng, n, k, nil), fmt.Sprintf("n=%d k=%d", n, k))
		}
	}
}

// multiply compares p.Mul with the product by dense, element by element.
func multiply(t *testing.T, p blas.Packed, dense, x blas.General, what string) {
	t.Helper()
	n, k := x.Rows, x.Cols
	dst := matrix(rand.New(rand.NewPCG(1, 1)), n, k, nothing)
	p.Mul(dst, x)
	u := roundoff(p.Precision())
	for i := range n {
		for c := range dst.Stride {
			got := dst.Data[i*dst.Stride+c]
			if c >= k {
				if !math.IsNaN(got) {
					t.Fatalf("%s: wrote beyond the block in row %d", what, i)
				}
				continue
			}
			var want, size, top float64
			for j := range n {
				v := dense.Data[i*n+j] * x.Data[j*x.Stride+c]
				want += v
				size += math.Abs(v)
				top = max(top, math.Abs(x.Data[j*x.Stride+c]))
			}
			// In single precision a column is rounded relative to its largest element.
			if p.Precision() == blas.Float32 {
				size += top * 1e-20
			}
			if d := math.Abs(got - want); !(d <= 4*float64(n+4)*u*size) {
				t.Fatalf("%s: element (%d,%d) is %g, want %g", what, i, c, got, want)
			}
		}
	}
}

// packedScales multiplies blocks whose columns differ by hundreds of orders of magnitude.
func packedScales(t *testing.T, be blas.Backend, prec blas.Precision) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 8))
	const n = 50
	w, terms, dense := sum(rng, n, 1)
	p := be.NewPacked(n, prec)
	blas.PackSum(p, w, terms)
	for _, k := range []int{3, 12} {
		x := matrix(rng, n, k, nil)
		for i := range n {
			row := blas.Row(x, i)
			row[0] *= 1e200
			row[1] *= 1e-200
			row[2] = 0
		}
		multiply(t, p, dense, x, fmt.Sprintf("scaled, k=%d", k))
	}
	x := matrix(rng, n, 12, nil)
	x.Data[7*x.Stride+5] = math.NaN()
	dst := blas.NewGeneral(n, 12)
	p.Mul(dst, x)
	for i := range n {
		if !math.IsNaN(dst.Data[i*12+5]) || math.IsNaN(dst.Data[i*12+4]) {
			t.Fatalf("row %d: a NaN in column 5 gives %v", i, blas.Row(dst, i))
		}
	}
}

// packedTogether multiplies from several goroutines at once.
func packedTogether(t *testing.T, be blas.Backend, prec blas.Precision) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 8))
	const n = 200
	w, terms, dense := sum(rng, n, 1)
	p := be.NewPacked(n, prec)
	blas.PackSum(p, w, terms)
	var wg sync.WaitGroup
	for _, k := range []int{1, 4, 6, 20, 1, 4, 6, 20} {
		x := matrix(rng, n, k, nil)
		want := blas.Product(be, false, false, dense, x)
		wg.Go(func() {
			for range 5 {
				got := blas.NewGeneral(n, k)
				p.Mul(got, x)
				blas.AddScaled(got, -1, want)
				if d := blas.Frob(got); !(d <= 100*n*roundoff(prec)*blas.Frob(want)) {
					t.Errorf("k=%d beside others: error %g", k, d)
				}
			}
		})
	}
	wg.Wait()
}
