// SPECs: their parts, parser and writer.

package kernel

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// ErrSpec is wrapped by every error in the text of a SPEC.
var ErrSpec = errors.New("bad kernel specification")

// Approximation asks for explicit features in place of the exact kernel.
type Approximation struct {
	Method  string `json:"method"`  // "rff" or "nystrom"
	Count   int    `json:"count"`   // features, or landmarks, of each kernel
	Sampler string `json:"sampler"` // rff: orthogonal, mc, qmc, hadamard; nystrom: kmeans, uniform
	// Form of random features: "" for pairs of cosine and sine, or Phases.
	Form string `json:"form,omitempty"`
}

// Phases is the form of random features cos(ωᵀx + b) with random b.
const Phases = "phases"

// Auto is the sampler of random features that Build chooses by cost.
const Auto = "auto"

// samplers lists the choices of each method, the default first.
var samplers = map[string][]string{
	"rff":     {Auto, "orthogonal", "mc", "qmc", "hadamard"},
	"nystrom": {"kmeans", "uniform"},
}

// forms lists the forms of random features and what they are kept as.
var forms = map[string]string{"pairs": "", "phases": Phases}

// Spec is a parsed SPEC: a family of kernels, complete but for the data.
type Spec struct {
	Kind     Kind
	Others   []Kind    // the other kernels of a sum, as in gaussian+laplacian, on the same features
	Features string    // "all", "each", "groups", a group's name, or column indices as in "0,3-5"
	Widths   []float64 // widths, or multiples of the median
	Relative bool      // Widths multiply the median heuristic
	// parameters, in the order of the definition; 0 for one that is derived from the number of features
	Params []float64
	Unit   bool   // normalised to unit diagonal
	Center bool   // centred in feature space
	Name   string // of a precomputed kernel
	Approx *Approximation
}

// Parse reads a SPEC; the package documentation gives the grammar. Errors wrap ErrSpec.
func Parse(spec string) (Spec, error) {
	s, err := parse(spec)
	if err != nil {
		return Spec{}, fmt.Errorf("%w %q: %w", ErrSpec, spec, err)
	}
	return s, nil
}

func parse(spec string) (Spec, error) {
	head, rest, _ := strings.Cut(spec, ":")
	if list, ok := samplers[head]; ok {
		return parseApprox(head, rest, list)
	}
	s := Spec{Features: "all"}
	if err := s.parseKinds(strings.Split(head, "+")); err != nil {
		return s, err
	}
	fields := strings.Split(spec, ":")[1:]
	if s.Kind == Precomputed {
		if len(fields) > 1 {
			return s, errors.New("precomputed takes one name at most")
		}
		s.Features, s.Name = "", strings.Join(fields, "")
		return s, nil
	}
	fields = s.takeOptions(fields)
	fields, err := s.takeParams(fields, false)
	if err != nil {
		return s, err
	}
	if len(fields) > 0 {
		s.Features = fields[0]
		fields = fields[1:]
	}
	if err := checkFeatures(s.Features); err != nil {
		return s, err
	}
	return s, s.parseParameters(fields)
}

// parseKinds reads the kind, or those of a sum, which have a width and no parameters.
func (s *Spec) parseKinds(names []string) error {
	for i, name := range names {
		kind := Kind(name)
		if !known(kind) {
			return fmt.Errorf("unknown kernel %q (have %s, and rff: or nystrom: before one of them)", name, kindList())
		}
		if len(names) > 1 && (len(kind.def().params) > 0 || !kind.HasWidth() && (i == 0 || kind != Linear)) {
			return fmt.Errorf("%s cannot be here in a sum: kernels with a width alone can, and linear after one", kind)
		}
		if i == 0 {
			s.Kind = kind
		} else {
			s.Others = append(s.Others, kind)
		}
	}
	return nil
}

// Kinds are those of the kernels of a sum, or the one kind.
func (s Spec) Kinds() []Kind { return append([]Kind{s.Kind}, s.Others...) }

// Sum is how the SPEC writes its kinds: gaussian, or gaussian+laplacian.
func (s Spec) Sum() string {
	text := string(s.Kind)
	for _, kind := range s.Others {
		text += "+" + string(kind)
	}
	return text
}

// takeOptions removes the options at the end of the fields.
func (s *Spec) takeOptions(fields []string) []string {
	for len(fields) > 0 {
		switch fields[len(fields)-1] {
		case "unit":
			s.Unit = true
		case "center", "centre":
			s.Center = true
		default:
			return fields
		}
		fields = fields[:len(fields)-1]
	}
	return fields
}

// takeParams reads the parameters that are optional, or those that are not, from the front of the fields.
// Optional ones that are left out get their defaults.
func (s *Spec) takeParams(fields []string, optional bool) ([]string, error) {
	for _, p := range s.Kind.def().params {
		if p.optional != optional {
			continue
		}
		value := p.value
		if len(fields) == 0 && !optional {
			return nil, fmt.Errorf("%s needs its %s, as in %s:all", s.Kind, p.name, s.Kind.Example())
		}
		if len(fields) > 0 {
			var err error
			if value, err = parseNumber(fields[0]); err == nil {
				err = p.check(value, true)
			} else {
				err = fmt.Errorf("%s: %w", p.name, err)
			}
			if err != nil {
				return nil, err
			}
			fields = fields[1:]
		}
		s.Params = append(s.Params, value)
	}
	return fields, nil
}

