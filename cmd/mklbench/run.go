// This file is the commands run, list and env.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/cases"
	"github.com/iokl/iokl/bench/report"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/atomicfile"
)

// common are the flags of the commands that compute.
type common struct {
	backend string
	threads int
	seed    uint64
	own     bool // libraries choose their kernels
}

func (c *common) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.backend, "backend", blas.Default().Name(), "")
	cmd.Flags().IntVar(&c.threads, "threads", 0, "")
	cmd.Flags().Uint64Var(&c.seed, "seed", 1, "")
	cmd.Flags().BoolVar(&c.own, "own-cores", false, "")
}

// unforce starts the program anew, without the variables that decide which kernels
// libraries run: they have been read by now. It returns only where there are none or it fails.
func (c *common) unforce() error {
	if !c.own || len(bench.Forced()) == 0 {
		return nil
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, unforced())
	}
	return status.Failure(fmt.Errorf("--own-cores: %w: start without %s", err, strings.Join(bench.Forced(), " ")))
}

// unforced is the environment without the variables that decide which kernels libraries run.
func unforced() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return slices.Contains(bench.Forced(), v) })
}

// writeJSON prints one object.
func writeJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", " ")
	return status.Failure(enc.Encode(v))
}

// env makes the choice that of the whole program.
func (c *common) env(log io.Writer) (*bench.Env, error) {
	be, err := blas.ByName(c.backend)
	if err != nil {
		return nil, err
	}
	if c.threads < 0 {
		return nil, fmt.Errorf("--threads %d: must be positive, or 0 for all processors", c.threads)
	}
	if err := c.unforce(); err != nil {
		return nil, err
	}
	blas.Use(be)
	bench.SetThreads(c.threads)
	env := bench.NewEnv()
	env.Seed = c.seed
	env.Log = func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }
	return env, nil
}

func newEnvCmd() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:  "env",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := c.env(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			m := bench.Describe(env)
			env.WarnForced()
			limits := env.Limits()
			m.Limits = &limits
			if be, ok := env.Backend.(*blas.Native); ok {
				m.Blocks = be.Blockings()
			}
			return writeJSON(cmd, m)
		},
	}
	c.add(cmd)
	cmd.Flags().Bool("json", false, "")
	return cmd
}

func newListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:  "list",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				var all []map[string]string
				for _, c := range cases.All {
					all = append(all, map[string]string{
						"name": c.Name, "length": length(c), "description": c.Does,
					})
				}
				return writeJSON(cmd, map[string]any{"cases": all})
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, c := range cases.All {
				fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, length(c), c.Does)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "")
	return cmd
}

// length says about how long a case takes in full on two processors.
func length(c bench.Case) string {
	if c.Minutes > 0 {
		return fmt.Sprintf("%g min", c.Minutes)
	}
	return "< 1 min"
}

type runFlags struct {
	common
	quick, json, bench bool
	resume             bool
	count              int
	budget             time.Duration
	data, out, plots   string
	profile            profiles
}

func newRunCmd() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:  "run CASE…",
		Args: cli.Arguments(1, math.MaxInt, "which case? mklbench list names them, all stands for every one"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "")
	fl.IntVar(&f.count, "count", 0, "")
	fl.DurationVar(&f.budget, "budget", 0, "")
	fl.StringVar(&f.data, "data", "", "")
	fl.BoolVar(&f.json, "json", false, "")
	fl.BoolVar(&f.bench, "bench", false, "")
	fl.StringVarP(&f.out, "out", "o", "", "")
	fl.BoolVar(&f.resume, "resume", false, "")
	fl.StringVar(&f.plots, "plots", "", "")
	f.profile.add(fl)
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) (err error) {
	cases, err := bench.Select(cases.All, args)
	if err != nil {
		return err
	}
	switch {
	case f.count < 0:
		return fmt.Errorf("--count %d: must be positive", f.count)
	case f.budget < 0:
		return fmt.Errorf("--budget %v: must be positive", f.budget)
	case f.resume && f.out == "":
		return errors.New("--resume: name the file to continue with --out")
	case f.json && f.bench:
		return errors.New("--json and --bench exclude each other")
	}
	env, err := f.env(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	env.Quick, env.Count, env.Data, env.Budget = f.quick, f.count, f.data, f.budget
	if err := cli.CheckOutputs(cmd, "", "out", "plots", "cpuprofile", "memprofile", "trace"); err != nil {
		return err
	}
	if f.out != "" {
		unlock, err := atomicfile.TryLock(f.out)
		if err != nil {
			return status.Failure(fmt.Errorf("--out: %w", err))
		}
		defer unlock()
	}
	if err := f.keep(env); err != nil {
		return err
	}
	stop, err := f.profile.start(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	file, runErr := bench.Run(cmd.Context(), cases, env)
	if err := errors.Join(stop(), f.show(cmd, file)); err != nil {
		return status.Failure(err)
	}
	return status.Failure(runErr)
}

// keep writes the file after every case, so that a run that ends early can be
// continued, and continues the one that is there if that was asked for.
func (f *runFlags) keep(env *bench.Env) error {
	if f.out == "" {
		return nil
	}
	env.Keep = func(file *bench.File) {
		if err := atomicfile.Write(f.out, file.WriteJSON); err != nil {
			env.Log("  not kept: %v", err)
		}
	}
	if _, err := os.Stat(f.out); !f.resume || err != nil {
		return nil // nothing to continue
	}
	earlier, err := bench.ReadFile(f.out)
	switch {
	case errors.Is(err, bench.ErrEmpty):
		return nil
	case err != nil:
		return err
	}
	if err := env.Continue(earlier); err != nil {
		return fmt.Errorf("%s: %w", f.out, err)
	}
	return nil
}

// show writes the outcome wherever it was asked for.
func (f *runFlags) show(cmd *cobra.Command, file *bench.File) error {
	var errs []error
	if f.out != "" {
		errs = append(errs, atomicfile.Write(f.out, file.WriteJSON))
	}
	if f.plots != "" {
		names, err := report.Draw(file, f.plots)
		for _, name := range names {
			fmt.Fprintln(cmd.ErrOrStderr(), "wrote", name)
		}
		errs = append(errs, err)
	}
	out := cmd.OutOrStdout()
	switch {
	case f.json:
		errs = append(errs, file.WriteJSON(out))
	case f.bench:
		errs = append(errs, report.WriteBench(out, file))
	default:
		errs = append(errs, report.WriteTable(out, file))
	}
	return errors.Join(errs...)
}
