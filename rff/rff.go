// Feature maps: their description, the choice of a map for a kernel, and the transform of rows.

package rff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/kernel"
)

// The methods of making features.
const (
	Exact   = "exact"
	Fourier = "rff"
	Nystrom = "nystrom"
)

// ErrNoFeatures is wrapped when a kernel has no feature map of the kind asked for.
var ErrNoFeatures = errors.New("no feature map")

// Map is the feature map of one kernel. It is made by New or read from JSON, and
// may be used from several goroutines at once.
type Map struct {
	Kernel  kernel.Kernel `json:"kernel"`
	Method  string        `json:"method"`            // Exact, Fourier or Nystrom
	Sampler string        `json:"sampler,omitempty"` // orthogonal, mc, qmc, hadamard
	Form    string        `json:"form,omitempty"`    // of random features: "" for pairs, or kernel.Phases
	D       int           `json:"features"`          // number of features
	Seed    uint64        `json:"seed,omitempty"`
	Stream  uint64        `json:"stream,omitempty"` // tells the maps of one seed apart
	// Means is the training mean of the features of a centred exact kernel.
	Means []float64 `json:"means,omitempty"`
	// Landmarks (s×d, the kernel's own columns) and Projection (s×D) of a Nyström map.
	Landmarks  *Matrix `json:"landmarks,omitempty"`
	Projection *Matrix `json:"projection,omitempty"`
	// Backend multiplies and factors. The first use reads it; nil means blas.Active().
	Backend blas.Backend `json:"-"`

	made atomic.Bool // impl is there
	mu   sync.Mutex
	impl transformer
}

// Matrix is a dense row-major matrix as it is written to JSON.
type Matrix struct {
	Rows int       `json:"rows"`
	Cols int       `json:"cols"`
	Data []float64 `json:"data"`
}

func (m *Matrix) general() blas.General {
	return blas.General{Rows: m.Rows, Cols: m.Cols, Stride: max(m.Cols, 1), Data: m.Data}
}

// transformer writes the features of the rows of x, which hold the kernel's
// columns only, to dst. It is called from several goroutines.
type transformer interface {
	transform(dst, x blas.General) error
}

// New makes the feature map of a kernel: exact features for linear, cosine and poly kernels, and otherwise those of
// k.Approx. X (l×d) provides landmarks and training means; maps that need neither accept an X without rows. be is the
// Backend of the map. Errors wrap [ErrNoFeatures], or are those of the data or of ctx. ctx is checked between blocks of
// the rows from which landmarks are chosen, but not within the factorization of their Gram matrix, of Count³ flops.
func New(
	ctx context.Context, k kernel.Kernel, X blas.General, seed, stream uint64, be blas.Backend,
) (*Map, error) {
	m := &Map{Kernel: k, Seed: seed, Stream: stream, Backend: be}
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if X.Rows > 0 && X.Cols != k.Inputs {
		return nil, fmt.Errorf("kernel %q is for %d columns, the data have %d", k.Name, k.Inputs, X.Cols)
	}
	if err := m.choose(ctx, X); err != nil {
		return nil, fmt.Errorf("kernel %q: %w", k.Name, err)
	}
	if err := m.ready(); err != nil {
		return nil, err
	}
	return m, nil
}

// choose fills the description of the map.
func (m *Map) choose(ctx context.Context, X blas.General) error {
	k := &m.Kernel
	if k.Approx == nil {
		return m.chooseExact(X)
	}
	m.Method = k.Approx.Method
	if k.Center {
		return fmt.Errorf("%w: approximate features are not centred", ErrNoFeatures)
	}
	if m.Method == Nystrom {
		return m.chooseNystrom(ctx, X)
	}
	m.Sampler, m.Form = k.Approx.Sampler, k.Approx.Form
	if m.Sampler == kernel.Auto {
		m.Sampler = k.Approx.Cheapest(k.Kind, k.Dim())
	}
	m.D = k.Approx.Count
	if m.Form == "" {
		m.D = (m.D + 1) / 2 * 2
	}
	return nil
}

// Check reports a description that is no feature map, as JSON may hold.
func (m *Map) Check() error {
	check := map[string]func(*Map) error{Exact: checkExact, Fourier: checkFourier, Nystrom: checkNystrom}[m.Method]
	if check == nil {
		return m.named(fmt.Errorf("%w: unknown method %q", ErrNoFeatures, m.Method))
	}
	if err := m.Kernel.Validate(); err != nil {
		return err
	}
	return m.named(check(m))
}

// named puts the kernel before a message.
func (m *Map) named(err error) error {
	if err != nil {
		err = fmt.Errorf("kernel %q: %w", m.Kernel.Name, err)
	}
	return err
}

