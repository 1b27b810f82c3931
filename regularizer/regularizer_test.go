package regularizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// member is a random point of the regularizer's domain, of the given size.
func member(rng *rand.Rand, reg Regularizer, m int, size float64) []float64 {
	v := make([]float64, m)
	for j := range v {
		if v[j] = size * rng.Float64(); rng.IntN(3) == 0 {
			v[j] = 0
		}
	}
	reg.Project(v)
	return v
}

var manyNorms = []Regularizer{
	Lp{1},
	Lp{1.2},
	Lp{1.7},
	Lp{2},
	BlockR{1},
	BlockR{1.3},
	ElasticNet{0.5},
	Groups{[]int{2, 3, 1}},
	Wedge{},
	Lp{1.01},
	Lp{1.4},
	Lp{1.95},
	BlockR{1.9},
	ElasticNet{0.01},
	ElasticNet{0.95},
}

// Update minimises Σ α²/η + ω(η): no other member of the domain does better.
func TestUpdateMinimises(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, reg := range manyNorms {
		value := func(eta, alpha2 []float64) float64 {
			s := reg.Omega(eta)
			for j, a := range alpha2 {
				if a > 0 {
					s += a / eta[j]
				}
			}
			return s
		}
		for _, alpha2 := range [][]float64{
			{1, 4, 0.01, 9, 0.25, 2},
			{0, 1, 0, 1e-8, 5, 0},
			{1e-30, 1e-30, 4e-30, 0, 0, 1e-30},
			{1e20, 1, 1, 1, 1, 1},
		} {
			eta := make([]float64, 6)
			reg.Update(eta, alpha2)
			best := value(eta, alpha2)
			if math.IsNaN(best) || math.IsInf(best, 0) {
				t.Errorf("%v at %v: value %g at %v", reg, alpha2, best, eta)
				continue
			}
			for range 300 {
				other := member(rng, reg, 6, 3)
				mix := rng.Float64() * 0.2
				for j := range other {
					other[j] = (1-mix)*eta[j] + mix*other[j]
				}
				if v := value(other, alpha2); v < best-1e-9*math.Abs(best) {
					t.Errorf("%v at %v: %v gives %g, below %g at %v", reg, alpha2, other, v, best, eta)
					break
				}
			}
		}
	}
}

// The corrected l_p update lies on the constraint (mathematics.md §3).
func TestLpUpdateOnConstraint(t *testing.T) {
	for _, p := range []float64{1, 1.1, 1.5, 1.7, 1.99} {
		eta := make([]float64, 4)
		Lp{p}.Update(eta, []float64{2, 0.3, 7, 1e-5})
		var s float64
		for _, e := range eta {
			s += math.Pow(e, p/(2-p))
		}
		if math.Abs(s-1) > 1e-12 {
			t.Errorf("p = %g: Σ η^q = 1 %+g", p, s-1)
		}
	}
	eta := make([]float64, 3)
	Lp{2}.Update(eta, []float64{1, 2, 0})
	if !slices.Equal(eta, []float64{1, 1, 1}) {
		t.Errorf("p = 2: %v", eta)
	}
}

// ω*(c) is at least ⟨η,c⟩ − ω(η) everywhere, and a search comes close to it.
func TestConjugate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, reg := range manyNorms {
		for _, c := range [][]float64{{0.5, 0.9, 0.1, 0.7, 0.2, 0.3}, {0.9, 0.4, 0.4, 0, 0, 0.99}, {0, 0, 0, 0, 0, 0}} {
			star := reg.Conjugate(c)
			sup := math.Inf(-1)
			gain := func(eta []float64) float64 {
				s := -reg.Omega(eta)
				for j, e := range eta {
					s += e * c[j]
				}
				return s
			}
			at := make([]float64, 6)
			g := make([]float64, 6)
			reg.Start(at)
			for range 1000 { // projected gradient ascent
				reg.Gradient(g, at)
				for j := range at {
					at[j] += 0.03 * (c[j] - g[j])
				}
				reg.Project(at)
				sup = max(sup, gain(at))
			}
			for range 300 {
				sup = max(sup, gain(member(rng, reg, 6, 2)))
			}
			if !(sup <= star+1e-9) || !(star <= sup+0.02*(1+math.Abs(sup))) {
				t.Errorf("%v at %v: ω* = %g, reached %g", reg, c, star, sup)
			}
		}
	}
	// Beyond the dual ball of a cone the supremum is infinite.
	for _, reg := range []Regularizer{BlockR{1}, Groups{[]int{1, 1}}, Wedge{}} {
		if v := reg.Conjugate([]float64{1.5, 0}); !math.IsInf(v, 1) {
			t.Errorf("%v: ω*(1.5, 0) = %g", reg, v)
		}
	}
}

// The projection x of v is in the domain and ⟨v − x, y − x⟩ ≤ 0 for every y there.
func TestProject(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, reg := range manyNorms {
		for range 60 {
			v := make([]float64, 6)
			for j := range v {
				v[j] = math.Exp(6*rng.Float64()-3) * (rng.Float64() - 0.3)
			}
			x := slices.Clone(v)
			reg.Project(x)
			if math.IsInf(reg.Omega(x), 1) {
				t.Fatalf("%v: the projection %v of %v is outside", reg, x, v)
			}
			for range 40 {
				y := member(rng, reg, 6, 2)
				var s, size float64
				for j := range v {
					s += (v[j] - x[j]) * (y[j] - x[j])
					size += math.Abs((v[j] - x[j]) * (y[j] - x[j]))
				}
				if s > 1e-9*(1+size) {
					t.Fatalf("%v: projecting %v on %v leaves %g towards %v", reg, v, x, s, y)
				}
			}
		}
	}
}

