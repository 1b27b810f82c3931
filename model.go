package iokl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/update"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/reml"
	"github.com/iokl/iokl/schema"
)

// Model is a learned function. Its methods may be called from several goroutines. Those of the zero Model, and of nil,
// panic: models come from fits and from files.
type Model struct {
	learned *model.Model
	cert    record
	live    atomic.Pointer[update.Live]        // see Prepare; nil for none
	file    atomic.Pointer[atomicfile.Version] // that the model, or one before updates, was read from; or nil
}

// derived is a model made of m, in place of which it may be saved.
func (m *Model) derived(learned *model.Model, cert record) *Model {
	d := &Model{learned: learned, cert: cert}
	d.file.Store(m.file.Load())
	return d
}

// fitted is what m learned.
func (m *Model) fitted() *model.Model {
	if m == nil || m.learned == nil {
		panic("iokl: a Model that was neither fitted nor loaded")
	}
	return m.learned
}

// record is what a model file says about the fit.
type record struct {
	Certificate
	Chosen *Chosen  `json:"chosen,omitempty"`
	Asked  *Options `json:"options,omitempty"` // see Model.Options; nil in a file of an older version
}

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
	Norm   Norm    `json:"norm"`
	Learn  Learned `json:"learn"`
	// Loss is that of the fit; "" is squared. Of several quantiles, Objective and gaps are those of the one nearest ½,
	// by which weights and L are learned, and RelativeGap is the largest of all.
	Loss Loss `json:"loss,omitempty"`

	OuterIterations  int    `json:"outer_iterations"`
	SylvesterSolves  int    `json:"sylvester_solves"`
	KernelMultiplies int    `json:"kernel_multiplies"`
	Solver           string `json:"solver"`
	Sylvester        string `json:"sylvester"`
	Backend          string `json:"backend"`
	Samples          int    `json:"samples"`
	ObservedCells    int    `json:"observed_cells"` // targets that were learned from
	Seed             uint64 `json:"seed"`
	Work             Work   `json:"work,omitzero"` // of a fit to data in memory, the choice of settings included

	*GlobalBound // nil where it was not computed
	// Components is what Learn "likelihood" found beside the output kernels; nil otherwise. Objective is −log of
	// likelihood times prior then, and the gap no bound but how much the next step would lower it.
	Components *reml.Components `json:"components,omitempty"`
}

// Work is what a fit has done, in counts that no clock and no number of threads changes.
type Work struct {
	Iterations     int64 `json:"iterations"`     // of solvers of linear systems
	Products       int64 `json:"products"`       // multiplications and additions in products with kernel matrices
	Decompositions int64 `json:"decompositions"` // the sum of l³ over the decompositions of l×l matrices
}

// GlobalBound is what is known of the objective over all weights and output kernels
// together. A fit of the model "sum" has it, and one of the product model with
// Options.Global.
type GlobalBound struct {
	LowerBound float64 `json:"lower_bound"` // no weights and no output kernels have a lower objective
	GlobalGap  float64 `json:"global_gap"`  // (Objective − LowerBound)/Objective
	// SumObjective is the objective reached with an L of each kernel's own: what lies
	// between it and Objective is what that model would gain.
	SumObjective float64 `json:"sum_objective"`
}

