package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every guide's commands run as they are printed, and write what they say.
func TestGuides(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the guides need a POSIX shell")
	}
	root := moduleRoot(t)
	bin := filepath.Join(t.TempDir(), "iokl")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for guide, files := range map[string][]string{
		"forecasting.md": {
			"macro.iokl", "coupled.iokl", "forecasts.csv", "pictures/outputs.png",
			"pictures/predictions1.svg", "graph.dot", "pictures/network.png",
		},
		"digits.md":      {"digits.iokl", "read.csv", "pictures/weights.png", "pictures/cv.svg"},
		"choosing.md":    {"all.iokl", "each.iokl", "sum.iokl", "pictures/cv.png", "budget.json"},
		"kernels.md":     {"ard.iokl", "pictures/cv.png"},
		"certificate.md": {"global.json", "b.json"},
		"race.md":        {"fit.json"},
		"intervals.md": {
			"sure.iokl", "intervals.csv", "pictures/coverage.png", "pictures/intervals1.png", "digits/calibration.png",
		},
		"living-models.md": {"model.iokl", "later.iokl", "window.iokl", "small.iokl"},
		"weights.md":       {"weighted.iokl", "uneven-intervals.csv"},
		"losses.md":        {"robust.iokl", "fan.csv", "fan-intervals.csv", "high-p.csv"},
		"missing.md":       {"macro.iokl", "filled.csv", "scores.json", "mixed.iokl"},
	} {
		t.Run(guide, func(t *testing.T) {
			if testing.Short() && (guide == "choosing.md" || guide == "intervals.md") {
				t.Skip("chooses and fits for half a minute")
			}
			t.Parallel()
			dir := withBench(t)
			text := mustRead(t, filepath.Join(root, "docs", guide))
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, sh, "-eu")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(blocks(string(text)))
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, name := range files {
				if s, err := os.Stat(filepath.Join(dir, name)); err != nil || s.Size() == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// blocks joins the shell blocks of a page.
func blocks(page string) string {
	var b strings.Builder
	for i, part := range strings.Split(page, "```") {
		if code, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			b.WriteString(code)
		}
	}
	return b.String()
}
