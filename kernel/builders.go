package kernel

// All and Each are features of a SPEC: all columns, and a kernel of every column.
const (
	All  = "all"
	Each = "each"
)

// On returns a SPEC of the kind on these features; its width, where it has one, is the median. params are the
// parameters in the order of the SPEC, the required ones first; those left out have their defaults. Nothing is checked
// before [Parse] reads the text:
//
//	kernel.Gaussian.On(kernel.All).Median(0.5, 1, 2).String() // gaussian:all:median*0.5,1,2
func (k Kind) On(features string, params ...float64) Spec {
	s := Spec{Kind: k, Features: features, Params: params}
	for _, p := range k.def().params[min(len(params), len(k.def().params)):] {
		s.Params = append(s.Params, p.value)
	}
	if k.HasWidth() {
		s.Widths, s.Relative = []float64{1}, true
	}
	return s
}

// Width returns s with a kernel for each width σ.
func (s Spec) Width(sigma ...float64) Spec {
	s.Widths, s.Relative = sigma, false
	return s
}

// Median returns s with a kernel for each factor, whose width is that multiple of the median.
func (s Spec) Median(factors ...float64) Spec {
	s.Widths, s.Relative = factors, true
	return s
}

// Plus returns s with further kernels of these kinds on the same features. Lengths of the columns are learned for all
// kernels of the sum together.
func (s Spec) Plus(kinds ...Kind) Spec {
	s.Others = kinds
	return s
}

// RFF returns s with count random Fourier features for each kernel.
func (s Spec) RFF(count int) Spec { return s.by("rff", count) }

// Nystrom returns s with Nyström features from count landmarks for each kernel.
func (s Spec) Nystrom(count int) Spec { return s.by("nystrom", count) }

func (s Spec) by(method string, count int) Spec {
	s.Approx = &Approximation{Method: method, Count: count, Sampler: samplers[method][0]}
	return s
}

// Texts returns the SPECs as text, as options of fits take them.
func Texts(specs ...Spec) (texts []string) {
	for _, s := range specs {
		texts = append(texts, s.String())
	}
	return texts
}