// The sum of weights on the simplex is 1 to rounding, from however far they are projected.
func TestProjectSimplexFromFar(t *testing.T) {
	for _, far := range []float64{1, 1e4, 1e15, 1e300} {
		v := []float64{far, far / 3, far, far, 0}
		Lp{1}.Project(v)
		if third := 1.0 / 3; !(math.Abs(floats.Sum(v)-1) <= 1e-15) || !(math.Abs(v[0]-third) <= 1e-15) ||
			v[0] != v[2] || v[4] != 0 {
			t.Errorf("from %g: %v", far, v)
		}
	}
	v := []float64{41234.7, 41234.3, 41234.1, 7, 0}
	Lp{1}.Project(v)
	if !(math.Abs(floats.Sum(v)-1) <= 1e-15) {
		t.Errorf("%v, of sum 1 + %g", v, floats.Sum(v)-1)
	}
}

// Extreme sizes and shapes of the l_q ball.
func TestProjectBallExtremes(t *testing.T) {
	for _, p := range []float64{1.001, 1.02, 1.3, 1.9, 1.999} {
		for _, v := range [][]float64{{1e8, 1, 1e-8, 0}, {1e-300, 2}, {5, 5, 5}, {1.0000001}, {1e150, 1e150}} {
			x := slices.Clone(v)
			Lp{p}.Project(x)
			if nrm := norm(x, Lp{p}.Q()); !(math.Abs(nrm-1) <= 1e-12) {
				t.Errorf("p = %g: the projection %v of %v has norm 1 %+g", p, x, v, nrm-1)
			}
		}
	}
}

func TestGradient(t *testing.T) {
	for _, reg := range manyNorms {
		eta := []float64{0.6, 0.6, 0.5, 0.5, 0.5, 0.2}
		if _, ok := reg.(Lp); ok {
			continue // an indicator
		}
		g := make([]float64, 6)
		reg.Gradient(g, eta)
		// Along the direction of η itself every cone stays inside.
		const h = 1e-6
		up, down := slices.Clone(eta), slices.Clone(eta)
		var want float64
		for j, e := range eta {
			up[j], down[j] = e*(1+h), e*(1-h)
			want += g[j] * e
		}
		if got := (reg.Omega(up) - reg.Omega(down)) / (2 * h); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%v: directional derivative %g, gradient says %g", reg, got, want)
		}
	}
}

// FuzzParse reads what may be a norm and evaluates it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"lp:1", "lp:1.7", "blockr:1.2", "block1", "wedge", "elastic:0.5", "groups:0-1,2-3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reg, err := Parse(text)
		if err != nil || reg.Check(4) != nil {
			return
		}
		if v := reg.Omega([]float64{0.5, 0, 0.25, 0.25}); math.IsNaN(v) || v < 0 {
			t.Fatalf("%q is %v, whose ω is %g", text, reg, v)
		}
	})
}

func TestParse(t *testing.T) {
	for _, s := range []string{
		"lp:1", "lp:1.7", "lp:2", "block1", "blockr:1.2", "elastic:0.5", "wedge", "groups:2,3,1",
	} {
		r, err := Parse(s)
		if err != nil || r.String() != s {
			t.Errorf("%q: %v, %v", s, r, err)
		}
	}
	for _, s := range []string{
		"", "lp", "lp:", "lp:3", "lp:0.9", "lp:NaN", "lp:x", "block1:2", "blockr:2", "elastic:0",
		"elastic:1", "groups:", "groups:2,0", "l2", "wedge:1",
	} {
		if r, err := Parse(s); err == nil || !strings.Contains(err.Error(), "norm") {
			t.Errorf("%q: %v, %v", s, r, err)
		}
	}
}

// The projection meets its optimality conditions: w − x = θ_j on the support of x_j and at
// most θ_j elsewhere, with θ_j = κ·(Σx_j)^{q−1}.
func TestProjectTraces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for _, p := range []float64{1, 1.2, 4. / 3, 5. / 3, 2} {
		for range 20 {
			lp := Lp{p}
			q := lp.Q()
			w := make([][]float64, 4)
			for j := range w {
				w[j] = make([]float64, 1+rng.IntN(4))
				for i := range w[j] {
					w[j][i] = math.Max(0, rng.NormFloat64()+0.5*float64(j))
				}
			}
			x := make([][]float64, len(w))
			sums := make([]float64, len(w))
			for j := range w {
				x[j] = slices.Clone(w[j])
			}
			lp.ProjectTraces(x)
			kappa := math.NaN()
			for j := range x {
				sums[j] = 0
				theta := 0.0
				for i, v := range x[j] {
					sums[j] += v
					if v > 0 {
						theta = w[j][i] - v
					}
				}
				for i, v := range x[j] {
					if d := w[j][i] - v; v > 0 && math.Abs(d-theta) > 1e-9 || v < 0 {
						t.Fatalf("q = %g: differences %g and %g", q, d, theta)
					}
				}
				if k := theta / math.Pow(sums[j], q-1); sums[j] > 1e-6 && !math.IsInf(q, 1) {
					if !math.IsNaN(kappa) && math.Abs(k-kappa) > 1e-6*(1+kappa) {
						t.Fatalf("q = %g: multipliers %g and %g", q, k, kappa)
					}
					kappa = k
				}
			}
			if size := lp.Norm(sums); size > 1+1e-9 || kappa > 1e-6 && size < 1-1e-9 {
				t.Fatalf("q = %g: norm %.12g, multiplier %g", q, size, kappa)
			}
		}
	}
}
