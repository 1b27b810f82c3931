package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/build"
)

const exitOK, exitFailed, exitUsage = status.OK, status.Failed, status.Usage

// quickest is a case of a second or less with several results.
const quickest = "sylvester:500x10"

func mklbench(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(context.Background(), args, &out, &err)
	return status, out.String(), err.String()
}

func TestNonsense(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.json")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"", "a command is missing"},
		{"fly", `unknown command "fly"`},
		{"run", "which case?"},
		{"run nonsense", `unknown case "nonsense"`},
		{"run digits --quikc", "--quikc"},
		{"run digits --count -1", "--count -1"},
		{"run digits --count many", "many"},
		{"run digits --threads -2", "--threads -2"},
		{"run digits --backend abacus", `"abacus"`},
		{"run digits --json --bench", "exclude each other"},
		{"run digits --resume", "--out"},
		{"run digits --resume --out " + text, "not a result"},
		{"run digits --out " + dir + "/none/x.json", "none/x.json"},
		{"run digits --cpuprofile " + dir + "/none/x", "none/x"},
		{"run digits --pprof nowhere", "nowhere"},
		{"run digits --out " + dir + "/r --trace " + dir + "/./r", "same file"},
		{"run digits --out " + dir + "/r --plots " + dir + "/r", "same file"},
		{"run digits --cpuprofile " + dir + "/r --memprofile " + dir + "/r", "same file"},
		{"report " + text + " --out " + text, "same file"},
		{"env more", "more"},
		{"list more", "more"},
		{"compare " + text, "accepts 2 arg(s)"},
		{"compare " + text + " " + text, "not a result"},
		{"compare a b --threshold -1", "--threshold -1"},
		{"report", "which results?"},
		{"report " + dir + "/absent.json", "absent.json"},
	} {
		status, stdout, stderr := mklbench(t, strings.Fields(c.args)...)
		if status != exitUsage || stdout != "" {
			t.Errorf("mklbench %s: status %d, output %q", c.args, status, stdout)
		}
		if n := strings.Count(stderr, "\n"); n != 1 || !strings.HasPrefix(stderr, "mklbench: ") ||
			!strings.Contains(stderr, c.says) {
			t.Errorf("mklbench %s says %q in %d lines", c.args, stderr, n)
		}
	}
}

// The file of results is that of one run at a time.
func TestRunsAtOnce(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.json")
	unlock, err := atomicfile.TryLock(out)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := mklbench(t, "run", quickest, "--out", out); status != exitFailed ||
		!strings.Contains(stderr, "another process") {
		t.Errorf("status %d, %s", status, stderr)
	}
	unlock()
	if status, _, stderr := mklbench(t, "run", quickest, "--quick", "--out", out); status != exitOK {
		t.Errorf("when the file is free: status %d, %s", status, stderr)
	}
}

func TestList(t *testing.T) {
	status, stdout, _ := mklbench(t, "list")
	for _, name := range []string{"digits", "sylvester", "caltech", "operator"} {
		if status != exitOK || !strings.Contains(stdout, name+" ") {
			t.Errorf("status %d, no %s in %q", status, name, stdout)
		}
	}
}

// result is what the JSON of a run promises to programs.
type result struct {
	Machine map[string]any
	Results []struct {
		Case, Name string
		Params     map[string]any
		Seconds    float64
		Count      int
	}
}

// TestRun follows a run from measuring to the page and the comparison with itself.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	out, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	status, stdout, stderr := mklbench(t, "run", quickest, "--quick", "--json", "--out", out, "--threads", "1",
		"--seed", "7", "--cpuprofile", filepath.Join(dir, "cpu"), "--memprofile", filepath.Join(dir, "mem"), "--trace",
		filepath.Join(dir, "trace"))
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	written, err := os.ReadFile(out)
	if err != nil || string(written) != stdout {
		t.Errorf("the file and standard output differ: %v", err)
	}
	var r result
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	var raw struct{ Machine, Results json.RawMessage }
	if err := dec.Decode(&raw); err != nil || dec.More() {
		t.Fatalf("not exactly one object of machine and results: %v", err)
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Results) < 3 || r.Results[0].Case != "sylvester" || r.Results[1].Seconds <= 0 ||
		r.Results[1].Params["seed"] != 7.0 {
		t.Errorf("results %+v", r.Results)
	}
	for _, name := range []string{"cpu", "mem", "trace"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, _, stderr := mklbench(t, "report", out, "--out", page); status != exitOK {
		t.Errorf("report: status %d, %s", status, stderr)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "nystrom") {
		t.Errorf("the page: %v", err)
	}
	if status, stdout, stderr := mklbench(t, "compare", out, out); status != exitOK ||
		!strings.Contains(stdout, "no difference") {
		t.Errorf("compared with itself: status %d, %s%s", status, stdout, stderr)
	}
}

// TestJSON checks that every command prints exactly one JSON object when asked to.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	for _, c := range []struct {
		args string
		has  []string
	}{
		{"env --threads 1 --json", []string{"cpu", "limits", "blocks"}},
		{"list --json", []string{"cases"}},
		{
			"run " + quickest + " --quick --json --cpuprofile " + dir + "/cpu --out " + out,
			[]string{"machine", "results"},
		},
		{"compare --json " + out + " " + out, []string{"lines", "regressed", "threshold"}},
		{"report --json " + out + " --out " + dir + "/r.html", []string{"out"}},
	} {
		status, stdout, stderr := mklbench(t, strings.Fields(c.args)...)
		dec := json.NewDecoder(strings.NewReader(stdout))
		var object map[string]any
		if err := dec.Decode(&object); status != exitOK || err != nil || dec.More() {
			t.Errorf("mklbench %s: status %d, %v, %s%s", c.args, status, err, stdout, stderr)
		}
		for _, key := range c.has {
			if _, ok := object[key]; !ok {
				t.Errorf("mklbench %s: no %q in %s", c.args, key, stdout)
			}
		}
	}
}

// TestInterrupted checks that what was measured before Ctrl-C is kept.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := filepath.Join(t.TempDir(), "r.json")
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"run", quickest, "--quick", "--out", out}, &stdout, &stderr)
	if status != exitFailed || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	var r result
	if data, err := os.ReadFile(out); err != nil || json.Unmarshal(data, &r) != nil {
		t.Errorf("no whole file was left: %v", err)
	}
	again := func(args ...string) (int, string) {
		status, _, stderr := mklbench(t, append([]string{"run", quickest, "--quick", "--resume", "--out", out},
			args...)...)
		return status, stderr
	}
	if status, says := again(); status != exitOK || strings.Contains(says, "measured before") {
		t.Errorf("continued from nothing: status %d, %q", status, says)
	}
	if status, says := again(); status != exitOK || !strings.Contains(says, "sylvester: measured before") {
		t.Errorf("continued: status %d, %q", status, says)
	}
	if status, says := again("--seed", "2"); status != exitUsage || !strings.Contains(says, `seed was "1" and is "2"`) {
		t.Errorf("continued with another seed: status %d, %q", status, says)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"version"}} {
		status, out, _ := mklbench(t, append(args, "--json")...)
		var i build.Info
		if err := json.Unmarshal([]byte(out), &i); err != nil || status != exitOK || i.Version != build.Version {
			t.Errorf("%v: status %d, %v, %+v", args, status, err, i)
		}
		if status, out, _ := mklbench(t, args...); status != exitOK ||
			!strings.HasPrefix(out, "mklbench "+build.Version+", commit ") {
			t.Errorf("%v: status %d, %q", args, status, out)
		}
	}
}
