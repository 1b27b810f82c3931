package kernel

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Spec
	}{
		{"gaussian", Spec{Kind: Gaussian, Features: "all", Widths: []float64{1}, Relative: true}},
		{"gaussian:all:median*0.5,1,2", Spec{
			Kind: Gaussian, Features: "all", Widths: []float64{0.5, 1, 2}, Relative: true,
		}},
		{"gaussian:each:2^-1..2^2", Spec{Kind: Gaussian, Features: "each", Widths: []float64{0.5, 1, 2, 4}}},
		{"gaussian:pixels:median*2^-1..2^1,10", Spec{Kind: Gaussian, Features: "pixels", Widths: []float64{
			0.5, 1, 2, 10,
		}, Relative: true}},
		{"gaussian+gaussian+linear:0,2:median", Spec{
			Kind: Gaussian, Others: []Kind{Gaussian, Linear}, Features: "0,2", Widths: []float64{1}, Relative: true,
		}},
		{"linear:0-3", Spec{Kind: Linear, Features: "0-3"}},
		{"linear:all:unit:center", Spec{Kind: Linear, Features: "all", Unit: true, Center: true}},
		{"linear:center", Spec{Kind: Linear, Features: "all", Center: true}},
		{"laplacian:0,2,4-6:1e-3", Spec{Kind: Laplacian, Features: "0,2,4-6", Widths: []float64{1e-3}}},
		{"matern52:groups:0.5", Spec{Kind: Matern52, Features: "groups", Widths: []float64{0.5}}},
		{"matern:1.25:0-1:2", Spec{Kind: Matern, Params: []float64{1.25}, Features: "0-1", Widths: []float64{2}}},
		{"rff:matern:4:all:1:10:mc", Spec{
			Kind: Matern, Params: []float64{4}, Features: "all", Widths: []float64{1},
			Approx: &Approximation{"rff", 10, "mc", ""},
		}},
		{"poly:3", Spec{Kind: Poly, Features: "all", Params: []float64{3, 1, 0}}},
		{"poly:2:all:0:0.5:unit", Spec{Kind: Poly, Features: "all", Params: []float64{2, 0, 0.5}, Unit: true}},
		{"chi2:hist:1", Spec{Kind: Chi2, Features: "hist", Widths: []float64{1}}},
		{"cosine:each", Spec{Kind: Cosine, Features: "each"}},
		{"precomputed", Spec{Kind: Precomputed}},
		{"precomputed:graph", Spec{Kind: Precomputed, Name: "graph"}},
		{"rff:gaussian:all:median:2000", Spec{
			Kind: Gaussian, Features: "all", Widths: []float64{1}, Relative: true,
			Approx: &Approximation{"rff", 2000, "auto", ""},
		}},
		{"rff:gaussian:0:1:7:phases", Spec{
			Kind: Gaussian, Features: "0", Widths: []float64{1}, Approx: &Approximation{"rff", 7, "auto", Phases},
		}},
		{"rff:cauchy:all:1:unit:8:qmc:pairs", Spec{
			Kind: Cauchy, Features: "all", Widths: []float64{1}, Unit: true,
			Approx: &Approximation{"rff", 8, "qmc", ""},
		}},
		{"rff:laplacian:each:2:100:qmc", Spec{
			Kind: Laplacian, Features: "each", Widths: []float64{2}, Approx: &Approximation{"rff", 100, "qmc", ""},
		}},
		{"nystrom:poly:2:all:50:kmeans", Spec{
			Kind: Poly, Features: "all", Params: []float64{2, 1, 0},
			Approx: &Approximation{"nystrom", 50, "kmeans", ""},
		}},
	} {
		got, err := Parse(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
			continue
		}
		again, err := Parse(got.String())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q is written as %q, which reads as %+v, %v", c.text, got, again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, say := range map[string]string{
		"":                                  "unknown kernel",
		"gausian":                           "unknown kernel",
		"gaussian:":                         "features are empty",
		"gaussian:3-1":                      "not a column number",
		"gaussian:1,1":                      "occurs twice",
		"gaussian:1,,2":                     "not a column number",
		"gaussian:all:":                     "not a finite number",
		"gaussian:all:0":                    "not a positive finite number",
		"gaussian:all:-1":                   "not a positive finite number",
		"gaussian:all:NaN":                  "not a finite number",
		"gaussian:all:wide":                 "not a finite number",
		"gaussian:all:1,median":             "median must come first",
		"gaussian:all:median,2":             "median must come first",
		"gaussian:all:2^-6..3^6":            "mixes two bases",
		"gaussian:all:2^6..2^-6":            "is empty",
		"gaussian:all:2^0..2^600":           "more than",
		"gaussian:all:2^x":                  "integer power",
		"gaussian:all:2^2000":               "not a positive finite number",
		"gaussian:all:1:2":                  "nothing more",
		"linear:all:2":                      "nothing more",
		"gaussian+":                         "unknown kernel",
		"linear+gaussian":                   "linear cannot be here in a sum",
		"gaussian+rational:1":               "rational cannot be here in a sum",
		"rff:gaussian+chi2:all:1:20":        "chi2 has no random Fourier features",
		"poly":                              "needs its degree",
		"matern":                            "needs its order",
		"matern:0.1":                        "not from 0.25 to 50",
		"matern:x":                          "not a finite number",
		"poly:0":                            "degree 0 is not an integer from 1 to 100",
		"poly:2.5":                          "degree 2.5 is not an integer",
		"poly:2:all:1:-1":                   "gamma -1 is not a positive finite number",
		"poly:x:all":                        "degree",
		"poly:2:all:-1":                     "offset -1 is not a finite number of at least 0",
		"poly:2:all:1:2:3":                  "nothing more",
		"precomputed:a:b":                   "one name",
		"rff:gaussian":                      "positive number of features",
		"rff:gaussian:all:median:0":         "positive number of features",
		"rff:linear:all:100":                "exact features",
		"rff:chi2:all:median:100":           "use nystrom",
		"rff:gaussian:all:median:center:10": "not centred",
		"rff:gaussian:all:phases":           "positive number of features",
		"rff:gaussian:all:1:10:phases:mc":   "positive number of features",
		"nystrom:gaussian:all:1:10:phases":  "positive number of features",
		"nystrom:precomputed:10":            "no features to draw",
		"rff:rff:gaussian:all:1:10:10":      "rff of rff",
	} {
		_, err := Parse(text)
		if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), say) {
			t.Errorf("Parse(%q): %v, want %q", text, err, say)
		}
	}
}

