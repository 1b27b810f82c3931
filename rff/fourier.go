// Random Fourier features.

package rff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/vmath"
	"github.com/iokl/iokl/kernel"
)

// fourier holds the n frequencies of a map of random Fourier features.
type fourier struct {
	be    blas.Backend
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

func newWaves(m *Map) waves {
	if m.Form == kernel.Phases {
		return waves{n: m.D, amp: math.Sqrt(2 / float64(m.D)), shift: make([]float64, m.D)}
	}
	return waves{n: m.D / 2, amp: 1 / math.Sqrt(float64(m.D/2))}
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

func checkFourier(m *Map) error {
	radial, coordinate := m.Kernel.Frequencies()
	switch {
	case m.Form != "" && m.Form != kernel.Phases:
		return fmt.Errorf("%w: unknown form %q of random features (have pairs, phases)", ErrNoFeatures, m.Form)
	case m.D < 1 || m.Form == "" && m.D%2 != 0:
		return fmt.Errorf("%w: %d random features, want a positive number, even for pairs", ErrNoFeatures, m.D)
	case radial == nil && coordinate == nil:
		return fmt.Errorf("%w: %s has no random Fourier features", ErrNoFeatures, m.Kernel.Kind)
	case m.Sampler == "hadamard" && radial == nil:
		return fmt.Errorf("%w: hadamard features serve kernels of the Euclidean distance, as gaussian, not %s",
			ErrNoFeatures, m.Kernel.Kind)
	case m.Sampler == "qmc" && m.Kernel.Dim() >= maxHalton:
		return fmt.Errorf("%w: qmc features on %d columns, more than %d: use orthogonal", ErrNoFeatures,
			m.Kernel.Dim(), maxHalton-1)
	case !slices.Contains([]string{"orthogonal", "mc", "qmc", "hadamard"}, m.Sampler):
		return fmt.Errorf("%w: unknown sampler %q (have orthogonal, mc, qmc, hadamard)", ErrNoFeatures, m.Sampler)
	}
	return nil
}

func newFourier(m *Map) transformer {
	w := newWaves(m)
	n, d := w.n, m.Kernel.Dim()
	radial, coordinate := m.Kernel.Frequencies()
	rng := rand.New(rand.NewPCG(m.Seed, m.Stream))
	if m.Sampler == "hadamard" {
		s := newStructured(w, d, m.Kernel.Width, radial, rng)
		s.draw(rng)
		return s
	}
	be := blas.Or(m.Backend)
	g, uniform := gaussianRows(m.Sampler, n, d, rng, be)
	for i := range n {
		row := blas.Row(g, i)
		scale := 1.0
		if radial != nil {
			scale = radial(uniform(i))
		} else {
			for f, v := range row {
				row[f] = coordinate(v)
			}
		}
		blas.Scal(scale/m.Kernel.Width, row)
	}
	w.draw(rng)
	return &fourier{be, g, w}
}

// gaussianRows draws n rows of N(0, I_d), and a source of one uniform number in
// (0,1) for each row.
func gaussianRows(
	sampler string, n, d int, rng *rand.Rand, be blas.Backend,
) (blas.General, func(i int) float64) {
	uniform := func(int) float64 { return openUniform(rng) }
	switch sampler {
	case "mc":
		return normals(n, d, rng), uniform
	case "orthogonal":
		return orthogonalRows(n, d, rng, be), uniform
	}
	h := newHalton(d+1, rng)
	g := blas.NewGeneral(n, d)
	for i := range n {
		for f := range d {
			g.Data[i*d+f] = math.Sqrt2 * math.Erfinv(2*h.at(i, f)-1)
		}
	}
	return g, func(i int) float64 { return h.at(i, d) }
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
func orthogonalRows(n, d int, rng *rand.Rand, be blas.Backend) blas.General {
	out := blas.NewGeneral(n, d)
	r := blas.NewGeneral(d, d)
	for lo := 0; lo < n; lo += d {
		q := normals(d, d, rng)
		be.QR(q, r)
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
	blas.Mul(f.be, blas.View(dst, 0, 0, dst.Rows, f.n), false, true, x, f.omega)
	f.finish(dst)
	return nil
}
