// This file compares predictions with true targets, and prints both.

package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
)

// score compares with the true targets.
func (p *predictFlags) score(model *iokl.Model, all []float64, report *predictReport, opt table.Options) error {
	n := len(report.Outputs)
	F := mat.NewDense(report.Rows, n, all)
	var Y mat.Matrix
	if classes := model.Classes(); classes != nil {
		labels, err := p.readLabels(opt, &stdin{})
		if err != nil {
			return err
		}
		one, err := results.OneHot(p.withoutHeader(labels, report.Rows), classes, p.y)
		if err != nil {
			return err
		}
		Y = one
	} else {
		t, err := readTable(p.y, p.targetColumns().index, opt, &stdin{})
		if err != nil {
			return err
		}
		t.Extend(report.Rows)
		if rows := t.Data.Rows; rows > 0 {
			for j := range t.Data.Cols {
				column := blas.View(t.Data, 0, j, rows, 1)
				if !slices.ContainsFunc(mat.Col(nil, 0, blas.Dense(column)), func(v float64) bool {
					return !math.IsNaN(v)
				}) {
					return status.Input("%s: no cell of %s is observed", p.y, schema.Label(t.Names, j))
				}
			}
		}
		Y = blas.Dense(t.Data)
	}
	each := max(1, len(model.Quantiles()))
	if r, c := Y.Dims(); r != report.Rows || c != n/each {
		return status.Input("%s is %d×%d, the predictions are %d×%d", p.y, r, c, report.Rows, n/each)
	}
	s := model.ScorePredictions(F, results.PerOutput(Y, each))
	report.Scores = &s
	report.cover(Y, model.Classes())
	return nil
}

func (p *predictFlags) report(cmd *cobra.Command, model *iokl.Model, all []float64, r *predictReport) error {
	w := cmd.OutOrStdout()
	if p.json {
		if n := len(r.Outputs); p.out == "" {
			for i := range r.Rows {
				r.Predictions = append(r.Predictions, all[i*n:(i+1)*n])
			}
		} else {
			r.Classes = nil
			r.trim()
		}
		return writeJSON(w, r)
	}
	if r.Scores == nil {
		return nil
	}
	if model.Classes() != nil {
		_, err := fmt.Fprintf(w, "accuracy %.4f on %d rows\n", r.Scores.Accuracy, r.Rows)
		r.intervalReport.write(w, r.Outputs)
		return status.Failure(err)
	}
	for j, name := range r.Outputs {
		fmt.Fprintf(w, "%s  rmse %.5g  relative %.4f\n", name, r.Scores.RMSE[j], r.Scores.RRMSE[j])
	}
	r.intervalReport.write(w, r.Outputs)
	_, err := fmt.Fprintf(w, "average  rmse %.5g  relative %.4f\n", r.Scores.ARMSE, r.Scores.ARRMSE)
	return status.Failure(err)
}
