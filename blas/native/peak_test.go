package native

import (
	"testing"
	"time"
)

func TestMeasurements(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		for _, single := range []bool{false, true} {
			if f := b.MeasurePeak(single, 2, time.Millisecond); !(f > 1e6) {
				t.Errorf("single=%v: peak of %g operations a second", single, f)
			}
		}
		for _, bytes := range []int{0, 1 << 20} {
			if f := b.MeasureBandwidth(bytes, 2, time.Millisecond); !(f > 1e6) {
				t.Errorf("%d bytes: %g bytes a second", bytes, f)
			}
		}
	})
}

func BenchmarkPeak(b *testing.B) {
	n := New()
	for b.Loop() {
		b.ReportMetric(n.MeasurePeak(false, 1, 100*time.Millisecond)/1e9, "f64x1-GFLOP/s")
		b.ReportMetric(n.MeasurePeak(false, 2, 100*time.Millisecond)/1e9, "f64x2-GFLOP/s")
		b.ReportMetric(n.MeasurePeak(true, 2, 100*time.Millisecond)/1e9, "f32x2-GFLOP/s")
		for _, mb := range []int{2, 8, 24, 37, 75} {
			b.ReportMetric(n.MeasureBandwidth(mb<<20, 2, 50*time.Millisecond)/1e9, string(rune('A'+mb%26))+"-GB/s")
		}
	}
}
