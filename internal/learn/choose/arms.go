// This file lists the arms: dictionaries with fixed weights, and what is learned on those that lead.

package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	closed  bool // only C is learned, by kernels that are exact: one decomposition for all λ
	lambdas []float64
	given   bool          // λ by the user
	in      []bool        // values of λ that are compared further
	errors  [][][]float64 // of each λ, of each fold, what the metric averages; nil: not known

	at     int // the best λ when settings were last compared; -1: none
	middle int // the best λ about which values were last kept
	score  float64
	folds  []float64 // metric there on each fold
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

// pending is the values of λ that are compared further and have no error on a fold, and which they are.
func (a *arm) pending(fold int) (lambdas []float64, at []int) {
	for i, lambda := range a.lambdas {
		if a.in[i] && a.errors[i][fold] == nil {
			lambdas, at = append(lambdas, lambda), append(at, i)
		}
	}
	return lambdas, at
}

// drop leaves out of the path what has no errors on some folds, where the fits of the path ended before it.
func (a *arm) drop(from, to int) {
	for i := range a.in {
		for f := from; f < to; f++ {
			a.in[i] = a.in[i] && (a.given || a.errors[i][f] != nil)
		}
	}
}

// keep leaves of the path what is at most so many steps from the best, all of it where the user gave it.
func (a *arm) keep(steps int) {
	a.middle = a.at
	for i := range a.in {
		a.in[i] = a.given || a.at-steps <= i && i <= a.at+steps
	}
}

// fall keeps the path from value i on, or from the first.
func (a *arm) fall(i int) {
	for k := range a.in {
		a.in[k] = a.given || k >= i
	}
}

// widen adds the neighbours of a best that is not among those that were kept about the one before, and reports whether
// it has.
func (a *arm) widen() bool {
	if a.at < 0 || max(a.at-a.middle, a.middle-a.at) <= 2*beside {
		return false
	}
	for i := max(a.at-beside, 0); i <= min(a.at+beside, len(a.in)-1); i++ {
		a.in[i] = true
	}
	return true
}

// move carries the arm to other samples, times as many: errors go, and μ = λl stays, or λ where the user gave it.
func (a *arm) move(times float64, folds int) {
	a.errors = make([][][]float64, len(a.lambdas))
	for i := range a.errors {
		a.errors[i] = make([][]float64, folds)
		if !a.given && times != 1 {
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
			if err := s.addWhereItFits(ctx, k, s.learning(learn.Nothing, "")); err != nil {
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
	list := s.modes(learn.Both)
	for _, k := range given {
		for _, norm := range s.norms() {
			for _, set := range list {
				models := []learn.Model{s.Setting.Model}
				if s.Models != nil && set.Learn == learn.Both {
					models = s.Models
				}
				set.Kernels, set.Norm = k, norm
				for _, set.Model = range models {
					if err := s.add(ctx, set); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// learning is the setting of an arm that learns this, with L of the SPEC where that is a kernel between outputs, or "".
func (s *race) learning(what learn.Learned, output string) learn.Setting {
	set := s.Setting
	set.Learn, set.OutputKernel = what, output
	return set
}

// couples reports whether L lets outputs tell about each other.
func couples(set *learn.Setting) bool { return set.Learn.OutputKernel() || set.OutputKernel != "" }

// modes lists what arms learn: what the user says, or else these, and with each L that is a kernel between outputs
// weights of kernels that are named, or nothing, which is faster. Where there is one such L, both are compared.
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
	for _, what := range open {
		list = append(list, s.learning(what, ""))
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

// addWhereItFits is add where memory holds the dictionary on the largest part.
func (s *race) addWhereItFits(ctx context.Context, kernels []string, set learn.Setting) error {
	p, err := s.top.Plan(ctx, kernels, set.Learn, true)
	if err != nil || p.Bytes > float64(s.Method.Limit()) {
		return err
	}
	set.Kernels, set.Norm, set.Model = kernels, s.norms()[0], learn.Product
	return s.add(ctx, set)
}

// add adds an arm of the setting for each τ, unless it is there already.
func (s *race) add(ctx context.Context, set learn.Setting) error {
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
			if s.data.Loss().Kind == loss.Quantile {
				// A function that passes through all targets has no loss, whatever λ is: half of the digits are enough.
				a.lambdas = a.lambdas[:len(a.lambdas)/2+1]
			}
		}
		a.closed = s.table() != nil && set.Learn == learn.Nothing && set.OutputKernel == "" &&
			dictionary.Exact(set.Kernels) && s.data.Loss().Kind == loss.Squared
		a.in = slices.Repeat([]bool{true}, len(a.lambdas))
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
// outputs, L learned. Their paths of λ reach from two steps above the best of these dictionaries to two below, and
// further down where folds hide cells: what the targets of a row have in common is noise where L is not learned.
func (s *race) learners(ctx context.Context) error {
	list := s.modes(learn.Nothing, learn.OutputKernel, learn.Both)
	if _, outputs := s.data.Size(); outputs == 1 {
		list = s.modes(learn.Nothing, learn.Weights)
	}
	old := len(s.arms)
	leaders := slices.Clone(s.arms[:min(unionOfBest, old)])
	leaders = slices.DeleteFunc(leaders, func(a *arm) bool { return a.at < 0 })
	if len(leaders) == 0 {
		return nil
	}
	first, last := defaults.PathPoints, 0
	for _, a := range leaders {
		first, last = min(first, a.at-2*beside), max(last, a.at+2*beside)
	}
	for ; len(leaders) > 0 && len(s.arms) == old; leaders = leaders[:len(leaders)-1] {
		union := union(leaders)
		for _, set := range list {
			kernels, rows := union, append(slices.Clone(union), rowKernel)
			if s.fills() && couples(&set) && set.Learn.Weights() {
				kernels = rows
			}
			if err := s.addWhereItFits(ctx, kernels, set); err != nil {
				return err
			}
			if s.fills() && set.OutputKernel != "" {
				if err := s.addWhereItFits(ctx, rows, set); err != nil {
					return err
				}
			}
		}
	}
	for _, a := range s.arms[old:] {
		further := s.fills() && couples(&a.Setting)
		for i := range a.in {
			a.in[i] = a.given || first <= i && (i <= last || further)
		}
	}
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

// sum adds the sum of separable kernels on the dictionary of the best arm, with its part of the path. It is for those
// who ask (docs/decisions/2026-11-28-product.md).
func (s *race) sum(ctx context.Context) error {
	best := s.arms[0]
	if best.at < 0 {
		return nil
	}
	old, sum := len(s.arms), s.learning(learn.Both, "")
	sum.Kernels, sum.Norm, sum.Model = best.Kernels, s.norms()[0], learn.Sum
	if err := s.add(ctx, sum); err != nil {
		return err
	}
	for _, a := range s.arms[old:] {
		steps := int(math.Round(2 * math.Log10(a.lambdas[0]/best.lambdas[best.at])))
		a.at = min(max(steps, 0), len(a.in)-1)
		a.keep(beside)
	}
	return nil
}