// parseParameters reads what follows the features.
func (s *Spec) parseParameters(fields []string) error {
	if s.Kind.HasWidth() {
		text := "median"
		if len(fields) > 0 {
			text, fields = fields[0], fields[1:]
		}
		var err error
		if s.Widths, s.Relative, err = parseWidths(text); err != nil {
			return err
		}
	}
	fields, err := s.takeParams(fields, true)
	if err == nil && len(fields) > 0 {
		err = fmt.Errorf("nothing more was expected at %q", strings.Join(fields, ":"))
	}
	return err
}

// parseApprox reads what follows "rff:" or "nystrom:".
func parseApprox(method, rest string, choices []string) (Spec, error) {
	fields := strings.Split(rest, ":")
	a := &Approximation{Method: method, Sampler: choices[0]}
	if form, ok := forms[fields[len(fields)-1]]; ok && method == "rff" && len(fields) > 1 {
		a.Form = form
		fields = fields[:len(fields)-1]
	}
	for _, c := range choices {
		if last := len(fields) - 1; fields[last] == c && last > 0 {
			a.Sampler = c
			fields = fields[:last]
		}
	}
	last := len(fields) - 1
	count, err := strconv.Atoi(fields[last])
	if err != nil || count < 1 || last == 0 {
		return Spec{}, fmt.Errorf("%s needs a kernel and then a positive number of features, as in "+
			"%s:gaussian:all:median:2000; got %q (a sampler after it is one of %s)",
			method, method, fields[last], strings.Join(choices, ", "))
	}
	a.Count = count
	s, err := parse(strings.Join(fields[:last], ":"))
	if err != nil {
		return s, err
	}
	if s.Approx != nil {
		return s, fmt.Errorf("%s of %s", method, s.Approx.Method)
	}
	s.Approx = a
	return s, s.checkApprox()
}

func (s *Spec) checkApprox() error {
	switch {
	case s.Kind == Precomputed:
		return errors.New("a precomputed kernel has no features to draw")
	case s.Approx.Method == "nystrom":
		return nil
	case s.Kind.HasFeatures():
		return fmt.Errorf("%s has exact features: write it without rff", s.Kind)
	case s.Center:
		return errors.New("random features are not centred: leave out center")
	}
	for _, kind := range s.Kinds() {
		if !kind.HasFrequencies() && (s.Others == nil || !kind.HasFeatures()) {
			return fmt.Errorf("%s has no random Fourier features: use nystrom", kind)
		}
	}
	return nil
}

// String is the SPEC in canonical form; Parse(s.String()) gives s again.
func (s Spec) String() string {
	fields := []string{s.Sum()}
	if s.Kind == Precomputed {
		if s.Name != "" {
			fields = append(fields, s.Name)
		}
		return strings.Join(fields, ":")
	}
	fields = append(s.appendParams(fields, false), s.Features)
	if s.Kind.HasWidth() {
		fields = append(fields, widthText(s.Widths, s.Relative))
	}
	fields = s.appendParams(fields, true)
	if s.Unit {
		fields = append(fields, "unit")
	}
	if s.Center {
		fields = append(fields, "center")
	}
	if s.Approx != nil {
		fields = append([]string{s.Approx.Method}, append(fields, strconv.Itoa(s.Approx.Count), s.Approx.Sampler)...)
		if s.Approx.Form != "" {
			fields = append(fields, s.Approx.Form)
		}
	}
	return strings.Join(fields, ":")
}

// appendParams appends the parameters that are optional, or those that are not, up to the last that is not derived.
func (s Spec) appendParams(fields []string, optional bool) []string {
	keep := len(fields)
	for i, p := range s.Kind.def().params {
		if p.optional != optional || i >= len(s.Params) {
			continue
		}
		fields = append(fields, number(s.Params[i]))
		if p.derive == nil || s.Params[i] != 0 {
			keep = len(fields)
		}
	}
	return fields[:keep]
}

// hadamardCost is the time of one column of a fast Hadamard transform and its
// share of the passes around it, divided by log₂ of its order, in the time that a
// matrix product takes for one multiplication and addition: measured with
// BenchmarkTransform of package rff, 10 to 15 for 64 to 1500 columns.
const hadamardCost = 14

// hadamardGain is how much faster structured frequencies must be to be chosen, since their rows are Gaussian only in
// the limit: docs/decisions/2026-11-21-random-features.md.
const hadamardGain = 2

// Cheapest is the sampler of random features that the sampler auto stands for, for d features of the kernel and n =
// Count/2 frequencies. It is hadamard where multiplying by the frequencies, in blocks of d' = 2^⌈log₂ d⌉ rows, is at
// least twice as fast as with the sampler orthogonal,
//
//	d·n ≥ 2·14·log₂(d')·⌈n/d'⌉d',
//
// and orthogonal otherwise. hadamard thus serves gaussian, matern and rational kernels of some 250 columns or more with
// as many frequencies. Its rows are nearly Gaussian at such sizes.
func (a *Approximation) Cheapest(kind Kind, d int) string {
	if kind.def().radial == nil {
		return "orthogonal"
	}
	n := a.Count
	if a.Form == "" {
		n = (n + 1) / 2
	}
	log := max(bits.Len(uint(d-1)), 1)
	order := 1 << log
	rows := (n + order - 1) / order * order
	if float64(d)*float64(n) >= hadamardGain*hadamardCost*float64(log)*float64(rows) {
		return "hadamard"
	}
	return "orthogonal"
}
