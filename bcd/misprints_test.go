package bcd_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
)

// misprint is a formula of the paper that does not hold as printed, and a number
// that shows it.
type misprint struct {
	name, printed, right string
	measure              string  // what is computed from each formula
	should               float64 // its value if the formula holds
	run                  func(rng *rand.Rand) (printed, right float64)
}

// misprints are in the order of the paper; mathematics.md §3 lists the same.
var misprints = []misprint{
	{
		"Sylvester equation by eigenvectors", "C = T·X̃·S, divided by σ_i·ρ_j + λ",
		"C = T·X̃·Sᵀ, divided by σ_i·ρ_j + λl", "relative residual of K·C·L + λl·C = Y", 0, eigenvectorMisprint,
	},
	{
		"weights ω in the joint objective", "+ ω(η)", "+ λ·ω(η)",
		"objective at the best η over fit + λ·Ω(f), block 1-norm", 1, omegaMisprint,
	},
	{
		"norm of a part", "α_j = η_j·√tr(C·K_j·C·L)", "α_j = η_j·√tr(Cᵀ·K_j·C·L)",
		"α_j² over ‖f_j‖² by definition (l = n, or the product has no meaning)", 1, normMisprint,
	},
	{
		"weights of the l_p norm", "α_j^(2/(q+1)) / (Σα_i^(2/(q+1)))^q", "α_j^(2/(q+1)) / (Σα_i^(2q/(q+1)))^(1/q)",
		"Σ η_j^q at p = 1.7", 1, func(rng *rand.Rand) (float64, float64) {
			return lpMisprint(rng, 1.7, func(eta []float64, q float64) float64 {
				var s float64
				for _, v := range eta {
					s += math.Pow(v, q)
				}
				return s
			})
		},
	},
	{
		"weights of the l₂ norm", "q = ∞ in the formula above", "η_j = 1, the limit of the corrected formula",
		"mean weight at p = 1.9999", 1, func(rng *rand.Rand) (float64, float64) {
			return lpMisprint(rng, 1.9999, func(eta []float64, _ float64) float64 { return stat.Mean(eta, nil) })
		},
	},
	{
		"elastic net", "Ω(f) = (1−μ̃)Σ‖f_j‖ + μ̃Σ‖f_j‖²", "Ω(f) = 2(1−μ̃)Σ‖f_j‖ + μ̃Σ‖f_j‖²",
		"Ω over Σα_j²/η_j + ω(η) at the printed weights, which minimise that sum", 1, elasticMisprint,
	},
	{
		"gradient of the L step", "G + Gᵀ − diag(G), G = λB + 2AᵀAL − 2AᵀY", "(G + Gᵀ)/2, G = λB + (2/l)(AᵀAL − AᵀY)",
		"objective after 3000 steps of Frank–Wolfe, over the minimum", 1, gradientMisprint,
	},
	{
		"line search of the L step", "−tr((AL/l − Y)ᵀAP + ½λBP) / tr(PᵀAᵀAP/l)",
		"−(⟨AL − Y, AP⟩/l + ½λ⟨B,P⟩) / (‖AP‖²/l), clipped to [0,1]",
		"smallest eigenvalue of L after one step from I (L must stay positive semidefinite), 0 when it is", 0,
		searchMisprint,
	},
}

// TestMisprints computes a number from each formula of the paper that does not hold as printed, and from the corrected
// one, on a small random problem: the corrected formula gives what it should, the printed one is visibly off.
func TestMisprints(t *testing.T) {
	for i, m := range misprints {
		t.Run(m.name, func(t *testing.T) {
			printed, right := m.run(random(900 + uint64(i)))
			t.Logf("printed %s, corrected %s; %s: %.5g as printed, %.5g as corrected, should be %g", m.printed, m.right,
				m.measure, printed, right, m.should)
			if !(math.Abs(right-m.should) < 5e-3) || !(math.Abs(printed-m.should) > 0.03) {
				t.Error("the corrected formula is off, or the printed one is not")
			}
		})
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func gaussian(rng *rand.Rand, rows, cols int) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
	return a
}

// positiveDefinite is a random one of order n.
func positiveDefinite(rng *rand.Rand, n int) *mat.SymDense {
	s := mat.NewSymDense(n, nil)
	s.SymOuterK(1/float64(n), gaussian(rng, n, n+3))
	return s
}

func product(factors ...mat.Matrix) *mat.Dense {
	var p mat.Dense
	p.Product(factors...)
	return &p
}

func eigen(a mat.Symmetric) (values []float64, vectors *mat.Dense) {
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		panic("eigendecomposition of a small matrix failed")
	}
	vectors = new(mat.Dense)
	e.VectorsTo(vectors)
	return e.Values(nil), vectors
}

