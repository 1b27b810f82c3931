package granger

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/stream"
)

// rank is the number of this process in its job, and size that of all.
func (e *engine) rank() (rank, size int) {
	if r := e.opt.Ranks; r != nil {
		return r.Rank(), r.Size()
	}
	return 0, 1
}

// fit fits the tasks, which share the samples idx and other: of R ranks each fits
// every R-th, and then all have all models. All ranks must call it in turn.
func (e *engine) fit(ctx context.Context, tasks []task) ([]model, error) {
	rank, size := e.rank()
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
	lengths := make([]float64, ranks.Size())
	lengths[ranks.Rank()] = float64(text.Len())
	if err := ranks.Allreduce(lengths); err != nil {
		return nil, err
	}
	all := make([]T, len(lengths))
	for rank, n := range lengths {
		numbers, said := make([]float64, int(n)), make([]byte, int(n))
		if rank == ranks.Rank() {
			for i, c := range text.Bytes() {
				numbers[i] = float64(c)
			}
		}
		if err := ranks.Allreduce(numbers); err != nil {
			return nil, err
		}
		for i, v := range numbers {
			said[i] = byte(v)
		}
		if err := gob.NewDecoder(bytes.NewReader(said)).Decode(&all[rank]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// roundsPerExchange is how many rounds of a resampling the ranks run between two exchanges, a
// few for each thread of all. They must go on from the same number of rounds.
func (e *engine) roundsPerExchange(done int) (int, error) {
	some := 4 * par.Threads()
	rank, size := e.rank()
	if size == 1 {
		return some, nil
	}
	all, err := exchange(e.opt.Ranks, [2]int{some, done})
	if err != nil {
		return 0, fmt.Errorf("granger: exchanging the number of rounds: %w", err)
	}
	some = 0
	for k, other := range all {
		some += other[0]
		if other[1] != done {
			return 0, fmt.Errorf("%w: rank %d goes on after %d rounds, rank %d after %d", ErrForeign, rank, done, k,
				other[1])
		}
	}
	return some, nil
}

// addUp replaces counts by their sum over the ranks.
func (e *engine) addUp(counts blas.General) error {
	if _, size := e.rank(); size == 1 {
		return nil
	}
	if err := e.opt.Ranks.Allreduce(counts.Data); err != nil {
		return fmt.Errorf("granger: adding up the counts of the ranks: %w", err)
	}
	return nil
}
