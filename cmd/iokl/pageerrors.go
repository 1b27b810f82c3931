// This file has the section of a model's page about its errors.

package main

import (
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/page"
	"github.com/iokl/iokl/internal/picture"
)

// errorSection has the errors of each output and its residuals.
func errorSection(model *iokl.Model, o *origin) page.Section {
	s := page.Section{ID: "errors", Title: "Errors and residuals"}
	s.Add(page.Text(chosenText(model.Chosen())))
	if len(o.Errors) == 0 {
		return s
	}
	which := "of the data that the model was fitted to; on new data errors are larger"
	if o.HeldOut != "" {
		which = "that were held out (" + o.HeldOut + "): the models that predict them had not seen them"
	}
	s.Add(page.Classed("soft", fmt.Sprintf("On %s %s. Residuals are observed minus predicted: 90 %% of them lie "+
		"between the 5 %% and the 95 %% columns.", counted(o.Rows, "row"), which)))
	confusionTable(&s, model.Classes(), o.Confusion)
	t := page.Table{Head: []string{
		"output", "root mean squared error", "share of a standard deviation",
		"residuals: least", "5 %", "25 %", "median", "75 %", "95 %", "largest",
	}, Sort: true, File: "errors.csv"}
	var figures []picture.Figure
	for j, e := range o.Errors {
		line := []string{model.OutputNames()[j], fmt.Sprintf("%.4g", e.RMSE), fmt.Sprintf("%.3f", e.Relative)}
		for _, q := range e.Quantiles {
			line = append(line, fmt.Sprintf("%.3g", q))
		}
		t.Rows = append(t.Rows, page.Texts(line...))
		const panels = 6
		if j < panels && model.Classes() == nil && len(e.Observed) > 0 {
			figures = append(figures, fitFigure(model.OutputNames()[j], &e)...)
		}
	}
	s.Add(t.HTML(), page.SmallCharts(figures))
	return s
}

// confusionTable adds how many held-out rows of each class were taken for each.
func confusionTable(s *page.Section, classes []string, count [][]int) {
	const most = 30 // classes of which a table is readable
	if count == nil || len(classes) > most {
		return
	}
	right, total := 0, 0
	t := page.Table{Head: append([]string{"class", "rows", "right"}, classes...), File: "confusion.csv"}
	for k, row := range count {
		n := 0
		cells := []string{classes[k], "", ""}
		for _, c := range row {
			n += c
			cells = append(cells, strconv.Itoa(c))
		}
		cells[1], cells[2] = strconv.Itoa(n), fmt.Sprintf("%.1f %%", 100*float64(row[k])/float64(max(n, 1)))
		right, total = right+row[k], total+n
		t.Rows = append(t.Rows, page.Texts(cells...))
	}
	s.Add(page.Text(fmt.Sprintf("%.1f %% of the classes are right. A row of the table is a class, a column what its "+
		"rows were taken for.", 100*float64(right)/float64(total))))
	s.Add(t.HTML())
}

// fitFigure shows predictions against what was observed, and between which lines 90 % of the rows lie.
func fitFigure(name string, e *outputError) []picture.Figure {
	lo, hi := slices.Min(e.Observed), slices.Max(e.Observed)
	c := picture.Chart{
		Title: name + ": predicted against observed", X: "observed", Y: "predicted",
		Curves: []picture.Curve{
			{Name: "samples", Dots: true}, {Name: "predicted = observed", Line: true, XY: plotter.XYs{
				{X: lo, Y: lo},
				{X: hi, Y: hi},
			}},
		},
	}
	for k, share := range residualQuantiles {
		if share == 0.05 || share == 0.95 {
			q := e.Quantiles[k]
			c.Curves = append(c.Curves, picture.Curve{
				Name: fmt.Sprintf("%.0f %% of residuals are below", 100*share),
				Line: true, XY: plotter.XYs{{X: lo, Y: lo - q}, {X: hi, Y: hi - q}},
			})
		}
	}
	for i, y := range e.Observed {
		c.Curves[0].XY = append(c.Curves[0].XY, plotter.XY{X: y, Y: e.Predicted[i]})
	}
	return c.Figures("")
}