func eigenvectorMisprint(rng *rand.Rand) (printed, right float64) {
	const l, n, lambda = 30, 8, 1e-2
	K, L, Y := positiveDefinite(rng, l), positiveDefinite(rng, n), gaussian(rng, l, n)
	sigma, T := eigen(K)
	rho, S := eigen(L)
	residual := func(shift float64, last mat.Matrix) float64 {
		X := product(T.T(), Y, S)
		X.Apply(func(i, j int, v float64) float64 { return v / (sigma[i]*rho[j] + shift) }, X)
		C := product(T, X, last)
		R := product(K, C, L)
		C.Scale(lambda*l, C)
		R.Add(R, C)
		R.Sub(R, Y)
		return mat.Norm(R, 2) / mat.Norm(Y, 2)
	}
	return residual(lambda, S), residual(lambda*l, S.T())
}

// omegaMisprint minimises over η what the fit does not depend on. For the block
// 1-norm, Ω = 2Σα_j and ω = Σ η_j, both forms have their minimum at a multiple of α.
func omegaMisprint(rng *rand.Rand) (printed, right float64) {
	const lambda, fit = 1e-2, 0.5
	var sum float64
	for range 6 {
		sum += math.Abs(rng.NormFloat64())
	}
	whole := fit + 2*lambda*sum
	// min over t of λΣα²/(tα) + wΣtα is 2√(λw)·Σα.
	least := func(weight float64) float64 { return fit + 2*math.Sqrt(lambda*weight)*sum }
	return least(1) / whole, least(lambda) / whole
}

func normMisprint(rng *rand.Rand) (printed, right float64) {
	const n = 12
	K, L, C := positiveDefinite(rng, n), positiveDefinite(rng, n), gaussian(rng, n, n)
	// ‖f‖² = Σ_ab k(x_a,x_b)⟨c_a, L·c_b⟩ by the reproducing property.
	var norm float64
	for a := range n {
		for b := range n {
			norm += K.At(a, b) * mat.Inner(C.RowView(a), L, C.RowView(b))
		}
	}
	return mat.Trace(product(C, K, C, L)) / norm, mat.Trace(product(C.T(), K, C, L)) / norm
}

func lpMisprint(rng *rand.Rand, p float64, of func(eta []float64, q float64) float64) (printed, right float64) {
	const m = 10
	q := p / (2 - p)
	numerators := make([]float64, m)
	var plain, powers float64
	for j := range numerators {
		alpha := math.Abs(rng.NormFloat64())
		numerators[j] = math.Pow(alpha, 2/(q+1))
		plain += numerators[j]
		powers += math.Pow(numerators[j], q)
	}
	weights := func(norm float64) []float64 {
		eta := make([]float64, m)
		for j, v := range numerators {
			eta[j] = v / norm
		}
		return eta
	}
	return of(weights(math.Pow(plain, q)), q), of(weights(math.Pow(powers, 1/q)), q)
}

func elasticMisprint(rng *rand.Rand) (printed, right float64) {
	const m, mu = 10, 0.3
	var sum, squares, form float64
	for range m {
		a := math.Abs(rng.NormFloat64())
		eta := a / (1 - mu + mu*a)
		sum, squares = sum+a, squares+a*a
		form += a*a/eta + (1-mu)*(1-mu)*eta/(1-mu*eta)
	}
	return ((1-mu)*sum + mu*squares) / form, (2*(1-mu)*sum + mu*squares) / form
}

// lstep is an L step at fixed C: min (1/l)‖AL − Y‖² + λ⟨B,L⟩ over tr L ≤ τ.
type lstep struct {
	A, Y, B   *mat.Dense
	l, lambda float64
	tau       float64
}

func newLStep(rng *rand.Rand) *lstep {
	const l, n = 20, 6
	K, C := positiveDefinite(rng, l), gaussian(rng, l, n)
	A := product(K, C)
	Y := product(A, positiveDefinite(rng, n))
	noise := gaussian(rng, l, n)
	Y.Add(Y, noise)
	return &lstep{A: A, Y: Y, B: product(C.T(), A), l: l, lambda: 1e-2, tau: n}
}

func (s *lstep) error(L mat.Matrix) *mat.Dense {
	E := product(s.A, L)
	E.Sub(E, s.Y)
	return E
}

func inner(a, b *mat.Dense) float64 { return mat.Trace(product(a.T(), b)) }

