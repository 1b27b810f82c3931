package solvertest

import (
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Gaussian is a matrix of standard normal numbers.
func Gaussian(rng *rand.Rand, r, c int) blas.General {
	a := blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// Spectrum is the matrix Q·diag(s)·Qᵀ with a random orthogonal Q.
func Spectrum(rng *rand.Rand, s []float64) blas.General {
	l := len(s)
	q := Gaussian(rng, l, l)
	blas.Active().QR(q, blas.General{})
	t, a := blas.Clone(q), blas.NewGeneral(l, l)
	blas.ScaleColumns(t, s)
	blas.Mul(blas.Active(), a, false, true, t, q)
	blas.MirrorLower(a)
	return a
}

// Decay is c·b^j for j < k.
func Decay(k int, c, b float64) []float64 {
	s := make([]float64, k)
	for j := range s {
		s[j] = c * math.Pow(b, float64(j))
	}
	return s
}

// OutputKernel is a random n×n L with the given eigenvalues.
func OutputKernel(rng *rand.Rand, n int, s []float64) *linop.Spectral {
	v := Gaussian(rng, n, len(s))
	if len(s) > 0 {
		blas.Active().QR(v, blas.General{})
	}
	return &linop.Spectral{V: v, S: s}
}

// Holes are cells of every kind for an l×n grid, by what they are.
func Holes(rng *rand.Rand, l, n int) map[string]*linop.Cells {
	share := func(p float64) *linop.Cells {
		return linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= p })
	}
	single := func(w float64) *linop.Cells {
		return linop.WeightedCells(l, n, func(i, j int) float64 {
			if i == 3 && j == 0 {
				return w
			}
			return 1
		})
	}
	return map[string]*linop.Cells{
		"one cell":         linop.NewCells(l, n, func(i, j int) bool { return i != l/3 || j != n/2 }),
		"a row":            linop.NewCells(l, n, func(i, _ int) bool { return i != 2 }),
		"a column":         linop.NewCells(l, n, func(_, j int) bool { return j != n-1 }),
		"rows and columns": linop.NewCells(l, n, func(i, j int) bool { return i%5 != 0 && j != 1 }),
		"a row and a cell": linop.NewCells(l, n, func(i, j int) bool { return i != 2 && i+j != 7 }),
		"2 %":              share(0.02),
		"30 %":             share(0.3),
		"60 %":             share(0.6),
		"95 %":             share(0.95),
		"one seen":         linop.NewCells(l, n, func(i, j int) bool { return i == 1 && j == 0 }),
		"heterotopic":      linop.NewCells(l, n, func(i, j int) bool { return i%2 == j%2 }),
		"staircase":        linop.NewCells(l, n, func(i, j int) bool { return i*n >= j*l }),
		"none seen":        linop.NewCells(l, n, func(int, int) bool { return false }),
		"weights 4":        linop.WeightedCells(l, n, func(int, int) float64 { return 4 }),
		"by output":        linop.WeightedCells(l, n, func(_, j int) float64 { return float64(1 + 2*j) }),
		"log-normal":       linop.WeightedCells(l, n, func(int, int) float64 { return math.Exp(rng.NormFloat64()) }),
		"weights, holes":   linop.WeightedCells(l, n, func(i, j int) float64 { return float64((i + 2*j) % 4) }),
		"one heavy":        single(30),
		"one light":        single(1e-9),
	}
}

// problem is one system, and how it is to end.
type problem struct {
	name  string
	K     blas.General
	L     *linop.Spectral
	mu    float64
	Y     blas.General
	tol   float64
	want  []error // one of which is the error; none for nil
	cells *linop.Cells
}

