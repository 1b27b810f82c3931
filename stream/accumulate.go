// The pass over the rows that adds up their sums.

package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
)

// ErrRow is wrapped by errors in the rows of a source; messages name source and row.
var ErrRow = errors.New("bad row")

// Features turns inputs into features; rff.Maps does.
type Features interface {
	Dim() int // D
	// Transform computes dst = Z(X), r×D; a row's features do not depend on the others.
	Transform(dst, X blas.General) error
}

const defaultBlockRows = 1024

// Options says how rows are accumulated. The zero value is ready to use.
type Options struct {
	BlockRows int // rows multiplied at a time; 0 means 1024
	Folds     int // sums kept apart; 0 means 1
	// NoGamma leaves out Γ, for D² numbers that do not fit: see Gram, which then
	// multiplies by it, and Plan.
	NoGamma bool
	// Fold chooses the fold of a row; nil draws it from the row's number and Seed.
	Fold func(source string, row int64) int `json:"-"`
	Seed uint64
	// Patterns lists the sets of observed targets, n values each, that rows may have; NaN is a missing
	// target. The sums of each are kept apart. nil means that all targets are observed.
	Patterns [][]bool
	// Backend multiplies; nil means blas.Active().
	Backend blas.Backend `json:"-"`
	// Identity describes data and features: a checkpoint of another identity is refused.
	Identity string
	// Progress is called after every block taken from a source; an error stops the pass.
	Progress func(Progress) error `json:"-"`
	// Checkpoint is called every CheckpointRows rows, and when a pass ends early
	// for whatever reason; it may call Encode.
	Checkpoint     func(*Accumulator) error `json:"-"`
	CheckpointRows int64                    // 0 means only when a pass ends early
}

// Progress is where a pass is.
type Progress struct {
	Rows   int64  // taken so far, in all
	Source string // being read
	Row    int64  // next row of it
}

// Accumulator gathers the sums of rows. It serves one goroutine.
type Accumulator struct {
	features Features
	d, n     int
	opt      Options
	be       blas.Backend
	folds    []fold   // Folds of them, times the number of patterns; those of a fold follow each other
	patterns patterns // of opt, where they are given
	rows     int64
	z        blas.General
}

// fold is the sums of one part of the rows, and the rows that wait for their block to fill.
type fold struct {
	sums    Sums
	x, y    blas.General // BlockRows×d and ×n
	w       []float64    // weights of the rows
	waiting int
}

// Bytes is the memory an accumulator of D features, d inputs and n targets takes.
func Bytes(D, d, n int, opt Options) float64 {
	opt.fill()
	K, B := float64(opt.Folds*max(len(opt.Patterns), 1)), float64(opt.BlockRows)
	order := float64(D)
	if opt.NoGamma {
		order = 0
	}
	return 8 * (K*float64(D)*(order+float64(n)) + B*(float64(D)+K*float64(d+n+1)))
}

// Plan decides whether the sums of D features, d inputs and n targets fit into limit bytes with Γ. If they do not it
// sets opt.NoGamma, and the text says what this costs for l rows; l < 0 means that their number is not known. Otherwise
// the text is "".
func Plan(D, d, n int, l, limit int64, opt Options) (Options, string) {
	need := Bytes(D, d, n, opt)
	if opt.NoGamma || need <= float64(limit) {
		return opt, ""
	}
	opt.NoGamma = true
	text := fmt.Sprintf("the sums of %d features take %.3g bytes, more than %d: each multiply by ZᵀZ will read the "+
		"data again", D, need, limit)
	if l >= 0 {
		text += fmt.Sprintf(", %.2g flops for each column", 4*float64(l)*float64(D))
	}
	return opt, text
}

func (o *Options) fill() {
	if o.BlockRows <= 0 {
		o.BlockRows = defaultBlockRows
	}
	o.Folds = max(o.Folds, 1)
}

// New returns an empty accumulator for rows of d inputs and n targets.
func New(features Features, d, n int, opt Options) *Accumulator {
	if d < 1 || n < 1 || features.Dim() < 1 {
		panic("stream: no inputs, targets or features")
	}
	opt.fill()
	a := &Accumulator{features: features, d: d, n: n, opt: opt, be: blas.Or(opt.Backend)}
	for _, observed := range opt.Patterns {
		if len(observed) != n {
			panic("stream: a pattern tells of each target whether it is observed")
		}
		a.patterns.append(observed)
	}
	a.folds = a.emptyFolds()
	a.z = blas.NewGeneral(opt.BlockRows, features.Dim())
	return a
}

func (a *Accumulator) emptyFolds() []fold {
	P := max(len(a.opt.Patterns), 1)
	folds := make([]fold, a.opt.Folds*P)
	for k := range folds {
		var observed []bool
		if a.opt.Patterns != nil {
			observed = a.opt.Patterns[k%P]
		}
		unused := observed != nil && !slices.Contains(observed, true)
		folds[k] = fold{
			sums: newSums(a.features.Dim(), a.n, a.opt.NoGamma || unused),
			x:    blas.NewGeneral(a.opt.BlockRows, a.d), y: blas.NewGeneral(a.opt.BlockRows, a.n),
			w: make([]float64, a.opt.BlockRows),
		}
		folds[k].sums.Observed = observed
	}
	return folds
}

// Rows is the number of rows taken so far.
func (a *Accumulator) Rows() int64 { return a.rows }

