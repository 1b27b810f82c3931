package lengths

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// oblique is a target that varies fast along one combination of two columns and slowly along another.
func oblique(l int, seed uint64) (Z, Y blas.General) {
	Z, Y = wavy(l, 4, seed)
	for i := range l {
		x := blas.Row(Z, i)
		Y.Data[i] += math.Sin(2*(x[2]-x[3])) + .3*(x[2]+x[3]) - math.Sin(3*x[0])
	}
	return Z, Y
}

func turned(t *testing.T, Z, Y blas.General, from Point, kinds ...kernel.Kind) Point {
	t.Helper()
	p, err := Turn(t.Context(), kinds, Z, Y, from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// metric is (x−z)ᵀM(x−z) between rows that differ by w, for the first kernel of p.
func (p *Point) metric(w ...float64) (sum float64) {
	for _, row := range p.Directions[0] {
		var z float64
		for c, v := range row {
			z += v * p.Scale[0][c] * w[c]
		}
		sum += z * z
	}
	return sum
}

// TestTurn finds the combination of columns that a target varies fast along, for each kernel of Euclidean distances.
func TestTurn(t *testing.T) {
	Z, Y := oblique(250, 1)
	for kind, shape := range shapes {
		from := learned(t, Z, Y, Options{}, kind)
		p := turned(t, Z, Y, from, kind)
		if shape.absolute {
			if p.Directions != nil || !slices.Equal(p.Scale[0], from.Scale[0]) {
				t.Errorf("%s of absolute differences is turned", kind)
			}
			continue
		}
		if p.Directions == nil {
			t.Errorf("%s is not turned", kind)
			continue
		}
		if fast, slow := p.metric(0, 0, 1, -1), p.metric(0, 0, 1, 1); !(fast > 9*slow) || !(p.Noise < from.Noise) {
			t.Errorf("%s: squared distances %.3g and %.3g, noise %.3g from %.3g", kind, fast, slow, p.Noise, from.Noise)
		}
	}
}

// TestTurnKeepsColumns says that a target that varies along columns leaves lengths as they are, as few samples do.
func TestTurnKeepsColumns(t *testing.T) {
	for seed := range uint64(4) {
		Z, Y := wavy(200, 6, seed)
		from := learned(t, Z, Y, Options{}, "gaussian", kernel.Linear)
		if p := turned(t, Z, Y, from, "gaussian", kernel.Linear); p.Directions != nil || p.Noise != from.Noise {
			t.Errorf("seed %d: directions %.2g", seed, p.Directions)
		}
	}
	Z, Y := oblique(12, 2)
	from := learned(t, Z, Y, Options{}, "gaussian")
	if p := turned(t, Z, Y, from, "gaussian"); p.Directions != nil {
		t.Errorf("as many parameters as samples: directions %.2g", p.Directions)
	}
}

// TestTurnUnits says that units of columns do not matter, and that a constant column is in no direction.
func TestTurnUnits(t *testing.T) {
	Z, Y := oblique(150, 3)
	want := turned(t, Z, Y, learned(t, Z, Y, Options{}, "gaussian"), "gaussian")
	other := blas.NewGeneral(150, 5)
	for i := range 150 {
		x := blas.Row(Z, i)
		copy(blas.Row(other, i), []float64{x[0], 7, x[1], 1e5*x[2] - 3, x[3]})
	}
	got := turned(t, other, Y, learned(t, other, Y, Options{}, "gaussian"), "gaussian")
	for _, w := range [][]float64{{1, 0, 0, 0}, {0, 0, 1, -1}, {0, 0, 1, 1}, {.3, .2, -.4, .1}} {
		a, b := want.metric(w...), got.metric(w[0], 1, w[1], 1e5*w[2], w[3])
		if !(math.Abs(a-b) <= 1e-3*a) {
			t.Errorf("along %v the squared distance is %.9g, in other units %.9g", w, a, b)
		}
	}
}

// TestTurnGoesOn goes on from the directions of some samples to all.
func TestTurnGoesOn(t *testing.T) {
	Z, Y := oblique(250, 4)
	first := func(a blas.General) blas.General { return blas.View(a, 0, 0, 120, a.Cols) }
	part := turned(t, first(Z), first(Y), learned(t, first(Z), first(Y), Options{}, "gaussian"), "gaussian")
	warm := turned(t, Z, Y, part, "gaussian")
	cold := turned(t, Z, Y, learned(t, Z, Y, Options{}, "gaussian"), "gaussian")
	a, b := warm.metric(0, 0, 1, -1), cold.metric(0, 0, 1, -1)
	if !(math.Abs(math.Log(a/b)) < .1) || a == part.metric(0, 0, 1, -1) || a == b {
		t.Errorf("squared distance %.4g, from none %.4g", a, b)
	}
	still := turned(t, Z, blas.NewGeneral(250, 1), part, "gaussian")
	if a, b := still.metric(1, 2, 3, 4), part.metric(1, 2, 3, 4); !(math.Abs(a-b) <= 1e-9*a) {
		t.Errorf("without anything to learn the squared distance goes from %g to %g", b, a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Turn(&counted{ctx, cancel, 5}, []kernel.Kind{"gaussian"}, Z, Y, part, Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTurnOtherColumns goes on from directions that were learned where another column was constant.
func TestTurnOtherColumns(t *testing.T) {
	Z, Y := oblique(250, 3)
	from := turned(t, Z, Y, learned(t, Z, Y, Options{}, "gaussian"), "gaussian")
	still := blas.Clone(Z)
	for i := range still.Rows {
		blas.Row(still, i)[1] = 0.5
	}
	part := turned(t, still, Y, from, "gaussian")
	fast, slow := part.metric(0, 0, 1, -1), part.metric(0, 0, 1, 1)
	if !(fast > 9*slow) || part.metric(0, 1, 0, 0) != 0 {
		t.Errorf("without column 1: squared distances %.3g and %.3g", fast, slow)
	}
	again := turned(t, Z, Y, part, "gaussian")
	fast, slow = again.metric(0, 0, 1, -1), again.metric(0, 0, 1, 1)
	if !(fast > 9*slow) || !(again.metric(0, 1, 0, 0) > 0) {
		t.Errorf("with column 1 again: squared distances %.3g and %.3g", fast, slow)
	}
}

// TestGatherTurned says that the mean of directions is that of the numbers of T, and that directions are likelier than
// none where the target has some.
func TestGatherTurned(t *testing.T) {
	Z, Y := oblique(250, 4)
	half := func(first int) (z, y blas.General) {
		return blas.View(Z, first, 0, 150, Z.Cols), blas.View(Y, first, 0, 150, 1)
	}
	z, y := half(0)
	straight := learned(t, z, y, Options{}, "gaussian")
	one := turned(t, z, y, straight, "gaussian")
	z, y = half(100)
	two := turned(t, z, y, one, "gaussian")
	mean, likelier, err := Gather(t.Context(), []kernel.Kind{"gaussian"}, Z, Y, []Point{one, two}, Options{})
	if err != nil || !likelier {
		t.Fatalf("of two halves: mean %v, %v", likelier, err)
	}
	want := (one.Directions[0][3][2] + two.Directions[0][3][2]) / 2
	if got := mean.Directions[0][3][2]; !(math.Abs(got-want) < 1e-12) {
		t.Errorf("direction 3 has %g of column 2, the mean is %g", got, want)
	}
	kinds, both := []kernel.Kind{"gaussian"}, []Point{straight, one}
	if p, _, err := Gather(t.Context(), kinds, Z, Y, both, Options{}); err != nil ||
		p.Directions == nil {
		t.Errorf("of lengths alone and directions: %v, %v", p.Directions, err)
	}
}
