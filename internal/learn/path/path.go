// Package path makes the default values of λ.
package path

import "math"

// Points is the number of values: from the largest, where the fit is close to the
// mean, each is √10 times smaller than the one before.
const Points = 17

var ratio = math.Sqrt(10)

// Falling is the default path of λ for kernels whose K_η has this mean diagonal at
// the starting weights.
func Falling(size float64) []float64 {
	lambdas := make([]float64, Points)
	for i := range lambdas {
		lambdas[i] = size * math.Pow(ratio, -float64(i))
	}
	return lambdas
}
