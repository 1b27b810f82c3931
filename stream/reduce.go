// This file adds up sums over the ranks of a parallel job.

package stream

import (
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Reducer adds up numbers over the ranks of a parallel job.
type Reducer interface {
	// Allreduce replaces x by its sum over all ranks; every rank calls it with as many numbers.
	Allreduce(x []float64) error
}

// Ranks are the processes of a parallel job, numbered from 0, each of which does the
// same with the same data and options.
type Ranks interface {
	Rank() int
	Size() int
	Reducer
}

// Reduce replaces the sums of each fold by their total over the ranks of a job,
// each of which must call it after its own pass. Counts stay exact below 2⁵³ rows.
// The accumulator then holds rows it has not seen itself, and cannot be resumed.
func (a *Accumulator) Reduce(r Reducer) error {
	if _, err := a.Sums(); err != nil {
		return err
	}
	a.rows = 0
	for k := range a.folds {
		if err := a.folds[k].sums.reduce(r); err != nil {
			return fmt.Errorf("stream: adding up the sums of the ranks: %w", err)
		}
		a.rows += a.folds[k].sums.Rows
	}
	return nil
}

// reduce adds up in two exchanges, of n + 1 numbers for the mean of all rows, and of
// the sums about it.
func (s *Sums) reduce(r Reducer) error {
	mean := slices.Clone(s.YSum)
	blas.Axpy(s.Weight, s.Center, mean)
	mean = append(mean, s.Weight)
	if err := r.Allreduce(mean); err != nil {
		return err
	}
	n := len(s.Center)
	blas.Scal(perWeight(1, mean[n]), mean)
	s.Recenter(mean[:n])
	x := s.pack()
	if err := r.Allreduce(x); err != nil {
		return err
	}
	s.unpack(x)
	return nil
}

// pack lays out the numbers of the sums, but for their center, one after the other: D(D+1)/2 + Dn + D + 2n + 2.
func (s *Sums) pack() []float64 {
	return append(slices.Concat(s.parts()...), s.Weight, float64(s.Rows))
}

func (s *Sums) unpack(x []float64) {
	for _, part := range s.parts() {
		x = x[copy(part, x):]
	}
	s.Weight, s.Rows = x[0], int64(x[1])
}

// parts are the numbers of the sums, but for their center and counts, in their memory: the lower triangle of Γ by rows,
// H, ZSum, YSum and YY.
func (s *Sums) parts() (all [][]float64) {
	for i := range s.Gamma.Rows {
		all = append(all, blas.Row(s.Gamma, i)[:i+1])
	}
	return append(all, s.H.Data, s.ZSum, s.YSum, s.YY)
}
