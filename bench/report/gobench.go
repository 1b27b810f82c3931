// This file writes results in Go's benchmark format.

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
)

// WriteBench writes the results in Go's benchmark format, for benchstat: a line
// for each repetition, with parameters as key=value parts of the name.
func WriteBench(w io.Writer, f *bench.File) error {
	m := f.Machine
	head := [][2]string{
		{"goos", m.OS},
		{"goarch", m.Arch},
		{"pkg", "github.com/iokl/iokl/bench"},
		{"cpu", m.CPU},
		{"go", m.Go},
		{"commit", m.Commit},
		{"backend", strings.TrimSpace(m.Backend.Backend + " " + m.Backend.Version + " " + m.Backend.Kernel)},
		{"threads", fmt.Sprint(m.Threads)},
		{"seed", fmt.Sprint(m.Seed)},
	}
	for _, kv := range head {
		if kv[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", kv[0], kv[1]); err != nil {
			return err
		}
	}
	for _, r := range f.Results {
		for _, s := range r.Samples {
			if _, err := fmt.Fprintf(w, "%s\t1\t%.0f ns/op%s\n", benchName(r), s*1e9, units(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchName is Benchmark<Case>/name=…/param=…, with what Go's format reserves replaced.
func benchName(r bench.Result) string {
	clean := strings.NewReplacer(" ", "_", "/", ":", "\t", "_")
	var b strings.Builder
	b.WriteString("Benchmark" + strings.ToUpper(r.Case[:1]) + r.Case[1:])
	b.WriteString("/name=" + clean.Replace(r.Name))
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		b.WriteString("/" + clean.Replace(key) + "=" + clean.Replace(r.Param(key)))
	}
	return b.String()
}

// units are the figures beside the time.
func units(r bench.Result) string {
	var b strings.Builder
	add := func(v float64, unit string) { fmt.Fprintf(&b, "\t%.6g %s", v, unit) }
	if r.GFlops > 0 {
		add(r.GFlops, "GFLOP/s")
	}
	for _, u := range []struct {
		v    *float64
		unit string
	}{{r.Accuracy, "accuracy"}, {r.Objective, "objective"}, {r.RelativeGap, "gap"}, {r.Residual, "residual"}} {
		if u.v != nil {
			add(*u.v, u.unit)
		}
	}
	return b.String()
}
