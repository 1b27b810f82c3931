// This file has the section of a model's page about its errors.

package results

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
func errorSection(model *iokl.Model, o *Origin) page.Section {
	s := section("errors", "Errors and residuals", page.Text(chosenText(model.Chosen())))
	if len(o.Errors) == 0 {
		return s
	}
	which := "of the data that the model was fitted to; on new data errors are larger"
	if o.HeldOut != "" {
		which = "that were held out (" + o.HeldOut + "): the models that predict them had not seen them"
	}
	if classes := model.Classes(); o.counts(classes) {
		s.Title = "Which classes are right, and how sure"
		s.Add(page.Classed("soft", fmt.Sprintf("On %s %s.", Counted(o.Rows, "row"), which)))
		confusionTable(&s, classes, o.Confusion)
		reliabilityTable(&s, o)
		return s
	}
	s.Add(page.Classed("soft", fmt.Sprintf("On %s %s. Residuals are observed minus predicted: 90 %% of them lie "+
		"between the 5 %% and the 95 %% columns.", Counted(o.Rows, "row"), which)))
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
		if j < mostFitted && model.Classes() == nil && o.Reliability == nil {
			figures = append(figures, fitFigure(model.OutputNames()[j], &e, "")...)
		}
	}
	if s.Add(t.HTML(), page.SmallCharts(figures)); o.Reliability != nil {
		reliabilityTable(&s, o)
	}
	return s
}

// confusionTable adds how many held-out rows of each class were taken for each.
func confusionTable(s *page.Section, classes []string, count [][]int) {
	s.Add(page.Text(accuracyText(classes, count)))
	const most = 30 // classes of which a table is readable
	if len(classes) > most {
		return
	}
	t := page.Table{Head: append([]string{"class", "rows", "right"}, classes...), Sort: true, File: "confusion.csv"}
	for k, row := range count {
		n := total(row)
		cells := []string{classes[k], strconv.Itoa(n), fmt.Sprintf("%.1f %%", 100*float64(row[k])/float64(max(n, 1)))}
		for _, c := range row {
			cells = append(cells, strconv.Itoa(c))
		}
		t.Rows = append(t.Rows, page.Texts(cells...))
	}
	s.Add(page.Classed("soft", "A row of the table is a class, a column what its rows were taken for."), t.HTML())
}

// accuracyText says how many classes are right, beside the share of the most frequent one.
func accuracyText(classes []string, count [][]int) string {
	right, most, class, _ := shares(count)
	return fmt.Sprintf("%.1f %% of the classes are right; the most frequent class, %s, has %.1f %% of the rows.",
		100*right, classes[class], 100*most)
}

// total is the sum of counts.
func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// shares are those of the rows whose class is right and of the most frequent class, and how many rows there are.
func shares(count [][]int) (right, most float64, class, rows int) {
	for k, row := range count {
		n := total(row)
		rows, right = rows+n, right+float64(row[k])
		if float64(n) > most {
			most, class = float64(n), k
		}
	}
	return right / float64(rows), most / float64(rows), class, rows
}

// reliabilityTable adds how often the class predicted is the true one, by its probability.
func reliabilityTable(s *page.Section, o *Origin) {
	t := page.Table{Head: []string{"probability of the class predicted", "rows", "right"}, File: "reliability.csv"}
	for _, b := range o.Reliability {
		t.Rows = append(t.Rows, page.Texts(fmt.Sprintf("%.3f", b.Probability), strconv.Itoa(b.Rows),
			fmt.Sprintf("%.1f %%", 100*b.Right)))
	}
	if text := o.probabilityText(); text != "" {
		s.Add(page.Text(text))
	}
	s.Add(page.Classed("soft", "Probabilities can be relied on where the class predicted is right as often as its "+
		"probability says: the rows in tenths of that probability, with their means."))
	s.Add(page.SmallCharts(reliabilityFigure(o.Reliability, o.Uncalibrated, "")), t.HTML())
}

// mostFitted is the number of outputs whose predictions are drawn.
const mostFitted = 6

// fitFigure shows predictions against what was observed, and the band that holds 90 % of the rows; nothing where
// nothing was observed.
func fitFigure(name string, e *outputError, file string) []picture.Figure {
	if len(e.Observed) == 0 {
		return nil
	}
	lo, hi := slices.Min(e.Observed), slices.Max(e.Observed)
	c := picture.Chart{
		Title: name + ": predicted against observed", X: "observed", Y: "predicted",
		Curves: []picture.Curve{
			{Name: "rows", Dots: true},
			diagonal("predicted = observed", lo, hi),
		},
	}
	low := e.Quantiles[slices.Index(residualQuantiles, 0.05)]
	high := e.Quantiles[slices.Index(residualQuantiles, 0.95)]
	c.Curves = append(c.Curves, picture.Curve{Name: "90 % of the rows are between", Line: true, XY: plotter.XYs{
		{X: lo, Y: lo - low}, {X: hi, Y: hi - low}, {X: hi, Y: hi - high}, {X: lo, Y: lo - high}, {X: lo, Y: lo - low},
	}})
	for i, y := range e.Observed {
		c.Curves[0].XY = append(c.Curves[0].XY, plotter.XY{X: y, Y: e.Predicted[i]})
	}
	return c.Figures(file)
}
