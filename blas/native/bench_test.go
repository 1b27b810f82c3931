package native

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// report gives the speed in operations a second, and as a fraction of the peak
// measured right after.
func report(b *testing.B, flops float64, single bool) {
	speed := flops * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(speed/1e9, "GFLOP/s")
	peak := New().MeasurePeak(single, runtime.GOMAXPROCS(0), 20*time.Millisecond)
	b.ReportMetric(100*speed/peak, "%peak")
}

// BenchmarkGemm is C = A·B for square matrices.
func BenchmarkGemm(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{64, 256, 1024, 2048} {
		x, y, z := fill(rng, make([]float64, n*n)), fill(rng, make([]float64, n*n)), make([]float64, n*n)
		x32, y32, z32 := fill(rng, make([]float32, n*n)), fill(rng, make([]float32, n*n)), make([]float32, n*n)
		flops := 2 * float64(n) * float64(n) * float64(n)
		no := gblas.NoTrans
		impls := map[string]gblas.Float64{"gonum": gonum.Implementation{}}
		for _, l := range Levels() {
			be, err := NewLevel(l)
			if err != nil {
				b.Fatal(err)
			}
			impls["native-"+l.String()] = be
		}
		for name, be := range impls {
			if n == 2048 && (name == "gonum" || name == "native-generic") {
				continue // seconds a product
			}
			b.Run(fmt.Sprintf("op=gemm/n=%d/prec=float64/impl=%s", n, name), func(b *testing.B) {
				for b.Loop() {
					be.Dgemm(no, no, n, n, n, 1, x, n, y, n, 0, z, n)
				}
				report(b, flops, false)
			})
		}
		be := New()
		b.Run(fmt.Sprintf("op=gemm/n=%d/prec=float32/impl=native-%v", n, be.Level()), func(b *testing.B) {
			for b.Loop() {
				be.Sgemm(no, no, n, n, n, 1, x32, n, y32, n, 0, z32, n)
			}
			report(b, flops, true)
		})
	}
}

// BenchmarkLevel3 is the rest of level 3, and products with one short side.
func BenchmarkLevel3(b *testing.B) {
	const n, k = 1024, 32
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, z := fill(rng, make([]float64, n*n)), fill(rng, make([]float64, n*n)), make([]float64, n*n)
	for i := range n {
		x[i*n+i] += n
	}
	no, tr, low := gblas.NoTrans, gblas.Trans, gblas.Lower
	be := New()
	cube := float64(n) * n * n
	for _, c := range []struct {
		op    string
		flops float64
		f     func()
	}{
		{"syrk", cube, func() { be.Dsyrk(low, no, n, n, 1, x, n, 0, z, n) }},
		{"syr2k", 2 * cube, func() { be.Dsyr2k(low, no, n, n, 1, x, n, y, n, 0, z, n) }},
		{"symm", 2 * cube, func() { be.Dsymm(gblas.Left, low, n, n, 1, x, n, y, n, 0, z, n) }},
		{"trsm-left", cube, func() { be.Dtrsm(gblas.Left, low, no, gblas.NonUnit, n, n, 1, x, n, y, n) }},
		{"trsm-right", cube, func() { be.Dtrsm(gblas.Right, low, tr, gblas.NonUnit, n, n, 1, x, n, y, n) }},
		{"trmm", cube, func() { be.Dtrmm(gblas.Left, low, no, gblas.Unit, n, n, 0.001, x, n, y, n) }},
		{"gemm-tn", 2 * cube, func() { be.Dgemm(tr, no, n, n, n, 1, x, n, y, n, 0, z, n) }},
		{"gemm-nt", 2 * cube, func() { be.Dgemm(no, tr, n, n, n, 1, x, n, y, n, 0, z, n) }},
		{"gemm-outer", 2 * cube * k / n, func() { be.Dgemm(no, no, n, n, k, 1, x, n, y, n, 1, z, n) }},
		{"gemm-flat", 2 * cube * k / n, func() { be.Dgemm(no, no, k, n, n, 1, x, n, y, n, 0, z, n) }},
		{"gemm-tall", 2 * cube * k / n, func() { be.Dgemm(no, no, n, k, n, 1, x, n, y, n, 0, z, n) }},
		{"gemv", 2 * cube / n, func() { be.Dgemv(no, n, n, 1, x, n, y, 1, 0, z, 1) }},
		{"symv", 2 * cube / n, func() { be.Dsymv(low, n, 1, x, n, y, 1, 0, z, 1) }},
	} {
		b.Run(fmt.Sprintf("op=%s/n=%d/impl=native-%v", c.op, n, be.Level()), func(b *testing.B) {
			for b.Loop() {
				c.f()
			}
			report(b, c.flops, false)
		})
	}
}

// BenchmarkOperator is K·X for the packed K, with both triangles stored and with one.
func BenchmarkOperator(b *testing.B) {
	be := New()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{3060, 12000} {
		for _, single := range []bool{false, true} {
			s, _ := randomSymmetric(rng, be, n, single, n <= wholeOrder)
			prec := "float64"
			if single {
				prec = "float32"
			}
			for _, k := range []int{1, 2, 4, 8, 10, 16, 32, 102, 204} {
				x, y := fill(rng, make([]float64, n*k)), make([]float64, n*k)
				b.Run(fmt.Sprintf("op=operator/n=%d/k=%d/prec=%s/impl=native-%v", n, k, prec, be.Level()),
					func(b *testing.B) {
						b.SetBytes(s.Bytes())
						for b.Loop() {
							s.Multiply(k, y, k, x, k)
						}
						report(b, 2*float64(n)*float64(n)*float64(k), single)
					})
			}
		}
	}
}

// BenchmarkCollection is a garbage collection while products run without a pause.
func BenchmarkCollection(b *testing.B) {
	const n, k = 2000, 102
	s, _ := randomSymmetric(rand.New(rand.NewPCG(1, 1)), New(), n, false, true)
	x, y := make([]float64, n*k), make([]float64, n*k)
	stop, end := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(end)
		for {
			select {
			case <-stop:
				return
			default:
				s.Multiply(k, y, k, x, k)
			}
		}
	}()
	var worst time.Duration
	for b.Loop() {
		start := time.Now()
		runtime.GC()
		worst = max(worst, time.Since(start))
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
	close(stop)
	<-end
}

// BenchmarkBandwidth reads memory, which bounds the products with few columns.
func BenchmarkBandwidth(b *testing.B) {
	be := New()
	for _, mb := range []int{2, 16, 37, 75} {
		b.Run(fmt.Sprintf("op=read/mb=%d/impl=native-%v", mb, be.Level()), func(b *testing.B) {
			var speed float64
			for b.Loop() {
				speed = be.MeasureBandwidth(mb<<20, runtime.GOMAXPROCS(0), 50*time.Millisecond)
			}
			b.ReportMetric(speed/1e9, "GB/s")
		})
	}
}
