package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// paperPage is the paper's evidence item by item, what it reports beside what was
// measured here; nil when nothing of it was.
func paperPage(group map[string][]Result) *published {
	p := &published{
		Title:  "Each table and figure of the paper, its finding beside ours. Its curves are not available as numbers: where it only draws, its own words stand.",
		Head:   []string{"in the paper", "published", "measured here", "case"},
		Source: paperSource + ". Times are not comparable: its machine is not named.",
		Words:  true,
		Links:  true,
	}
	add := func(item, said, ours, from string) {
		if ours != "" {
			p.Rows = append(p.Rows, []string{item, said, ours, from})
		}
	}
	add("Table 1, average over nine stocks: OLS / IKL / OKL / IOKL", "1.11 / 0.69 / 0.67 / 0.61", stockAverages(group["stock04"]), "stock04")
	for _, name := range []string{"caltech", "convergence", "figures"} {
		add("Figure 1, objective against time: which inexactness pays", "insufficient progress with CG 0.1 and 100 SDP steps, and with CG 1e-6 and 3000; rapid with 0.01 and 1000; far more efficient than eigendecompositions",
			objectiveOrder(group[name]), name)
	}
	for _, name := range []string{"convergence", "figures"} {
		add("Figure 2, accuracy against time", "79.43 ± 0.67 % on Caltech-101 with ten kernels after a few minutes (best quoted of others: 78.2 ± 0.4 %)", accuracyOrder(group[name]), name)
	}
	add("Figure 3, hold-out RMSE of groups of genes: best of four settings", "nonlinear L (nonlinear kernels, L learned)", geneErrors(group["drosophila"]), "drosophila")
	add("Figure 4, central groups of the linear graph", "lipid binding, GTPase activity", centralGroups(group["drosophila"], "linear, L learned"), "drosophila")
	add("Figure 4, central groups of the nonlinear graph", "helicase activity", centralGroups(group["drosophila"], "nonlinear, L learned"), "drosophila")
	add("Figure 5, dependencies between the genes of one group", "drawn for unfolded protein binding, without numbers", strongestPairs(foldingKernel(group["drosophila"]), 5), "drosophila")
	add("Formulas that do not hold as printed", "", misprintCount(group["misprints"]), "misprints")
	if len(p.Rows) == 0 {
		return nil
	}
	return p
}

func stockAverages(group []Result) string {
	var parts []string
	for _, name := range []string{"OLS", "IKL", "OKL", "IOKL"} {
		if f := figureOf(group, name, "mse1000", "%.2f"); f != "–" {
			parts = append(parts, f)
		}
	}
	return strings.Join(parts, " / ")
}

// objectiveOrder lists how far above the best objective each approach ended and when.
func objectiveOrder(group []Result) string {
	best := math.Inf(1)
	var lines []Result
	for _, r := range group {
		if r.Objective != nil && param(r, "solver") != "okl" {
			best = min(best, *r.Objective)
			lines = append(lines, r)
		}
	}
	if len(lines) < 2 {
		return ""
	}
	slices.SortStableFunc(lines, func(a, b Result) int {
		switch {
		case *a.Objective < *b.Objective:
			return -1
		case *a.Objective > *b.Objective:
			return 1
		}
		return 0
	})
	var parts []string
	for _, r := range lines {
		parts = append(parts, fmt.Sprintf("%s +%.2g %% after %.3g s", r.Name, 100*(*r.Objective/best-1), r.Seconds))
	}
	return "objective above the best: " + strings.Join(parts, "; ")
}

func accuracyOrder(group []Result) string {
	var parts []string
	for _, r := range group {
		if r.Accuracy != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f %% after %.3g s", r.Name, 100**r.Accuracy, r.Seconds))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d classes, %s kernels: %s", int(number(group[0], "n")), param(group[0], "m"), strings.Join(parts, "; "))
}

