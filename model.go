package iokl

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Model is a learned function. Its methods may be called from several goroutines.
type Model struct {
	in       *inputs // nil for a model of Gram matrices
	out      *outputs
	names    []string // of all m kernels
	eta      []float64
	L        *linop.Spectral // between the outputs that were learned
	basis    basis
	cert     Certificate
	warnings []string
}

// basis is the part of a model that evaluates Σ_j η_j k_j(x,·) C L.
type basis interface {
	// evaluator prepares for predictions.
	evaluator() (evaluator, error)
	// kind names the basis in model files.
	kind() string
	// members are its arrays in model files; what is no array goes into head.
	members(head *meta) []member
}

// evaluator computes the learned outputs for the rows of Z, t×live. It may run in
// several goroutines at once.
type evaluator func(dst, Z blas.General) error

// Certificate says how a fit ended. Its numbers hold at the model's C, L and η.
type Certificate struct {
	Objective   float64 `json:"objective"`    // (1/l)‖K_η C L − Y‖² + λ tr(CᵀK_η C L) + λω(η), on the data as scaled
	GapEta      float64 `json:"gap_eta"`      // at most this much could be gained by another η
	GapL        float64 `json:"gap_l"`        // and this much by another L
	RelativeGap float64 `json:"relative_gap"` // (GapEta + GapL)/Objective
	Converged   bool    `json:"converged"`    // RelativeGap ≤ Tol
	Tol         float64 `json:"tol"`

	Lambda float64 `json:"lambda"`
	Tau    float64 `json:"tau"`
	Norm   string  `json:"norm"`
	Learn  string  `json:"learn"`

	OuterIterations  int    `json:"outer_iterations"`
	SylvesterSolves  int    `json:"sylvester_solves"`
	KernelMultiplies int    `json:"kernel_multiplies"`
	Solver           string `json:"solver"`
	Sylvester        string `json:"sylvester"`
	Backend          string `json:"backend"`
	Samples          int    `json:"samples"`
	Seed             uint64 `json:"seed"`
}

// certify records the outcome of a fit.
func (m *Model) certify(res *bcd.Result, p *bcd.Problem, opt *Options) {
	m.eta, m.L = res.Eta, res.L
	tol := opt.Tol
	if tol == 0 {
		tol = 1e-4
	}
	m.cert = Certificate{
		Objective: finite(res.Objective), GapEta: finite(res.GapEta), GapL: finite(res.GapL), RelativeGap: finite(res.RelativeGap),
		Converged: res.Converged, Tol: tol,
		Lambda: p.Lambda, Tau: p.Tau, Norm: p.Norm.String(), Learn: opt.Learn,
		OuterIterations: res.OuterIterations, SylvesterSolves: res.SylvesterSolves, KernelMultiplies: res.KernelMultiplies,
		Solver: res.Solver, Sylvester: res.Sylvester, Backend: blas.Or(opt.Backend).Name(),
		Samples: p.Space.Samples(), Seed: opt.Seed,
	}
}

// finite makes what JSON cannot say, +∞ and numbers that overflow left undefined, the
// largest number.
func finite(v float64) float64 {
	if !(v <= math.MaxFloat64) {
		return math.MaxFloat64
	}
	return v
}

// Certificate says how the fit ended.
func (m *Model) Certificate() Certificate { return m.cert }

// Warnings are lines about the data that a user should see.
func (m *Model) Warnings() []string { return slices.Clone(m.warnings) }

// InputNames are the names of the input columns; nil for a model of Gram matrices.
func (m *Model) InputNames() []string {
	if m.in == nil {
		return nil
	}
	return slices.Clone(m.in.Names)
}

// OutputNames are the names of all target columns.
func (m *Model) OutputNames() []string { return slices.Clone(m.out.Names) }

// Classes are the class labels of a classifier, in the order of its outputs; nil for other models.
func (m *Model) Classes() []string { return slices.Clone(m.out.Classes) }

// KernelNames are the names of the m kernels, those of weight 0 too.
func (m *Model) KernelNames() []string { return slices.Clone(m.names) }

// Eta are the weights of the m kernels.
func (m *Model) Eta() []float64 { return slices.Clone(m.eta) }

// Weights maps the names of the kernels to their weights; equal names add up.
func (m *Model) Weights() map[string]float64 {
	w := make(map[string]float64, len(m.names))
	for j, name := range m.names {
		w[name] += m.eta[j]
	}
	return w
}

// LearnedOutputs are the names of the outputs that L couples: all but constant ones.
func (m *Model) LearnedOutputs() []string { return m.out.liveNames() }

// OutputKernel is L in spectral form, between the outputs of LearnedOutputs.
// The caller must not change it.
func (m *Model) OutputKernel() *linop.Spectral { return m.L }

// OutputCorrelation is L_ij/√(L_ii L_jj) between the outputs of LearnedOutputs,
// 0 beside the diagonal where an output has L_ii = 0. It is an n×n array: for
// very many outputs use OutputKernel.
func (m *Model) OutputCorrelation() *mat.SymDense {
	n := m.L.Dim()
	L := blas.NewGeneral(n, n)
	m.L.Dense(blas.Active(), L)
	R := mat.NewSymDense(n, nil)
	for i := range n {
		R.SetSym(i, i, 1)
		for j := range i {
			if d := L.Data[i*n+i] * L.Data[j*n+j]; d > 0 {
				R.SetSym(i, j, max(-1, min(1, L.Data[i*n+j]/math.Sqrt(d))))
			}
		}
	}
	return R
}

// String is one line about the model.
func (m *Model) String() string {
	return fmt.Sprintf("%d outputs, %d of %d kernels, rank of L %d, λ %.3g, objective %.6g, relative gap %.2g",
		len(m.out.Names), len(kept(m.eta)), len(m.eta), m.L.Rank(), m.cert.Lambda, m.cert.Objective, m.cert.RelativeGap)
}

func gramName(j int) string { return fmt.Sprintf("gram%d", j+1) }
