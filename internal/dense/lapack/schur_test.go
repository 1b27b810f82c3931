package lapack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func randomMatrix(n int, seed uint64) matrix {
	rng := rand.New(rand.NewPCG(seed, 2))
	a := zeros(n, n)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// withEigenvalues is Q·(diag(d) + N)·Qᵀ with a random orthogonal Q and N strictly
// upper triangular of elements of the size skew.
func withEigenvalues(d []float64, skew float64, seed uint64) matrix {
	n := len(d)
	q, t := randomMatrix(n, seed), randomMatrix(n, seed+1)
	reference.QR(q, zeros(n, n))
	for i := range n {
		r := row(t, i)
		clear(r[:i])
		r[i] = d[i]
		for j := i + 1; j < n; j++ {
			r[j] *= skew
		}
	}
	return multiply(multiply(q, t, false), q, true)
}

// hardSpectra are the inputs that QR iterations find hard, of order n.
func hardSpectra(n int) map[string]matrix {
	graded, clustered, singular := make([]float64, n), make([]float64, n), make([]float64, n)
	cycle, jordan, scaled := zeros(n, n), zeros(n, n), randomMatrix(n, 9)
	for i := range n {
		graded[i] = math.Pow(10, -12*float64(i)/float64(n))
		clustered[i] = 1 + 1e-10*float64(i%7)
		if i%3 == 0 {
			singular[i] = float64(i)
		}
		cycle.Data[i*n+(i+1)%n] = 1
		jordan.Data[i*n+i] = 2
		if i > 0 {
			jordan.Data[i*n+i-1] = 1
		}
		for j := range n {
			scaled.Data[i*n+j] *= math.Pow(10, float64(j-i)/float64(n)*6)
		}
	}
	tiny := randomMatrix(n, 11)
	scal(1e-150, tiny.Data)
	return map[string]matrix{
		"random":           randomMatrix(n, 7),
		"symmetric":        randomSymmetric(n, 8),
		"graded":           withEigenvalues(graded, 0.1, 20),
		"clustered":        withEigenvalues(clustered, 0.01, 30),
		"singular":         withEigenvalues(singular, 1, 40),
		"cycle":            cycle, // plain shifts leave it as it is
		"jordan":           jordan,
		"badly balanced":   scaled,
		"zero":             zeros(n, n),
		"identity":         identity(n),
		"tiny":             tiny,
		"upper triangular": withTriangle(n),
	}
}

func withTriangle(n int) matrix {
	a := randomMatrix(n, 50)
	for i := range n {
		clear(row(a, i)[:i])
	}
	return a
}

func TestSchurHardCases(t *testing.T) {
	for _, n := range []int{1, 2, 3, 65, 97, 220} {
		for name, a := range hardSpectra(n) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				s, q := zeros(n, n), zeros(n, n)
				copyMatrix(s, a)
				if err := reference.Schur(s, q); err != nil {
					t.Fatal(err)
				}
				checkSchur(t, a, s, q)
			})
		}
	}
}

// checkSchur fails unless a = q·s·qᵀ with q orthogonal, to 30 units in the last
// place times √n, and s quasi-triangular.
func checkSchur(t *testing.T, a, s, q matrix) {
	t.Helper()
	n := a.Rows
	unit := 30 * 2 * eps * math.Sqrt(float64(n))
	if d := distance(multiply(q, q, true), identity(n)); !(d <= unit*math.Sqrt(float64(n))) {
		t.Errorf("‖QQᵀ − I‖ = %g", d)
	}
	if d := distance(multiply(multiply(q, s, false), q, true), a); !(d <= unit*frob(a)) {
		t.Errorf("‖A − QTQᵀ‖ = %g‖A‖", d/frob(a))
	}
	for i := range n {
		for j := range i {
			v := s.Data[i*n+j]
			if v == 0 {
				continue
			}
			if j < i-1 || i > 1 && s.Data[(i-1)*n+i-2] != 0 {
				t.Fatalf("element (%d,%d) is %g", i, j, v)
			}
			if s.Data[i*n+i] != s.Data[j*n+j] || !(v*s.Data[j*n+i] < 0) {
				t.Fatalf("the block at row %d is not standardised", j)
			}
		}
	}
}

// Elements of 1e±300 beside those of unit size are scaled before the iteration.
func TestSchurLargeElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, 0, 1, -1, 1e300, -1e300, 5e-324, 1e-150}
	for trial := range 6000 {
		a := zeros(8, 8)
		for i := range a.Data {
			a.Data[i] = 2*rng.Float64() - 1
			if rng.IntN(12) == 0 {
				a.Data[i] = odd[rng.IntN(len(odd))]
			}
		}
		T, q := zeros(8, 8), zeros(8, 8)
		copy(T.Data, a.Data)
		if err := reference.Schur(T, q); err != nil {
			t.Fatalf("trial %d: %v\n%v", trial, err, a.Data)
		}
		back := multiply(multiply(q, T, false), q, true)
		for i, v := range back.Data {
			if !(math.Abs(v-a.Data[i]) <= 1e-13*1e301) {
				t.Fatalf("trial %d: element %d of QTQᵀ is %g, not %g", trial, i, v, a.Data[i])
			}
		}
	}
}
