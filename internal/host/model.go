package host

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/base/screen"
)

// Model is a model that a host keeps.
type Model struct {
	*iokl.Model
	mu      sync.Mutex
	encoded []byte // what Bytes made and nobody has taken
}

// Bytes is what Save would write. They are kept until Drop, since a host asks for
// their number first.
func (m *Model) Bytes() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.encoded == nil {
		var b bytes.Buffer
		if err := m.Encode(&b); err != nil {
			return nil, err
		}
		m.encoded = b.Bytes()
	}
	return m.encoded, nil
}

// Drop forgets what Bytes keeps.
func (m *Model) Drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.encoded = nil
}

// JSON says what the model is: all but its numbers by sample.
func (m *Model) JSON() ([]byte, error) {
	L, warnings := m.OutputKernel(), m.Warnings()
	for k, line := range warnings {
		warnings[k] = screen.Safe(line)
	}
	var axis [][]float64
	if points, _ := m.OutputAxis(); points != nil {
		for i := range points.RawMatrix().Rows {
			axis = append(axis, points.RawRowView(i))
		}
	}
	return marshal(struct {
		Summary        string           `json:"summary"`
		Certificate    iokl.Certificate `json:"certificate"`
		Chosen         *iokl.Chosen     `json:"chosen"`
		Options        *iokl.Options    `json:"options"`        // as they were given; null where a file does not say
		IntervalFolds  int              `json:"interval_folds"` // models without each fold that it keeps
		HeldOut        bool             `json:"held_out"`       // it tells held-out predictions at little cost
		InputNames     []string         `json:"input_names"`    // null for a model of Gram matrices
		OutputAxis     [][]float64      `json:"output_axis"`    // points that the outputs are; null for none
		OutputNames    []string         `json:"output_names"`
		Classes        []string         `json:"classes"` // null but for a classifier
		KernelNames    []string         `json:"kernel_names"`
		Eta            []float64        `json:"eta"`
		LearnedOutputs []string         `json:"learned_outputs"`
		TraceL         float64          `json:"trace_l"`
		RankL          int              `json:"rank_l"`
		Relevance      []float64        `json:"relevance"`
		Warnings       []string         `json:"warnings"`
	}{
		screen.Safe(m.String()), m.Certificate(), m.Chosen(), m.Options(), m.IntervalFolds(), m.KeepsHeldOut(),
		m.InputNames(), axis,
		m.OutputNames(), m.Classes(), m.KernelNames(), m.Eta(), m.LearnedOutputs(), L.Trace(), L.Rank(), m.Relevance(),
		warnings,
	}, nil)
}

// Indicators are sets of classes as rows of 0 and 1, a column for each class.
func (m *Model) Indicators(sets [][]string) *mat.Dense {
	at := map[string]int{}
	for k, name := range m.Classes() {
		at[name] = k
	}
	dst := mat.NewDense(len(sets), len(at), nil)
	for i, set := range sets {
		for _, name := range set {
			dst.Set(i, at[name], 1)
		}
	}
	return dst
}

// Table gives numbers to objects that a host keeps. A number is never given out twice, so a
// freed one is recognized. It serves any number of goroutines.
type Table struct {
	last    atomic.Uint64
	objects sync.Map
}

// Put returns the number of a new object; it is not 0.
func (t *Table) Put(object any) uint64 {
	number := t.last.Add(1)
	t.objects.Store(number, object)
	return number
}

// Get returns the object of type T with that number, or an ErrHandle.
func Get[T any](t *Table, number uint64) (T, error) {
	found, _ := t.objects.Load(number)
	object, ok := found.(T)
	if !ok {
		return object, fmt.Errorf("%w: %d", ErrHandle, number)
	}
	return object, nil
}

// Take is Get, and forgets the number.
func Take[T any](t *Table, number uint64) (T, error) {
	object, err := Get[T](t, number)
	if err == nil {
		t.objects.Delete(number)
	}
	return object, err
}
