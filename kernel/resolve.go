// From a parsed SPEC and data to kernels with numbers for all parameters.

package kernel

import (
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Build parses and resolves several specifications into one dictionary, in order.
func Build(specs []string, X blas.General, groups []Group, seed uint64) (Dictionary, error) {
	var d Dictionary
	for _, text := range specs {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		part, err := s.Resolve(X, groups, seed)
		if err != nil {
			return nil, err
		}
		d = append(d, part...)
	}
	return d, nil
}

// Resolve makes the kernels of the SPEC for the training inputs X (l×d): features become column numbers, and widths
// numbers. The seed draws the pairs of the median heuristic. A precomputed SPEC does not read X.
func (s Spec) Resolve(X blas.General, groups []Group, seed uint64) (Dictionary, error) {
	return s.ResolveWith(X, groups, seed, new(Medians))
}

// Medians caches the median distances of samples, for SPECs that differ only in their widths. The zero value is empty.
// It serves one X, one set of groups, one seed, and one goroutine at a time.
type Medians struct {
	units map[string]float64
	pairs [][2]int // of samples that are looked at
}

// ResolveWith is Resolve with a cache of medians.
func (s Spec) ResolveWith(X blas.General, groups []Group, seed uint64, known *Medians) (Dictionary, error) {
	d, err := s.resolve(X, groups, seed, known)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", s, err)
	}
	return d, nil
}

func (s Spec) resolve(X blas.General, groups []Group, seed uint64, known *Medians) (Dictionary, error) {
	if s.Kind == Precomputed {
		return Dictionary{{Name: s.String(), Kind: Precomputed}}, nil
	}
	if X.Rows == 0 || X.Cols == 0 {
		return nil, fmt.Errorf("the data are empty (%d×%d)", X.Rows, X.Cols)
	}
	var d Dictionary
	for term, kind := range s.Kinds() {
		sets, err := s.subsets(X.Cols, groups, term)
		if err != nil {
			return nil, err
		}
		one := s
		one.Kind, one.Others = kind, nil
		if s.Others != nil && kind.HasFeatures() {
			one.Approx = nil
		}
		part, err := one.on(X, sets, seed, known)
		if err != nil {
			return nil, err
		}
		d = append(d, part...)
	}
	return d, nil
}

// on resolves the specification of one kind on sets of columns.
func (s Spec) on(X blas.General, sets []Group, seed uint64, known *Medians) (Dictionary, error) {
	if err := s.Kind.def().checkParams(s.Params, true); err != nil {
		return nil, err
	}
	for _, set := range sets {
		if s.Kind.def().metric == chiSquare && (len(set.Directions)+len(set.Knots) > 0) {
			return nil, errChi2Signs
		}
		if err := s.Kind.def().metric.check(X, set.view().columns); err != nil {
			return nil, err
		}
	}
	units, err := s.unitWidths(X, sets, seed, known)
	if err != nil {
		return nil, err
	}
	var d Dictionary
	for i, set := range sets {
		d = append(d, s.kernels(set, units[i], X.Cols)...)
	}
	return d, nil
}

// unitWidths is what the widths multiply on each set: its unit, the median distance, or 1.
func (s Spec) unitWidths(X blas.General, sets []Group, seed uint64, known *Medians) ([]float64, error) {
	units := make([]float64, len(sets))
	key := func(set Group) string { return s.Kind.def().metric.name() + " " + set.Name }
	var missing []int
	for i, set := range sets {
		switch {
		case set.Unit != 0 && s.Kind.HasWidth() && !s.Relative:
			return nil, fmt.Errorf("%w: the widths of %s multiply its lengths: write %s", ErrSpec, set.Name,
				widthText(s.Widths, true))
		case set.Unit != 0:
			units[i] = set.Unit
		case !s.Relative:
			units[i] = 1
		default:
			if units[i] = known.units[key(set)]; units[i] == 0 {
				missing = append(missing, i)
			}
		}
	}
	if len(missing) == 0 {
		return units, nil
	}
	if known.units == nil {
		known.units, known.pairs = map[string]float64{}, samplePairs(X.Rows, seed)
	}
	errs := make([]error, len(missing))
	par.For(len(missing), func(k int) {
		units[missing[k]], errs[k] = medianDistance(s.Kind.def().metric, X, sets[missing[k]], known.pairs)
	})
	for k, i := range missing {
		if errs[k] != nil {
			return nil, errs[k]
		}
		known.units[key(sets[i])] = units[i]
	}
	return units, nil
}

// kernels is the kernels of the specification on one set of features.
func (s Spec) kernels(set Group, unit float64, inputs int) Dictionary {
	k := Kernel{
		Kind: s.Kind, Inputs: inputs, Columns: set.Columns, Knots: set.Knots, Scale: set.Scale,
		Directions: set.Directions, Unit: s.Unit, Center: s.Center, Approx: s.Approx, Params: slices.Clone(s.Params),
	}
	one := s
	one.Features = set.Name
	if s.Approx != nil && s.Approx.Sampler == Auto {
		a := *s.Approx
		a.Sampler = a.Cheapest(s.Kind, k.Dim())
		one.Approx, k.Approx = &a, &a
	}
	for i, p := range s.Kind.def().params {
		if p.derive != nil && k.Params[i] == 0 {
			k.Params[i] = p.derive(k.Dim())
		}
	}
	if !s.Kind.HasWidth() {
		k.Name = one.String()
		return Dictionary{k}
	}
	var d Dictionary
	for _, w := range s.Widths {
		one.Widths = []float64{w}
		k.Name, k.Width = one.String(), w*unit
		d = append(d, k)
	}
	return d
}
