// The registry of kernels.

package kernel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/dense/vmath"
)

// Kind names a scalar kernel.
type Kind string

// Precomputed is the kind of a Gram matrix of the caller's. The other kinds are declared where they are defined.
const Precomputed Kind = "precomputed"

// definition is all there is to know of one kind of kernel.
type definition struct {
	formula string  // in r = ‖x−z‖₂, σ and the parameters, for help
	metric  metric  // of two samples; kernels of all metrics but dot have a width σ, and are 1 at distance 0
	params  []param // the required ones first
	unit    bool    // divided by √(k(x,x)k(z,z)) whether it is asked for or not

	// Values of the metric become values of the kernel. One field is set; neither, where the two are the same.
	values func(k *Kernel) func(dst, src []float64) // dst may be src
	rate   func(k *Kernel) float64                  // k = exp(rate·metric), by the fastest loops there are

	// Features, as far as there are any. k = (γ·xᵀz + c)^q, which has monomials for features
	polynomial func(k *Kernel) (degree int, gamma, offset float64)
	// random frequencies radial(u)·g/σ, g ~ N(0,I), u uniform on (0,1)
	radial func(k *Kernel, u float64) float64
	// random frequencies of coordinates coordinate(g)/σ, g ~ N(0,1)
	coordinate func(g float64) float64
}

// param is a parameter of a kernel other than its width.
type param struct {
	name     string
	min, max float64 // both included
	integer  bool
	value    float64 // the default of an optional parameter, an example of another
	// SPECs name an optional parameter after FEATURES, the others before.
	optional bool
	derive   func(dim int) float64 // the value for a kernel of dim features where a SPEC gives none, or 0
}

var definitions = map[Kind]*definition{}

// register adds a kind of kernel; it is called by init functions.
func register(kind Kind, d definition) {
	if definitions[kind] != nil {
		panic("kernel: two definitions of one kind")
	}
	for i, p := range d.params {
		if i > 0 && d.params[i-1].optional && !p.optional {
			panic("kernel: an optional parameter before a required one")
		}
	}
	definitions[kind] = &d
}

// def is the definition of the kind; of one without any, such as precomputed, an empty one.
func (k Kind) def() *definition {
	if d := definitions[k]; d != nil {
		return d
	}
	return new(definition)
}

func known(k Kind) bool { return k == Precomputed || definitions[k] != nil }

// Kinds lists the kinds that are functions of two samples, in alphabetical order.
func Kinds() []Kind { return slices.Sorted(maps.Keys(definitions)) }

func kindList() string {
	var names []string
	for _, k := range append(Kinds(), Precomputed) {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// HasWidth reports whether the kernel has a width σ.
func (k Kind) HasWidth() bool { return k.def().metric != dot }

// HasFeatures reports whether the kernel has finitely many exact features, see [Kernel.Polynomial].
func (k Kind) HasFeatures() bool { return k.def().polynomial != nil }

// HasFrequencies reports whether the kernel has random Fourier features, see [Kernel.Frequencies].
func (k Kind) HasFrequencies() bool { return k.def().radial != nil || k.def().coordinate != nil }

// Formula is the kernel as a formula in r = ‖x−z‖₂, the width σ and its parameters.
func (k Kind) Formula() string { return k.def().formula }

// Example is a SPEC with the required parameters of the kind, as matern:1. It takes all
// columns and, where there is a width, the median.
func (k Kind) Example() string {
	text := string(k)
	for _, p := range k.def().params {
		if !p.optional {
			text += ":" + number(p.value)
		}
	}
	return text
}

// Usage lists the kinds, a line for each: the form of their SPECs, and their formula.
func Usage() string {
	var text strings.Builder
	for _, k := range Kinds() {
		form, after := string(k), ":FEATURES"
		if k.HasWidth() {
			after += ":WIDTHS"
		}
		for _, p := range k.def().params {
			if p.optional {
				after += ":" + strings.ToUpper(p.name)
			} else {
				form += ":" + strings.ToUpper(p.name)
			}
		}
		fmt.Fprintf(&text, "  %-38s %s\n", form+after, k.Formula())
	}
	return text.String()
}

// Polynomial returns q, γ and c of a kernel that is (γ·xᵀz + c)^q, before the division of unit kernels.
// ok is false for other kernels, which have no finite features.
func (k *Kernel) Polynomial() (degree int, gamma, offset float64, ok bool) {
	f := k.Kind.def().polynomial
	if f == nil {
		return 0, 0, 0, false
	}
	degree, gamma, offset = f(k)
	return degree, gamma, offset, true
}

// Frequencies describes the spectral density of the kernel by Gaussian vectors g ~ N(0,I). The density is that of
// radial(u)·g/σ with u uniform on (0,1), or that of the vector of coordinate(g_f)/σ. One of the two functions is nil.
// Both are nil for a kernel that is no function of x−z, or whose density is not known.
func (k *Kernel) Frequencies() (radial, coordinate func(float64) float64) {
	d := k.Kind.def()
	if d.radial != nil {
		return func(u float64) float64 { return d.radial(k, u) }, nil
	}
	return nil, d.coordinate
}

// UnitDiagonal reports whether the kernel is divided by √(k(x,x)k(z,z)).
func (k *Kernel) UnitDiagonal() bool {
	d := k.Kind.def()
	return d.unit || k.Unit && d.metric == dot
}

// evaluator turns metric values into kernel values, before the division of unit kernels.
type evaluator struct {
	fill func(dst, src []float64) // nil where the two are the same
	rate float64                  // the kernel is exp(rate·metric); 0 where it is not
}

func (k *Kernel) evaluator() evaluator {
	switch d := k.Kind.def(); {
	case d.rate != nil:
		rate := d.rate(k)
		return evaluator{func(dst, src []float64) { vmath.Exp(dst, src, rate) }, rate}
	case d.values != nil:
		return evaluator{fill: d.values(k)}
	}
	return evaluator{}
}

func (e *evaluator) row(dst, src []float64) {
	if e.fill == nil {
		copy(dst, src)
		return
	}
	e.fill(dst, src)
}

// pointwise makes a row function of a function of one metric value.
func pointwise(f func(v float64) float64) func(dst, src []float64) {
	return func(dst, src []float64) {
		for i, v := range src {
			dst[i] = f(v)
		}
	}
}

// check checks a value of the parameter; one that is derived may be 0 until it is.
func (p *param) check(v float64, derived bool) error {
	switch {
	case derived && v == 0 && p.derive != nil:
		return nil
	case v >= p.min && v <= p.max && (!p.integer || v == math.Trunc(v)):
		return nil
	}
	return fmt.Errorf("%s %s is not %s", p.name, number(v), p.bounds())
}

func (p *param) bounds() string {
	switch {
	case p.integer:
		return fmt.Sprintf("an integer from %g to %g", p.min, p.max)
	case p.max < math.MaxFloat64:
		return fmt.Sprintf("from %g to %g", p.min, p.max)
	case p.min > 0:
		return "a positive finite number"
	}
	return fmt.Sprintf("a finite number of at least %g", p.min)
}

// checkParams checks all parameters of a kernel, or of a SPEC when some may still be derived.
func (d *definition) checkParams(values []float64, derived bool) error {
	if len(values) != len(d.params) {
		return fmt.Errorf("%d parameters, want %d", len(values), len(d.params))
	}
	for i, v := range values {
		if err := d.params[i].check(v, derived); err != nil {
			return err
		}
	}
	return nil
}
