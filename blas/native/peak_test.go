package native

import (
	"math"
	"testing"
	"time"
)

func TestMeasurements(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		for _, single := range []bool{false, true} {
			if f := b.MeasurePeak(single, 2, time.Millisecond); !(f > 0) || math.IsInf(f, 0) {
				t.Errorf("single=%v: peak of %g operations a second", single, f)
			}
		}
		for _, bytes := range []int{0, 1 << 20} {
			if f := b.MeasureBandwidth(bytes, 2, time.Millisecond); !(f > 0) || math.IsInf(f, 0) {
				t.Errorf("%d bytes: %g bytes a second", bytes, f)
			}
		}
	})
}
