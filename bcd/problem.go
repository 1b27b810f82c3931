package bcd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

var (
	// ErrInput says that the problem or an option makes no sense; the message has the numbers.
	ErrInput = errors.New("bcd: invalid problem")
	// ErrNotPSD says that a kernel matrix has a negative eigenvalue.
	ErrNotPSD = errors.New("bcd: a kernel matrix is not positive semidefinite")
	// ErrLambdaTooSmall says that λl is lost in the rounding of the kernels times L, so
	// that a fit in the precision of the kernels cannot converge; it comes with ErrNotConverged.
	ErrLambdaTooSmall = errors.New("bcd: λ is too small for the precision of the kernels")
	// ErrNotConverged says that the outer iterations were spent, or progress
	// ended at rounding level, before the relative gap met Tol. It wraps linop.ErrNotConverged.
	ErrNotConverged = fmt.Errorf("bcd: %w", linop.ErrNotConverged)
)

// Problem is
//
//	minimise over C, L ∈ S(τ), η ≥ 0:  (1/l)‖K_η C L − Y‖²_F + λ·tr(Cᵀ K_η C L) + λ·ω(η)
//
// (mathematics.md §2), with S(τ) the positive semidefinite matrices of trace at most τ.
type Problem struct {
	Space  Space   // from NewSamples or NewFeatures
	Lambda float64 // λ > 0
	// τ > 0, the bound on tr L; not read where L is given and stays, or by the solver okl
	Tau  float64
	Norm regularizer.Regularizer // nil means regularizer.Lp{1}

	Model Model // what is learned

	// Eta is where the kernel weights start (length m), nil for Norm.Start. Where they stay there,
	// ω does not enter the objective, and GapEta is 0.
	Eta []float64
	// L is where the output kernel starts (n×n), nil for (τ/n)·I. Where it stays there,
	// GapL is 0; of 4096 outputs and more on fewer samples, (τ/n)·I
	// is returned without what is orthogonal to all targets, which has no effect.
	L *linop.Spectral

	wide int // order from which no square array over the outputs is made; 0 means maxOutputs
}

// Model says what is learned beside the coefficients.
type Model uint8

const (
	Product Model = 0                // weights η and one output kernel L
	Output  Model = 1                // L; η stays
	Weights Model = 2                // η; L stays
	Neither Model = Output | Weights // the coefficients alone

	// Sum gives every kernel an output kernel of its own, K_η⊗L becoming Σ_j K_j⊗L_j
	// with ‖(tr L_1 … tr L_m)/τ‖_q ≤ 1 in the place of η and L:
	//
	//	minimise over C, L_j ⪰ 0:  (1/l)‖ΣK_jCL_j − Y‖²_F + λ·Σ tr(CᵀK_jCL_j)
	//
	// This problem is convex, so that its gap is global, and L_j = η_j·L are among its
	// feasible points: its LowerBound holds for the product model as well. It takes l_p
	// norms and the solver reduced, and no Γ that is known by its products only.
	Sum Model = 4
)

// ProductOf is the product model of which η, L or both are learned.
func ProductOf(eta, L bool) Model {
	m := Neither
	if eta {
		m &^= Output
	}
	if L {
		m &^= Weights
	}
	return m
}

func (m Model) fixEta() bool { return m&Output != 0 }
func (m Model) fixL() bool   { return m&Weights != 0 }

// check validates the problem and returns a copy with the defaults filled in.
func (p *Problem) check() (*Problem, error) {
	if p.Space == nil {
		return nil, fmt.Errorf("%w: no space", ErrInput)
	}
	if err := p.Space.shared().bad; err != nil {
		return nil, err
	}
	q := *p
	n, m := p.Space.Outputs(), p.Space.Kernels()
	if !positive(p.Lambda) {
		return nil, fmt.Errorf("%w: λ = %g is not positive", ErrInput, p.Lambda)
	}
	if !positive(p.Tau) && !(p.Model.fixL() && p.L != nil) {
		return nil, fmt.Errorf("%w: τ = %g is not positive", ErrInput, p.Tau)
	}
	if q.Norm == nil {
		q.Norm = regularizer.Lp{P: 1}
	}
	if err := q.Norm.Check(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if q.Eta == nil {
		q.Eta = make([]float64, m)
		q.Norm.Start(q.Eta)
	}
	q.Eta = slices.Clone(q.Eta)
	if err := checkWeights(q.Eta, m); err != nil {
		return nil, err
	}
	q.wide = cmp.Or(q.wide, maxOutputs)
	if q.L == nil && q.Model.fixL() && !(n >= q.wide && p.Space.Unknowns() < q.wide) {
		q.L = linop.ScaledIdentity(n, p.Tau/float64(n))
	}
	if q.L == nil {
		return &q, nil // what is learned, or of high order, starts once the outputs are reduced
	}
	return &q, checkOutput(q.L, n)
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

func checkWeights(eta []float64, m int) error {
	if len(eta) != m {
		return fmt.Errorf("%w: %d weights for %d kernels", ErrInput, len(eta), m)
	}
	return checkNonnegative("weight %d", eta)
}

func checkNonnegative(name string, values []float64) error {
	for j, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: "+name+" is %g", ErrInput, j, v)
		}
	}
	return nil
}

