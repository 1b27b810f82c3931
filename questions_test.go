package iokl_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/schema"
)

var writeQuestions = flag.Bool("questions", false, "write docs/questions.md")

// asked is a table in two parts, and the truth that its targets scatter about.
type asked struct {
	x, xt *mat.Dense // inputs to learn from, and new ones
	y, yt *mat.Dense // their targets
	f     *mat.Dense // the truth at xt; nil where it is not on the scale of the targets
	noise float64    // standard deviation of yt about f

	raw *mat.Dense // new inputs as a file has them, with the number of a word in the place of its columns; nil means xt

	labels, labelsT []string     // classes, whose columns of 0 and 1 yt are
	grams, cross    []mat.Matrix // of kernels, in the place of inputs
	axis            *mat.Dense   // points that the outputs are
	schema          []schema.Column
	weights         *mat.Dense
}

const askedRows, askedNew = 220, 80

// askedTable has two outputs of three inputs.
func askedTable() *asked {
	rng := rand.New(rand.NewPCG(4, 2))
	l := askedRows + askedNew
	X, Y, F := mat.NewDense(l, 3, nil), mat.NewDense(l, 2, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		F.SetRow(i, []float64{math.Sin(2*x[0]) + x[1], x[1] * x[2]})
		for j := range 2 {
			Y.Set(i, j, F.At(i, j)+.1*rng.NormFloat64())
		}
	}
	return &asked{
		x: fittest.Rows(X, 0, askedRows), xt: fittest.Rows(X, askedRows, l), y: fittest.Rows(Y, 0, askedRows),
		yt: fittest.Rows(Y, askedRows, l), f: fittest.Rows(F, askedRows, l), noise: .1,
	}
}

// askedWords has a column of words beside the inputs, one of which moves the first output.
func askedWords() *asked {
	d, towns := askedTable(), []string{"bonn", "oslo", "rome"}
	code := func(x, y, f *mat.Dense) *mat.Dense {
		l, _ := x.Dims()
		words := mat.NewDense(l, len(towns), nil)
		for i := range l {
			words.Set(i, i%len(towns), 1)
			if towns[i%len(towns)] == "rome" {
				y.Set(i, 0, y.At(i, 0)+1)
				if f != nil {
					f.Set(i, 0, f.At(i, 0)+1)
				}
			}
		}
		var all mat.Dense
		all.Augment(x, words)
		return &all
	}
	d.raw = mat.NewDense(askedNew, 4, nil)
	d.raw.Copy(d.xt)
	for i := range askedNew {
		d.raw.Set(i, 3, float64(i%len(towns)))
	}
	d.x, d.xt = code(d.x, d.y, nil), code(d.xt, d.yt, d.f)
	d.schema = []schema.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "town", Kind: "category", Levels: towns}}
	return d
}

func askedHoles() *asked {
	d := askedTable()
	for i := 0; i < askedRows; i += 4 {
		d.y.Set(i, i/4%2, math.NaN())
	}
	return d
}

// askedOne has the first output alone.
func askedOne() *asked {
	d := askedTable()
	for _, a := range []**mat.Dense{&d.y, &d.yt, &d.f} {
		l, _ := (*a).Dims()
		*a = mat.DenseCopyOf((*a).Slice(0, l, 0, 1))
	}
	return d
}

func askedGrams() *asked {
	d := askedTable()
	gram := func(a, b *mat.Dense) *mat.Dense {
		l, _ := a.Dims()
		t, _ := b.Dims()
		K := mat.NewDense(l, t, nil)
		for i := range l {
			for j := range t {
				K.Set(i, j, math.Exp(-math.Pow(floats.Distance(a.RawRowView(i), b.RawRowView(j), 2), 2)/4))
			}
		}
		return K
	}
	d.grams, d.cross = []mat.Matrix{gram(d.x, d.x)}, []mat.Matrix{gram(d.xt, d.x)}
	return d
}

