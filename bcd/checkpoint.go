// This file writes the state of a fit and reads it back for the same problem.

package bcd

import (
	"bytes"
	"encoding/binary"
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
	L                *linop.Spectral
	X                blas.General      // C (l×n) or W (D×n)
	Ls               []*linop.Spectral // of a sum of separable kernels; nil: L_j = Eta_j·L
}

// A checkpoint is the magic string, the length of the body, the body and the
// CRC-64 of all before it, little-endian throughout.
const (
	checkpointMagic = "iokl bcd state 1\n"
	maxCheckpoint   = 1 << 40 // bytes of body that a reader believes in
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// Encode writes the state together with a fingerprint of the data and parameters of p.
func (s *State) Encode(w io.Writer, p *Problem) error {
	q, err := p.check()
	if err != nil {
		return err
	}
	var b encoder
	b.text(s.Solver)
	b.ints(s.Iter, s.SylvesterSolves, s.KernelMultiplies)
	f, err := q.fingerprint()
	if err != nil {
		return err
	}
	b.text(f.text)
	b.floats(f.probes)
	b.floats(s.Eta)
	b.floats(s.L.S)
	b.matrix(s.L.V)
	b.matrix(s.X)
	for _, L := range s.Ls {
		b.floats(L.S)
		b.matrix(L.V)
	}
	head := append([]byte(checkpointMagic), binary.LittleEndian.AppendUint64(nil, uint64(b.Len()))...)
	sum := crc64.Update(crc64.Checksum(head, crcTable), crcTable, b.Bytes())
	for _, part := range [][]byte{head, b.Bytes(), binary.LittleEndian.AppendUint64(nil, sum)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// DecodeState reads what Encode wrote and checks that it belongs to p. The error
// wraps [ErrCheckpoint] when the bytes are truncated or altered and [ErrForeign],
// naming what differs, when they describe another problem.
func DecodeState(rd io.Reader, p *Problem) (*State, error) {
	q, err := p.check()
	if err != nil {
		return nil, err
	}
	body, err := readBody(rd)
	if err != nil {
		return nil, err
	}
	d := decoder{b: body}
	s := &State{Solver: d.text(), L: &linop.Spectral{}}
	s.Iter, s.SylvesterSolves, s.KernelMultiplies = d.int(), d.int(), d.int()
	saved := fingerprint{text: d.text(), probes: d.floats()}
	s.Eta, s.L.S, s.L.V, s.X = d.floats(), d.floats(), d.matrix(), d.matrix()
	for len(d.b) > 0 && !d.bad {
		s.Ls = append(s.Ls, &linop.Spectral{S: d.floats(), V: d.matrix()})
	}
	if d.bad {
		return nil, fmt.Errorf("%w: its parts do not add up", ErrCheckpoint)
	}
	now, err := q.fingerprint()
	if err == nil {
		err = saved.compare(now)
	}
	if err != nil {
		return nil, err
	}
	return s, s.check(q)
}

func readBody(rd io.Reader) ([]byte, error) {
	head := make([]byte, len(checkpointMagic)+8)
	if _, err := io.ReadFull(rd, head); err != nil {
		return nil, fmt.Errorf("%w: truncated in its header (%w)", ErrCheckpoint, err)
	}
	if string(head[:len(checkpointMagic)]) != checkpointMagic {
		return nil, fmt.Errorf("%w: it does not begin as a checkpoint does", ErrCheckpoint)
	}
	size := binary.LittleEndian.Uint64(head[len(checkpointMagic):])
	if size > maxCheckpoint {
		return nil, fmt.Errorf("%w: it claims %d bytes", ErrCheckpoint, size)
	}
	var body bytes.Buffer // grows with what is really there
	if n, err := io.CopyN(&body, rd, int64(size)); err != nil {
		return nil, fmt.Errorf("%w: truncated after %d of %d bytes (%w)", ErrCheckpoint, n, size, err)
	}
	tail := make([]byte, 8)
	if _, err := io.ReadFull(rd, tail); err != nil {
		return nil, fmt.Errorf("%w: truncated in its checksum (%w)", ErrCheckpoint, err)
	}
	sum := crc64.Update(crc64.Checksum(head, crcTable), crcTable, body.Bytes())
	if binary.LittleEndian.Uint64(tail) != sum {
		return nil, fmt.Errorf("%w: the checksum does not match", ErrCheckpoint)
	}
	return body.Bytes(), nil
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

// fingerprint tells problems apart: exactly by its text, and by one number per
// kernel that rounding may move a little between machines.
type fingerprint struct {
	text   string
	probes []float64
}

func (p *Problem) fingerprint() (fingerprint, error) {
	s, ok := p.Space.(interface {
		Space
		probed
	})
	if !ok {
		return fingerprint{}, fmt.Errorf("%w: a fit in this space has no checkpoints", ErrInput)
	}
	h := crc64.New(crcTable)
	for out, i := s.outputs(), 0; i < out.Rows; i++ {
		_ = binary.Write(h, binary.LittleEndian, blas.Row(out, i)) // into memory
	}
	text := fmt.Sprintf("samples %d, outputs %d, kernels %d, unknowns %d, targets %016x, lambda %v, tau %v, norm %v, "+
		"fixed eta %v, fixed L %v",
		s.Samples(), s.Outputs(), s.Kernels(), s.Unknowns(), h.Sum64(), p.Lambda, p.Tau, p.Norm, p.Model.fixEta(),
		p.Model.fixL())
	if s, ok := p.Space.(sampled); ok && s.inSamples().convex() {
		text += ", loss " + s.inSamples().loss.String()
	}
	if p.Model == Sum {
		text += ", one L for each kernel"
	}
	return fingerprint{text: text, probes: s.probe()}, nil
}

// probeTol is how far rounding and single precision storage may move a probe.
const probeTol = 1e-4

func (f fingerprint) compare(now fingerprint) error {
	if f.text != now.text {
		return fmt.Errorf("%w: saved for %s; now %s", ErrForeign, f.text, now.text)
	}
	if len(f.probes) != len(now.probes) {
		return fmt.Errorf("%w: saved for %d kernels; now %d", ErrForeign, len(f.probes), len(now.probes))
	}
	scale := max(maxOf(f.probes), maxOf(now.probes))
	for j, v := range f.probes {
		if d := math.Abs(v - now.probes[j]); !(d <= probeTol*math.Max(math.Abs(v), probeTol*scale)) {
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

type encoder struct{ bytes.Buffer }

func (e *encoder) ints(vs ...int) {
	for _, v := range vs {
		e.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	}
}

func (e *encoder) text(s string) {
	e.ints(len(s))
	e.WriteString(s)
}

func (e *encoder) floats(x []float64) {
	e.ints(len(x))
	e.raw(x)
}

func (e *encoder) raw(x []float64) { _ = binary.Write(e, binary.LittleEndian, x) } // into memory

func (e *encoder) matrix(a blas.General) {
	e.ints(a.Rows, a.Cols)
	for i := range a.Rows {
		e.raw(blas.Row(a, i))
	}
}

// decoder takes parts off the front of b; bad is set when b is too short.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int() int {
	p := d.take(8)
	if p == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint64(p))
}

func (d *decoder) text() string { return string(d.take(d.int())) }

func (d *decoder) floats() []float64 { return d.raw(d.int()) }

func (d *decoder) raw(n int) []float64 {
	if n < 0 || n > len(d.b)/8 {
		d.bad = true
		return nil
	}
	x := make([]float64, n)
	_, err := binary.Decode(d.take(8*n), binary.LittleEndian, x)
	d.bad = d.bad || err != nil
	return x
}

func (d *decoder) matrix() blas.General {
	rows, cols := d.int(), d.int()
	if rows < 0 || cols < 0 || cols > 0 && rows > len(d.b)/8/cols {
		d.bad = true
		return blas.General{}
	}
	return blas.General{Rows: rows, Cols: cols, Stride: max(cols, 1), Data: d.raw(rows * cols)}
}