// certify says how a fit ended.
func certify(end *learn.Outcome, opt *checked) Certificate {
	res, p, set := end.Result, end.Problem, opt.setting()
	var global *GlobalBound
	if sum := end.Sum; sum != nil {
		global = &GlobalBound{LowerBound: sum.LowerBound, SumObjective: sum.Objective}
	} else if p.Model == bcd.Sum && end.Components == nil {
		global = &GlobalBound{LowerBound: res.LowerBound, SumObjective: res.Objective}
	}
	if global != nil && res.Objective > 0 {
		global.GlobalGap = max(0, 1-global.LowerBound/res.Objective)
	}
	return Certificate{
		GlobalBound: global, Components: end.Components,
		Objective: finite(res.Objective), GapEta: finite(res.GapEta), GapL: finite(res.GapL),
		RelativeGap: finite(res.RelativeGap),
		Converged:   res.Converged, Tol: cmp.Or(opt.Tol, defaults.Tol),
		Lambda: opt.Lambda, Tau: p.Tau, Norm: Norm(set.Reg().String()), Learn: cmp.Or(opt.Learn, LearnBoth),
		Loss: Loss(end.Out.Loss), OuterIterations: res.OuterIterations, SylvesterSolves: res.SylvesterSolves,
		KernelMultiplies: res.KernelMultiplies,
		Solver:           res.Solver, Sylvester: res.Sylvester, Backend: blas.Or(opt.Backend).Name(),
		Samples: p.Space.Samples(), ObservedCells: end.Observed, Seed: opt.Seed,
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
func (m *Model) Certificate() Certificate {
	m.fitted()
	return m.cert.Certificate
}

// Chosen is the setting that was fitted, and how it did where cross-validation chose it;
// nil in models of older versions.
func (m *Model) Chosen() *Chosen {
	m.fitted()
	return m.cert.Chosen
}

// Warnings are lines about the data that a user should see.
func (m *Model) Warnings() []string { return slices.Clone(m.fitted().Warnings) }

// Options are those that the model was fitted with, as they were given: a fit of the same data with them is the same
// fit. What belongs to the data is left out: names, schema, weights, noise, the axis of the outputs and groups of rows.
// It is nil where a model file of an older version does not say.
func (m *Model) Options() *Options {
	m.fitted()
	return m.cert.Asked
}

// asked are the options that a model keeps.
func (opt *checked) asked() *Options {
	if opt.compared != nil {
		return opt.compared.asked.asked()
	}
	o := opt.given
	o.InputNames, o.OutputNames, o.InputSchema, o.AxisNames, o.CV.Groups, o.Checkpoint = nil, nil, nil, nil, nil, ""
	o.Weights, o.Noise, o.OutputAxis, o.Trace, o.Notify, o.Watch = nil, nil, nil, nil, nil, nil
	return &o
}

// Origin is what SetOrigin noted, nil for nothing.
func (m *Model) Origin() json.RawMessage { return slices.Clone(m.fitted().Origin) }

// SetOrigin notes, in JSON, how the model came about: whatever a program wants to
// find in the model's file beside what predicts. Text that is no JSON makes Save fail.
func (m *Model) SetOrigin(text json.RawMessage) { m.fitted().Origin = slices.Clone(text) }

// InputNames are the names of the input columns; nil for a model of Gram matrices.
func (m *Model) InputNames() []string {
	return slices.Clone(m.inputs().Names)
}

// inputs are those of the model, without names for a model of Gram matrices.
func (m *Model) inputs() *columns.Inputs { return cmp.Or(m.fitted().In, &columns.Inputs{}) }

// InputSchema is how the columns of a file become the input columns; nil for a model of Gram matrices.
func (m *Model) InputSchema() schema.Columns {
	return slices.Clone(m.inputs().Schema)
}

// InputLimits are what inputs beyond are taken as: the range that each had in training, widened by its width on both
// sides; nil where inputs are taken as they are.
func (m *Model) InputLimits() (low, high []float64) {
	return slices.Clone(m.inputs().Low), slices.Clone(m.inputs().High)
}

// OutputNames are the names of all target columns.
func (m *Model) OutputNames() []string { return slices.Clone(m.fitted().Out.Names) }

// Classes are the class labels of a classifier, in the order of its outputs; nil for other models.
func (m *Model) Classes() []string { return slices.Clone(m.fitted().Out.Classes) }

// KernelNames are the names of the m kernels, those of weight 0 too.
func (m *Model) KernelNames() []string { return slices.Clone(m.fitted().Names) }

// Eta are the weights of the m kernels.
func (m *Model) Eta() []float64 { return slices.Clone(m.fitted().Eta) }

// Weights maps the names of the kernels to their weights; equal names add up.
func (m *Model) Weights() map[string]float64 {
	w := make(map[string]float64, len(m.fitted().Names))
	for j, name := range m.fitted().Names {
		w[name] += m.fitted().Eta[j]
	}
	return w
}

// LearnedOutputs are the names of the outputs that L couples: all but constant ones.
func (m *Model) LearnedOutputs() []string {
	return columns.Pick(m.fitted().Out.Names, m.fitted().Out.Live)
}

// OutputKernel is L in spectral form, between the outputs of LearnedOutputs.
// The caller must not change it.
func (m *Model) OutputKernel() *linop.Spectral { return m.fitted().L }

// OutputKernels are the L_j of the model "sum", one for each kernel, with a zero matrix
// for those without weight; OutputKernel is their sum. It is nil for the product model.
// The caller must not change them.
func (m *Model) OutputKernels() []*linop.Spectral { return m.fitted().OutputKernels() }

// OutputCorrelation is L_ij/√(L_ii L_jj) between the outputs of LearnedOutputs,
// 0 beside the diagonal where an output has L_ii = 0. It is an n×n array: for
// very many outputs use OutputKernel.
func (m *Model) OutputCorrelation() *mat.SymDense { return Correlation(m.fitted().L) }

// Correlation is that of [Model.OutputCorrelation] for one of OutputKernels.
func Correlation(kernel *linop.Spectral) *mat.SymDense {
	n := kernel.Dim()
	L, R := kernel.Elements(), mat.NewSymDense(n, nil)
	for i := range n {
		R.SetSym(i, i, 1)
		for j := range i {
			if d := L(i, i) * L(j, j); d > 0 {
				R.SetSym(i, j, max(-1, min(1, L(i, j)/math.Sqrt(d))))
			}
		}
	}
	return R
}

// String is one line about the model.
func (m *Model) String() string {
	l := m.fitted()
	return fmt.Sprintf("%d outputs, %d of %d kernels, rank of L %d, λ %.3g, objective %.6g, relative gap %.2g",
		len(l.Out.Names), len(model.Kept(l.Eta)), len(l.Eta), l.L.Rank(), m.cert.Lambda, m.cert.Objective,
		m.cert.RelativeGap)
}

// Relevance is how much the targets vary with each input column, relative to the
// column of which that is largest, as the kernels on relevant columns and directions
// learned it; by weight where there are several. It is nil without such kernels of positive weight.
func (m *Model) Relevance() []float64 { return m.fitted().Relevance() }

// Formula describes Predict as a formula of the columns of the file that the model learned from, one number for each:
// of a category the index of its word among the levels, of a date the days since 1970-01-01, of a time the part of the
// day, of a month or weekday a count from 0 for January and Monday. Models of Gram matrices have none. Kernels
// have one that are gaussian, laplacian, matern12, matern32, matern52, rational, and linear and poly without unit, and
// so have random features of any kernel.
func (m *Model) Formula() (*formula.Formula, error) { return m.fitted().Formula() }

// ErrModel says that a file is no model, is damaged, or was written by a newer version.
var ErrModel = model.ErrModel

// ErrChanged says that a file has changed since a model was read from it.
var ErrChanged = atomicfile.ErrChanged

// Save writes the model to a file, whole or not at all. A model that Load has read from path, or one that updates have
// made of it, replaces the file that Load read or the last Save of the model wrote: where other contents are there by
// now, which it would undo, the error is an [ErrChanged].
func (m *Model) Save(path string) error {
	m.fitted()
	was := m.file.Load()
	if !was.Of(path) {
		return atomicfile.Write(path, m.Encode)
	}
	now, err := was.Write(m.Encode)
	if err == nil {
		m.file.Store(now)
	}
	return err
}

// Encode writes what Save puts into a file.
func (m *Model) Encode(w io.Writer) error { return m.fitted().Encode(w, m.cert) }

// Load reads a model that Save wrote. Errors about its contents wrap [ErrModel].
// It predicts bitwise as before on the same backend.
func Load(path string) (*Model, error) {
	m := new(Model)
	was, err := atomicfile.VersionOf(path)
	if err == nil {
		m.file.Store(was)
	}
	learned, err := model.Load(path, &m.cert)
	return m.of(learned, err)
}

// Decode reads what Encode wrote, size bytes in r. It takes at most 4 times the size and 64 MiB, whatever the bytes
// say. Random frequencies, features times inputs, are drawn when the model is first used.
func Decode(r io.ReaderAt, size int64) (*Model, error) {
	m := new(Model)
	learned, err := model.Decode(r, size, &m.cert)
	return m.of(learned, err)
}

// of completes a model that was read, unless its certificate is of other rows than those that it keeps.
func (m *Model) of(learned *model.Model, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	if l := learned.Coefficients(); l > 0 && m.cert.Samples != l {
		return nil, fmt.Errorf("%w: its certificate is of %d samples, and it holds coefficients of %d", ErrModel,
			m.cert.Samples, l)
	}
	m.learned = learned
	return m, nil
}