// askedClasses has the class of a truth in the place of targets.
func askedClasses() *asked {
	d := askedTable()
	class := func(y *mat.Dense) (labels []string) {
		l, _ := y.Dims()
		for i := range l {
			switch v := y.At(i, 0); {
			case v < -.5:
				labels = append(labels, "low")
			case v < .7:
				labels = append(labels, "middle")
			default:
				labels = append(labels, "high")
			}
		}
		return labels
	}
	d.labels, d.labelsT, d.f = class(d.y), class(d.yt), nil
	d.yt, _ = iokl.OneHot(d.labelsT)
	return d
}

// askedBinary has targets 0 and 1.
func askedBinary() *asked {
	d := askedOne()
	rng := rand.New(rand.NewPCG(8, 1))
	for _, y := range []*mat.Dense{d.y, d.yt} {
		y.Apply(func(_, _ int, v float64) float64 {
			if v+.5*rng.NormFloat64() > 0 {
				return 1
			}
			return 0
		}, y)
	}
	d.f = nil
	return d
}

func askedWeighted() *asked {
	d := askedTable()
	rng := rand.New(rand.NewPCG(5, 6))
	d.weights = mat.NewDense(askedRows, 1, nil)
	for i := range askedRows {
		d.weights.Set(i, 0, .2+1.8*rng.Float64())
	}
	return d
}

func askedAxis() *asked {
	d := askedTable()
	d.axis = mat.NewDense(2, 1, []float64{1, 2})
	return d
}

// askedKind is a kind of model.
type askedKind struct {
	name string
	data func() *asked
	opt  iokl.Options
	// streamed in blocks of rows, or without what only updates need
	stream, compact bool
}

const (
	askedKernel = "gaussian:all:median"
	askedLambda = 1e-3
)

var askedKinds = []askedKind{
	{name: "zero options", data: askedTable},
	{name: "words", data: askedWords},
	{name: "missing targets", data: askedHoles},
	{name: "fixed kernel", data: askedTable, opt: iokl.Options{Kernels: []string{askedKernel}, Lambda: askedLambda}},
	{
		name: "learned lengths", data: askedTable,
		opt: iokl.Options{Kernels: []string{"matern52:ard:median"}, Lambda: 1e-8},
	},
	{
		name: "Nyström features", data: askedTable,
		opt: iokl.Options{Kernels: []string{"nystrom:gaussian:all:median:80"}, Lambda: askedLambda},
	},
	{
		name: "Fourier features", data: askedTable,
		opt: iokl.Options{Kernels: []string{"rff:gaussian:all:median:200"}, Lambda: askedLambda},
	},
	{
		name: "stream", data: askedTable, stream: true,
		opt: iokl.Options{Kernels: []string{"nystrom:gaussian:all:median:80"}, Lambda: askedLambda},
	},
	{
		name: "stream, λ chosen", data: askedTable, stream: true,
		opt: iokl.Options{Kernels: []string{"rff:gaussian:all:median:200"}},
	},
	{name: "Gram matrices", data: askedGrams, opt: iokl.Options{Lambda: askedLambda}},
	{name: "classes", data: askedClasses},
	{name: "classes, logistic", data: askedClasses, opt: iokl.Options{Loss: "logistic"}},
	{name: "logistic 0/1", data: askedBinary, opt: iokl.Options{Loss: "logistic"}},
	{name: "weights", data: askedWeighted},
	{name: "Huber", data: askedTable, opt: iokl.Options{Loss: "huber"}},
	{name: "quantiles", data: askedOne, opt: iokl.Options{Loss: "quantile:.1,.5,.9"}},
	{
		name: "sum of products", data: askedTable,
		opt: iokl.Options{Kernels: []string{"gaussian:all:median*0.5,2"}, Lambda: askedLambda, Model: "sum"},
	},
	{
		name: "likelihood", data: askedTable,
		opt: iokl.Options{Kernels: []string{"gaussian:all:median*0.5,2"}, Model: "sum", Learn: "likelihood"},
	},
	{name: "noise learned", data: askedTable, opt: iokl.Options{LearnNoise: true}},
	{name: "output axis", data: askedAxis},
	{
		name: "single precision", data: askedTable,
		opt: iokl.Options{Kernels: []string{askedKernel}, Lambda: askedLambda, Precision: blas.Float32},
	},
	{name: "compact", data: askedTable, compact: true},
}