func geneErrors(group []Result) string {
	var best *Result
	var parts []string
	for i, r := range group {
		v, ok := r.Metrics["mean_rmse"]
		if !ok {
			continue
		}
		if best == nil || v < best.Metrics["mean_rmse"] {
			best = &group[i]
		}
		parts = append(parts, fmt.Sprintf("%s %.3f", r.Name, v))
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("best: %s (%s; %s groups, %s series)", best.Name, strings.Join(parts, ", "), param(*best, "groups"), param(*best, "genes"))
}

func centralGroups(group []Result, name string) string {
	r := lookup(group, name)
	if r == nil {
		return ""
	}
	return strings.Join(mostCentral(r, 3), ", ")
}

func misprintCount(group []Result) string {
	if len(group) == 0 {
		return ""
	}
	return fmt.Sprintf("%d, each with a number below", len(group))
}

// misprintTable shows formula and number of each side by side.
func misprintTable(group []Result) *published {
	p := &published{
		Title:  "What is printed, what holds, and a number computed from each on a small random problem:",
		Head:   []string{"formula", "as printed", "corrected", "computed from it", "printed gives", "corrected gives", "should be"},
		Source: paperSource + "; derivations in docs/mathematics.md.",
		Words:  true,
		Whole:  true,
	}
	for _, r := range group {
		p.Rows = append(p.Rows, []string{
			r.Name, param(r, "printed"), param(r, "corrected"), param(r, "computed"),
			short(r.Metrics["as_printed"]), short(r.Metrics["as_corrected"]), short(r.Metrics["should_be"]),
		})
	}
	return p
}

// table1 is Table 1 of the paper: mean squared error × 1000 of OLS, lasso, MRCE, FES, IKL, OKL and IOKL.
var table1 = []struct {
	company string
	errors  [7]float64
}{
	{"WMT", [7]float64{0.98, 0.42, 0.41, 0.40, 0.43, 0.43, 0.44}},
	{"XOM", [7]float64{0.39, 0.31, 0.31, 0.29, 0.32, 0.31, 0.29}},
	{"GM", [7]float64{1.68, 0.71, 0.71, 0.62, 0.62, 0.59, 0.47}},
	{"F", [7]float64{2.15, 0.77, 0.77, 0.69, 0.56, 0.48, 0.36}},
	{"GE", [7]float64{0.58, 0.45, 0.45, 0.41, 0.41, 0.40, 0.37}},
	{"COP", [7]float64{0.98, 0.79, 0.79, 0.79, 0.81, 0.80, 0.76}},
	{"Citi", [7]float64{0.65, 0.66, 0.62, 0.59, 0.66, 0.62, 0.58}},
	{"IBM", [7]float64{0.62, 0.49, 0.49, 0.51, 0.47, 0.50, 0.42}},
	{"AIG", [7]float64{1.93, 1.88, 1.88, 1.74, 1.94, 1.87, 1.79}},
	{"average", [7]float64{1.11, 0.72, 0.71, 0.67, 0.69, 0.67, 0.61}},
}

// stockTable is Table 1 of the paper, company by company, published / ours.
func stockTable(group []Result) *published {
	p := &published{
		Title:  "Mean squared test error × 1000 (the paper's table calls it RMSE), published / measured here:",
		Head:   []string{"company", "OLS", "lasso", "MRCE", "FES", "IKL", "OKL", "IOKL", "training mean"},
		Source: paperSource + ", Table 1; OLS, lasso, FES and MRCE as it quotes them from A. J. Rothman, E. Levina, J. Zhu (2010) and M. Yuan et al. (2007).",
	}
	for _, line := range table1 {
		metric := "mse1000 of " + line.company
		if line.company == "average" {
			metric = "mse1000"
		}
		row := []string{line.company}
		for k, name := range p.Head[1:8] {
			row = append(row, fmt.Sprintf("%.2f / %s", line.errors[k], figureOf(group, name, metric, "%.2f")))
		}
		p.Rows = append(p.Rows, append(row, "– / "+figureOf(group, "training mean", metric, "%.2f")))
	}
	return p
}