func (s *lstep) value(L *mat.Dense) float64 {
	E := s.error(L)
	return inner(E, E)/s.l + s.lambda*inner(s.B, L)
}

// gradient is the symmetric one, or what the paper prints.
func (s *lstep) gradient(L *mat.Dense, printed bool) *mat.SymDense {
	G := product(s.A.T(), s.error(L))
	scale := 2 / s.l
	if printed {
		scale = 2
	}
	G.Scale(scale, G)
	var B mat.Dense
	B.Scale(s.lambda, s.B)
	G.Add(G, &B)
	n, _ := G.Dims()
	S := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			v := (G.At(i, j) + G.At(j, i)) / 2
			if printed {
				v *= 2
				if i == j {
					v = G.At(i, i)
				}
			}
			S.SetSym(i, j, v)
		}
	}
	return S
}

// direction is τvvᵀ − L.
func (s *lstep) direction(L *mat.Dense, gradient *mat.SymDense) *mat.Dense {
	values, vectors := eigen(gradient)
	P := new(mat.Dense)
	P.Scale(-1, L)
	if values[0] < 0 {
		v := vectors.ColView(0)
		var outer mat.Dense
		outer.Outer(s.tau, v, v)
		P.Add(P, &outer)
	}
	return P
}

// step is the exact line search, or what the paper prints.
func (s *lstep) step(L, P *mat.Dense, printed bool) float64 {
	AP, E := product(s.A, P), s.error(L)
	curvature := inner(AP, AP) / s.l
	linear := s.lambda / 2 * inner(s.B, P)
	if printed {
		M := product(s.A, L)
		M.Scale(1/s.l, M)
		M.Sub(M, s.Y)
		return -(inner(M, AP) + linear) / curvature
	}
	return min(1, max(0, -(inner(E, AP)/s.l+linear)/curvature))
}

// gradientMisprint runs Frank–Wolfe with either gradient and the right line
// search, over the minimum that the project's solver certifies.
func gradientMisprint(rng *rand.Rand) (printed, right float64) {
	s := newLStep(rng)
	n, _ := s.B.Dims()
	least := s.minimum(n)
	run := func(printed bool) float64 {
		L := mat.NewDense(n, n, nil)
		for range 3000 {
			P := s.direction(L, s.gradient(L, printed))
			P.Scale(s.step(L, P, false), P)
			L.Add(L, P)
		}
		return s.value(L) / least
	}
	return run(true), run(false)
}

// minimum is the least value, by projected gradients.
func (s *lstep) minimum(n int) float64 {
	L, value := mat.NewDense(n, n, nil), math.Inf(1)
	values, _ := eigen(mat.NewSymDense(n, product(s.A.T(), s.A).RawMatrix().Data))
	for {
		G := mat.DenseCopyOf(s.gradient(L, false))
		G.Scale(-s.l/2/values[n-1], G)
		G.Add(G, L)
		P, err := frankwolfe.ProjectSpectrahedron(nil, G.RawMatrix(), s.tau)
		if err != nil {
			return math.NaN()
		}
		P.Dense(blas.Active(), L.RawMatrix())
		last := value
		if value = s.value(L); value >= last*(1-1e-14) {
			return value
		}
	}
}

func searchMisprint(rng *rand.Rand) (printed, right float64) {
	s := newLStep(rng)
	least := func(printed bool) float64 {
		n, _ := s.B.Dims()
		L := mat.NewDense(n, n, nil)
		for i := range n {
			L.Set(i, i, 1)
		}
		P := s.direction(L, s.gradient(L, false))
		P.Scale(s.step(L, P, printed), P)
		L.Add(L, P)
		sym := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				sym.SetSym(i, j, (L.At(i, j)+L.At(j, i))/2)
			}
		}
		values, _ := eigen(sym)
		return min(0, values[0])
	}
	return least(true), least(false)
}

// TestLStepGradient compares the gradient with differences of the objective.
func TestLStepGradient(t *testing.T) {
	s := newLStep(random(1))
	L, D := gaussian(random(2), 6, 6), positiveDefinite(random(3), 6)
	const h = 1e-6
	shifted := func(c float64) float64 {
		M := product(D)
		M.Scale(c, M)
		M.Add(M, L)
		return s.value(M)
	}
	want := (shifted(h) - shifted(-h)) / (2 * h)
	got := inner(product(s.gradient(L, false)), product(D))
	if !(math.Abs(got-want) < 1e-6*math.Abs(want)) {
		t.Errorf("⟨∇g, D⟩ = %g, differences say %g", got, want)
	}
}