func TestCheapest(t *testing.T) {
	for _, c := range []struct {
		kind     Kind
		d, count int
		form     string
		want     string
	}{
		{Gaussian, 1, 1, "", "orthogonal"},
		{Gaussian, 20, 2000, "", "orthogonal"},
		{Gaussian, 200, 4000, "", "orthogonal"},
		{Gaussian, 256, 4000, "", "hadamard"},
		{Matern32, 1000, 4000, "", "hadamard"},
		{Matern, 1000, 2000, Phases, "hadamard"},
		{Gaussian, 1000, 500, "", "orthogonal"}, // most of a block would go unused
		{Gaussian, 1000, 500, Phases, "hadamard"},
		{Cauchy, 1000, 4000, "", "orthogonal"},
		{Laplacian, 1000, 4000, "", "orthogonal"},
	} {
		a := Approximation{Method: "rff", Count: c.count, Form: c.form}
		if got := a.Cheapest(c.kind, c.d); got != c.want {
			t.Errorf("%s, %d columns, %d features %s: %s, want %s", c.kind, c.d, c.count, c.form, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("gaussian:each:2^-6..2^6")
	f.Add("rff:matern32:0-3,7:median*0.5,1:64:mc")
	f.Add("poly:3:all:0.5:2:unit:center")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%q reads as %+v, written %q, read again as %+v, %v", text, s, s, again, err)
		}
	})
}

// Medians that are known change no kernel, and serve each distance and each set of columns.
func TestResolveWithMedians(t *testing.T) {
	X := positiveX(rand.New(rand.NewPCG(16, 2)), 40, 6)
	var known Medians
	for range 2 {
		for _, text := range everyKernel {
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.Resolve(X, testGroups, 3)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.ResolveWith(X, testGroups, 3, &known)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v; %v", text, got, want, err)
			}
		}
	}
	if len(known.units) < 5 {
		t.Errorf("only %d medians were kept", len(known.units))
	}
	if _, err := (Spec{Kind: Gaussian, Features: "all", Widths: []float64{1}, Relative: true}).ResolveWith(
		blas.NewGeneral(3, 2), nil, 1, new(Medians)); !errors.Is(err, ErrConstant) {
		t.Errorf("constant data: %v", err)
	}
}
