package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/table"
)

// intervalFlags say what predict tells about how sure a prediction is.
type intervalFlags struct {
	iokl.IntervalOptions
	std   bool
	proba bool
	why   int          // number of a row, from 1; 0 for none
	all   blas.General // weights of all rows to predict; without Data 1
}

// at are the options of the intervals of so many rows from row first on.
func (q *intervalFlags) at(first, rows int) (iokl.IntervalOptions, error) {
	opt := q.IntervalOptions
	if q.all.Data == nil {
		return opt, nil
	}
	if first+rows > q.all.Rows {
		return opt, status.Input("--weights has %d rows, and there are more to predict", q.all.Rows)
	}
	opt.Weights = blas.Dense(blas.Clone(blas.View(q.all, first, 0, rows, q.all.Cols)))
	return opt, nil
}

// check refuses what does not go together.
func (q *intervalFlags) check(cmd *cobra.Command, gram bool) error {
	changed := cmd.Flags().Changed
	switch {
	case !changed("interval") && (changed("method") || q.Local || q.Joint):
		return errors.New("--method, --local and --joint say how intervals are made: give --interval too")
	case changed("why") && q.why < 1:
		return fmt.Errorf("--why %d: rows are numbered from 1", q.why)
	case gram && (q.std || q.proba || q.why > 0):
		return errors.New("--std, --proba and --why need a model of --x")
	case q.proba && q.Level > 0:
		return errors.New("--proba: --interval of a classifier has probabilities too: give one of them")
	}
	return nil
}

// prediction is a block of predictions and what is said beside them.
type prediction struct {
	X, F   *mat.Dense // X until the next block is read
	labels []string   // of a classifier
	sets   []string   // of a classifier, with --interval
	beside []beside
}

// What ends the names of columns of posterior deviations, and of those of the noise.
const stdSuffix, noiseSuffix = "_std", "_noise"

// beside is a further column for each output, or for each target after its quantiles.
type beside struct {
	suffix string
	v      *mat.Dense
}

// after reports whether a column of b follows output j of n, and which.
func (b *beside) after(j, n int) (column int, ok bool) {
	each := n / b.v.RawMatrix().Cols
	return j / each, j%each == each-1
}

// answer predicts the rows of X, of which the first is number first of all, from 0.
func (q *intervalFlags) answer(ctx context.Context, model *iokl.Model, X *mat.Dense, first int) (*prediction, error) {
	a := &prediction{X: X}
	var err error
	switch {
	case q.Level == 0:
		if a.F, err = model.Predict(X); err != nil {
			return nil, err
		}
		if q.proba {
			P, err := model.PredictProba(X)
			if err != nil {
				return nil, err
			}
			a.beside = []beside{{"_p", P}}
		}
	case model.Classes() != nil:
		r, err := model.PredictSets(ctx, X, q.Level)
		if err != nil {
			return nil, err
		}
		a.F, a.beside = r.Outputs, []beside{{"_p", r.Probabilities}}
		for _, set := range r.Sets {
			a.sets = append(a.sets, strings.Join(set, "|"))
		}
	default:
		opt, err := q.at(first, X.RawMatrix().Rows)
		if err != nil {
			return nil, err
		}
		r, err := model.PredictInterval(ctx, X, opt)
		if err != nil {
			return nil, err
		}
		a.bounds(r)
	}
	if q.std {
		std, err := model.PredictDeviation(ctx, X)
		if err != nil {
			return nil, err
		}
		a.beside = append(a.beside, beside{stdSuffix, std})
		if model.LearnedNoise() {
			noise, err := model.PredictNoise(ctx, X)
			if err != nil {
				return nil, err
			}
			a.beside = append(a.beside, beside{noiseSuffix, noise})
		}
	}
	a.labels = results.ClassesOf(model, a.F)
	return a, nil
}

// gram predicts from cross-Gram matrices.
func (q *intervalFlags) gram(ctx context.Context, model *iokl.Model, KX []mat.Matrix) (*prediction, error) {
	a := new(prediction)
	if q.Level == 0 || model.Classes() != nil {
		var err error
		a.F, err = model.PredictGram(KX)
		return a, err
	}
	opt := q.IntervalOptions
	if q.all.Data != nil {
		opt.Weights = blas.Dense(q.all)
	}
	r, err := model.PredictIntervalGram(ctx, KX, opt)
	if err == nil {
		a.bounds(r)
	}
	return a, err
}

func (a *prediction) bounds(r *iokl.Intervals) {
	a.F, a.beside = r.Predictions, []beside{{"_lo", r.Low}, {"_hi", r.High}}
}

// columns are the predictions, each followed by what stands beside it.
func (a *prediction) columns(names []string) *table.Table {
	if a.beside == nil {
		return &table.Table{Names: names, Data: a.F.RawMatrix()}
	}
	t, n := a.F.Dims()
	cols := n
	for _, b := range a.beside {
		cols += b.v.RawMatrix().Cols
	}
	wide := blas.NewGeneral(t, cols)
	for i := range t {
		row := blas.Row(wide, i)[:0]
		for j, v := range a.F.RawRowView(i) {
			row = append(row, v)
			for _, b := range a.beside {
				if k, ok := b.after(j, n); ok {
					row = append(row, b.v.At(i, k))
				}
			}
		}
	}
	return &table.Table{Names: a.names(names), Data: wide}
}

