package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

// formula is the kernel's definition, from the package documentation.
func (k *Kernel) formula(x, z []float64) float64 {
	v := k.raw(x, z)
	if k.Unit || k.Kind == Cosine {
		n := k.raw(x, x) * k.raw(z, z)
		if n == 0 {
			return 0
		}
		v /= math.Sqrt(n)
	}
	return v
}

func (k *Kernel) raw(x, z []float64) float64 {
	var ip, l1, l2, chi float64
	lorentz := 1.0
	use := k.Columns
	if use == nil {
		use = make([]int, len(x))
		for c := range use {
			use[c] = c
		}
	}
	for _, c := range use {
		d := x[c] - z[c]
		ip += x[c] * z[c]
		l1 += math.Abs(d)
		l2 += d * d
		lorentz /= 1 + d*d/(k.Width*k.Width)
		if s := x[c] + z[c]; s != 0 {
			chi += d * d / s
		}
	}
	r := math.Sqrt(l2) / k.Width
	switch k.Kind {
	case Linear, Cosine:
		return ip
	case Poly:
		return math.Pow(k.Params[2]*ip+k.Params[1], k.Params[0])
	case Gaussian:
		return math.Exp(-r * r / 2)
	case Laplacian:
		return math.Exp(-l1 / k.Width)
	case Matern12:
		return math.Exp(-r)
	case Matern32:
		return (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r)
	case Matern52:
		return (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r)
	case Matern:
		return besselMatern(k.Params[0], math.Sqrt(2*k.Params[0])*r)
	case Cauchy:
		return lorentz
	case Rational:
		return math.Pow(1+r*r/(2*k.Params[0]), -k.Params[0])
	case Chi2:
		return math.Exp(-chi / k.Width)
	}
	return math.NaN()
}

// besselMatern is 2^{1−ν}/Γ(ν)·t^ν·K_ν(t) with K_ν(t) = ∫₀^∞ exp(−t·cosh u)·cosh(νu) du.
func besselMatern(nu, t float64) float64 {
	if t == 0 {
		return 1
	}
	const h = 0.05
	sum := math.Exp(-t) / 2
	for u := h; t*math.Cosh(u) < 750; u += h {
		sum += math.Exp(-t*math.Cosh(u)) * math.Cosh(nu*u)
	}
	return math.Pow(2, 1-nu) / math.Gamma(nu) * math.Pow(t, nu) * h * sum
}

// dense is the kernel matrix by its formula, centred as in the definition.
func (k *Kernel) dense(a, b, train blas.General) blas.General {
	K := blas.NewGeneral(a.Rows, b.Rows)
	fill := func(dst, p, q blas.General) {
		for i := range p.Rows {
			for j := range q.Rows {
				dst.Data[i*dst.Stride+j] = k.formula(blas.Row(p, i), blas.Row(q, j))
			}
		}
	}
	fill(K, a, b)
	if !k.Center {
		return K
	}
	KA, KB, KT := blas.NewGeneral(a.Rows, train.Rows), blas.NewGeneral(b.Rows, train.Rows),
		blas.NewGeneral(train.Rows, train.Rows)
	fill(KA, a, train)
	fill(KB, b, train)
	fill(KT, train, train)
	total, ma, mb := meanOf(KT.Data), means(KA), means(KB)
	for i := range K.Rows {
		for j := range K.Cols {
			K.Data[i*K.Stride+j] += total - ma[i] - mb[j]
		}
	}
	return K
}

func meanOf(x []float64) (s float64) {
	for _, v := range x {
		s += v / float64(len(x))
	}
	return s
}

func means(K blas.General) []float64 {
	out := make([]float64, K.Rows)
	for i := range out {
		out[i] = meanOf(blas.Row(K, i))
	}
	return out
}

// Orders with a closed form, others against the Bessel function, near and far.
func TestMaternOfAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 2))
	X := randomX(rng, 30, 4)
	copy(blas.Row(X, 3), blas.Row(X, 7))
	for c := range 4 { // a pair that nearly coincides, and a sample far away
		X.Data[5*4+c] = X.Data[6*4+c] * (1 + 1e-7)
		X.Data[9*4+c] *= 30
	}
	for _, spec := range []string{
		"matern:0.5:all:2", "matern:1.5:all:2", "matern:2.5:0-2:1", "matern:0.25:all:1",
		"matern:1:all:median", "matern:3.5:0-3:1.5", "matern:20:all:2",
	} {
		d, err := Build([]string{spec}, X, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		g, err := d[0].Gram(X, blas.Float64)
		if err != nil {
			t.Fatal(err)
		}
		checkGramMatrix(t, &d[0], g, d[0].dense(X, X, X))
	}
	half := Kernel{Kind: Matern, Params: []float64{3.5}, Inputs: 4, Width: 1}
	for i := range X.Rows {
		r := math.Sqrt(7) * distance(euclid, blas.Row(X, 0), blas.Row(X, i))
		want := (1 + r + 2*r*r/5 + r*r*r/15) * math.Exp(-r)
		out := make([]float64, 1)
		e := half.evaluator()
		e.row(out, []float64{r * r / 7})
		if !(math.Abs(out[0]-want) <= 1e-13) {
			t.Errorf("order 7/2 at t = %g: %g, want %g", r, out[0], want)
		}
	}
}
