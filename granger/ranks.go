// This file spreads nodes over the processes of a parallel job.

package granger

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
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
	at := make([]int, len(tasks)+1) // where the numbers of each model start
	for i, t := range tasks {
		at[i+1] = at[i] + e.packed(t)
	}
	x := make([]float64, at[len(tasks)])
	for k := range fitted {
		i := rank + k*size
		fitted[k].pack(x[at[i]:at[i+1]])
	}
	if err := e.opt.Ranks.Allreduce(x); err != nil {
		return nil, fmt.Errorf("granger: exchanging the fits of the nodes: %w", err)
	}
	models := make([]model, len(tasks))
	for i, t := range tasks {
		models[i] = e.unpack(t, x[at[i]:at[i+1]])
	}
	return models, nil
}

// packed is how many numbers a model of t is for an exchange.
func (e *engine) packed(t task) int {
	n := e.width(t.node)
	size := 3 + 2*len(e.dict) + len(t.other)*n
	if n > 1 {
		size += 1 + n + n*n
	}
	return size
}

// width is the number of series of a node.
func (g *design) width(node int) int { return g.node[node].hi - g.node[node].lo }

// pack lays out a model in x: what is not known before, and L behind its rank + 1, 0 for none.
func (m *model) pack(x []float64) {
	x[0], x[1], x[2] = m.Objective, m.RelativeGap, float64(m.Iter)
	x = x[3:]
	x = x[copy(x, m.Eta):]
	x = x[copy(x, m.Norms):]
	for i := range m.predict.Rows {
		x = x[copy(x, blas.Row(m.predict, i)):]
	}
	if m.L == nil {
		return // zeros are left for it
	}
	n := m.L.Dim()
	x[0] = float64(m.L.Rank() + 1)
	copy(x[1:], m.L.S)
	for i := range n {
		copy(x[1+n+i*n:], blas.Row(m.L.V, i))
	}
}

// unpack is the model of t that pack laid out.
func (e *engine) unpack(t task, x []float64) model {
	k, n := len(e.dict), e.width(t.node)
	m := model{Fit: Fit{
		Node: e.data.Nodes[t.node].Name, Lambda: t.lambda, Objective: x[0], RelativeGap: x[1], Iter: int(x[2]),
	}}
	x = x[3:]
	m.Eta, m.Norms, x = x[:k:k], x[k:2*k:2*k], x[2*k:]
	m.predict = blas.NewGeneral(len(t.other), n)
	x = x[copy(m.predict.Data, x[:len(t.other)*n]):]
	if n == 1 || x[0] == 0 {
		return m
	}
	r := int(x[0]) - 1
	m.L = &linop.Spectral{V: blas.NewGeneral(n, r), S: x[1 : 1+r : 1+r]}
	for i := range n {
		copy(blas.Row(m.L.V, i), x[1+n+i*n:])
	}
	return m
}

// roundsPerExchange is how many rounds of a resampling the ranks run between two exchanges, a
// few for each thread of all. They must go on from the same number of rounds.
func (e *engine) roundsPerExchange(done int) (int, error) {
	some := 4 * par.Threads()
	rank, size := e.rank()
	if size == 1 {
		return some, nil
	}
	x := make([]float64, 1+size)
	x[0], x[1+rank] = float64(some), float64(done)
	if err := e.opt.Ranks.Allreduce(x); err != nil {
		return 0, fmt.Errorf("granger: exchanging the number of rounds: %w", err)
	}
	for k, v := range x[1:] {
		if int(v) != done {
			return 0, fmt.Errorf("%w: rank %d goes on after %d rounds, rank %d after %d", ErrForeign, rank, done, k,
				int(v))
		}
	}
	return int(x[0]), nil
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
