package cases

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/table"
)

//go:embed scripts
var peerScripts embed.FS

// peerJob is a measurement by another program, on data of ours.
type peerJob struct {
	script string // in scripts/
	data   map[string]blas.General
	params map[string]any
	count  int      // of repetitions, unless the user asked for another number; 0 means 3
	args   []string // after the folder and the number of repetitions
}

// otherPrograms adds what the job measures with this run's threads and repetitions. Where the program
// is absent it notes why.
func otherPrograms(ctx context.Context, e *bench.Env, job peerJob) error {
	program, missing := interpreter(ctx, job.script)
	if program == nil {
		e.Skip("%s: %s", job.script, missing)
		return nil
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, peerScripts); err != nil {
		return err
	}
	for name, a := range job.data {
		if err := table.WriteNpy(filepath.Join(dir, name+".npy"), a); err != nil {
			return err
		}
	}
	args := append(program[1:], filepath.Join(dir, "scripts", job.script), dir,
		strconv.Itoa(e.Repeats(cmp.Or(job.count, 3))))
	cmd := exec.CommandContext(ctx, program[0], append(args, job.args...)...)
	threads := strconv.Itoa(e.Threads)
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS="+threads, "OMP_NUM_THREADS="+threads)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	bad := job.parse(e, text)
	if err != nil {
		// Python says what went wrong in the last line.
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return fmt.Errorf("%s: %w: %s", job.script, err, lines[len(lines)-1])
	}
	return bad
}

// parse adds the results of a JSON object a line.
func (job *peerJob) parse(e *bench.Env, text []byte) error {
	for line := range bytes.Lines(text) {
		var got struct {
			Name, Version string
			Seconds       []float64
			Metrics       map[string]float64
		}
		if err := json.Unmarshal(line, &got); err != nil {
			return fmt.Errorf("%s: %w", job.script, err)
		}
		program, _, _ := strings.Cut(got.Name, " ")
		r := bench.Result{Name: got.Name, Params: maps.Clone(job.params)}
		r.Params["backend"], r.Params["version"] = program, got.Version
		r.Time(got.Seconds)
		for key, v := range got.Metrics {
			if key == "residual" {
				r.Residual = bench.Num(v)
				continue
			}
			r.Metric(key, v)
		}
		e.Add(r)
	}
	return nil
}

// interpreter is the command that runs the script, or nil and what is missing.
// Debian's Python has the Debian packages where another comes first in PATH.
func interpreter(ctx context.Context, script string) (program []string, missing string) {
	if filepath.Ext(script) == ".m" {
		if octave, err := exec.LookPath("octave-cli"); err == nil {
			return []string{octave, "--norc", "--quiet"}, ""
		}
		return nil, "octave is not here (Debian: apt-get install octave octave-control)"
	}
	modules, debian := "sklearn, scipy", "python3-sklearn"
	if strings.HasSuffix(script, "_torch.py") {
		modules, debian = "torch, numpy", "python3-torch"
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(ctx, python, "-c", "import "+modules).Run() == nil {
			return []string{python}, ""
		}
	}
	return nil, fmt.Sprintf("python3 with %s is not here (Debian: apt-get install %s)", strings.ReplaceAll(modules, ",",
		" and"), debian)
}
