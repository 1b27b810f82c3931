package lapack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// spectra are singular values that make it hard to keep left and right vectors
// orthogonal, by what is hard about them, largest first.
func spectra(n int) map[string][]float64 {
	out := map[string][]float64{}
	for name, value := range map[string]func(t float64) float64{ // t from 0 to 1
		"linear":              func(t float64) float64 { return 1.001 - t },
		"geometric to 1e-6":   func(t float64) float64 { return math.Pow(10, -6*t) },
		"geometric to 1e-30":  func(t float64) float64 { return math.Pow(10, -30*t) },
		"all one":             func(float64) float64 { return 1 },
		"half of rank":        func(t float64) float64 { return max(0, math.Copysign(1.1-t, 0.5-t)) },
		"rank one":            func(t float64) float64 { return max(0, math.Copysign(1, 1e-9-t)) },
		"half 1e-9":           func(t float64) float64 { return 1e-9 + max(0, math.Copysign(1.1-t, 0.5-t)) },
		"half about rounding": func(t float64) float64 { return 1e-16*(1.1-t) + max(0, math.Copysign(1, 0.5-t)) },
		"half just above it":  func(t float64) float64 { return 1e-12*(1.1-t) + max(0, math.Copysign(1, 0.5-t)) },
		"three of 1 in 1e-4":  func(t float64) float64 { return 1e-4 + max(0, math.Copysign(1, 3/float64(n)-t)) },
		"large":               func(t float64) float64 { return 1e200 * (1.001 - t) },
		"small":               func(t float64) float64 { return 1e-250 * (1.001 - t) },
		"one small":           func(t float64) float64 { return max(1e-13, math.Copysign(1, 1-2/float64(n)-t)) },
	} {
		for i := range n {
			out[name] = append(out[name], value(float64(i)/float64(n-1)))
		}
	}
	return out
}

// Singular values, vectors and their product are within a few n roundings of the
// largest singular value, whatever the others are.
func TestSVDSpectra(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for _, n := range []int{svdLeaf + 1, 170} {
		Q, P := orthogonal(rng, n), orthogonal(rng, n)
		for name, want := range spectra(n) {
			full := multiply(scaled(Q, want, 1), P, false)
			a, s, u, vt := zeros(n, n), make([]float64, n), zeros(n, n), zeros(n, n)
			copyMatrix(a, full)
			if err := reference.SVD(a, s, u, vt); err != nil {
				t.Fatal(name, err)
			}
			for i, v := range s {
				if !(math.Abs(v-want[i]) <= float64(n)*eps*want[0]) {
					t.Errorf("%s, order %d: singular value %d is %g, want %g", name, n, i, v, want[i])
					break
				}
			}
			unit := 1 / want[0]
			I := identity(n)
			for part, err := range map[string]float64{
				"A − USVᵀ": distance(multiply(scaled(u, s, unit), vt, false),
					scaled(full, slices.Repeat([]float64{1}, n), unit)),
				"UUᵀ − I": distance(multiply(u, u, true), I),
				"VᵀV − I": distance(multiply(vt, vt, true), I),
			} {
				if !(err <= 4*float64(n)*eps) {
					t.Errorf("%s, order %d: ‖%s‖ = %g, above %g", name, n, part, err, 4*float64(n)*eps)
				}
			}
		}
	}
}

// scaled is a·diag(s)·factor.
func scaled(a matrix, s []float64, factor float64) matrix {
	out := zeros(a.Rows, a.Cols)
	for i := range a.Rows {
		for j, v := range row(a, i) {
			out.Data[i*out.Stride+j] = v * (s[j] * factor)
		}
	}
	return out
}

func orthogonal(rng *rand.Rand, n int) matrix {
	q := zeros(n, n)
	for i := range q.Data {
		q.Data[i] = rng.NormFloat64()
	}
	reference.QR(q, matrix{})
	return q
}

// Bidiagonal matrices with zeros, elements that are rounding or near underflow, and equal
// singular values decompose, however they are split.
func TestBisect(t *testing.T) {
	var rng *rand.Rand
	element := map[string]func() float64{
		"normal":         func() float64 { return rng.NormFloat64() },
		"mostly zero":    func() float64 { return max(0, rng.NormFloat64()-1) },
		"zero":           func() float64 { return 0 },
		"one":            func() float64 { return 1 },
		"of many sizes":  func() float64 { return math.Pow(10, -40*rng.Float64()) },
		"near underflow": func() float64 { return math.Pow(10, -300*float64(rng.IntN(2))) },
	}
	for diagonal := range element {
		for above := range element {
			for _, n := range []int{1, 2, bisectLeaf + 1, 50, 101} {
				rng = rand.New(rand.NewPCG(22, 1))
				d, e, B := make([]float64, n), make([]float64, n), zeros(n, n)
				for i := range n {
					d[i], e[i] = element[diagonal](), element[above]()
					B.Data[i*n+i] = d[i]
					if i+1 < n {
						B.Data[i*n+i+1] = e[i]
					}
				}
				norm := max(nrm2(B.Data), leastScale/eps)
				U, V, c := zeros(n, n), zeros(n, n), newCuppen(reference, n)
				c.left = make([]float64, n*n)
				if !c.bisect(d, e[:n-1], U, V) {
					t.Fatalf("diagonal %s, above %s, order %d: no convergence", diagonal, above, n)
				}
				tol := 4 * float64(n+6) * eps
				for part, err := range map[string]float64{
					"B − UᵀSV": distance(multiply(scaled(transposed(U), d, 1), V, false), B) / norm,
					"UUᵀ − I":  distance(multiply(U, U, true), identity(n)),
					"VVᵀ − I":  distance(multiply(V, V, true), identity(n)),
				} {
					if !(err <= tol) {
						t.Errorf("diagonal %s, above %s, order %d: ‖%s‖ = %g, above %g", diagonal, above, n, part, err,
							tol)
					}
				}
			}
		}
	}
}
