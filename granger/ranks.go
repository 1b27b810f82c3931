package granger

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/stream"
)

// alone is the one rank of a job without others.
type alone struct{}

func (alone) Rank() int                 { return 0 }
func (alone) Size() int                 { return 1 }
func (alone) Allreduce([]float64) error { return nil }

// fit fits the tasks, which share the samples idx and other: of R ranks each fits
// every R-th, and then all have all models. All ranks must call it in turn.
func (e *engine) fit(ctx context.Context, tasks []task) ([]model, error) {
	rank, size := e.opt.Ranks.Rank(), e.opt.Ranks.Size()
	if size == 1 {
		return e.fitHere(ctx, tasks)
	}
	var own []task
	for i := rank; i < len(tasks); i += size {
		own = append(own, tasks[i])
	}
	fitted, err := e.fitHere(ctx, own)
	if err != nil {
		return nil, err
	}
	all, err := exchange(e.opt.Ranks, fitted)
	if err != nil {
		return nil, fmt.Errorf("granger: exchanging the fits of the nodes: %w", err)
	}
	models := make([]model, len(tasks))
	for i := range models {
		models[i] = all[i%size][i/size]
	}
	return models, nil
}

// exchange returns what every rank says, in their order.
func exchange[T any](ranks stream.Ranks, own T) ([]T, error) {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(own); err != nil {
		return nil, err
	}
	ends := make([]float64, ranks.Size()) // of the texts, one after the other
	for k := ranks.Rank(); k < len(ends); k++ {
		ends[k] = float64(text.Len())
	}
	if err := ranks.Allreduce(ends); err != nil {
		return nil, err
	}
	numbers := make([]float64, int(ends[len(ends)-1]))
	for i, c := range text.Bytes() {
		numbers[int(ends[ranks.Rank()])-text.Len()+i] = float64(c)
	}
	if err := ranks.Allreduce(numbers); err != nil {
		return nil, err
	}
	texts := make([]byte, len(numbers))
	for i, v := range numbers {
		texts[i] = byte(v)
	}
	all := make([]T, len(ends))
	from := 0
	for k, end := range ends {
		if err := gob.NewDecoder(bytes.NewReader(texts[from:int(end)])).Decode(&all[k]); err != nil {
			return nil, err
		}
		from = int(end)
	}
	return all, nil
}

// roundsPerExchange is how many rounds of a resampling the ranks run between two exchanges, a
// few for each thread of all. They must go on from the same number of rounds.
func (e *engine) roundsPerExchange(done int) (some int, err error) {
	all, err := exchange(e.opt.Ranks, [2]int{4 * par.Threads(), done})
	if err != nil {
		return 0, fmt.Errorf("granger: exchanging the number of rounds: %w", err)
	}
	for k, other := range all {
		some += other[0]
		if other[1] != done {
			return 0, fmt.Errorf("%w: rank %d goes on after %d rounds, rank %d after %d", ErrForeign,
				e.opt.Ranks.Rank(), done, k, other[1])
		}
	}
	return some, nil
}