// problems are the hard systems without cells.
func problems() []problem {
	rng := rand.New(rand.NewPCG(1, 2))
	const l, n = 60, 7
	K := Spectrum(rng, Decay(l, 10, 0.8))
	L := OutputKernel(rng, n, Decay(n, 3, 0.5))
	Y := Gaussian(rng, l, n)
	scaled := func(a blas.General, c float64) blas.General {
		b := blas.Clone(a)
		blas.Scal(c, b.Data)
		return b
	}
	with := func(a blas.General, k int, v float64) blas.General {
		b := blas.Clone(a)
		b.Data[k] = v
		return b
	}
	two := blas.Clone(blas.View(Y, 0, 0, l, 2)) // columns, of which the second is 0
	for i := range l {
		two.Data[2*i+1] = 0
	}
	nan := math.NaN()
	notSPD, notFinite := []error{sylvester.ErrNotSPD}, []error{sylvester.ErrNotFinite}
	either := []error{sylvester.ErrNotSPD, sylvester.ErrNotFinite}
	return []problem{
		{"plain", K, L, 0.3, Y, 1e-10, nil, nil},
		{"loose", K, L, 0.3, Y, 1e-2, nil, nil},
		{"one sample", blas.Vector([]float64{2}), L, 0.3, Gaussian(rng, 1, n), 1e-12, nil, nil},
		{"one output", K, OutputKernel(rng, 1, []float64{2}), 0.3, Gaussian(rng, l, 1), 1e-10, nil, nil},
		{"L = 0", K, OutputKernel(rng, n, nil), 0.3, Y, 1e-12, nil, nil},
		{"L of rank 1", K, OutputKernel(rng, n, []float64{4}), 0.3, Y, 1e-10, nil, nil},
		{"L with a zero eigenvalue", K, OutputKernel(rng, n, []float64{4, 1, 0}), 0.3, Y, 1e-10, nil, nil},
		{"L = I", K, linop.ScaledIdentity(n, 1), 0.3, Y, 1e-10, nil, nil},
		{"Y = 0", K, L, 0.3, blas.NewGeneral(l, n), 1e-10, nil, nil},
		{"one column of Y is 0", K, linop.ScaledIdentity(2, 1), 0.3, two, 1e-10, nil, nil},
		{"Y tiny", K, L, 0.3, scaled(Y, 1e-12), 1e-10, nil, nil},
		{"Y huge", K, L, 0.3, scaled(Y, 1e12), 1e-10, nil, nil},
		{"all tiny", scaled(K, 1e-12), L, 0.3e-12, Y, 1e-10, nil, nil},
		{"all huge", scaled(K, 1e12), L, 0.3e12, Y, 1e-10, nil, nil},
		{"ill conditioned", K, L, 1e-3, Y, 1e-8, nil, nil},
		{"K singular", Spectrum(rng, append(Decay(5, 10, 0.5), make([]float64, l-5)...)), L, 0.3, Y, 1e-10, nil, nil},
		{"K = 0", blas.NewGeneral(l, l), L, 0.3, Y, 1e-12, nil, nil},
		{"K = I", linop.ScaledIdentity(l, 1).V, L, 0.3, Y, 1e-12, nil, nil},
		{"K indefinite", Spectrum(rng, append([]float64{-5}, Decay(l-1, 10, 0.8)...)), L, 0.3, Y, 1e-10, notSPD, nil},
		{"K negative", scaled(K, -1), L, 0.3, Y, 1e-10, notSPD, nil},
		{"NaN in K", with(K, 0, nan), L, 0.3, Y, 1e-10, either, nil},
		{"NaN in L", K, OutputKernel(rng, n, []float64{nan}), 0.3, Y, 1e-10, notFinite, nil},
		{"NaN in V", K, &linop.Spectral{V: with(L.V, 3, nan), S: L.S}, 0.3, Y, 1e-10, notFinite, nil},
		{"L indefinite", K, OutputKernel(rng, n, []float64{1, -1}), 0.3, Y, 1e-10, notSPD, nil},
		{"NaN in Y", K, L, 0.3, with(Y, 5, nan), 1e-10, notFinite, nil},
		{"infinity in Y", K, L, 0.3, with(Y, 5, math.Inf(1)), 1e-10, notFinite, nil},
		{"mu = 0", K, L, 0, Y, 1e-10, notSPD, nil},
		{"mu NaN", K, L, nan, Y, 1e-10, notSPD, nil},
		{"NaN tolerance", K, L, 0.3, Y, nan, notFinite, nil},
	}
}

// withCells are the same systems with cells missing, the first row being observed, and systems of all kinds of cells. A
// solver may miss that K is indefinite where what it sees of it is not.
func withCells(short bool) (all []problem) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, p := range problems() {
		if p.name == "K indefinite" {
			continue
		}
		p.cells = linop.NewCells(p.Y.Rows, p.Y.Cols, func(i, _ int) bool { return i == 0 || rng.Float64() > 0.3 })
		p.name += ", 30 % missing"
		all = append(all, p)
	}
	const l, n, tol = 40, 5, 1e-11
	for _, c := range []struct {
		name     string
		rank     int
		k, mu, y float64 // scales
	}{
		{"full rank", n, 1, 0.05, 1},
		{"L of rank 2", 2, 1, 0.05, 1},
		{"L = 0", 0, 1, 0.05, 1},
		{"easy", n, 1, 50, 1},
		{"hard", n, 1, 1e-4, 1},
		{"all tiny", n, 1e-100, 5e-102, 1},
		{"all huge", n, 1e100, 5e98, 1},
		{"Y tiny", n, 1, 0.05, 1e-100},
		{"Y huge", n, 1, 0.05, 1e100},
	} {
		K, L := Spectrum(rng, Decay(l, 10*c.k, 0.75)), OutputKernel(rng, n, Decay(c.rank, 3, 0.5))
		Y := Gaussian(rng, l, n)
		blas.Scal(c.y, Y.Data)
		for kind, cells := range Holes(rng, l, n) {
			if !short || c.name == "full rank" || kind == "weights, holes" {
				all = append(all, problem{c.name + ", " + kind, K, L, c.mu, Y, tol, nil, cells})
			}
		}
	}
	return all
}