// fit learns the model of the kind from d.
func (k *askedKind) fit(ctx context.Context, d *asked) (m *iokl.Model, err error) {
	opt := k.opt
	opt.Seed, opt.InputSchema = 1, d.schema
	if d.axis != nil {
		opt.OutputAxis = d.axis
	}
	if d.weights != nil {
		opt.Weights = d.weights
	}
	switch {
	case d.labels != nil:
		m, err = iokl.FitClasses(ctx, d.x, d.labels, opt)
	case d.grams != nil:
		m, err = iokl.FitGram(ctx, d.grams, d.y, opt)
	case k.stream:
		m, err = iokl.FitStream(ctx, fittest.Stream(d.x, d.y), opt)
	default:
		m, err = iokl.Fit(ctx, d.x, d.y, opt)
	}
	if err == nil && k.compact {
		m = m.Compact()
	}
	return m, err
}

// subject is a model that questions are asked of.
type subject struct {
	*asked
	m       *iokl.Model
	updated *iokl.Model
}

func (s *subject) predict(m *iokl.Model) (*mat.Dense, error) {
	if s.cross != nil {
		return m.PredictGram(s.cross)
	}
	return m.Predict(s.xt)
}

// right compares predictions of the new rows with what is known of them. errors are relative to those of the mean.
func (s *subject) right(m *iokl.Model) error {
	F, err := s.predict(m)
	switch {
	case err != nil:
		return err
	case s.labelsT != nil:
		got, err := m.Classify(s.xt)
		if err != nil {
			return err
		}
		hits := 0
		for i, c := range got {
			if c == s.labelsT[i] {
				hits++
			}
		}
		return wrong(float64(hits) < .7*askedNew, "%d of %d classes are right", hits, askedNew)
	case len(m.Quantiles()) > 0:
		for j, tau := range m.Quantiles() {
			below := 0.
			for i := range askedNew {
				if s.yt.At(i, 0) <= F.At(i, j) {
					below++
				}
			}
			if e := math.Abs(below/askedNew - tau); e > .15 {
				return fmt.Errorf("%g of the targets are below the quantile %g", below/askedNew, tau)
			}
		}
		return nil
	case s.f == nil:
		P, err := m.PredictProba(s.xt)
		if err != nil {
			return err
		}
		hits := 0
		for i := range askedNew {
			if (P.At(i, 0) > .5) == (s.yt.At(i, 0) > .5) {
				hits++
			}
		}
		return wrong(float64(hits) < .7*askedNew, "%d of %d targets 0 and 1 are on the likelier side", hits, askedNew)
	}
	e := iokl.NewScores(F, s.f, nil).ARRMSE
	return wrong(!(e < .4), "relative error %.3g", e)
}

