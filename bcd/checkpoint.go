package bcd

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/checkpoint"
	"github.com/iokl/iokl/linop"
)

var (
	// ErrCheckpoint says that what was read is no checkpoint, or a damaged one.
	ErrCheckpoint = errors.New("bcd: damaged checkpoint")
	// ErrForeign says that a checkpoint belongs to another problem.
	ErrForeign = errors.New("bcd: the checkpoint belongs to another problem")
)

// State is where a fit stands after an outer iteration: enough to continue it.
// A run continued from it converges to the same optimum, not along the same path.
type State struct {
	Solver           string
	Iter             int
	SylvesterSolves  int
	KernelMultiplies int
	Eta              []float64
	L                *linop.Spectral   `json:"-"`
	X                blas.General      `json:"-"` // C (l×n) or W (D×n)
	Ls               []*linop.Spectral `json:"-"` // of a sum of separable kernels; nil: L_j = Eta_j·L
}

// A checkpoint is a file of package checkpoint with the numbers of S and V of L and of those of a sum, and of X.
const checkpointMagic = "iokl bcd state 3\n"

// header is that of a checkpoint; other shapes are those of the problem.
type header struct {
	State
	Problem string
	Probes  []float64
	Ranks   []int // of L and of those of a sum
}

// outputKernels are L and those of a sum.
func (s *State) outputKernels() []*linop.Spectral { return append([]*linop.Spectral{s.L}, s.Ls...) }

// numbers are those of a checkpoint, in its order.
func (s *State) numbers() (all [][]float64) {
	rows := func(a blas.General) {
		for i := range a.Rows {
			all = append(all, blas.Row(a, i))
		}
	}
	for _, L := range s.outputKernels() {
		all = append(all, L.S)
		rows(L.V)
	}
	rows(s.X)
	return all
}

// Encode writes the state together with a fingerprint of the data and parameters of p.
func (s *State) Encode(w io.Writer, p *Problem) error {
	q, err := p.check()
	if err != nil {
		return err
	}
	h := header{State: *s}
	h.Problem, h.Probes = q.fingerprint()
	for _, L := range s.outputKernels() {
		h.Ranks = append(h.Ranks, L.Rank())
	}
	return checkpoint.Write(w, checkpointMagic, h, s.numbers())
}

// DecodeState reads what Encode wrote, to its end, and checks that it belongs to p. The error wraps [ErrCheckpoint]
// when the bytes are truncated or altered and [ErrForeign], naming what differs, when they describe another problem.
func DecodeState(rd io.Reader, p *Problem) (*State, error) {
	q, err := p.check()
	if err != nil {
		return nil, err
	}
	var h header
	in, err := checkpoint.Open(rd, checkpointMagic, &h)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if err := h.compare(q.fingerprint()); err != nil {
		return nil, err
	}
	s, n := &h.State, q.Space.Outputs()
	if k := len(h.Ranks); k != 1 && k != 1+q.Space.Kernels() {
		return nil, fmt.Errorf("%w: it has %d output kernels", ErrCheckpoint, k)
	}
	for _, r := range h.Ranks {
		if r < 0 || r > n {
			return nil, fmt.Errorf("%w: an output kernel of rank %d for %d outputs", ErrCheckpoint, r, n)
		}
		s.Ls = append(s.Ls, &linop.Spectral{S: make([]float64, r), V: blas.NewGeneral(n, r)})
	}
	s.L, s.X = s.Ls[0], blas.NewGeneral(q.Space.Unknowns(), n)
	if s.Ls = s.Ls[1:]; len(s.Ls) == 0 {
		s.Ls = nil
	}
	for _, part := range s.numbers() {
		if err = in.Numbers(part); err != nil {
			break
		}
	}
	if err = cmp.Or(err, in.Last()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return s, s.check(q)
}

// check validates the shapes of a state against its problem.
func (s *State) check(p *Problem) error {
	if err := checkWeights(s.Eta, p.Space.Kernels()); err != nil {
		return err
	}
	if s.L == nil {
		return fmt.Errorf("%w: the state has no L", ErrInput)
	}
	if s.Ls != nil && len(s.Ls) != p.Space.Kernels() {
		return fmt.Errorf("%w: the state has %d output kernels for %d kernels", ErrInput, len(s.Ls), p.Space.Kernels())
	}
	for _, L := range s.outputKernels() {
		if err := checkOutput(L, p.Space.Outputs()); err != nil {
			return err
		}
	}
	if s.X.Rows != p.Space.Unknowns() || s.X.Cols != p.Space.Outputs() {
		return fmt.Errorf("%w: the state's coefficients are %d×%d, the problem's %d×%d", ErrInput, s.X.Rows, s.X.Cols,
			p.Space.Unknowns(), p.Space.Outputs())
	}
	return checkFinite("the state's coefficients", s.X)
}

// fingerprint tells problems apart: exactly by its text, and by one number per kernel that rounding may move a little
// between machines.
func (p *Problem) fingerprint() (text string, probes []float64) {
	s := p.Space
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	for out, i := s.shared().targets(), 0; i < out.Rows; i++ {
		_ = binary.Write(h, binary.LittleEndian, blas.Row(out, i)) // into memory
	}
	text = fmt.Sprintf("samples %d, outputs %d, kernels %d, unknowns %d, targets %016x, lambda %v, tau %v, norm %v, "+
		"fixed eta %v, fixed L %v",
		s.Samples(), s.Outputs(), s.Kernels(), s.Unknowns(), h.Sum64(), p.Lambda, p.Tau, p.Norm, p.Model.fixEta(),
		p.Model.fixL())
	if s := s.shared(); s.loss != nil {
		h.Reset()
		_ = binary.Write(h, binary.LittleEndian, s.loss.W.Data)
		text += fmt.Sprintf(", loss %v, weights %016x", s.loss.Loss, h.Sum64())
		if s.loss.Free {
			text += ", with constants"
		}
	}
	if p.Model == Sum {
		text += ", one L for each kernel"
	}
	return text, s.probe()
}

// probeTol is how far rounding and single precision storage may move a probe.
const probeTol = 1e-4

// compare reports how the saved problem differs from that at hand.
func (h *header) compare(text string, probes []float64) error {
	if h.Problem != text {
		return fmt.Errorf("%w: saved for %s; now %s", ErrForeign, h.Problem, text)
	}
	if len(h.Probes) != len(probes) {
		return fmt.Errorf("%w: saved for %d kernels; now %d", ErrForeign, len(h.Probes), len(probes))
	}
	scale := max(maxOf(h.Probes), maxOf(probes))
	for j, v := range h.Probes {
		if d := math.Abs(v - probes[j]); !(d <= probeTol*math.Max(math.Abs(v), probeTol*scale)) {
			return fmt.Errorf("%w: kernel %d differs", ErrForeign, j)
		}
	}
	return nil
}

// probeVector is a fixed vector of N entries in [−1,1).
func probeVector(N int) blas.General {
	rng := rand.New(rand.NewPCG(1, 2))
	u := make([]float64, N)
	for i := range u {
		u[i] = 2*rng.Float64() - 1
	}
	return blas.Vector(u)
}