// ready builds the transformer from the description, once.
func (m *Map) ready() error {
	if m.made.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made.Load() {
		return nil
	}
	if err := m.Check(); err != nil {
		return err
	}
	if err := memory.Check("the features of kernel "+m.Kernel.Name, m.bytes(), "use fewer features"); err != nil {
		return err
	}
	switch m.Method {
	case Exact:
		m.impl = newExact(m)
	case Fourier:
		m.impl = newFourier(m)
	case Nystrom:
		impl, err := newNystrom(m)
		if err != nil {
			return err
		}
		m.impl = impl
	}
	m.made.Store(true)
	return nil
}

// bytes is what the transformer takes beside the description.
func (m *Map) bytes() float64 {
	D, d := float64(m.D), float64(m.Kernel.Dim())
	switch {
	case m.Method == Exact:
		q, _, _, _ := m.Kernel.Polynomial()
		return D * (32 + 8*float64(q))
	case m.Method == Nystrom:
		return 0
	case m.Sampler == "hadamard":
		return 8 * (5*D + 4*d)
	case m.Sampler == "orthogonal":
		return 8 * (D*d + 2*d*d)
	case m.Sampler == "qmc":
		return 8*D*d + 100*d*d // permutations of the digits to each of d primes
	}
	return 8 * D * d
}

// Dim is D, the number of features. It is Count + 1 for pairs of an odd Count.
func (m *Map) Dim() int { return m.D }

// blockRows is the number of samples transformed at a time by one goroutine.
const blockRows = 128

// Transform computes dst = Z(X), t×D, in parallel over blocks of rows; a row's features do not depend on the other
// rows. dst is not read. The cost is that of a t×d by d×D/2 product and t·D/2 sine-cosine pairs for random features, of
// a t×d by d×D product and t·D cosines for those with phases. Errors wrap kernel.ErrNotFinite, with the row and column.
func (m *Map) Transform(dst, X blas.General) error { return Maps{m}.Transform(dst, X) }

// Maps is the feature maps of a dictionary; their features stand side by side.
type Maps []*Map

// NewMaps makes the map of every kernel of a dictionary; errors as for New.
func NewMaps(
	ctx context.Context, d kernel.Dictionary, X blas.General, seed uint64, be blas.Backend,
) (Maps, error) {
	maps := make(Maps, len(d))
	for j, k := range d {
		var err error
		if maps[j], err = New(ctx, k, X, seed, uint64(j), be); err != nil {
			return nil, err
		}
	}
	return maps, nil
}

// Dim is the total number of features.
func (ms Maps) Dim() int {
	total := 0
	for _, m := range ms {
		total += m.D
	}
	return total
}

// Blocks is the number of features of each map, in order.
func (ms Maps) Blocks() []int {
	blocks := make([]int, len(ms))
	for j, m := range ms {
		blocks[j] = m.D
	}
	return blocks
}

// Transform computes dst = [Z_1(X) … Z_m(X)], t×Dim, as Map.Transform does.
func (ms Maps) Transform(dst, X blas.General) error {
	if dst.Rows != X.Rows || dst.Cols != ms.Dim() {
		panic("rff: Transform: shape mismatch")
	}
	for _, m := range ms {
		if err := m.check(X); err != nil {
			return err
		}
	}
	if X.Rows <= blockRows { // without memory of its own
		return ms.rows(dst, X)
	}
	errs := make([]error, (X.Rows+blockRows-1)/blockRows)
	par.Ranges(X.Rows, blockRows, func(lo, hi int) {
		errs[lo/blockRows] = ms.rows(blas.View(dst, lo, 0, hi-lo, dst.Cols), blas.View(X, lo, 0, hi-lo, X.Cols))
	})
	return errors.Join(errs...)
}

func (m *Map) check(X blas.General) error {
	if err := m.ready(); err != nil {
		return err
	}
	if X.Cols != m.Kernel.Inputs {
		return fmt.Errorf("kernel %q is for %d columns, the data have %d", m.Kernel.Name, m.Kernel.Inputs, X.Cols)
	}
	if err := kernel.FiniteData(X, m.Kernel.Columns); err != nil {
		return fmt.Errorf("kernel %q: %w", m.Kernel.Name, err)
	}
	return nil
}

// rows transforms one block of rows.
func (ms Maps) rows(dst, X blas.General) error {
	at := 0
	for _, m := range ms {
		if m.D > 0 {
			if err := m.impl.transform(blas.View(dst, 0, at, dst.Rows, m.D), m.Kernel.Features(X)); err != nil {
				return err
			}
		}
		at += m.D
	}
	return nil
}
