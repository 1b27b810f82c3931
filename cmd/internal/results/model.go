package results

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

// about is what a page about a model tells.
type about struct {
	learned
	Origin
	Compared   *iokl.Chosen // the setting, where settings were compared
	Spoken     []string     // names of the outputs as sentences have them
	Shown      []int        // outputs whose responses are shown: those of Directions, and then the first
	Directions []string     // how outputs move with the inputs that change them most
	Mapped     bool         // what each kernel couples is drawn
}

// ModelSubject is the page of a model.
func ModelSubject(name string, model *iokl.Model) (Subject, error) {
	o, err := OriginOf(model)
	if err != nil {
		return Subject{}, err
	}
	r := &about{learned: newLearned(model, ""), Origin: o, Spoken: spokenOutputs(model)}
	if q := model.Chosen(); q != nil && q.Folds > 0 {
		r.Compared = q
	}
	blocks := map[string]page.Block{
		"curves": page.SmallCharts(r.curves()), "fits": page.SmallCharts(r.fits()),
		"reliability": page.SmallCharts(reliabilityFigure(o.Reliability, o.Uncalibrated, "")),
	}
	if f, err := weightsFigure(&r.learned); err == nil {
		blocks["weights"] = page.Charts(f)
	}
	if n := len(model.LearnedOutputs()); n > 1 && n <= maxMapped {
		if couples(model) {
			f := correlationHeat(model).Figure("")
			f.PageWidth = min(f.Width, 200+15*vg.Length(n))
			blocks["correlations"] = page.Charts(f)
		}
		var maps []picture.Figure
		for _, h := range couplingHeats(model) {
			maps = append(maps, h.Figure(""))
		}
		blocks["couplings"], r.Mapped = page.SmallCharts(maps), maps != nil
	}
	return Subject{
		name: name, kind: "Model", figures: words.Facts("model figures", r),
		verdict:  []string{say("errors", r), say("inputs", r), say("certificate", r)},
		sections: words.Sections("model page", r, blocks),
	}, nil
}

// CurveRows is the number of samples that curves are means over.
func (*about) CurveRows() int { return curveRows }

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

// Course says how the output moves that the first input changes most; "" where that was not measured.
func (r *about) Course() string {
	first := &r.Effects[0]
	if len(first.At) < 2 {
		return ""
	}
	return directionText(r.Of, first, floats.MaxIdx(first.Change))
}

// MostMoved is the output that the first input changes most; "" for one output, and for two classes, which change
// alike.
func (r *about) MostMoved() string {
	if change := r.Effects[0].Change; len(change) > 1 && len(r.Of.Classes()) != 2 {
		return r.Spoken[floats.MaxIdx(change)]
	}
	return ""
}

// curves shows how outputs respond to the inputs that change them most, and fills in what is said of that.
func (r *about) curves() (figures []picture.Figure) {
	const most, visible = 6, 0.1 // outputs in the table; effects that are drawn, of the largest
	if len(r.Effects) == 0 {
		return nil
	}
	var drawn []*effect
	for k := range r.Effects {
		e := &r.Effects[k]
		if out := floats.MaxIdx(e.Change); len(e.At) > 1 && e.Change[out] > visible*slices.Max(r.Effects[0].Change) {
			drawn, r.Directions = append(drawn, e), append(r.Directions, directionText(r.Of, e, out))
			r.Shown = append(r.Shown, out)
		}
	}
	for j := range r.Effects[0].Change {
		r.Shown = append(r.Shown, j)
	}
	r.Shown = firstOf(r.Shown, most)
	for _, e := range drawn {
		figures = append(figures, r.curveFigure(e)...)
	}
	return figures
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
func (r *about) curveFigure(e *effect) []picture.Figure {
	c := picture.Chart{Title: "response to " + e.Input, X: e.Input, Y: "change (standard deviations)"}
	at := e.At
	if c.At = e.ticks(); e.Levels {
		at, c.At = nil, nil
		for k, label := range e.Labels[:min(mostLevels, len(e.Labels))] {
			at, c.Names = append(at, float64(k+1)), append(c.Names, picture.Short(label, levelLetters))
		}
	}
	for _, j := range r.Shown {
		curve, scale := picture.Curve{Name: r.Spoken[j], Line: !e.Levels, Dots: e.Levels}, 1.0
		if r.Errors[j].Deviation > 0 {
			scale = 1 / r.Errors[j].Deviation
		}
		y := slices.Clone(e.Curve[j][:len(at)])
		floats.AddConst(-stat.Mean(e.Curve[j], nil), y)
		floats.Scale(scale, y)
		curve.XY = picture.XY(at, y)
		c.Curves = append(c.Curves, curve)
	}
	return c.Figures("")
}

// OutputWords say which outputs go together, and which against each other; nothing of one output, or of very many.
func (l *learned) OutputWords() (texts []string) {
	names := l.Of.LearnedOutputs()
	switch {
	case len(names) < 2:
		return nil
	case !couples(l.Of):
		return []string{"The outputs are not coupled: L was not learned."}
	case len(names) > maxCorrelation:
		return nil
	}
	R := l.Of.OutputCorrelation()
	for _, g := range groups(R, picture.Clustered(R), coupled) {
		var in []string
		for _, i := range g {
			in = append(in, names[i])
		}
		texts = append(texts, say("together", in))
	}
	pairs := l.Pairs()
	for _, p := range pairs[:min(mostOpposed, len(pairs))] {
		if p.R <= -coupled {
			texts = append(texts, say("opposed", p))
		}
	}
	if texts == nil {
		texts = []string{say("uncoupled", nil)}
	}
	return texts
}

// mostOpposed is the number of pairs of outputs of which those that go against each other are named.
const mostOpposed = 10

// maxMapped is the number of outputs of which a map is readable on a page.
const maxMapped = 60

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

// pair is two outputs and their correlation in L.
type pair struct {
	A, B string
	R    float64
}

// Pairs are the pairs of outputs of largest correlation in L, where outputs are coupled.
func (l *learned) Pairs() (pairs []pair) {
	const most = 30
	names := l.Of.LearnedOutputs()
	if !couples(l.Of) || len(names) > maxCorrelation {
		return nil
	}
	R := l.Of.OutputCorrelation()
	for i := range names {
		for j := range i {
			pairs = append(pairs, pair{names[j], names[i], R.At(i, j)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(math.Abs(b.R), math.Abs(a.R)) })
	return pairs[:min(most, len(pairs))]
}
