package rff

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/vmath"
	"github.com/iokl/iokl/kernel"
)

// fourier holds the n frequencies of a map of random Fourier features.
type fourier struct {
	omega blas.General // n×d
	waves
}

// waves turns n phases θ = Ωx into features: pairs n^{-1/2}(cos θ, sin θ), or
// √(2/n)·cos(θ + b), each b uniform on the circle and all of them spread evenly.
type waves struct {
	n     int
	amp   float64
	shift []float64 // b of each frequency; nil for pairs
}

func newWaves(m *Map) (waves, error) {
	switch {
	case m.Form == kernel.Phases && m.D > 0:
		return waves{n: m.D, amp: math.Sqrt(2 / float64(m.D)), shift: make([]float64, m.D)}, nil
	case m.Form != "" && m.Form != kernel.Phases:
		return waves{}, fmt.Errorf("%w: unknown form %q of random features (have pairs, phases)", ErrNoFeatures, m.Form)
	case m.D < 1 || m.Form == "" && m.D%2 != 0:
		return waves{}, fmt.Errorf("%w: %d random features, want a positive number, even for pairs", ErrNoFeatures, m.D)
	}
	return waves{n: m.D / 2, amp: 1 / math.Sqrt(float64(m.D/2))}, nil
}

// draw draws the shifts: n points at equal distances, turned at random, in random order.
func (w *waves) draw(rng *rand.Rand) {
	turn := openUniform(rng)
	for i, at := range rng.Perm(len(w.shift)) {
		w.shift[i] = 2 * math.Pi * (float64(at) + turn) / float64(len(w.shift))
	}
}

// finish turns the phases in the first n columns of dst into features.
func (w *waves) finish(dst blas.General) {
	for i := range dst.Rows {
		row := blas.Row(dst, i)
		if w.shift == nil {
			vmath.SinCos(row[w.n:], row[:w.n], row[:w.n], w.amp)
			continue
		}
		blas.Axpy(1, w.shift, row)
		vmath.Cos(row, row, w.amp)
	}
}

func newFourier(m *Map) (transformer, error) {
	w, err := newWaves(m)
	if err != nil {
		return nil, err
	}
	n, d := w.n, m.Kernel.Dim()
	mix, err := mixture(&m.Kernel)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(m.Seed, m.Stream))
	if m.Sampler == "hadamard" {
		if mix == nil {
			return nil, fmt.Errorf("%w: hadamard features serve gaussian and matern kernels, not %s", ErrNoFeatures, m.Kernel.Kind)
		}
		s := newStructured(w, d, m.Kernel.Width, mix, rng)
		s.draw(rng)
		return s, nil
	}
	g, uniform, err := gaussianRows(m.Sampler, n, d, rng)
	if err != nil {
		return nil, err
	}
	for i := range n {
		row := blas.Row(g, i)
		if mix == nil {
			coordinates(m.Kernel.Kind, row)
			blas.Scal(1/m.Kernel.Width, row)
			continue
		}
		blas.Scal(mix(uniform(i))/m.Kernel.Width, row)
	}
	w.draw(rng)
	return &fourier{g, w}, nil
}

// mixture returns, for kernels of ‖x−z‖, the factor of a Gaussian frequency as a
// function of a uniform number, and nil for products over the coordinates.
func mixture(k *kernel.Kernel) (func(u float64) float64, error) {
	matern := func(nu float64) func(u float64) float64 {
		return func(u float64) float64 {
			chi2 := 2 * mathext.GammaIncRegInv(nu, u) // of 2ν degrees of freedom
			return math.Sqrt(2 * nu / chi2)
		}
	}
	switch k.Kind {
	case kernel.Gaussian:
		return func(float64) float64 { return 1 }, nil
	case kernel.Matern12:
		return matern(0.5), nil
	case kernel.Matern32:
		return matern(1.5), nil
	case kernel.Matern52:
		return matern(2.5), nil
	case kernel.Matern:
		return matern(k.Nu), nil
	case kernel.Laplacian, kernel.Cauchy:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s has no random Fourier features", ErrNoFeatures, k.Kind)
}

// coordinates turns standard normal coordinates into standard Cauchy ones, for
// the Laplacian kernel, or Laplace ones, for the Cauchy kernel, by the quantile
// function of Φ(g). With e = 1 − |2Φ(g)−1| the quantiles are ±cot(πe/2) and ±ln e.
func coordinates(kind kernel.Kind, row []float64) {
	for f, g := range row {
		e := math.Erfc(math.Abs(g) / math.Sqrt2)
		if kind == kernel.Laplacian {
			row[f] = math.Copysign(1/math.Tan(math.Pi/2*e), g)
		} else {
			row[f] = math.Copysign(math.Log(e), g)
		}
	}
}

// gaussianRows draws n rows of N(0, I_d), and a source of one uniform number in
// (0,1) for each row.
func gaussianRows(sampler string, n, d int, rng *rand.Rand) (blas.General, func(i int) float64, error) {
	uniform := func(int) float64 { return openUniform(rng) }
	switch sampler {
	case "mc":
		return normals(n, d, rng), uniform, nil
	case "orthogonal":
		return orthogonalRows(n, d, rng), uniform, nil
	case "qmc":
		h, err := newHalton(d+1, rng)
		if err != nil {
			return blas.General{}, nil, err
		}
		g := blas.NewGeneral(n, d)
		for i := range n {
			for f := range d {
				g.Data[i*d+f] = math.Sqrt2 * math.Erfinv(2*h.at(i, f)-1)
			}
		}
		return g, func(i int) float64 { return h.at(i, d) }, nil
	}
	return blas.General{}, nil, fmt.Errorf("%w: unknown sampler %q (have orthogonal, mc, qmc, hadamard)", ErrNoFeatures, sampler)
}

// openUniform is uniform on (0,1).
func openUniform(rng *rand.Rand) float64 { return (float64(rng.Uint64()>>12) + 0.5) * 0x1p-52 }

func normals(n, d int, rng *rand.Rand) blas.General {
	g := blas.NewGeneral(n, d)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	return g
}

// orthogonalRows draws rows that are orthogonal within blocks of d, each one
// N(0, I_d) by itself: the rows of a Haar-distributed orthogonal matrix times
// independent χ_d lengths. The signs that make the QR factorization unique make
// Q Haar-distributed (Mezzadri 2007) and the same for every backend up to rounding.
func orthogonalRows(n, d int, rng *rand.Rand) blas.General {
	out := blas.NewGeneral(n, d)
	r := blas.NewGeneral(d, d)
	for lo := 0; lo < n; lo += d {
		q := normals(d, d, rng)
		blas.Active().QR(q, r)
		for i := range min(d, n-lo) {
			length := blas.Nrm2(normals(1, d, rng).Data)
			if r.Data[i*d+i] < 0 {
				length = -length
			}
			row := blas.Row(out, lo+i)
			for f := range row {
				row[f] = length * q.Data[f*d+i]
			}
		}
	}
	return out
}

// transform computes the phases XΩᵀ where the cosines will be, then the features.
func (f *fourier) transform(dst, x blas.General) error {
	blas.Mul(blas.Active(), blas.View(dst, 0, 0, dst.Rows, f.n), false, true, x, f.omega)
	f.finish(dst)
	return nil
}
