package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind names a scalar kernel.
type Kind string

// The kinds of kernels; the package documentation gives their formulas.
const (
	Linear      Kind = "linear"
	Poly        Kind = "poly"
	Cosine      Kind = "cosine"
	Gaussian    Kind = "gaussian"
	Laplacian   Kind = "laplacian"
	Matern12    Kind = "matern12"
	Matern32    Kind = "matern32"
	Matern52    Kind = "matern52"
	Matern      Kind = "matern" // of any order ν
	Cauchy      Kind = "cauchy"
	Chi2        Kind = "chi2"
	Precomputed Kind = "precomputed"
)

var kinds = []Kind{Linear, Poly, Cosine, Gaussian, Laplacian, Matern12, Matern32, Matern52, Matern, Cauchy, Chi2, Precomputed}

// HasWidth reports whether the kernel has a width σ.
func (k Kind) HasWidth() bool {
	switch k {
	case Gaussian, Laplacian, Matern12, Matern32, Matern52, Matern, Cauchy, Chi2:
		return true
	}
	return false
}

// ErrSpec is wrapped by every error in the text of a SPEC.
var ErrSpec = errors.New("bad kernel specification")

// Approximation asks for explicit features in place of the exact kernel.
type Approximation struct {
	Method  string `json:"method"`  // "rff" or "nystrom"
	Count   int    `json:"count"`   // features, or landmarks, of each kernel
	Sampler string `json:"sampler"` // rff: orthogonal, mc, qmc, hadamard; nystrom: kmeans, uniform, leverage
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
	"nystrom": {"kmeans", "uniform", "leverage"},
}

// forms lists the forms of random features and what they are kept as.
var forms = map[string]string{"pairs": "", "phases": Phases}

// Spec is a parsed SPEC: a family of kernels, complete but for the data.
type Spec struct {
	Kind     Kind
	Features string    // "all", "each", "groups", a group's name, or column indices as in "0,3-5"
	Widths   []float64 // widths, or multiples of the median
	Relative bool      // Widths multiply the median heuristic
	Nu       float64   // ν of matern
	Degree   int       // of poly
	Offset   float64   // c of poly
	Gamma    float64   // γ of poly; 0 means 1/d
	Unit     bool      // normalised to unit diagonal
	Center   bool      // centred in feature space
	Name     string    // of a precomputed kernel
	Approx   *Approximation
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
	s := Spec{Kind: Kind(head), Features: "all"}
	if !known(s.Kind) {
		return s, fmt.Errorf("unknown kernel %q (have %s, and rff: or nystrom: before one of them)", head, kindList())
	}
	fields := strings.Split(spec, ":")[1:]
	if s.Kind == Precomputed {
		return s, s.parsePrecomputed(fields)
	}
	fields = s.takeOptions(fields)
	fields, err := s.takeOrder(fields)
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

func known(k Kind) bool {
	for _, have := range kinds {
		if k == have {
			return true
		}
	}
	return false
}

func kindList() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

func (s *Spec) parsePrecomputed(fields []string) error {
	s.Features = ""
	if len(fields) > 1 {
		return errors.New("precomputed takes one name at most")
	}
	if len(fields) == 1 {
		s.Name = fields[0]
	}
	return nil
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

// takeOrder removes the degree of poly and the order of matern from the front of the fields.
func (s *Spec) takeOrder(fields []string) ([]string, error) {
	switch {
	case s.Kind != Poly && s.Kind != Matern:
		return fields, nil
	case len(fields) == 0 && s.Kind == Poly:
		return nil, errors.New("poly needs a degree, as in poly:3:all")
	case len(fields) == 0:
		return nil, errors.New("matern needs its order, as in matern:2.5:all")
	case s.Kind == Matern:
		nu, err := parseNumber(fields[0])
		if err == nil && !(nu >= minNu && nu <= maxNu) {
			err = fmt.Errorf("order %g is not from %g to %g", nu, float64(minNu), float64(maxNu))
		}
		s.Nu = nu
		return fields[1:], err
	}
	q, err := strconv.Atoi(fields[0])
	if err != nil || q < 1 || q > 100 {
		return nil, fmt.Errorf("degree %q is not an integer from 1 to 100", fields[0])
	}
	s.Degree, s.Offset = q, 1
	return fields[1:], nil
}

// parseParameters reads what follows the features.
func (s *Spec) parseParameters(fields []string) error {
	if s.Kind == Poly {
		return s.parsePoly(fields)
	}
	if !s.Kind.HasWidth() {
		return leftOver(fields)
	}
	text := "median"
	if len(fields) > 0 {
		text, fields = fields[0], fields[1:]
	}
	if err := leftOver(fields); err != nil {
		return err
	}
	var err error
	s.Widths, s.Relative, err = parseWidths(text)
	return err
}

func (s *Spec) parsePoly(fields []string) error {
	targets := []*float64{&s.Offset, &s.Gamma}
	for i, text := range fields[:min(len(fields), 2)] {
		v, err := parseNumber(text)
		if err != nil {
			return err
		}
		*targets[i] = v
	}
	if s.Offset < 0 || s.Gamma < 0 {
		return errors.New("a negative offset or gamma gives no positive semidefinite kernel")
	}
	return leftOver(fields[min(len(fields), 2):])
}

func leftOver(fields []string) error {
	if len(fields) > 0 {
		return fmt.Errorf("nothing more was expected at %q", strings.Join(fields, ":"))
	}
	return nil
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
		return Spec{}, fmt.Errorf("%s needs a kernel and then a positive number of features, as in %s:gaussian:all:median:2000; got %q (a sampler after it is one of %s)",
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
	case !s.Kind.HasWidth():
		return fmt.Errorf("%s has exact features: write it without rff", s.Kind)
	case s.Kind == Chi2:
		return errors.New("chi2 is not a function of x−z and has no random Fourier features: use nystrom")
	case s.Center:
		return errors.New("random features are not centred: leave out center")
	}
	return nil
}

// String is the SPEC in canonical form; Parse(s.String()) gives s again.
func (s Spec) String() string {
	fields := []string{string(s.Kind)}
	switch {
	case s.Kind == Precomputed:
		if s.Name != "" {
			fields = append(fields, s.Name)
		}
	case s.Kind == Poly:
		fields = append(fields, strconv.Itoa(s.Degree), s.Features, number(s.Offset))
		if s.Gamma != 0 {
			fields = append(fields, number(s.Gamma))
		}
	case s.Kind.HasWidth():
		if s.Kind == Matern {
			fields = append(fields, number(s.Nu))
		}
		fields = append(fields, s.Features, widthText(s.Widths, s.Relative))
	default:
		fields = append(fields, s.Features)
	}
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

// MarshalJSON writes the canonical SPEC as a string.
func (s Spec) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON parses a SPEC string.
func (s *Spec) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	parsed, err := Parse(text)
	if err == nil {
		*s = parsed
	}
	return err
}
