package lanczos_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// The scale of A changes nothing, and what is not finite is said so.
func TestExtremes(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		scale float64
		want  error
	}{
		{"plain", 40, 1, nil},
		{"zero", 40, 0, nil},
		{"order 1", 1, 1, nil},
		{"tiny", 40, 1e-300, nil},
		{"subnormal", 40, 1e-310, nil},
		{"huge", 40, 1e300, nil},
		{"hugest", 40, 4e306, nil},
		{"NaN", 40, math.NaN(), lanczos.ErrNotFinite},
		{"infinite", 40, math.Inf(1), lanczos.ErrNotFinite},
	} {
		a := blas.NewGeneral(c.n, c.n)
		for i := range c.n {
			a.Data[i*c.n+i] = c.scale * float64(i+1)
		}
		for _, k := range []int{1, 3} {
			for _, block := range []int{1, 3} {
				k = min(k, c.n)
				t.Run(fmt.Sprint(c.name, k, block), func(t *testing.T) {
					for _, which := range []lanczos.Which{lanczos.Largest, lanczos.Smallest} {
						opt := lanczos.Options{K: k, Block: block, Which: which}
						res, err := lanczos.Eigs(bg, linop.NewDense(a, nil), opt)
						if !errors.Is(err, c.want) {
							t.Fatalf("error %v, want %v", err, c.want)
						}
						if err != nil {
							continue
						}
						checkPairs(t, a, res, 1e-8*c.scale*float64(c.n))
						for i, v := range res.Values {
							want := float64(i + 1)
							if which == lanczos.Largest {
								want = float64(c.n - i)
							}
							if !(math.Abs(v-want*c.scale) <= 1e-8*c.scale*float64(c.n)) {
								t.Errorf("value %d is %g, want %g", i, v, want*c.scale)
							}
						}
					}
				})
			}
		}
	}
}
