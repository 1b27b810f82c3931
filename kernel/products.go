// This file defines the kernels of the inner product.

package kernel

import (
	"math"

	"github.com/iokl/iokl/internal/vmath"
)

// Kernels of the inner product xᵀz.
const (
	Linear Kind = "linear"
	Cosine Kind = "cosine"
	Poly   Kind = "poly"
)

func init() {
	product := func(*Kernel) (degree int, gamma, offset float64) { return 1, 1, 0 }
	register(Linear, definition{formula: "xᵀz", polynomial: product})
	register(Cosine, definition{formula: "xᵀz/(‖x‖‖z‖), 0 when x or z is 0", unit: true, polynomial: product})
	polynomial := func(k *Kernel) (degree int, gamma, offset float64) {
		return int(k.Params[0]), k.Params[2], k.Params[1]
	}
	register(Poly, definition{
		formula: "(γ·xᵀz + c)^q, q = DEGREE, c = OFFSET (1), γ = GAMMA (1/d)",
		params: []param{
			{name: "degree", min: 1, max: 100, integer: true, value: 2},
			{name: "offset", max: math.MaxFloat64, value: 1, optional: true},
			{
				name: "gamma", min: math.SmallestNonzeroFloat64, max: math.MaxFloat64, optional: true,
				derive: func(dim int) float64 { return 1 / float64(dim) },
			},
		},
		values: func(k *Kernel) func(dst, src []float64) {
			degree, gamma, offset := polynomial(k)
			return func(dst, src []float64) { vmath.Power(dst, src, gamma, offset, degree) }
		},
		polynomial: polynomial,
	})
}