func checkOutput(L *linop.Spectral, n int) error {
	if L.V.Rows != n || L.V.Cols != len(L.S) {
		return fmt.Errorf("%w: L is %d×%d with %d of %d eigenvalues, Y has %d columns", ErrInput, L.V.Rows, L.V.Rows,
			len(L.S), L.V.Cols, n)
	}
	if err := checkNonnegative("eigenvalue %d of L", L.S); err != nil {
		return err
	}
	return checkFinite("the eigenvectors of L", L.V)
}

// Options of [Solve]. The zero value is useful.
type Options struct {
	Solver    string  // reduced, closed, paper or okl, of a sum reduced alone; "" means reduced
	Sylvester string  // solver of the C step, a name of package sylvester; "" means auto
	Tol       float64 // stop when (GapEta+GapL)/Objective ≤ Tol; 0 means 1e-4, see [Tolerance]
	MaxOuter  int     // outer iterations; 0 means 1000

	// InnerTol fixes the relative residual of every C step. 0 ties it to the gap,
	// or, in the solvers paper and okl, takes it from Schedule where there is one.
	InnerTol float64
	// Schedule gives the inexactness of the solvers paper and okl; outer iteration i
	// takes entry i, later ones the last. Empty means residuals tied to the gap, and
	// 1000 Frank–Wolfe iterations.
	Schedule []Inexact `json:",omitempty"`
	// Rho is the weight ρ of ‖L‖²_F in the solver okl; 0 means λ, the published choice.
	Rho float64

	Backend blas.Backend `json:"-"` // nil means blas.Active()
	Seed    uint64       // of the randomized preconditioner
	// MaxBytes is the memory that the steps of a Sum may take; 0 means what is available, negative no limit.
	MaxBytes int64
	// Start continues from an earlier state; see [DecodeState].
	Start *State `json:"-"`
	// Trace sees the start and every outer iteration; an error from it stops the solve and is returned.
	Trace func(Step) error `json:"-"`

	// CStep, unless nil, solves the linear systems of the product model with the squared loss, in the place of
	// Sylvester. It may keep decompositions of the kernels from one fit at the same weights to the next. A tolerance
	// that it misses is an error of [Hold].
	CStep sylvester.Solver `json:"-"`
	// LossStep performs the C steps of the product model with another loss, and may keep factors likewise; nil means a
	// new one.
	LossStep *LossStep `json:"-"`

	Freedom bool // asks for Result.Freedom, of a product model in which no target is missing or weighted

	most float64 // see Tolerance
	hold bool    // see Hold
}

// Inexact is the inexactness of the inner problems in one outer iteration of the solver paper: the relative residual CG
// of the C step, and the number SDP of Frank–Wolfe iterations of the L step.
type Inexact struct {
	CG  float64
	SDP int
}

// Result describes the returned point; every number is recomputed there.
type Result struct {
	Eta []float64       // m
	L   *linop.Spectral // n×n
	C   blas.General    // l×n coefficients, or the D×n weights W in feature space, ZᵀC at unit weights there of a sum
	// Constants are the b_j that are added to the outputs; nil where [NewLoss] does not learn them.
	Constants []float64
	// Ls are the L_j of a sum of separable kernels, nil for the product model. Eta is
	// (tr L_j)/τ then, and L their sum.
	Ls []*linop.Spectral

	Objective   float64 // at f = K_η·C·L (Z_η·W·L); with ρ‖L‖² for the solver okl
	GapEta      float64 // bounds Objective − its minimum over η; 0 when η is fixed
	GapL        float64 // bounds Objective − its minimum over L; 0 when L is fixed
	RelativeGap float64 // (GapEta + GapL)/Objective
	Converged   bool    // RelativeGap ≤ Tol, nothing else
	LowerBound  float64 // of the objective over all L_j of a sum, whose whole gap is GapL; 0 for the product model

	// Freedom is an estimate of tr ρK_η(ρK_η + μI)⁻¹ for every eigenvalue ρ of L, the effective degrees of freedom of
	// its output; nil where Options.Freedom does not ask for it, and of fits that ended early.
	Freedom []float64

	OuterIterations  int
	SylvesterSolves  int
	KernelMultiplies int // columns multiplied by K_η (Γ_η) in all
	Solver           string
	Sylvester        string // the C step's solver that ran last
}

