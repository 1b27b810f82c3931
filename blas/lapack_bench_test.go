package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

// BenchmarkLAPACK times the factorizations of every backend; gflops counts the
// operations of the textbook algorithm, so that backends compare by it.
func BenchmarkLAPACK(b *testing.B) {
	for _, op := range []struct {
		name  string
		sizes []int
		flops float64 // in units of n³
		run   func(be blas.Backend, a, q blas.General, w []float64)
	}{
		{"potrf", []int{500, 1500, 3000}, 1. / 3, func(be blas.Backend, a, _ blas.General, _ []float64) {
			be.Potrf(a)
		}},
		{"syevd", []int{16, 32, 64, 100, 200, 300, 500, 1000, 1500, 3000}, 9, func(be blas.Backend, a, _ blas.General,
			w []float64,
		) {
			_ = be.Syevd(a, w)
		}},
		{"syevals", []int{1500}, 4. / 3, func(be blas.Backend, a, _ blas.General, w []float64) {
			_ = be.Syevals(a, w)
		}},
		{"sytrd", []int{500, 1500, 3000}, 4. / 3, func(be blas.Backend, a, q blas.General, w []float64) {
			be.Sytrd(a, w, q.Data[:len(w)-1], q.Data[len(w):2*len(w)-1])
		}},
		{"ormtr100", []int{1500, 3000}, 0, nil},
		{"qr", []int{500, 1500}, 8. / 3, func(be blas.Backend, a, q blas.General, _ []float64) { be.QR(a, q) }},
		{"svd", []int{100, 500, 1000}, 20, func(be blas.Backend, a, q blas.General, w []float64) {
			_ = be.SVD(a, w, blas.NewGeneral(a.Rows, a.Cols), q)
		}},
		{"schur", []int{300}, 25, func(be blas.Backend, a, q blas.General, _ []float64) { _ = be.Schur(a, q) }},
	} {
		for _, n := range op.sizes {
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" && n > 1500 {
					continue // minutes
				}
				b.Run(fmt.Sprintf("op=%s/n=%d/impl=%s", op.name, n, be.Name()), func(b *testing.B) {
					rng := rand.New(rand.NewPCG(1, uint64(n)))
					full := blas.NewGeneral(n, n)
					for i := range n {
						for j := range i {
							v := rng.NormFloat64()
							full.Data[i*n+j], full.Data[j*n+i] = v, v
						}
						full.Data[i*n+i] = 4 * math.Sqrt(float64(n))
					}
					a, q, w := blas.Clone(full), blas.NewGeneral(n, n), make([]float64, n)
					if op.run == nil {
						benchOrmtr(b, be, a, w)
						return
					}
					for b.Loop() {
						b.StopTimer()
						blas.Copy(a, full)
						b.StartTimer()
						op.run(be, a, q, w)
					}
					b.ReportMetric(op.flops*math.Pow(float64(n), 3)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}

// benchOrmtr applies the Q of a tridiagonal reduction to 100 columns.
func benchOrmtr(b *testing.B, be blas.Backend, a blas.General, d []float64) {
	n := a.Rows
	e, tau, c := make([]float64, n-1), make([]float64, n-1), blas.NewGeneral(n, 100)
	be.Sytrd(a, d, e, tau)
	for i := range c.Data {
		c.Data[i] = 1 / float64(i+1)
	}
	for b.Loop() {
		be.Ormtr(true, a, tau, c)
	}
	b.ReportMetric(2*float64(n)*float64(n)*100*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
