package report

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/cases"
	"github.com/iokl/iokl/internal/files/page"
)

// quickRun is a quick run of all cases with its curves thinned out.
func quickRun(t *testing.T) map[string]any {
	t.Helper()
	in, err := os.Open("testdata/quick.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	unzip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var run map[string]any
	if err := json.NewDecoder(unzip).Decode(&run); err != nil {
		t.Fatal(err)
	}
	return run
}

// file reads a run the way the command does.
func file(t *testing.T, run map[string]any) *bench.File {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	f := new(bench.File)
	if err := json.Unmarshal(text, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// given are the keys of what was asked for rather than measured.
var given = []string{"params", "count", "threads", "seed", "cpus", "bytes"}

// moved is the run with every measured number multiplied by a random factor.
func moved(v any, rng *rand.Rand) any {
	switch v := v.(type) {
	case float64:
		return v * math.Exp(3*rng.Float64()-1.5)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = moved(e, rng)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			e := v[key]
			if slices.Contains(given, key) {
				out[key] = movedParams(e, rng)
			} else {
				out[key] = whole(key, moved(e, rng))
			}
		}
		return out
	}
	return v
}

// movedParams are parameters with the one that is measured moved.
func movedParams(v any, rng *rand.Rand) any {
	params, ok := v.(map[string]any)
	if x, measured := params["seconds_after_pass"].(float64); ok && measured {
		params = maps.Clone(params)
		params["seconds_after_pass"] = moved(x, rng)
		return params
	}
	return v
}

// whole rounds what the file keeps as a whole number.
func whole(key string, v any) any {
	if x, ok := v.(float64); ok && strings.HasSuffix(key, "_bytes") {
		return math.Round(x)
	}
	return v
}

var (
	unread   = regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>|<svg.*?</svg>|<code>.*?</code>`)
	blockTag = regexp.MustCompile(
		`(?s)<h2 id="([^"]*)"|<(td|th|li|p|dd|dt|figcaption|h1|h3)([^>]*)>(.*?)</(?:td|th|li|p|dd|dt|figcaption|h1|h3)>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
	numeral = regexp.MustCompile(`\d+(?:\.\d+)?(?:e[-+]?\d+)?`)
)

// textBlocks are the paragraphs, list items and cells of a page. Cells go by their
// place in their section, the others by their words, since the order of sentences
// may follow from the numbers.
func textBlocks(page string) map[string]string {
	blocks := map[string]string{}
	section, cells := "", 0
	for _, m := range blockTag.FindAllStringSubmatch(unread.ReplaceAllString(page, ""), -1) {
		if m[1] != "" {
			section, cells = m[1], 0
			continue
		}
		text := strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(m[4], " "))), " ")
		key := section + " " + numeral.ReplaceAllString(text, "#")
		switch {
		case m[2] == "td":
			key = fmt.Sprintf("%s cell %d", section, cells)
			cells++
		case strings.Contains(m[3], "source"):
			key = section + " source " + text
		}
		blocks[key] = text
	}
	return blocks
}

// asked collects the numbers in what was asked for, and in names.
func asked(v any, inParams bool, into map[string]bool) {
	switch v := v.(type) {
	case string:
		addNumbers(v, into)
	case float64:
		if inParams {
			addNumbers(fmt.Sprint(v)+" "+(&bench.Result{Params: map[string]any{"": v}}).Param(""), into)
		}
	case []any:
		for _, e := range v {
			asked(e, inParams, into)
		}
	case map[string]any:
		for key, e := range v {
			addNumbers(key, into) // of metrics, such as seconds_to_gap_1e-02
			asked(e, inParams || slices.Contains(given, key), into)
		}
	}
}

func addNumbers(text string, into map[string]bool) {
	for _, n := range numeral.FindAllString(text, -1) {
		into[n] = true
	}
}

// publishedNumbers are those that the page quotes, each from a table that names its source.
func publishedNumbers(t *testing.T) map[string]bool {
	t.Helper()
	numbers := map[string]bool{}
	quote := func(table *page.Table) {
		if !strings.Contains(table.Source, "20") && !strings.Contains(table.Source, "scikit-learn 1.2.1") {
			t.Errorf("no year and no version in the source %q", table.Source)
		}
		addNumbers(table.Source+" "+strings.Join(table.Head, " ")+" "+table.Caption, numbers)
	}
	for name, group := range map[string][]bench.Result{
		"stock04": {{}}, "lorenz96": {{}}, "drosophila": {{}}, "mtr": {
			{Name: "iokl, zero Options", Params: map[string]any{"set": "edm"}},
			{Name: "iokl, zero Options", Params: map[string]any{"set": "jura"}},
		},
	} {
		for i := range group {
			group[i].Case = name
		}
		table := cases.Table(group)
		quote(table)
		for _, row := range table.Rows {
			addNumbers(strings.Join(row.Cells, " "), numbers)
		}
	}
	return numbers
}

// TestNothingIsTypedIn moves every measured number of a run at random. What the page
// says must move with it: a number that stays is one that was asked for, one that is
// quoted from a source, a number of lines, part of the description of a case, or 0.
func TestNothingIsTypedIn(t *testing.T) {
	run := quickRun(t)
	page := render(t, file(t, run))
	if strings.Contains(page, `source"></p>`) {
		t.Error("a table on the page has no source")
	}
	still := textBlocks(page)
	place := map[string][]string{} // the numbers of each block, those that moved replaced by ""
	for key, text := range still {
		place[key] = numeral.FindAllString(text, -1)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		other := textBlocks(render(t, file(t, moved(run, rng).(map[string]any))))
		for key, numbers := range place {
			now := numeral.FindAllString(other[key], -1)
			for i := range numbers {
				if i >= len(now) || numbers[i] != now[i] {
					numbers[i] = ""
				}
			}
		}
	}
	published := publishedNumbers(t)
	allowed := map[string]map[string]bool{"": {}} // by case, and in all
	asked(run, false, allowed[""])
	lines := 0
	for _, results := range file(t, run).ByCase() {
		name := results[0].Case
		allowed[name] = map[string]bool{}
		for _, a := range []map[string]bool{allowed[name], allowed[""]} {
			addNumbers(name+" "+cases.Find(name).Does, a)
			for _, b := range file(t, run).Machine.Limits.Bandwidth {
				addNumbers(bench.Bytes(float64(b.Bytes)), a)
			}
		}
		for n := range results { // lines of a case are counted
			allowed[name][fmt.Sprint(n+1)] = true
		}
		lines = max(lines, len(results))
	}
	for _, r := range run["results"].([]any) {
		asked(r, false, allowed[r.(map[string]any)["case"].(string)])
	}
	for n := range lines {
		allowed[""][fmt.Sprint(n+1)] = true
	}
	checked := 0
	for key, numbers := range place {
		section, _, _ := strings.Cut(key, " ")
		here := allowed[section]
		if here == nil {
			here = allowed[""]
		}
		quotes := strings.Contains(key, " cell ") || strings.Contains(key, " source ")
		for _, n := range numbers {
			checked++
			if n != "" && strings.Trim(n, "0.") != "" && !here[n] && !(quotes && published[n]) {
				t.Errorf("%q does not move with what was measured: %.300s", n, still[key])
			}
		}
	}
	if checked < 2000 {
		t.Errorf("only %d numbers were found on the page", checked)
	}
}