func wrong(is bool, format string, args ...any) error {
	if is {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// covers compares the share of new targets that intervals hold with the level.
func (s *subject) covers(m *iokl.Model, opt iokl.IntervalOptions) (*iokl.Intervals, error) {
	opt.Level = .8
	var r *iokl.Intervals
	var err error
	if s.cross != nil {
		r, err = m.PredictIntervalGram(context.Background(), s.cross, opt)
	} else {
		r, err = m.PredictInterval(context.Background(), s.xt, opt)
	}
	if err != nil {
		return nil, err
	}
	in, cells := 0., 0.
	for i := range askedNew {
		all := 1.
		for j := range s.yt.RawRowView(i) {
			hit := 0.
			if y := s.yt.At(i, j); r.Low.At(i, j) <= y && y <= r.High.At(i, j) {
				hit = 1
			}
			all *= hit
			if !opt.Joint {
				in, cells = in+hit, cells+1
			}
		}
		if opt.Joint {
			in, cells = in+all, cells+1
		}
	}
	return r, wrong(math.Abs(in/cells-.8) > .15, "intervals of level .8 hold %.3g of the targets", in/cells)
}

// askedQuestion is what is asked of a model. Its answer is checked by numbers: an error other than ErrInput is a fault.
type askedQuestion struct {
	name string
	ask  func(s *subject) error
}

var askedQuestions = []askedQuestion{
	{"fit", func(s *subject) error {
		c := s.m.Certificate()
		return wrong(!c.Converged || !(c.RelativeGap <= 1e-3), "relative gap %g", c.RelativeGap)
	}},
	{"predict", func(s *subject) error { return s.right(s.m) }},
	{"score", func(s *subject) error {
		F, err := s.predict(s.m)
		if err != nil {
			return err
		}
		_, n := F.Dims()
		if _, cols := s.yt.Dims(); n != cols { // quantiles
			return nil
		}
		a := s.m.ScorePredictions(F, s.yt)
		var sum float64
		for i := range askedNew {
			sum += math.Pow(F.At(i, 0)-s.yt.At(i, 0), 2)
		}
		return wrong(math.Abs(a.MSE[0]-sum/askedNew) > 1e-9*(1+sum), "mean square %g, not %g", a.MSE[0], sum/askedNew)
	}},
	{"save", func(s *subject) error {
		var file bytes.Buffer
		if err := s.m.Encode(&file); err != nil {
			return err
		}
		again, err := fittest.Decode(file.Bytes())
		if err != nil {
			return err
		}
		a, err := s.predict(s.m)
		b, errB := s.predict(again)
		if err = errors.Join(err, errB); err != nil {
			return err
		}
		return wrong(!mat.Equal(a, b), "a loaded model predicts other numbers")
	}},
	{"deviation", func(s *subject) error {
		D, err := s.m.PredictDeviation(context.Background(), s.xt)
		if err != nil {
			return err
		}
		sigma, err := s.m.Noise(context.Background())
		if err != nil {
			return err
		}
		F, err := s.predict(s.m)
		if err != nil {
			return err
		}
		var z []float64
		for i := range askedNew {
			for j, d := range D.RawRowView(i) {
				if !(d >= 0) || math.IsInf(d, 1) {
					return fmt.Errorf("the deviation of output %d in row %d is %g", j, i, d)
				}
				if s.f != nil {
					z = append(z, (s.yt.At(i, j)-F.At(i, j))/math.Hypot(d, sigma[j]))
				}
			}
		}
		if s.f == nil {
			return nil
		}
		r := math.Sqrt(floats.Dot(z, z) / float64(len(z)))
		return wrong(r < .5 || r > 2, "errors are %.3g of their deviations in the mean square", r)
	}},
	{"interval", func(s *subject) error {
		if s.labelsT != nil {
			sets, err := s.m.PredictSets(context.Background(), s.xt, .8)
			if err != nil {
				return err
			}
			in := 0
			for i, set := range sets.Sets {
				if slices.Contains(set, s.labelsT[i]) {
					in++
				}
			}
			return wrong(float64(in) < .65*askedNew, "sets of level .8 hold %d of %d classes", in, askedNew)
		}
		_, err := s.covers(s.m, iokl.IntervalOptions{})
		return err
	}},
	{"jackknife+", func(s *subject) error {
		_, err := s.covers(s.m, iokl.IntervalOptions{Method: "jackknife+"})
		return err
	}},
	{"local", func(s *subject) error {
		r, err := s.covers(s.m, iokl.IntervalOptions{Local: true})
		if err != nil {
			return err
		}
		if l := s.m.Certificate().Loss; l == "logistic" {
			return nil // intervals of targets 0 and 1 are 0 or 1 wide
		}
		var w mat.Dense
		w.Sub(r.High, r.Low)
		v := mat.Col(nil, 0, &w)
		return wrong(!(stat.StdDev(v, nil) > 1e-3*stat.Mean(v, nil)), "all widths are %g", v[0])
	}},
	{"joint", func(s *subject) error {
		_, err := s.covers(s.m, iokl.IntervalOptions{Joint: true})
		return err
	}},
	{"influence", func(s *subject) error {
		D, err := s.m.Influence(context.Background(), fittest.Rows(s.xt, 0, 1))
		if err != nil {
			return err
		}
		l := len(D.Rows)
		n := mat.Norm(D.Changes, 2)
		return wrong(l != askedRows || !(n > 0) || math.IsInf(n, 1), "%d influences of norm %g", l, n)
	}},
	{"held out", func(s *subject) error {
		h, err := s.m.HeldOut(context.Background())
		if err != nil {
			return err
		}
		l, n := h.Targets.Dims()
		if l < askedRows/2 {
			return fmt.Errorf("%d rows are held out", l)
		}
		if s.f == nil || len(s.m.Quantiles()) > 0 {
			return nil
		}
		for j := range n {
			var e, y []float64
			for i := range l {
				if v := h.Targets.At(i, j); !math.IsNaN(v) {
					e, y = append(e, v-h.Predictions.At(i, j)), append(y, v)
				}
			}
			if r := floats.Norm(e, 2) / math.Sqrt(float64(len(y))) / stat.StdDev(y, nil); !(r < .7) {
				return fmt.Errorf("held-out error %.3g of the deviation of output %d", r, j)
			}
		}
		return nil
	}},
	{"update", func(s *subject) (err error) {
		if s.labels != nil {
			s.updated, err = s.m.UpdateClasses(context.Background(), s.xt, s.labelsT, iokl.UpdateOptions{})
		} else {
			s.updated, err = s.m.Update(context.Background(), s.xt, s.yt, iokl.UpdateOptions{})
		}
		if err != nil {
			return err
		}
		if l := s.updated.Certificate().Samples; l != s.m.Certificate().Samples+askedNew {
			return fmt.Errorf("%d samples after %d more", l, askedNew)
		}
		return s.right(s.updated)
	}},
	{"forget", func(s *subject) error {
		m, err := s.m.Forget(context.Background(), []int{0, 1, 2, 3, 4}, iokl.UpdateOptions{})
		if err != nil && s.labels == nil { // a model of sums is told the rows
			x, y := fittest.Rows(s.x, 0, 5), fittest.Rows(s.y, 0, 5)
			m, err = s.m.ForgetRows(context.Background(), x, y, iokl.UpdateOptions{})
		}
		if err != nil {
			return err
		}
		if l := m.Certificate().Samples; l != s.m.Certificate().Samples-5 {
			return fmt.Errorf("%d samples without 5", l)
		}
		return s.right(m)
	}},
	{"interval after update", func(s *subject) error {
		if s.updated == nil {
			return iokl.ErrInput
		}
		if s.labelsT != nil {
			_, err := s.updated.PredictSets(context.Background(), s.xt, .8)
			return err
		}
		r, err := s.updated.PredictInterval(context.Background(), s.xt, iokl.IntervalOptions{Level: .8})
		if err != nil {
			return err
		}
		return wrong(r.Low.At(0, 0) > r.High.At(0, 0), "an interval from %g to %g", r.Low.At(0, 0), r.High.At(0, 0))
	}},
	{"formula", func(s *subject) error {
		f, err := s.m.Formula()
		if err != nil {
			return err
		}
		F, err := s.predict(s.m)
		if err != nil {
			return err
		}
		raw := s.raw
		if raw == nil {
			raw = s.xt
		}
		for i := range 5 {
			y, err := f.Predict(raw.RawRowView(i))
			if err != nil {
				return err
			}
			if !floats.EqualApprox(y, F.RawRowView(i), 1e-6) {
				return fmt.Errorf("row %d: %v, the model has %v", i, y, F.RawRowView(i))
			}
		}
		return nil
	}},
	{"report", func(s *subject) error {
		c := s.m.Certificate()
		rel := s.m.Relevance()
		return wrong(c.Samples != askedRows || floats.HasNaN(rel), "%d samples, relevances %v", c.Samples, rel)
	}},
}

// Cells that are refused and need not be.
var askedNotYet = map[string][]string{
	"Gram matrices": {"influence", "update", "forget", "interval after update"},
}

// askedNever are cells that mathematics forbids, and why.
var askedNever = []struct {
	kind, because string
	questions     []string
}{
	{"Gram matrices", "they say nothing of inputs x that a formula could be one of.", []string{"formula"}},
	{
		"Gram matrices", "cross-Gram matrices do not say k(x,x), the variance before any row is known.",
		[]string{"deviation", "local"},
	},
	{
		"compact", "the answer is a function of the training targets, which a compact model leaves out.",
		[]string{"influence", "update", "forget", "interval after update"},
	},
	{
		"quantiles", "their loss has no curvature that a Gaussian or a Newton step could take.",
		[]string{"deviation", "influence"},
	},
}

// TestQuestions asks every question of every kind of model. A cell is answered, and its numbers checked; or impossible,
// for a reason of mathematics; or not yet answered. docs/questions.md has the table.
func TestQuestions(t *testing.T) {
	var page strings.Builder
	page.WriteString(askedHead)
	names := make([]string, len(askedQuestions))
	for j, q := range askedQuestions {
		names[j] = q.name
	}
	fmt.Fprintf(&page, "| kind | %s |\n|---%s|\n", strings.Join(names, " | "), strings.Repeat("|:-:", len(names)))
	answered := 0
	for k := range askedKinds {
		kind := &askedKinds[k]
		d := kind.data()
		m, err := kind.fit(context.Background(), d)
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		s := &subject{asked: d, m: m}
		fmt.Fprintf(&page, "| %s", kind.name)
		for _, q := range askedQuestions {
			mark := "yes"
			if slices.Contains(askedNotYet[kind.name], q.name) {
				mark = "not yet"
			}
			for i, n := range askedNever {
				if n.kind == kind.name && slices.Contains(n.questions, q.name) {
					mark = fmt.Sprintf("no [%d]", i+1)
				}
			}
			switch err := q.ask(s); {
			case mark == "yes" && err != nil:
				t.Errorf("%s, %s: %v", kind.name, q.name, err)
			case mark != "yes" && err == nil:
				t.Errorf("%s, %s is answered, and marked %q", kind.name, q.name, mark)
			case mark != "yes" && !errors.Is(err, iokl.ErrInput):
				t.Errorf("%s, %s is refused by no ErrInput: %v", kind.name, q.name, err)
			case mark == "yes":
				answered++
			}
			fmt.Fprintf(&page, " | %s", mark)
		}
		page.WriteString(" |\n")
	}
	fmt.Fprintf(&page, "\n%d of %d cells are answered.\n", answered, len(askedKinds)*len(askedQuestions))
	if len(askedNever) > 0 {
		page.WriteString("\n")
	}
	for i, n := range askedNever {
		fmt.Fprintf(&page, "%d. %s: %s\n", i+1, n.kind, n.because)
	}
	file := filepath.Join("docs", "questions.md")
	if *writeQuestions {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != page.String() {
		t.Errorf("docs/questions.md is not what the suite finds (%v): go test -run TestQuestions . -questions", err)
	}
}

const askedHead = `# Questions

What can be asked of which model. A test asks every question of every kind, and checks the numbers
of each answer; it writes this table.

`
