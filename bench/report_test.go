package bench

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
)

// someResults has lines of several cases, one with a curve.
func someResults() *File {
	f := &File{Machine: Describe(quickEnv())}
	f.Machine.Limits = &Limits{FMA: []Peak{{"float64", 1, 100}}, Bandwidth: []Bandwidth{{1 << 20, 1, 50}}}
	f.Machine.Noise = &Noise{Drift: 1}
	add := func(kind, name string, params map[string]any, seconds float64) *Result {
		r := Result{Case: kind, Name: name, Params: params, Rerun: "mklbench run " + kind}
		r.time([]float64{seconds, seconds * 1.01, seconds * 1.02, seconds * 1.03, seconds * 1.04})
		f.Results = append(f.Results, r)
		return &f.Results[len(f.Results)-1]
	}
	for i, be := range []string{"native", "gonum"} {
		r := add("gemm", be, map[string]any{"backend": be, "m": 512, "n": 512, "k": 512, "precision": "float64", "threads": 1}, 0.001*float64(1+9*i))
		r.rate(2*512*512*512, 0, 500, 0)
	}
	for i, name := range []string{"reduced-fast", "paper-exact"} {
		r := add("caltech", name, map[string]any{"solver": strings.Split(name, "-")[0]}, float64(1+8*i))
		r.Objective = Num(1 + float64(i))
		r.Trace = []Point{{Seconds: 0.1, Objective: Num(3)}, {Seconds: 0.5, Objective: Num(2)}, {Seconds: 1, Objective: Num(1 + float64(i))}}
		r.traces = [][]Point{r.Trace}
	}
	timeToTarget(f.Results[2:], 1e-3)
	for _, l := range []float64{250, 500, 1000} {
		for i, s := range []string{"eigen", "nystrom", "auto"} {
			add("sylvester", s, map[string]any{"l": l, "n": 10.0, "spectrum": "decaying", "lambda": 1e-3}, []float64{l * l * l, l * l, 2 * l * l}[i]*1e-9)
		}
	}
	judgeChoice(f.Results)
	return f
}

func render(t *testing.T, files ...*File) string {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteReport(&buf, files); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestReportStandsAlone(t *testing.T) {
	page := render(t, someResults())
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	for _, id := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+id[1]+`"`) {
			t.Errorf("no section %q", id[1])
		}
	}
}

// TestReportConclusions checks sentences against the numbers they were made from.
func TestReportConclusions(t *testing.T) {
	page := html.UnescapeString(render(t, someResults()))
	for _, want := range []string{
		"The native backend is 10 times faster than gonum on average in matrix products",
		`"reduced-fast" is first to come within 0.1 % of the best objective, after 1 s`,
		`"paper-exact" was not there when it stopped after 9.18 s: more than 9.2 times as long`,
		"it takes 2 times as long on average, 2 at worst",
		"eigen l^3.0", "nystrom l^2.0",
		"up to 1000 times faster than by eigendecomposition",
		"Undisturbed: ", "<code>mklbench run gemm</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestReportEscapes(t *testing.T) {
	f := someResults()
	f.Results[0].Name = `<script>alert(1)</script>`
	f.Results[2].Name = `<b>bold</b>`
	f.Results[4].Name = `<i>eigen</i>`
	page := render(t, f)
	for _, bad := range []string{"<script>alert", "<b>bold", "<i>eigen"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

func TestCompare(t *testing.T) {
	base := someResults()
	scaled := func(factor float64, change func(r *Result)) *File {
		f := someResults()
		for i := range f.Results {
			r := &f.Results[i]
			for k := range r.Samples {
				r.Samples[k] *= factor
			}
			r.time(r.Samples)
			if change != nil {
				change(r)
			}
		}
		return f
	}
	for _, c := range []struct {
		name      string
		b         *File
		verdict   Verdict
		regressed bool
	}{
		{"the same build", scaled(1.005, nil), Same, false},
		{"within the threshold", scaled(1.08, nil), Same, false},
		{"slowed", scaled(1.5, nil), Slower, true},
		{"faster", scaled(0.6, nil), Faster, false},
		{"slower but for one lucky repetition", scaled(1.5, func(r *Result) { r.Samples[0] = r.Samples[0] / 1.5; r.time(r.Samples) }), Same, false},
		{"too few repetitions", scaled(1.5, func(r *Result) { r.time(r.Samples[:2]) }), Single, false},
		{"a new error", scaled(1, func(r *Result) { r.Error = "broken" }), Worse, true},
		{"other parameters", scaled(1, func(r *Result) { r.Params["l"] = 7 }), Gone, false},
	} {
		got := Compare(base, c.b, 0.1)
		if got.Regressed() != c.regressed {
			t.Errorf("%s: regressed %v", c.name, got.Regressed())
		}
		if v := got.Lines[0].Verdict; v != c.verdict {
			t.Errorf("%s: %q, p = %g", c.name, v, got.Lines[0].P)
		}
		var buf bytes.Buffer
		if err := got.Write(&buf, true); err != nil || !strings.Contains(buf.String(), string(c.verdict)) {
			t.Errorf("%s: %v\n%s", c.name, err, buf.String())
		}
	}
}

func TestCompareAnswers(t *testing.T) {
	old := Result{Accuracy: Num(0.9), Objective: Num(1)}
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{Accuracy: Num(0.9), Objective: Num(1)}, ""},
		{Result{Accuracy: Num(0.8), Objective: Num(1)}, "accuracy"},
		{Result{Accuracy: Num(0.9), Objective: Num(1.1)}, "objective"},
		{Result{Accuracy: Num(0.9), Objective: Num(1.1), Stopped: true}, ""},
	} {
		if got := worse(old, c.r); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.r, got)
		}
	}
}
