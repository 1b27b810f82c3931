// Checkpoints of a pass.

package stream

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/iokl/iokl/internal/files/checkpoint"
)

// ErrCheckpoint is wrapped when a checkpoint cannot be read; the message says why.
var ErrCheckpoint = errors.New("unusable checkpoint")

// magic begins a checkpoint, a file of package checkpoint. Its numbers are, of each fold, the lower triangle of Γ by
// rows, H, ZSum, Center, YSum, YY, and the waiting inputs, targets and weights.
const magic = "IOKLSUM4"

type header struct {
	Identity  string   `json:"identity"`
	Features  int      `json:"features"`
	Inputs    int      `json:"inputs"`
	Targets   int      `json:"targets"`
	BlockRows int      `json:"block_rows"`
	Seed      uint64   `json:"seed"`
	NoGamma   bool     `json:"no_gamma,omitempty"`
	Patterns  []string `json:"patterns,omitempty"`
	Rows      int64    `json:"rows"`
	FoldRows  []int64  `json:"fold_rows"`
	Waiting   []int    `json:"waiting"`

	FoldWeights []float64 `json:"fold_weights"`
}

func (a *Accumulator) header() header {
	h := header{
		Identity: a.opt.Identity, Features: a.features.Dim(), Inputs: a.d, Targets: a.n,
		BlockRows: a.opt.BlockRows, Seed: a.opt.Seed, NoGamma: a.opt.NoGamma, Rows: a.rows,
	}
	for _, observed := range a.opt.Patterns {
		h.Patterns = append(h.Patterns, key(observed))
	}
	for k := range a.folds {
		h.FoldRows = append(h.FoldRows, a.folds[k].sums.Rows)
		h.FoldWeights = append(h.FoldWeights, a.folds[k].sums.Weight)
		h.Waiting = append(h.Waiting, a.folds[k].waiting)
	}
	return h
}

// numbers are what is stored of a fold, in that order.
func (f *fold) numbers() [][]float64 {
	all := f.sums.parts()
	x, y, w := f.x.Data[:f.waiting*f.x.Cols], f.y.Data[:f.waiting*f.y.Cols], f.w[:f.waiting]
	return append(slices.Insert(all, len(all)-2, f.sums.Center), x, y, w)
}

// Encode writes the state of the accumulator. A pass continued from it ends with the same bits as one without
// interruption.
func (a *Accumulator) Encode(w io.Writer) error {
	var all [][]float64
	for k := range a.folds {
		all = append(all, a.folds[k].numbers()...)
	}
	return checkpoint.Write(w, magic, a.header(), all)
}

// Decode reads a state that Encode wrote, up to the end of r. The accumulator must have the same features, options and
// identity; after an error it is unchanged. Errors wrap [ErrCheckpoint].
func (a *Accumulator) Decode(r io.Reader) error {
	folds, rows, err := a.decode(r)
	if err != nil {
		return fmt.Errorf("stream: %w: %w", ErrCheckpoint, err)
	}
	a.folds, a.rows = folds, rows
	return nil
}

func (a *Accumulator) decode(r io.Reader) ([]fold, int64, error) {
	var h header
	in, err := checkpoint.Open(r, magic, &h)
	if err != nil {
		return nil, 0, err
	}
	if err := a.fits(h); err != nil {
		return nil, 0, err
	}
	folds := a.emptyFolds()
	for k := range folds {
		folds[k].sums.Rows, folds[k].sums.Weight, folds[k].waiting = h.FoldRows[k], h.FoldWeights[k], h.Waiting[k]
		for _, s := range folds[k].numbers() {
			if err := in.Numbers(s); err != nil {
				return nil, 0, err
			}
		}
	}
	return folds, h.Rows, in.Last()
}

// fits compares a header with the accumulator.
func (a *Accumulator) fits(h header) error {
	own := a.header()
	if h.Identity != own.Identity {
		return fmt.Errorf("it belongs to other data or features (%q, these are %q)", h.Identity, own.Identity)
	}
	same := h.Features == own.Features && h.Inputs == own.Inputs && h.Targets == own.Targets &&
		h.BlockRows == own.BlockRows && h.Seed == own.Seed && h.NoGamma == own.NoGamma &&
		len(h.FoldRows) == len(a.folds) && len(h.Waiting) == len(a.folds) && len(h.FoldWeights) == len(a.folds)
	if !same {
		return fmt.Errorf("it has %d features, %d inputs, %d targets, %d folds, blocks of %d rows, seed %d; here "+
			"they are %d, %d, %d, %d, %d, %d",
			h.Features, h.Inputs, h.Targets, len(h.FoldRows), h.BlockRows, h.Seed,
			own.Features, own.Inputs, own.Targets, len(a.folds), own.BlockRows, own.Seed)
	}
	if !slices.Equal(h.Patterns, own.Patterns) {
		return errors.New("in its rows other targets are missing")
	}
	var rows int64
	for k, w := range h.Waiting {
		if w < 0 || w > a.opt.BlockRows || h.FoldRows[k] < 0 {
			return errors.New("its header is damaged")
		}
		rows += h.FoldRows[k] + int64(w)
	}
	if rows > h.Rows {
		return errors.New("its header is damaged")
	}
	return nil
}
