// This file tests whether rows are like their neighbours, and deals rows to folds in blocks.

package choose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
)

// What rows are dealt to folds by, where they are neither in groups nor ordered by time.
const (
	Shuffle = "shuffle" // each alone
	Blocks  = "blocks"  // rows that follow each other stay together
)

// dealByBlocks makes groups of rows that follow each other where the user asks for them, or
// where nothing is said and rows are like their neighbours.
func (s *selection) dealByBlocks(ctx context.Context, d learn.Data, size int) error {
	l, _ := d.Size()
	some, ok := s.data.(learn.Ridger)
	open := s.FoldsBy == "" && s.Groups == nil && !s.TimeOrdered && s.Kernels == nil && s.Setting.Kernels == nil && s.Hide != "cells"
	if !ok || !open {
		return nil
	}
	times, sure, err := s.adjacent(ctx, some)
	if err != nil {
		return err
	}
	if sure && times > defaults.Notable {
		s.note = fmt.Sprintf("rows are like their neighbours: the error on blocks of rows is %.2g times that on shuffled rows, and settings are chosen on ", times)
		if times > defaults.Apart {
			s.Groups = blocks(l, s.Folds*defaults.FoldBlocks)
			s.chosen = s.Groups
			s.note += "blocks; for new rows that come between these rows, choose folds by shuffle"
		} else {
			s.note += "shuffled rows; for new rows that come after these rows, choose folds by blocks"
		}
		s.Method.Say("%s", s.note)
	}
	return s.take(d, size)
}

// blocks are the numbers of so many blocks that l rows form.
func blocks(l, count int) []int {
	groups := make([]int, l)
	for i := range groups {
		groups[i] = i * count / l
	}
	return groups
}

// adjacent compares kernel ridge regression on shuffled rows with that on blocks of rows, at
// the best λ of each. times is the ratio of the error on blocks to that on shuffled rows. sure
// says that blocks are harder by more than the noise between them: then rows are like their
// neighbours, and easier to predict from these than rows that come after all others. It is
// false where there are few rows, or targets are missing.
func (s *selection) adjacent(ctx context.Context, d learn.Ridger) (times float64, sure bool, err error) {
	l, _ := d.Size()
	const k = defaults.AdjacentFolds
	if l < k*defaults.AdjacentRows {
		return 1, false, nil
	}
	number := blocks(l, k)
	shuffled, err := s.alone(ctx, d, learn.Folding{Folds: k, Hide: "rows", Seed: s.Method.Seed}, number)
	if err != nil {
		return 1, false, err
	}
	blocked, err := s.alone(ctx, d, learn.Folding{Folds: k, Groups: number, Hide: "rows", Seed: s.Method.Seed}, number)
	if err != nil {
		return 1, false, err
	}
	logs := make([]float64, k) // of the ratio of the errors on the rows of each block
	for b := range logs {
		logs[b] = math.Log(blocked[b] / shuffled[b])
	}
	mean, sd := stat.MeanStdDev(logs, nil)
	return math.Exp(mean), mean > defaults.Doubtless*stat.StdErr(sd, k), nil
}

// alone is the error of ridge regression with one kernel on the rows of each block, at the
// λ that is best for all blocks together.
func (s *selection) alone(ctx context.Context, d learn.Ridger, p learn.Folding, number []int) ([]float64, error) {
	splits, err := p.Deal(len(number))
	if err != nil {
		return nil, err
	}
	if _, err := d.Split(p); err != nil {
		return nil, err
	}
	of := make([][]float64, defaults.PathPoints) // of each λ, each block
	for i := range of {
		of[i] = make([]float64, slices.Max(number)+1)
	}
	for f := range splits {
		r, err := d.Ridge(f, false)
		if err != nil {
			return nil, err
		}
		along, err := r.Errors(ctx, []string{defaults.OneKernel}, 0, func(size float64) []float64 { return defaults.Path(size, defaults.PathPoints) })
		if err != nil {
			return nil, err
		}
		for i, e := range along {
			for row, at := range splits[f].Test {
				if len(e.Rows) == len(splits[f].Test) {
					of[i][number[at]] += e.Rows[row]
				} else {
					of[i][number[at]] = math.Inf(1)
				}
			}
		}
	}
	best, least := 0, math.Inf(1)
	for i, errors := range of {
		var sum float64
		for _, e := range errors {
			sum += math.Log(math.Max(e, math.SmallestNonzeroFloat64))
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return of[best], nil
}