// Step is the argument of Trace. Its slices are valid during the call only. With 4096 outputs and more, of as high a
// rank, GapL is the gap within the present basis of outputs; in the Result it is the gap over all directions. For
// losses with kinks the objective and the gaps may be those of a smoothed loss; in the Result they are those of the
// loss itself.
type Step struct {
	Iter             int
	Objective        float64
	GapEta, GapL     float64
	RelativeGap      float64
	Residual         float64 // of the C step, relative to its right side
	SylvesterSolves  int
	KernelMultiplies int
	Eta              []float64
	Rank             int // of L

	state  func() *State
	single bool // measured with a product in single precision
}

// State returns a copy of the state of the fit at this step.
func (s Step) State() *State { return s.state() }

// units is the change of variables in which a fit computes where targets, kernels, τ
// or λ are so large or so small that products of a few of them leave the range of
// float64. Primes mark the new variables:
//
//	Y = y·Y′,  K_j = k·K′_j,  C = (y/b)·C′,  L = (b/k)·L′,  η = η′,  λ = b·λ′,  τ = (b/k)·τ′.
//
// Then K_ηCL = y·K′_ηC′L′ and μC = y·μ′C′, so that C′ solves K′_ηC′L′ + μ′C′ = Y′, and
//
//	‖K_ηCL − Y‖²/l = y²·‖K′_ηC′L′ − Y′‖²/l,   λ·tr(CᵀK_ηCL) = y²·λ′·tr(C′ᵀK′_ηC′L′).
//
// The objective is y² times that of the new problem when also λω = y²λ′ω′ and
// ρ‖L‖² = y²ρ′‖L′‖², that is
//
//	ω′ = s·ω with s = b/y²,   ω′*(c) = sup ⟨η,c⟩ − sω(η) = s·ω*(c/s),   ρ′ = (b/(k·y))²·ρ,
//
// and the minimiser of Σ α′_j²/η_j + sω(η) is that of Σ (α′_j²/s)/η_j + ω(η). The l_p
// norms, whose ω is an indicator, stay as they are. y is a power of two, k and b are
// powers of four, so no step of this rounds, and square roots scale exactly too.
type units struct {
	y float64 // of the targets; its square is that of the objective and the gaps
	x float64 // of the unknown X: y/b for C; Z_j = √k·Z′_j makes it √k·y/b for W = Z_ηᵀC
	L float64 // b/k
	b float64
}

// unitRange is the size of numbers, above and below 1, that needs no change of units:
// what is computed takes at most their sixth power.
const unitRange = 0x1p64

// unitOf is the power of base, 2 or 4, next to size where that is out of range, else 1.
func unitOf(size, base float64) float64 {
	if !positive(size) || size <= unitRange && size >= 1/unitRange {
		return 1
	}
	return math.Pow(base, math.Round(math.Log2(size)/math.Log2(base)))
}

// inUnits is p, and ρ, in units in which targets and kernels are of ordinary size,
// and τ′ and μ′ of opposite ones.
func (p *Problem) inUnits(rho float64) (*Problem, units, float64) {
	d := p.Space.shared()
	y, k := unitOf(d.sizeY, 2), unitOf(d.sizeK, 4)
	tau := p.Tau
	if p.Model.fixL() && p.L != nil {
		tau = floats.Sum(p.L.S)
	}
	b := unitOf(math.Sqrt(k)*math.Sqrt(tau)*math.Sqrt(p.Lambda*float64(d.l)), 4)
	u := units{y: y, x: y / b, L: b / k, b: b}
	if y == 1 && k == 1 && b == 1 {
		return p, u, rho
	}
	q := *p
	if y != 1 || k != 1 {
		in, root := d.inUnits(y, k)
		q.Space = p.Space.with(in)
		u.x *= root
	}
	q.Lambda /= b
	q.Tau /= u.L
	if q.L != nil {
		q.L = &linop.Spectral{V: q.L.V, S: slices.Clone(q.L.S)}
		blas.Scal(1/u.L, q.L.S)
	}
	if _, scaleFree := q.Norm.(regularizer.Lp); !scaleFree {
		q.Norm = regularizer.InUnits{Regularizer: q.Norm, Scale: y, B: b}
	}
	rho = rho * (u.L / y) * (u.L / y)
	return &q, u, rho
}

// value turns a value of the objective, or a difference of two, into the caller's units.
func (u units) value(v float64) float64 { return v * u.y * u.y }