// Sums returns the sums over the rows added so far. With P patterns, those of pattern p in fold k are at k·P + p.
// Missing targets count as 0 in them. They share the memory of the accumulator.
func (a *Accumulator) Sums() ([]Sums, error) {
	sums := make([]Sums, len(a.folds))
	for k := range a.folds {
		if err := a.flush(&a.folds[k]); err != nil {
			return nil, err
		}
		sums[k] = a.folds[k].sums
	}
	return sums, nil
}

// Add adds the rows of a block to the sums. At a bad row it stops after the rows before it; the error wraps [ErrRow]
// and names the row.
func (a *Accumulator) Add(b Block) error {
	if err := b.check(a.d, a.n); err != nil {
		return err
	}
	for i := range b.X.Rows {
		if err := a.addRow(b, i); err != nil {
			return fmt.Errorf("stream: %s, row %d: %w", b.Source, b.Row+int64(i), err)
		}
	}
	return nil
}

func (a *Accumulator) addRow(b Block, i int) error {
	x, y, weight, err := b.row(i, a.opt.Patterns != nil)
	if err != nil {
		return err
	}
	if weight == 0 {
		a.rows++
		return nil
	}
	k := a.opt.FoldOf(b.Source, b.Row+int64(i))
	if k < 0 || k >= a.opt.Folds {
		return fmt.Errorf("%w: fold %d of %d", ErrRow, k, a.opt.Folds)
	}
	if a.opt.Patterns != nil {
		p, ok := a.patterns.find(y)
		if !ok {
			return fmt.Errorf("%w: other targets of it are missing than in the rows of the survey", ErrRow)
		}
		k = k*len(a.opt.Patterns) + p
	}
	f := &a.folds[k]
	if f.waiting == f.x.Rows {
		if err := a.flush(f); err != nil {
			return err
		}
	}
	copy(blas.Row(f.x, f.waiting), x)
	to := blas.Row(f.y, f.waiting)
	for j, v := range y {
		if math.IsNaN(v) {
			v = 0
		}
		to[j] = v
	}
	f.w[f.waiting] = weight
	f.waiting++
	a.rows++
	return nil
}

// check refuses infinite numbers, and NaN where none may be missing.
func check(what string, row []float64, missing bool) error {
	for c, v := range row {
		if math.IsNaN(v) && !missing || math.IsInf(v, 0) {
			return fmt.Errorf("%w: %s %d is %g", ErrRow, what, c, v)
		}
	}
	return nil
}

// FoldOf is the fold of a row of a source.
func (o *Options) FoldOf(source string, row int64) int {
	if o.Fold != nil {
		return o.Fold(source, row)
	}
	return int(mix(o.Seed, uint64(row)) % uint64(max(o.Folds, 1)))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): rows next to
// each other get unrelated numbers.
func mix(seed, row uint64) uint64 {
	h := (seed+row)*0x9e3779b97f4a7c15 + seed
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// flush adds the waiting rows of a fold to its sums.
func (a *Accumulator) flush(f *fold) error {
	if f.waiting == 0 {
		return nil
	}
	z := blas.View(a.z, 0, 0, f.waiting, a.z.Cols)
	if err := a.features.Transform(z, blas.View(f.x, 0, 0, f.waiting, a.d)); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	f.sums.add(a.be, z, blas.View(f.y, 0, 0, f.waiting, a.n), f.w)
	f.waiting = 0
	return nil
}

// Run adds the rows of src up to its end, reading one block ahead. An accumulator that already holds rows, as after
// Decode, skips as many first. Run ends early at an error of the source or in a row, when ctx ends, or at an error of
// Progress; it then has added the rows before, calls Checkpoint, and returns that error. After Run has returned src is
// not used, except by a call of Next that was running when ctx ended.
func (a *Accumulator) Run(ctx context.Context, src Source) error {
	err := a.run(ctx, src)
	if err != nil && a.opt.Checkpoint != nil {
		err = errors.Join(err, a.opt.Checkpoint(a))
	}
	return err
}

func (a *Accumulator) run(ctx context.Context, src Source) error {
	skip, saved := a.rows, a.rows
	for b, err := range prefetched(ctx, src) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if rows := min(int64(b.X.Rows), skip); rows > 0 {
			b, skip = b.Part(int(rows), b.X.Rows), skip-rows
		}
		var failed error
		phase.Do(ctx, phase.FormK, func(context.Context) { failed = a.Add(b) })
		if err := cmp.Or(failed, err); err != nil {
			return err
		}
		if err := a.report(b, &saved); err != nil {
			return err
		}
	}
	if skip > 0 {
		return fmt.Errorf("stream: the source ends %d rows before where the pass is to go on", skip)
	}
	return ctx.Err()
}

// report tells the caller where the pass is, and saves it when that is due.
func (a *Accumulator) report(b Block, saved *int64) error {
	if a.opt.Progress != nil {
		if err := a.opt.Progress(Progress{Rows: a.rows, Source: b.Source, Row: b.Row + int64(b.X.Rows)}); err != nil {
			return err
		}
	}
	if a.opt.Checkpoint == nil || a.opt.CheckpointRows <= 0 || a.rows-*saved < a.opt.CheckpointRows {
		return nil
	}
	*saved = a.rows
	return a.opt.Checkpoint(a)
}
