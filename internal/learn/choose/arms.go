// The arms: dictionaries with fixed weights, and what is learned on those that lead.

package choose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
)

// arm is a setting but for λ, and its errors on the samples of the rung.
type arm struct {
	learn.Setting
	closed   bool          // only C is learned, by kernels that are exact: one decomposition for all λ
	given    bool          // λ by the user
	lambdas  []float64     // the path
	from, to int           // the part of the path that is compared further is lambdas[from:to]
	errors   [][][]float64 // of each λ, of each fold, what the metric averages; nil: not known

	at    int // the best λ when settings were last compared; -1: none
	score float64
	folds []float64 // metric there on each fold
}

// point is the setting at λ, without errors.
func (a *arm) point(lambda float64) Point {
	return Point{
		Kernels: a.Kernels, Norm: a.Norm, Learn: a.Learn, Model: cmp.Or(a.Model, learn.Product), Tau: a.Tau,
		Lambda: lambda, OutputKernel: a.OutputKernel,
	}
}

// kind is the same for settings that differ in widths, λ and a linear kernel beside others.
func (a *arm) kind() string {
	p := a.point(0)
	var stems []string
	for _, k := range p.Kernels {
		stem := k[:max(0, strings.LastIndex(k, ":"))]
		if !slices.Contains(stems, stem) && (k != linearKernel || len(p.Kernels) == 1) {
			stems = append(stems, stem)
		}
	}
	p.Kernels = stems
	return fmt.Sprint(p)
}

// pending is the part of the path that is compared further, where it has no errors on a fold.
func (a *arm) pending(fold int) (lambdas []float64) {
	if a.from < a.to && a.errors[a.from][fold] == nil {
		lambdas = a.lambdas[a.from:a.to]
	}
	return lambdas
}

// keep makes lambdas[from:to] what is compared further, or all of the path where the user gave it.
func (a *arm) keep(from, to int) {
	if !a.given {
		a.from, a.to = max(from, 0), min(to, len(a.lambdas))
	}
}

// end cuts the path where its fits without some folds have ended.
func (a *arm) end(from, to int) {
	for i := a.from; i < a.to; i++ {
		for _, e := range a.errors[i][from:to] {
			if e == nil {
				a.keep(a.from, i)
			}
		}
	}
}

// move carries the arm to other samples, times as many: errors go, and μ = λl stays, or λ where the user gave it.
func (a *arm) move(times float64, folds int) {
	a.errors = make([][][]float64, len(a.lambdas))
	for i := range a.errors {
		a.errors[i] = make([][]float64, folds)
		if !a.given {
			a.lambdas[i] /= times
		}
	}
}

