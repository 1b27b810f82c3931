// This file has the sections of a page about a model.

package results

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

// about is what a page about a model tells.
type about struct {
	learned
	Origin
	Compared *iokl.Chosen // the setting, where settings were compared
}

// ModelSubject is the page of a model.
func ModelSubject(name string, model *iokl.Model) (Subject, error) {
	o, err := OriginOf(model)
	if err != nil {
		return Subject{}, err
	}
	r := &about{learned: newLearned(model, ""), Origin: o}
	if q := model.Chosen(); q != nil && q.Folds > 0 {
		r.Compared = q
	}
	certificate := say("certificate", r)
	s := Subject{name: name, kind: "Model", figures: facts("model figures", r)}
	s.verdict = []string{say("errors", r), inputSentence(model, &o), certificate}
	s.add(inputSection(model, &o), errorSection(r), outputSection(model), couplingSection(model), kernelSection(model),
		section("certificate", "How sure the fit is", page.Text(certificate),
			page.Facts(facts("model certificate", r))),
		rerun(o.Command, facts("model settings", r)), section("warnings", "Warnings", page.List(r.Warnings)))
	return s, nil
}

// Relative is the mean relative error of the targets.
func (o *Origin) Relative() (sum float64) {
	for _, e := range o.Errors {
		sum += e.Relative / float64(len(o.Errors))
	}
	return sum
}

// Explained is the share of the variance of the targets that is explained on held-out samples, by the errors that the
// page shows where there are such.
func (r *about) Explained() float64 {
	if r.HeldOut == "" {
		return 1 - r.Compared.Error/r.Compared.Constant
	}
	share := 1.0
	for _, e := range r.Errors {
		share -= e.Relative * e.Relative / float64(len(r.Errors))
	}
	return share
}

// inputSentence says which inputs matter and in which direction.
func inputSentence(model *iokl.Model, o *Origin) string {
	if len(o.Effects) == 0 {
		if inputs, _ := relevanceOf(model); inputs != nil {
			return fmt.Sprintf("The kernels vary most with the input %s.", inputs[0])
		}
		names, eta := model.KernelNames(), model.Eta()
		return fmt.Sprintf("%d of %d kernels have weight; the largest is that of %s.", Active(eta), len(eta),
			kernelLabel(names[floats.MaxIdx(eta)], model.InputNames()))
	}
	first := &o.Effects[0]
	text := fmt.Sprintf("The input that matters most is %s: shuffling it changes the predictions by %.2g standard "+
		"deviations of the targets", first.Input, stat.Mean(first.Change, nil))
	const seen = 0.005 // the least change that two digits show
	if len(o.Effects) > 1 && stat.Mean(o.Effects[1].Change, nil) >= seen {
		text += fmt.Sprintf("; next is %s (%.2g)", o.Effects[1].Input, stat.Mean(o.Effects[1].Change, nil))
	}
	text += "."
	if out := floats.MaxIdx(first.Change); len(first.At) > 1 {
		if len(first.Change) > 1 && len(model.Classes()) != 2 { // two classes change alike
			text += fmt.Sprintf(" It changes %s most:", spokenOutputs(model)[out])
		}
		text += " " + directionText(model, first, out)
	}
	return text
}

// inputSection says what the predictions owe to each input.
func inputSection(model *iokl.Model, o *Origin) page.Section {
	s := section("inputs", "Which inputs matter, and how")
	if len(o.Effects) > 0 {
		addEffects(&s, model, o)
	}
	if t := relevanceTable(model); t.Rows != nil {
		s.Add(page.Classed("soft", "How much the kernels vary with each input, 1 for the largest."), t.HTML())
	}
	return s
}

// relevanceTable lists the inputs by how much the kernels vary with them, where that was learned.
func relevanceTable(model *iokl.Model) *page.Table {
	t := &page.Table{Head: []string{"input", "relevance"}, Sort: true, File: "relevance.csv"}
	names, relevance := relevanceOf(model)
	for k, name := range names {
		t.Rows = append(t.Rows, page.Texts(name, fmt.Sprintf("%.3f", relevance[k])))
	}
	return t
}

// addEffects adds what happens to predictions where an input changes.
func addEffects(s *page.Section, model *iokl.Model, o *Origin) {
	outputs := spokenOutputs(model)
	const most, visible = 6, 0.1 // outputs in the table; effects that are drawn, of the largest
	var drawn []*effect
	var words []string
	var shown []int // outputs that words are about, and then the first
	for k := range o.Effects {
		e := &o.Effects[k]
		if out := floats.MaxIdx(e.Change); len(e.At) > 1 && e.Change[out] > visible*slices.Max(o.Effects[0].Change) {
			drawn, words = append(drawn, e), append(words, directionText(model, e, out))
			shown = append(shown, out)
		}
	}
	for j := range o.Effects[0].Change {
		shown = append(shown, j)
	}
	shown = firstOf(shown, most)
	t := table("inputs.csv", struct {
		*Origin
		Outputs []string
		Shown   []int
	}{o, outputs, shown})
	var figures []picture.Figure
	for _, e := range drawn {
		figures = append(figures, curveFigure(e, o, outputs, shown)...)
	}
	s.Add(page.Classed("soft", say("shuffled", curveRows)))
	s.Add(t.HTML(), page.List(words), page.SmallCharts(figures))
}

// firstOf are the first most different numbers of a list, in order.
func firstOf(list []int, most int) (first []int) {
	for _, j := range list {
		if len(first) < most && !slices.Contains(first, j) {
			first = append(first, j)
		}
	}
	slices.Sort(first)
	return first
}

