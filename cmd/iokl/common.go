package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/interrupt"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
)

// machine holds the flags that say how to compute and what to print.
type machine struct {
	backend string
	threads int
	seed    uint64
	memory  string
	json    bool
	quiet   bool
	verbose bool
}

func (m *machine) flags(f *pflag.FlagSet) {
	f.Uint64Var(&m.seed, "seed", 0, "")
	f.StringVar(&m.memory, "memory", "", "")
	m.compute(f)
}

// compute adds the flags of every command that computes.
func (m *machine) compute(f *pflag.FlagSet) {
	f.StringVar(&m.backend, "backend", "", "")
	f.IntVar(&m.threads, "threads", 0, "")
	m.output(f)
}

// output adds the flags of every command.
func (m *machine) output(f *pflag.FlagSet) {
	f.BoolVar(&m.json, "json", false, "")
	f.BoolVarP(&m.quiet, "quiet", "q", false, "")
	f.BoolVarP(&m.verbose, "verbose", "v", false, "")
}

// apply sets backend, threads and memory limit for the whole program, and returns the limit in bytes.
func (m *machine) apply() (limit int64, err error) {
	be := blas.Default()
	if m.backend != "" {
		if be, err = blas.ByName(m.backend); err != nil {
			return 0, fmt.Errorf("--backend: %w", err)
		}
	}
	if m.memory != "" {
		if limit, err = parseBytes(m.memory); err != nil {
			return 0, err
		}
	}
	blas.Use(be)
	blas.SetThreads(m.threads)
	memory.Bound(limit)
	return limit, nil
}

// byteSize matches a number, the prefix of a unit and the rest of the unit.
var byteSize = regexp.MustCompile(`(?is)^\s*(.*?)\s*(?:([KMGT])(i?B)?|B)?\s*$`)

// parseBytes reads a size such as 500MB, 4GiB or 1e9.
func parseBytes(text string) (int64, error) {
	part, base := byteSize.FindStringSubmatch(text), 1024.0
	if strings.EqualFold(part[3], "B") {
		base = 1000
	}
	v, err := strconv.ParseFloat(part[1], 64)
	v *= math.Pow(base, float64(strings.Index(" KMGT", strings.ToUpper(part[2]))))
	if err != nil || !(v >= 1) || v > math.MaxInt64/2 {
		return 0, fmt.Errorf("--memory %q is not a size such as 500MB or 4GiB", text)
	}
	return int64(v), nil
}

// writeJSON prints one object.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if large := (*json.UnsupportedValueError)(nil); errors.As(err, &large) {
		return status.Input("the result holds %s: rescale the data", large.Str)
	}
	return status.Failure(err)
}

// print writes a report to standard output, as JSON where that is asked for.
func (m *machine) print(cmd *cobra.Command, report interface{ Write(w io.Writer) error }) error {
	if m.json {
		return writeJSON(cmd.OutOrStdout(), report)
	}
	return report.Write(cmd.OutOrStdout())
}

// stdin gives access to standard input and pipes, which can be read only once, and may keep their content.
type stdin struct {
	r     io.Reader
	again bool              // keep what is read, for a second reader
	kept  map[string][]byte // what was read, by name
}

var errStdinTwice = errors.New("standard input (-) can be read only once")

// once reports whether the file can be read only once: standard input and pipes.
func once(name string) bool {
	info, err := os.Stat(name)
	return name == "-" || err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// take returns the reader of the file; nil means that the file is opened by its name.
func (s *stdin) take(name string) (io.Reader, error) {
	if !once(name) || name != "-" && !s.again {
		return nil, nil
	}
	b, ok := s.kept[name]
	if ok && !s.again {
		return nil, errStdinTwice
	}
	if !ok {
		if s.kept == nil {
			s.kept = make(map[string][]byte)
		}
		s.kept[name] = nil
		if !s.again {
			return s.r, nil
		}
		r := s.r
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			r = f
		}
		var err error
		if b, err = memory.ReadAll(r, "reading "+name); err != nil {
			return nil, status.Input("%s: %w", name, err)
		}
		s.kept[name] = b
	}
	return bytes.NewReader(b), nil
}

// reading returns what f reads, or a failure as soon as the command is interrupted.
func reading[T any](cmd *cobra.Command, f func() (T, error)) (T, error) {
	v, err := interrupt.Do(cmd.Context(), f)
	if cmd.Context().Err() != nil {
		err = status.Failure(errors.New("interrupted while reading: nothing was saved"))
	}
	return v, err
}

// parseFloats reads a comma-separated list, nil for no text.
func parseFloats(flag, text string) (out []float64, err error) {
	if text == "" {
		return nil, nil
	}
	for _, item := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil {
			return nil, fmt.Errorf("--%s: %q is not a number", flag, item)
		}
		out = append(out, v)
	}
	return out, nil
}

// numbered numbers distinct values from 0 in the order of their first occurrence. Blank ones are left at 0.
func numbered[T comparable](values []T, blank []bool) []int {
	numbers, at := make([]int, len(values)), map[T]int{}
	for i, v := range values {
		if i < len(blank) && blank[i] {
			continue
		}
		if _, known := at[v]; !known {
			at[v] = len(at)
		}
		numbers[i] = at[v]
	}
	return numbers
}

// commandLine is the command with the given flags, quoted for a shell. Flags of output are left out, so that two runs
// that differ in these alone make the same model file.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"out", "report", "plot", "json", "quiet", "verbose"}, f.Name) {
			return
		}
		for _, v := range cli.Values(f) {
			switch {
			case f.Value.Type() != "bool":
				words = append(words, "--"+f.Name, shellWord(v))
			case v == "true":
				words = append(words, "--"+f.Name)
			default:
				words = append(words, "--"+f.Name+"=false")
			}
		}
	})
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[-\w./:,=+@%]+$`)

// shellWord quotes a word for a shell where it needs quotes.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
