package bench

import (
	"fmt"

	"gonum.org/v1/gonum/stat"
)

// published is a table of figures from elsewhere beside ours.
type published struct {
	Title  string
	Head   []string
	Rows   [][]string
	Source string
	Words  bool // more text than numbers
	Links  bool // the last column names cases of the page
	Whole  bool // it shows all there is: no table of the results beside it
}

// publishedFor is the table for a case, nil when nobody published comparable figures.
func publishedFor(name string, group []Result) *published {
	if table := publications[name]; table != nil {
		return table(group)
	}
	return nil
}

var publications = map[string]func(group []Result) *published{
	"stock04":   stockTable,
	"misprints": misprintTable,
	"mtr":       mtrTable,
	"lorenz96":  lorenzTable,
}

const paperSource = "V. Sindhwani, H. Q. Minh, A. C. Lozano: Scalable Matrix-valued Kernel Learning for High-dimensional Nonlinear Multivariate Regression and Granger Causality, UAI 2013"

// figureOf is a metric of the line of that name, "–" when it was not measured.
func figureOf(group []Result, name, metric, format string) string {
	if r := lookup(group, name); r != nil {
		if v, ok := r.Metrics[metric]; ok {
			return fmt.Sprintf(format, v)
		}
	}
	return "–"
}

// mtrReference are errors of scikit-learn 1.2.1 on the same sets: ridge, tuned
// RBF kernel ridge, random forest (0: not measured).
var mtrReference = map[string][3]float64{
	"andro": {.627, .617, .435}, "edm": {.780, .680, .631}, "enb": {.314, .222, .123}, "jura": {.605, .566, .594},
	"oes97": {.403, .421, 0}, "scpf": {.868, .872, .936}, "slump": {.662, .575, .683}, "wq": {.952, .926, .901},
}

func mtrTable(group []Result) *published {
	p := &published{
		Title:  "Average relative error beside scikit-learn:",
		Head:   []string{"set", "ridge", "kernel ridge, tuned", "random forest", "ridge, here", "kernel ridge, here", "iokl, zero Options, here", "seconds of its ten fits"},
		Source: "scikit-learn 1.2.1 on the same sets and protocol (ten shuffled folds, inputs standardised); its folds are drawn differently.",
	}
	here := map[[2]string]float64{}
	for _, r := range group {
		set := param(r, "set")
		here[[2]string{r.Name, set}] = r.Metrics["arrmse"]
		ref, ok := mtrReference[set]
		if r.Name != mtrOurs || !ok {
			continue
		}
		line := []string{set}
		for _, v := range ref {
			line = append(line, orDash(positive(v)))
		}
		p.Rows = append(p.Rows, append(line, orDash(positive(here[[2]string{mtrRidge, set}])), orDash(positive(here[[2]string{mtrKernel, set}])), fmt.Sprintf("%.3f", r.Metrics["arrmse"]), fmt.Sprintf("%.3g", r.Seconds)))
	}
	return p
}

// lorenzTable quotes the figures of the GVAR study for 20 variables and 500 time points.
func lorenzTable(group []Result) *published {
	p := &published{
		Title:  "AUROC / AUPR on Lorenz-96 with 20 variables, 500 time points, all entries; published values are the best of each method's grid:",
		Head:   []string{"method", "F = 10", "F = 40"},
		Source: "R. Marcinkevičs, J. E. Vogt: Interpretable Models for Granger Causality Using Self-explaining Neural Networks, ICLR 2021 (GVAR), mean of five series, as logged in its repository.",
		Rows: [][]string{
			{"GVAR", "1.000 / 1.000", "0.983 / 0.945"},
			{"eSRU", "1.000 / 1.000", "0.963 / 0.869"},
			{"cMLP", "0.972 / 0.923", "0.997 / 0.983"},
			{"cLSTM", "0.983 / 0.953", "0.717 / 0.440"},
		},
	}
	for _, name := range names(group) {
		line := []string{name + ", measured here"}
		for _, F := range []string{"F=10", "F=40"} {
			var auroc, aupr []float64
			for _, r := range group {
				var network string
				if _, err := fmt.Sscanf(param(r, "network"), "simulated %s", &network); err == nil && network == F && r.Name == name {
					auroc, aupr = append(auroc, r.Metrics["auroc_all"]), append(aupr, r.Metrics["aupr_all"])
				}
			}
			text := "–"
			if len(auroc) > 0 {
				text = fmt.Sprintf("%.3f / %.3f", stat.Mean(auroc, nil), stat.Mean(aupr, nil))
			}
			line = append(line, text)
		}
		p.Rows = append(p.Rows, line)
	}
	return p
}

// Cells are the texts of a row, less the case that it ends with.
func (p *published) Cells(row []string) []string {
	if p.Links {
		return row[:len(row)-1]
	}
	return row
}

// Link is the case that a row ends with, "" where rows end with none.
func (p *published) Link(row []string) string {
	if p.Links {
		return row[len(row)-1]
	}
	return ""
}
