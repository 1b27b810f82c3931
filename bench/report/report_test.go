package report

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/cases"
)

// quickEnv is the environment of a quick run.
func quickEnv() *bench.Env {
	env := bench.NewEnv()
	env.Quick = true
	return env
}

// someResults has lines of several cases, one with a curve.
func someResults() *bench.File {
	f := &bench.File{Machine: bench.Describe(quickEnv())}
	f.Machine.Limits = &bench.Limits{
		FMA:       []bench.Peak{{Precision: "float64", Threads: 1, GFlops: 100}},
		Bandwidth: []bench.Bandwidth{{Bytes: 1 << 20, Threads: 1, GBytes: 50}},
	}
	f.Machine.Noise = &bench.Noise{Drift: 1}
	add := func(kind, name string, params map[string]any, seconds float64) *bench.Result {
		r := bench.Result{Case: kind, Name: name, Params: params, Rerun: "mklbench run " + kind}
		r.Time([]float64{seconds, seconds * 1.01, seconds * 1.02, seconds * 1.03, seconds * 1.04})
		f.Results = append(f.Results, r)
		return &f.Results[len(f.Results)-1]
	}
	for i, be := range []string{"native", "gonum"} {
		r := add("gemm", be, map[string]any{
			"backend": be, "m": 512, "n": 512, "k": 512, "precision": "float64", "threads": 1,
		}, 0.001*float64(1+9*i))
		r.Rate(2*512*512*512, 0)
	}
	for i, name := range []string{"reduced-fast", "paper-exact"} {
		r := add("caltech", name, map[string]any{"solver": strings.Split(name, "-")[0]}, float64(1+8*i))
		r.Objective = bench.Num(1 + float64(i))
		r.Trace = []bench.Point{
			{Seconds: 0.1, Objective: bench.Num(3)},
			{Seconds: 0.5, Objective: bench.Num(2)},
			{Seconds: 1, Objective: bench.Num(1 + float64(i))},
		}
	}
	f.Results[2].SecondsTo = bench.Num(1)
	for _, l := range []float64{250, 500, 1000} {
		for i, s := range []string{"eigen", "nystrom", "auto"} {
			r := add("sylvester", s, map[string]any{"l": l, "n": 100.0, "spectrum": "decaying", "lambda": 1e-4},
				[]float64{l * l * l, l * l, 2 * l * l}[i]*1e-9)
			if s == "auto" {
				r.Metric("times_fastest", 2)
				r.Metric("seconds_over_fastest", r.Seconds/2)
				r.Params["fastest"] = "nystrom"
			}
		}
	}
	return f
}

func render(t *testing.T, files ...*bench.File) string {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, files); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestReportStandsAlone(t *testing.T) {
	page := render(t, someResults())
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import`).FindAllStringSubmatch(page,
		-1) {
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
		"it takes 2 times as long as the solver that was fastest, on average, 2 at worst", "eigen, l^3.0",
		"nystrom, l^2.0", "up to 1000 times faster than by eigendecomposition", "Undisturbed: ",
		"<code>mklbench run gemm</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// silent are the cases of which a table alone says what they show.
var silent = []string{"drosophila", "curves", "losses", "uci"}

// TestEveryCaseConcludes finds templates of sentences that ask for what results do not have.
func TestEveryCaseConcludes(t *testing.T) {
	for _, group := range file(t, quickRun(t)).ByCase() {
		says := cases.Conclude(group)
		text := strings.Join(says, " ")
		if says == nil && slices.Contains(silent, group[0].Case) {
			continue
		}
		if text == "" || regexp.MustCompile(`%!|NaN|<no`).MatchString(text) {
			t.Errorf("%s concludes %q", group[0].Case, text)
		}
		t.Logf("%s: %s", group[0].Case, text)
	}
}

// TestPublished checks that ours stands beside the published figure.
func TestPublished(t *testing.T) {
	stock := bench.Result{Case: "stock04", Name: "IOKL"}
	stock.Metric("mse1000 of GM", 0.5)
	cells := textBlocks(render(t, &bench.File{Results: []bench.Result{stock}}))
	for key, want := range map[string]string{
		"stock04 cell 18": "GM",
		"stock04 cell 19": "1.68 / –", "stock04 cell 25": "0.47 / 0.50",
	} {
		if got := cells[key]; got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
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