// start lists the arms of the first rung: what the user gave, or the dictionaries with fixed weights.
func (s *race) start(ctx context.Context) error {
	var given [][]string
	table := s.table()
	switch {
	case s.Kernels != nil:
		given = s.Kernels
	case len(s.Setting.Kernels) > 0:
		given = [][]string{s.Setting.Kernels}
	case table == nil:
		given = [][]string{nil}
	default:
		all := bases(varying(table))
		for _, k := range all {
			set := s.learning(learn.Nothing, "")
			set.Kernels = k
			if err := s.add(ctx, set); err != nil {
				return err
			}
		}
		if s.arms != nil {
			return nil
		}
		p, err := s.top.Plan(ctx, all[0], learn.Nothing, true) // is refused
		if err != nil {
			return err
		}
		return s.Method.Announce(p)
	}
	for _, k := range given {
		for _, norm := range s.norms() {
			for _, set := range s.modes(learn.Both) {
				set.Kernels, set.Norm = k, norm
				if err := s.add(ctx, set); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// learning is the setting of an arm that learns this, with L of the SPEC where that is a kernel between outputs, or "".
func (s *race) learning(what learn.Learned, output string) learn.Setting {
	set := s.Setting
	set.Learn, set.OutputKernel, set.Norm, set.Model = what, output, s.norms()[0], learn.Product
	return set
}

// modes lists what arms learn: what the user says, or else these, and with each L that is a kernel between outputs
// weights of kernels that are named, or nothing, which is faster. Where there is one such L, both are compared. What
// learns both weights and L does so in each model that is asked for.
func (s *race) modes(open ...learn.Learned) (list []learn.Setting) {
	axis, outputs := []learn.Learned{learn.Nothing}, s.OutputKernels
	switch {
	case s.Setting.OutputKernel != "":
		outputs, axis, open = []string{s.Setting.OutputKernel}, []learn.Learned{learn.Nothing, learn.Weights}, nil
	case s.named():
		axis[0] = learn.Weights
	}
	if s.Setting.Learn != "" {
		axis = []learn.Learned{s.Setting.Learn}
		open = open[:min(len(open), 1)]
		copy(open, axis)
	}
	models := s.Models
	if models == nil {
		models = []learn.Model{s.Setting.Model}
	}
	for _, what := range open {
		set := s.learning(what, "")
		if what != learn.Both {
			list = append(list, set)
			continue
		}
		for _, set.Model = range models {
			list = append(list, set)
		}
	}
	for _, spec := range outputs {
		for _, what := range axis {
			list = append(list, s.learning(what, spec))
		}
	}
	return list
}

// norms are those to compare.
func (s *race) norms() []string {
	switch {
	case s.Setting.Regularizer != nil:
		return []string{s.Setting.Regularizer.String()}
	case s.Norms != nil:
		return s.Norms
	case s.Setting.Norm != "":
		return []string{s.Setting.Norm}
	case !s.Setting.Learn.Weights() || s.kernelsOpen() || s.data.Loss().Kind != loss.Squared:
		return defaults.Norms()[:1] // of fixed weights, all norms are the same; by other losses fits take long
	}
	return defaults.Norms()
}

// named reports whether the user named kernels.
func (s *race) named() bool { return s.Kernels != nil || len(s.Setting.Kernels) > 0 }

// kernelsOpen reports whether the race finds the kernels.
func (s *race) kernelsOpen() bool { return s.table() != nil && !s.named() }

// table is all samples where they are rows of inputs, else nil.
func (s *race) table() learn.Table { return s.all.Table }

// varying is the number of inputs that vary.
func varying(t learn.Table) int {
	X, _, _ := t.Matrices()
	return len(columns.Measure(X).Varying())
}

// add adds an arm of the setting for each τ, unless it is there already. Where the race finds the
// kernels, it adds none that memory does not hold on the largest part.
func (s *race) add(ctx context.Context, set learn.Setting) error {
	if s.kernelsOpen() {
		if p, err := s.top.Plan(ctx, set.Kernels, set.Learn, true); err != nil || p.Bytes > float64(s.Method.Limit()) {
			return err
		}
	}
	weights, diagonals, err := s.data.Start(ctx, set.Kernels)
	if err != nil {
		return err
	}
	size, err := size(&set, weights, diagonals)
	if err != nil {
		return err
	}
	if s.Lambdas == nil && size == 0 {
		const zero = "the kernels %s are zero on all samples, as are those of columns that do not vary"
		return fault.Input(zero, Brief(set.Kernels))
	}
	_, n := s.data.Size()
	outputs := float64(n)
	for _, set.Tau = range s.Taus {
		a := &arm{Setting: set, lambdas: slices.Clone(s.Lambdas), given: s.Lambdas != nil}
		p := a.point(0)
		if slices.ContainsFunc(s.arms, func(b *arm) bool { q := b.point(0); return q.sameBut(&p) }) {
			continue
		}
		if !a.given { // only λ/τ matters
			a.lambdas = defaults.Path(size * (cmp.Or(set.Tau, outputs) / outputs))
		}
		a.closed = s.table() != nil && set.Learn == learn.Nothing && set.OutputKernel == "" &&
			dictionary.Exact(set.Kernels) && s.data.Loss().Kind == loss.Squared
		a.to = len(a.lambdas)
		a.move(1, s.folds)
		s.arms = append(s.arms, a)
	}
	return nil
}

// size is the mean diagonal of K_η where learning starts: at the weights that are
// fixed, or those of the norm.
func size(set *learn.Setting, weights, diagonals []float64) (float64, error) {
	if weights != nil && !set.Learn.Weights() {
		return blas.Dot(weights, diagonals), nil
	}
	reg := set.Reg()
	m := len(diagonals)
	if err := reg.Check(m); err != nil {
		return 0, fault.Mark(err)
	}
	eta := make([]float64, m)
	reg.Start(eta)
	return floats.Sum(eta) * stat.Mean(diagonals, nil), nil
}

// learners adds the arms that learn: on the union of the best dictionaries, as it is and with weights and, for several
// outputs, L learned. Their paths of λ begin two steps above the best of these dictionaries. Where folds hide cells,
// those that learn both have rowKernel too, and those with L of an axis are compared with it and without. Arms that do
// not learn what the user asks for leave.
func (s *race) learners(ctx context.Context) error {
	list := s.modes(learn.Nothing, learn.OutputKernel, learn.Both)
	if _, outputs := s.data.Size(); outputs == 1 {
		list = s.modes(learn.Nothing, learn.Weights)
	}
	s.rank()
	old := len(s.arms)
	leaders := slices.Clone(s.arms[:min(unionOfBest, old)])
	leaders = slices.DeleteFunc(leaders, func(a *arm) bool { return a.at < 0 })
	first := defaults.PathPoints
	for _, a := range leaders {
		first = min(first, a.at-2*beside)
	}
	for ; len(leaders) > 0 && len(s.arms) == old; leaders = leaders[:len(leaders)-1] { // until memory holds some
		for _, set := range list {
			dictionaries := [][]string{union(leaders)}
			switch rows := append(union(leaders), rowKernel); {
			case !s.fills():
			case set.OutputKernel != "":
				dictionaries = append(dictionaries, rows)
			case set.Learn == learn.Both:
				dictionaries[0] = rows
			}
			for _, set.Kernels = range dictionaries {
				if err := s.add(ctx, set); err != nil {
					return err
				}
			}
		}
	}
	for _, a := range s.arms[old:] {
		a.keep(first, len(a.lambdas))
	}
	s.arms = slices.DeleteFunc(s.arms, func(a *arm) bool {
		return s.Setting.Learn != "" && a.Learn != s.Setting.Learn ||
			s.Setting.OutputKernel != "" && a.OutputKernel != s.Setting.OutputKernel
	})
	return nil
}

// union is the SPECs of all dictionaries.
func union(arms []*arm) (specs []string) {
	for _, a := range arms {
		for _, k := range a.Kernels {
			if !slices.Contains(specs, k) {
				specs = append(specs, k)
			}
		}
	}
	return specs
}

// bases are the dictionaries of fixed weights: functions of all columns of several smoothnesses, as they are and with
// lengths along columns or directions; sums of such functions; smooth functions of single columns; and by ranks.
func bases(cols int) [][]string {
	all := [][]string{{linearKernel}, {squareKernel}}
	for _, kind := range []string{"gaussian", "laplacian"} {
		for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
			k := kind + ":all:median*" + w
			all = append(all, []string{k}, []string{k, linearKernel})
		}
	}
	if cols == 1 {
		return all
	}
	for _, sum := range []string{"gaussian", "matern32", "laplacian", "gaussian+gaussian+matern12"} {
		all = append(all, []string{sum + "+linear:directions:median"})
	}
	if !defaults.HasEach(cols) {
		return all
	}
	for _, w := range []string{"0.5", "1", "2"} {
		all = append(all, []string{"gaussian:each:median*" + w, linearKernel})
		for _, kind := range []string{"gaussian", "laplacian"} {
			all = append(all, []string{kind + ":ranks:median*" + w})
		}
	}
	return all
}

const (
	linearKernel = defaults.LinearKernel
	squareKernel = "poly:2:all:1" // (1 + xᵀz/d)²
	// rowKernel is next to 0 between different rows. With it L tells what the targets of a row have in common that is
	// not smooth in the inputs.
	rowKernel = "gaussian:all:median*0.05"
)
