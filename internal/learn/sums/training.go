// Learning problems of sums over folds, and errors of their solutions.

package sums

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/stream"
)

// training is the learning problem of the sums of some of the folds.
type training struct {
	data        *Data
	parts       []stream.Sums // of each pattern of missing targets
	test        []stream.Sums // of the fold left out
	out         *columns.Outputs
	warnings    []string
	mean, scale []float64 // of the targets in the sums; 0 and 1 where they are learned as they are
	deviation   []float64 // of the targets in the sums
	space       bcd.Space
	// rows of features that C of the space belongs to, see bcd.NewPatterns; no rows where that is of features
	F blas.General
}

// rows is the number of rows in sums, and the sum of their weights.
func rows(sums []stream.Sums) (l int, weight float64) {
	for k := range sums {
		if observed(&sums[k]) > 0 {
			l += int(sums[k].Rows)
			weight += sums[k].Weight
		}
	}
	return l, weight
}

// patterns are the sums of the targets that are learned, as they are learned.
func (t *training) patterns() (list []bcd.Pattern) {
	for k := range t.parts {
		s := &t.parts[k]
		H, squares := s.Standardized(t.mean, t.scale)
		p := bcd.Pattern{Rows: int(s.Rows), Gamma: s.Gamma, H: columns.Take(H, t.out.Live)}
		for _, j := range t.out.Live {
			if p.Observed = append(p.Observed, s.Has(j)); s.Has(j) {
				p.YY += squares[j]
			}
		}
		list = append(list, p)
	}
	return list
}

// outputs fills in the map of the targets by the moments that the sums tell.
func (t *training) outputs() (err error) {
	t.mean, t.deviation = stream.OutputMoments(t.parts)
	n := len(t.mean)
	s := &columns.Scaler{Mean: make([]float64, n), Scale: make([]float64, n), Constant: make([]bool, n)}
	t.scale = make([]float64, n)
	for j, dev := range t.deviation {
		s.Constant[j] = dev == 0
		t.scale[j] = dev
		if dev == 0 {
			t.scale[j] = 1
		}
		if y := t.data.Out; y == nil {
			t.mean[j], t.scale[j] = 0, 1
		} else {
			s.Mean[j] = y.Mean[j] + y.Scale[j]*t.mean[j]
			s.Scale[j] = y.Scale[j] * t.scale[j]
		}
	}
	if t.out, t.warnings, err = columns.NewOutputs(s, &t.data.opt.Columns); err == nil {
		missing := make([]int, n)
		for k := range t.parts {
			for j := range missing {
				if !t.parts[k].Has(j) {
					missing[j] += int(t.parts[k].Rows)
				}
			}
		}
		l, _ := rows(t.parts)
		t.warnings = slices.Concat(columns.MissingTargets(t.out.Names, missing, l), t.warnings)
	}
	if t.data.opt.Survey != nil {
		t.warnings = nil // its own say so
	}
	return err
}

func (t *training) Space() bcd.Space   { return t.space }
func (t *training) Weights() []float64 { return t.data.Weights }

// Outputs is the map of the targets.
func (t *training) Outputs() *columns.Outputs { return t.out }

// coefficients are the weights of the features in the function of res, whose coefficients they overwrite.
func (t *training) coefficients(res *bcd.Result) blas.General {
	return model.FeatureWeights(t.data.opt.Backend, t.F, t.data.maps, res)
}

// Model predicts by the solution.
func (t *training) Model(res *bcd.Result) *model.Model {
	m := &model.Model{
		In: t.data.In, Out: t.out, Names: t.data.Dict.Names(), Eta: res.Eta, L: res.L,
		Basis:    model.NewFeatures(t.data.maps, res, t.coefficients(res), t.data.opt.Backend),
		Warnings: slices.Concat(t.data.Warnings, t.warnings),
	}
	m.Remember(nil, t.data.maps)
	return m
}

// drawn are rows of the survey.
func (t *training) drawn() (rows []int, X, Y, W blas.General) {
	s := t.data.survey
	if len(s.At) != s.Sample.Rows { // a checkpoint of an older version keeps none
		return nil, X, Y, W
	}
	places := make([]int, min(len(s.At), learn.DrawnRows))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(s.At[a].Count, s.At[b].Count) })
	for _, i := range places {
		rows = append(rows, int(s.At[i].Count))
	}
	X, _ = applied(t.data.In.Scaler, blas.TakeRows(s.Sample, places), X)
	if s.Weights != nil {
		W = blas.TakeRows(blas.Vector(s.Weights), places)
	}
	return rows, X, blas.TakeRows(s.Targets, places), W
}

// Source is the sums, for changes of the rows; nothing where Γ is not kept.
func (t *training) Source() (s model.Source) {
	if !t.data.so.NoGamma {
		s.Sums = t.patterns()
	}
	return s
}

// Errors are those on the rows left out: ‖Y − ZB‖² = ‖Y‖² − 2⟨H,B⟩ + ⟨B,ΓB⟩ from
// their sums. Targets that were constant in training are predicted so.
func (t *training) Errors(_ context.Context, res *bcd.Result) (learn.Errors, error) {
	return t.errors(t.coefficients(res)), nil
}

// errors are those, by the weights of rows, of the weights B of features; B without rows stands for zeros.
func (t *training) errors(B blas.General) learn.Errors {
	mse, weight := make([]float64, len(t.scale)), make([]float64, len(t.scale))
	for k := range t.test {
		t.squares(mse, weight, &t.test[k], B)
	}
	e := learn.Errors{MSE: mse, Relative: slices.Repeat([]float64{math.NaN()}, len(mse)), Accuracy: math.NaN()}
	for j, c := range t.scale {
		mse[j] = max(mse[j], 0) * c * c / weight[j]
		if dev := t.deviation[j]; dev > 0 && weight[j] > 0 {
			e.Relative[j] = mse[j] / (dev * dev)
		}
		if y := t.data.Out; y != nil {
			mse[j] *= y.Scale[j] * y.Scale[j]
		}
	}
	e.NMSE = learn.Mean(e.Relative)
	return e
}

// squares adds to sum the squared errors of the weights B on the rows of s, for the targets that
// are observed there, and to total the weight of these rows.
func (t *training) squares(sum, total []float64, s *stream.Sums, B blas.General) {
	all, squares := s.Standardized(t.mean, t.scale)
	H := columns.Take(all, t.out.Live)
	GB := blas.NewGeneral(B.Rows, B.Cols)
	if B.Rows > 0 && s.Gamma.Rows > 0 {
		blas.Or(t.data.opt.Backend).Dsymm(blas.Left, blas.Lower, B.Rows, B.Cols, 1, s.Gamma.Data, s.Gamma.Stride,
			B.Data, B.Stride, 0, GB.Data, GB.Stride)
	}
	for i := range B.Rows {
		h, gb := blas.Row(H, i), blas.Row(GB, i)
		for k, v := range blas.Row(B, i) {
			squares[t.out.Live[k]] += v * (gb[k] - 2*h[k])
		}
	}
	for j, v := range squares {
		if s.Has(j) {
			sum[j] += v
			total[j] += s.Weight
		}
	}
}
