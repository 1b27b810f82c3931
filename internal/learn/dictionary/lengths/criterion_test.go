package lengths

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/kernel"
)

func matrix(t testing.TB, name, key string) blas.General {
	a := npytest.Load(t, name)[key]
	g := blas.General{Rows: a.Shape[0], Cols: 1, Stride: 1, Data: a.Data}
	if len(a.Shape) > 1 {
		g.Cols, g.Stride = a.Shape[1], a.Shape[1]
	}
	return g
}

// TestGolden compares with gradients by fourth-order differences. The reference adds some 1e-12 to squared distances of
// the exponential kernel.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		kind  kernel.Kind
		value float64
	}{
		"gaussian":  {"gaussian", 3.1507361122956246},
		"laplacian": {kernel.Matern12, 3.3646334853089384},
		"matern32":  {kernel.Matern32, 3.2281045048329906},
		"matern52":  {kernel.Matern52, 3.2245612438041023},
	} {
		file := "gradient_" + name + "_likelihood"
		crit := newCriterion([]kernel.Kind{c.kind}, false, matrix(t, file, "X"), matrix(t, file, "Y"), nil)
		grad := make([]float64, 6)
		S := crit.evaluate(matrix(t, file, "p").Data, grad)
		if alone := crit.evaluate(matrix(t, file, "p").Data, nil); !(math.Abs(S-c.value) <= 1e-8*c.value) ||
			!(math.Abs(alone-S) <= 1e-12*S) {
			t.Errorf("%s: %.12g, without its gradient %.12g, want %.12g", name, S, alone, c.value)
		}
		for k, v := range matrix(t, file, "gradient").Data {
			if !(math.Abs(grad[k]-v) <= 1e-8*math.Abs(v)+1e-9) {
				t.Errorf("%s: derivative %d is %.12g, want %.12g", name, k, grad[k], v)
			}
		}
	}
}

func normal(rng *rand.Rand, rows, cols int) blas.General {
	a := blas.NewGeneral(rows, cols)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// TestGradient compares with central differences for every kernel.
func TestGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	X, Y := normal(rng, 20, 3), normal(rng, 20, 2)
	copy(blas.Row(X, 7), blas.Row(X, 3)) // two rows that coincide
	sums := [][]kernel.Kind{{"gaussian", "laplacian", "gaussian", kernel.Matern12}}
	for kind := range shapes {
		sums = append(sums, []kernel.Kind{kind})
	}
	for i := range 2 * len(sums) {
		kinds := sums[i/2]
		c := newCriterion(kinds, i%2 > 0, X, Y, nil)
		p := []float64{-1, .3, .1}
		for b := 1; b < len(kinds); b++ {
			p = append(p, .2*float64(b), -.4, .6-.3*float64(b))
		}
		p = append(p, []float64{-.3, .2, .5}[:len(kinds)-1]...)
		for _, kind := range kinds {
			if c.turned && !shapes[kind].absolute {
				p = append(p, .4, -.7, .2)
			}
		}
		p = append(p, -2, -1)
		grad, other := make([]float64, len(p)), make([]float64, len(p))
		c.evaluate(p, grad)
		for k := range p {
			const h = 1e-4
			at := func(step float64) float64 {
				q := slices.Clone(p)
				q[k] += step * h
				return c.evaluate(q, other)
			}
			want := (8*(at(1)-at(-1)) - (at(2) - at(-2))) / (12 * h)
			if !(math.Abs(grad[k]-want) <= 1e-9) {
				t.Errorf("%v, turned %v: derivative %d is %.12g, by differences %.12g", kinds, c.turned, k,
					grad[k], want)
			}
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, s := range [][2]int{{200, 10}, {300, 8}, {500, 10}, {500, 16}, {800, 25}, {1000, 64}} {
		for _, kind := range []kernel.Kind{"gaussian", "laplacian", "matern52"} {
			b.Run(fmt.Sprintf("l=%d/d=%d/%s", s[0], s[1], kind), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				c := newCriterion([]kernel.Kind{kind}, false, normal(rng, s[0], s[1]), normal(rng, s[0], 2), nil)
				p, g := make([]float64, s[1]+2), make([]float64, s[1]+2)
				for k := range p {
					p[k] = -math.Log(float64(s[1]))
				}
				for b.Loop() {
					c.evaluate(p, g)
				}
			})
		}
	}
}
