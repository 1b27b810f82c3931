package kernel

// All and Each are features of a SPEC: all columns, and a kernel of every column.
const (
	All  = "all"
	Each = "each"
)

// On begins a SPEC: the kind on these features, with the median for its width where it has one. params are its
// parameters as the SPEC writes them, the required ones first; those left out have their defaults. [Parse] reads the
// text, and refuses what makes no sense:
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

// Width is s with these widths σ, a kernel of each.
func (s Spec) Width(sigma ...float64) Spec {
	s.Widths, s.Relative = sigma, false
	return s
}

// Median is s with these multiples of the median for widths, a kernel of each.
func (s Spec) Median(factors ...float64) Spec {
	s.Widths, s.Relative = factors, true
	return s
}

// Plus is s and a kernel of each of these kinds on the same features, whose lengths are learned together.
func (s Spec) Plus(kinds ...Kind) Spec {
	s.Others = kinds
	return s
}

// RFF is s by so many random Fourier features of each kernel.
func (s Spec) RFF(count int) Spec { return s.by("rff", count) }

// Nystrom is s by features of so many landmarks for each kernel.
func (s Spec) Nystrom(count int) Spec { return s.by("nystrom", count) }

func (s Spec) by(method string, count int) Spec {
	s.Approx = &Approximation{Method: method, Count: count, Sampler: samplers[method][0]}
	return s
}

// Texts are the SPECs in words, as options of fits take them.
func Texts(specs ...Spec) (texts []string) {
	for _, s := range specs {
		texts = append(texts, s.String())
	}
	return texts
}
