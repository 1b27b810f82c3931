// This file adds up explicit features over samples in memory, apart for each fold.

package samples

import (
	"context"
	"io"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/stream"
)

// Sums are the sums of the features of SPECs over the samples of which all targets are known, apart for each fold, or
// the data themselves where those are less than half, or where cells have weights or another loss. Scales, widths and
// landmarks are those of all samples. Where all targets are known, the next training set of all samples with these
// SPECs is that of the sums.
func (r *Rows) Sums(ctx context.Context, specs []string, f learn.Folding) (learn.Data, error) {
	c, err := r.everything()
	if err != nil {
		return nil, err
	}
	var known []int
	for i := range r.y.Rows {
		if !slices.ContainsFunc(blas.Row(r.y, i), math.IsNaN) {
			known = append(known, i)
		}
	}
	if 2*len(known) < r.y.Rows || r.w.Cols > 1 || r.Loss().Kind != loss.Squared {
		return r, nil
	}
	all := &sums.Survey{In: c.in, Sample: c.Z, Warnings: c.warnings}
	if all.Dict, all.Weights, err = c.Resolve(ctx, specs); err != nil {
		return nil, err
	}
	if c.out.Scaler != nil {
		near := *c.out.Scaler
		near.Constant = make([]bool, len(near.Mean))
		all.Out = &near
	}
	opt := sums.Options{Env: r.opt.Env, Columns: r.opt.Columns, Survey: all, Folds: f.Folds}
	opt.FoldGroups = learn.Pick(f.Groups, known)
	rows := sums.Rows{
		Inputs: r.x.Cols, Outputs: r.y.Cols, Name: "the data", Count: int64(len(known)),
		Open: func() (stream.Source, error) {
			return &complete{X: r.x, Y: r.y, W: r.w, fill: c.in.Fill, rest: known}, nil
		},
	}
	d, err := sums.New(ctx, rows, opt)
	if err != nil {
		return nil, err
	}
	if len(known) == r.y.Rows {
		r.sums, r.sumsOf = d, specs
	}
	return d, nil
}

// complete is a source of some rows, with missing inputs filled.
type complete struct {
	X, Y blas.General
	W    blas.General // weights of the rows; without Data 1
	fill []float64    // of each column of X
	rest []int        // rows to hand out
	row  int64        // number of the next block's first row
}

const sourceRows = 1024 // of a block

func (s *complete) Next() (stream.Block, error) {
	if len(s.rest) == 0 {
		return stream.Block{}, io.EOF
	}
	rows := s.rest[:min(sourceRows, len(s.rest))]
	b := stream.Block{
		X: blas.TakeRows(s.X, rows), Y: blas.TakeRows(s.Y, rows), Row: s.row, Source: "the data",
		Weights: rowsOf(s.W, rows).Data,
	}
	for i, v := range b.X.Data {
		if math.IsNaN(v) {
			b.X.Data[i] = s.fill[i%b.X.Cols]
		}
	}
	s.rest, s.row = s.rest[len(rows):], s.row+int64(len(rows))
	return b, nil
}