// names are those of the columns; nil where the outputs have none.
func (a *prediction) names(outputs []string) (all []string) {
	for j, name := range outputs {
		all = append(all, name)
		for _, b := range a.beside {
			if k, ok := b.after(j, len(outputs)); ok {
				all = append(all, results.TargetNames(outputs, len(outputs)/b.v.RawMatrix().Cols)[k]+b.suffix)
			}
		}
	}
	return all
}

// intervalReport is what predict --json says beside the predictions.
type intervalReport struct {
	Low           [][]float64 `json:"low,omitempty"`
	High          [][]float64 `json:"high,omitempty"`
	Std           [][]float64 `json:"std,omitempty"`
	Noise         []float64   `json:"noise,omitempty"`    // standard deviation of each output's, with --std
	NoiseAt       [][]float64 `json:"noise_at,omitempty"` // that of each row, where it was learned
	Probabilities [][]float64 `json:"probabilities,omitempty"`
	Sets          []string    `json:"sets,omitempty"`
	Coverage      []float64   `json:"coverage,omitempty"`       // of each target, or of the sets, with --y
	JointCoverage *float64    `json:"joint_coverage,omitempty"` // of all outputs together, with --y
	MeanWidth     []float64   `json:"mean_width,omitempty"`     // of each target; the mean number of classes of a set
}

// keep adds a block of answers.
func (r *intervalReport) keep(a *prediction) {
	r.Sets = append(r.Sets, a.sets...)
	for _, b := range a.beside {
		list := map[string]*[][]float64{
			"_lo": &r.Low, "_hi": &r.High, stdSuffix: &r.Std, noiseSuffix: &r.NoiseAt, "_p": &r.Probabilities,
		}[b.suffix]
		t, _ := b.v.Dims()
		for i := range t {
			*list = append(*list, slices.Clone(b.v.RawRowView(i)))
		}
	}
}

// trim leaves out what is in the file that was written.
func (r *intervalReport) trim() {
	r.Low, r.High, r.Std, r.NoiseAt, r.Probabilities, r.Sets = nil, nil, nil, nil, nil, nil
}

// cover compares with the targets; classes are those of a classifier.
func (r *intervalReport) cover(Y mat.Matrix, classes []string) {
	t, _ := Y.Dims()
	switch {
	case r.Sets != nil:
		r.Coverage, r.MeanWidth = []float64{0}, []float64{0}
		for i, text := range r.Sets {
			set := strings.Split(text, "|")
			truth := mat.Row(nil, i, Y)
			if slices.Contains(set, classes[floats.MaxIdx(truth)]) {
				r.Coverage[0]++
			}
			r.MeanWidth[0] += float64(len(set)) / float64(t)
		}
		r.Coverage[0] /= float64(t)
	case r.Low != nil:
		at := func(rows [][]float64) func(i, j int) float64 {
			return func(i, j int) float64 { return rows[i][j] }
		}
		var joint float64
		r.Coverage, r.MeanWidth, joint = results.Cover(at(r.Low), at(r.High), Y)
		r.JointCoverage = &joint
	}
}

// influence is a training row that a prediction rests on.
type influence struct {
	Row    int       `json:"row"`    // from 1
	Change []float64 `json:"change"` // of each output: the prediction, less that of a refit without the row
}

// whyReport is what predict --why prints as JSON.
type whyReport struct {
	Row        int         `json:"row"` // of --x, from 1
	Outputs    []string    `json:"outputs"`
	Prediction []float64   `json:"prediction"`
	Influences []influence `json:"influences"` // the largest first
}

// explain prints which training rows the prediction for the row asked for rests on.
func (q *intervalFlags) explain(cmd *cobra.Command, m *machine, model *iokl.Model, src *source) error {
	for before := 0; ; {
		a, err := src.next()
		if errors.Is(err, io.EOF) {
			return status.Input("--why %d: there are %d rows", q.why, before)
		}
		if err != nil {
			return err
		}
		rows, cols := a.X.Dims()
		if at := q.why - 1 - before; at < rows {
			D, err := model.Influence(cmd.Context(), a.X.Slice(at, at+1, 0, cols))
			if err != nil {
				return err
			}
			r := whyReport{Row: q.why, Outputs: model.OutputNames(), Prediction: a.F.RawRowView(at)}
			r.rank(D.Changes, D.Rows)
			return m.print(cmd, &r)
		}
		before += rows
	}
}

// rank lists the training rows of these numbers by the changes D that they make, a row each.
func (r *whyReport) rank(D *mat.Dense, rows []int) {
	l, n := D.Dims()
	unit := make([]float64, n) // outputs count in units of their root mean square change
	for i := range l {
		row := D.RawRowView(i)
		r.Influences = append(r.Influences, influence{rows[i] + 1, row})
		for j, v := range row {
			unit[j] = math.Hypot(unit[j], v)
		}
	}
	size := func(v influence) (s float64) {
		for j, c := range v.Change {
			if unit[j] > 0 {
				s = math.Hypot(s, c/unit[j])
			}
		}
		return s
	}
	slices.SortStableFunc(r.Influences, func(a, b influence) int { return cmp.Compare(size(b), size(a)) })
}

// More is the number of influences beyond those that are printed.
func (r *whyReport) More() int { return max(0, len(r.Influences)-mostInfluences) }

// Printed are the largest influences.
func (r *whyReport) Printed() []influence { return r.Influences[:len(r.Influences)-r.More()] }

const mostInfluences = 15

// Write prints the influences as a table.
func (r *whyReport) Write(w io.Writer) error {
	return results.Columns(w, "influences by row", r, tabwriter.AlignRight)
}
