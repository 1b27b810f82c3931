// This file writes the state of a fit and reads it back for the same problem.

package bcd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
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

// A checkpoint is the magic string, a line of JSON, the numbers of S and V of L and of those of a sum, and of X, by
// rows and little-endian, and the CRC-64 of all before it.
const checkpointMagic = "iokl bcd state 2\n"

// header is what the line of JSON says; other shapes are those of the problem.
type header struct {
	State
	Problem string
	Probes  []float64
	Ranks   []int // of L and of those of a sum
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// Encode writes the state together with a fingerprint of the data and parameters of p.
func (s *State) Encode(w io.Writer, p *Problem) error {
	q, err := p.check()
	if err != nil {
		return err
	}
	h := header{State: *s}
	h.Problem, h.Probes = q.fingerprint()
	all := append([]*linop.Spectral{s.L}, s.Ls...)
	for _, L := range all {
		h.Ranks = append(h.Ranks, L.Rank())
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := crc64.New(crcTable)
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	_, _ = fmt.Fprintf(out, "%s%s\n", checkpointMagic, line) // out keeps its first error
	numbers := func(a blas.General) {
		for i := range a.Rows {
			_ = binary.Write(out, binary.LittleEndian, blas.Row(a, i))
		}
	}
	for _, L := range all {
		numbers(blas.Vector(L.S))
		numbers(L.V)
	}
	numbers(s.X)
	if err := out.Flush(); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, sum.Sum64())
}

// DecodeState reads what Encode wrote, to its end, and checks that it belongs to p. The error wraps [ErrCheckpoint]
// when the bytes are truncated or altered and [ErrForeign], naming what differs, when they describe another problem.
func DecodeState(rd io.Reader, p *Problem) (*State, error) {
	q, err := p.check()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(rd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if !bytes.HasPrefix(text, []byte(checkpointMagic)) {
		return nil, fmt.Errorf("%w: it does not begin as a checkpoint of this version does", ErrCheckpoint)
	}
	end := len(text) - 8
	if end < 0 || crc64.Checksum(text[:end], crcTable) != binary.LittleEndian.Uint64(text[end:]) {
		return nil, fmt.Errorf("%w: the checksum does not match", ErrCheckpoint)
	}
	line, rest, _ := bytes.Cut(text[len(checkpointMagic):end], []byte("\n"))
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if err := h.compare(q.fingerprint()); err != nil {
		return nil, err
	}
	x := make([]float64, len(rest)/8)
	if _, err := binary.Decode(rest, binary.LittleEndian, x); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	bad := len(rest)%8 != 0 || len(h.Ranks) == 0
	take := func(rows, cols int) blas.General {
		if bad = bad || cols < 0 || cols > 0 && rows > len(x)/cols; bad {
			return blas.General{}
		}
		a := blas.General{Rows: rows, Cols: cols, Stride: max(cols, 1), Data: x[: rows*cols : rows*cols]}
		x = x[rows*cols:]
		return a
	}
	s := &h.State
	for _, r := range h.Ranks {
		s.Ls = append(s.Ls, &linop.Spectral{S: take(1, r).Data, V: take(q.Space.Outputs(), r)})
	}
	if s.X = take(q.Space.Unknowns(), q.Space.Outputs()); bad || len(x) > 0 {
		return nil, fmt.Errorf("%w: its parts do not add up", ErrCheckpoint)
	}
	if s.L, s.Ls = s.Ls[0], s.Ls[1:]; len(s.Ls) == 0 {
		s.Ls = nil
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
	if err := checkOutput(s.L, p.Space.Outputs()); err != nil {
		return err
	}
	if s.Ls != nil && len(s.Ls) != p.Space.Kernels() {
		return fmt.Errorf("%w: the state has %d output kernels for %d kernels", ErrInput, len(s.Ls), p.Space.Kernels())
	}
	for _, L := range s.Ls {
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
	h := crc64.New(crcTable)
	for out, i := s.outputs(), 0; i < out.Rows; i++ {
		_ = binary.Write(h, binary.LittleEndian, blas.Row(out, i)) // into memory
	}
	text = fmt.Sprintf("samples %d, outputs %d, kernels %d, unknowns %d, targets %016x, lambda %v, tau %v, norm %v, "+
		"fixed eta %v, fixed L %v",
		s.Samples(), s.Outputs(), s.Kernels(), s.Unknowns(), h.Sum64(), p.Lambda, p.Tau, p.Norm, p.Model.fixEta(),
		p.Model.fixL())
	if s := s.inSamples(); s.convex() {
		h.Reset()
		_ = binary.Write(h, binary.LittleEndian, s.loss.W.Data)
		text += fmt.Sprintf(", loss %v, weights %016x", s.loss.Loss, h.Sum64())
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