// spokenOutputs are the names of the outputs as sentences have them.
func spokenOutputs(model *iokl.Model) []string {
	names := slices.Clone(model.OutputNames())
	for k := range model.Classes() {
		names[k] = "class " + names[k]
	}
	return names
}

// curveFigure shows how the outputs that are to be shown respond to an input, in standard deviations of the
// targets around the mean of each curve: a line, or a point for each of the levels that are most frequent.
func curveFigure(e *effect, o *Origin, outputs []string, shown []int) []picture.Figure {
	c := picture.Chart{Title: "response to " + e.Input, X: e.Input, Y: "change (standard deviations)"}
	at := e.At
	if c.At = e.ticks(); e.Levels {
		at, c.At = nil, nil
		for k, label := range e.Labels[:min(mostLevels, len(e.Labels))] {
			at, c.Names = append(at, float64(k+1)), append(c.Names, picture.Short(label, levelLetters))
		}
	}
	for _, j := range shown {
		curve, scale := picture.Curve{Name: outputs[j], Line: !e.Levels, Dots: e.Levels}, 1.0
		if o.Errors[j].Deviation > 0 {
			scale = 1 / o.Errors[j].Deviation
		}
		mean := stat.Mean(e.Curve[j], nil)
		for i, x := range at {
			curve.XY = append(curve.XY, plotter.XY{X: x, Y: scale * (e.Curve[j][i] - mean)})
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Figures("")
}

// outputSection says which outputs go together.
func outputSection(model *iokl.Model) page.Section {
	s := section("outputs", "Which outputs go together")
	if len(model.Classes()) == 2 { // one class goes against the other
		return s
	}
	s.Add(page.List(outputWords(model)))
	if t := outputTable(model); t.Rows != nil {
		if len(model.LearnedOutputs()) <= maxMapped {
			s.Add(heatMap(correlationHeat(model)))
		}
		s.Add(t.HTML())
	}
	return s
}

// outputWords says which outputs go together, and which against each other; nothing of one output, or of very many.
func outputWords(model *iokl.Model) (words []string) {
	names := model.LearnedOutputs()
	switch {
	case len(names) < 2:
		return nil
	case !couples(model):
		return []string{"The outputs are not coupled: L was not learned."}
	case len(names) > maxCorrelation:
		return nil
	}
	R := model.OutputCorrelation()
	for _, g := range groups(R, picture.Clustered(R), coupled) {
		var in []string
		for _, i := range g {
			in = append(in, names[i])
		}
		words = append(words, say("together", in))
	}
	for _, p := range strongestPairs(R, mostOpposed) {
		if p.r <= -coupled {
			words = append(words, fmt.Sprintf("%s and %s go against each other: their correlation in L is %.2f.",
				names[p.i], names[p.j], p.r))
		}
	}
	if words == nil {
		words = []string{say("uncoupled", nil)}
	}
	return words
}

// outputTable lists the pairs of outputs of largest correlation in L, where outputs are coupled.
func outputTable(model *iokl.Model) *page.Table {
	t := &page.Table{Head: []string{"output", "output", "correlation in L"}, Sort: true, File: "outputs.csv"}
	names := model.LearnedOutputs()
	if !couples(model) || len(names) > maxCorrelation {
		return t
	}
	for _, p := range strongestPairs(model.OutputCorrelation(), 30) {
		t.Rows = append(t.Rows, page.Texts(names[p.i], names[p.j], strconv.FormatFloat(p.r, 'f', 3, 64)))
	}
	return t
}

// mostOpposed is the number of pairs of outputs of which those that go against each other are named.
const mostOpposed = 10

// maxMapped is the number of outputs of which a map is readable on a page.
const maxMapped = 60

// heatMap is the map in a size that its rows need.
func heatMap(h *picture.Heat) template.HTML {
	f := h.Figure("")
	f.PageWidth = min(f.Width, 200+15*vg.Length(h.Matrix.Rows))
	return page.Charts([]picture.Figure{f})
}

// groups cuts the order into runs of neighbours that are correlated by at least r; those of one alone are left out.
func groups(R mat.Symmetric, order []int, r float64) [][]int {
	var out [][]int
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && R.At(order[hi-1], order[hi]) >= r {
			hi++
		}
		if hi-lo > 1 {
			out = append(out, order[lo:hi])
		}
		lo = hi
	}
	return out
}

// strongestPairs are the pairs of largest |R_ij|.
func strongestPairs(R mat.Symmetric, most int) []pair {
	var pairs []pair
	for i := range R.SymmetricDim() {
		for j := range i {
			pairs = append(pairs, pair{j, i, R.At(i, j)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(math.Abs(b.r), math.Abs(a.r)) })
	return pairs[:min(most, len(pairs))]
}

// kernelSection lists the kernels of weight.
func kernelSection(model *iokl.Model) page.Section {
	s := section("kernels", "Which kernels have weight")
	t := kernelTable(model)
	if t.Rows == nil {
		s.Add(page.Text("No kernel has weight: the model predicts the means of the targets."))
		return s
	}
	if f, err := weightsFigure(model); err == nil {
		s.Add(page.Charts([]picture.Figure{f}))
	}
	s.Add(t.HTML())
	return s
}

// kernelTable lists the kernels of weight, the largest first.
func kernelTable(model *iokl.Model) *page.Table {
	t := &page.Table{Head: []string{"kernel", "weight η", "share"}, Sort: true, File: "kernels.csv"}
	names, eta := model.KernelNames(), model.Eta()
	sum := floats.Sum(eta)
	for _, j := range largestFirst(eta) {
		t.Rows = append(t.Rows, page.Texts(kernelLabel(names[j], model.InputNames()), fmt.Sprintf("%.4g", eta[j]),
			fmt.Sprintf("%.1f %%", 100*eta[j]/sum)))
	}
	return t
}
