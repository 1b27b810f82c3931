// Command iokl fits vector-valued kernel models to files of data, predicts with
// them, cross-validates, and infers causal graphs from time series.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/interrupt"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/kernel"
)

func main() {
	interrupt.Main("iokl", func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	})
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	soft := debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetMemoryLimit(soft)
		memory.SetLimit(0)
	}()
	root := newRoot()
	root.SetIn(stdin)
	return cli.Run(ctx, root, args, stdout, stderr)
}

// inputErrors are the errors that have exit status 2.
var inputErrors = append([]error{
	iokl.ErrInput, iokl.ErrMemory, iokl.ErrModel, table.ErrData, fs.ErrNotExist, fs.ErrPermission,
}, grangerErrors...)

// work marks every error but inputErrors as a failure of the work, exit status 1.
func work(err error) error {
	if slices.ContainsFunc(inputErrors, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	return status.Failure(err)
}

//go:embed help
var help embed.FS

func newRoot() *cobra.Command {
	kernels := &cobra.Command{Use: "kernels"}
	root := cli.New("iokl", help, newFitCmd(), newPredictCmd(), newUpdateCmd(), newCVCmd(), newGrangerCmd(),
		newInfoCmd(), newReportCmd(), newExportCmd(), kernels, &cobra.Command{Use: "tables"})
	kernels.Long = strings.Replace(kernels.Long, "KERNELS\n", kernel.Usage()+"\n", 1)
	root.PersistentPreRunE = checkValues
	root.SetFlagErrorFunc(unknownFlag)
	return root
}

// bounds are the conditions on numeric flags, with the message where one does not hold.
var bounds = []struct {
	flags []string
	what  string
	holds func(v float64) bool
}{
	{
		[]string{"lambda", "tau", "tol", "budget"},
		"it must be positive",
		func(v float64) bool { return v > 0 },
	},
	{
		[]string{
			"threads", "max-outer", "max-levels", "repeats", "lag", "stability", "null", "top", "block", "forecast",
		},
		"at least 1 is needed", func(v float64) bool { return v >= 1 },
	},
	{[]string{"folds"}, "at least 2 are needed", func(v float64) bool { return v >= 2 }},
	{[]string{"threshold"}, "it may not be negative", func(v float64) bool { return v >= 0 }},
	{[]string{"interval"}, "it must lie between 0 and 1", func(v float64) bool { return v > 0 && v < 1 }},
}

// choices are the values of flags that take one of a few words.
var choices = map[string][]string{
	"header": {"auto", "yes", "no"}, "missing": {"mean", "error"}, "missing-targets": {"use", "error"},
	"categories": {"auto", "error"}, "hide": {"rows", "cells"}, "certify": {"global"},
	"method": {"held-out", "cv+", "jackknife+", "conformal"},
}

// purposes lists, for a flag of all commands or of one, the flags of which one must be given with it.
var purposes = map[string][]string{
	"checkpoint-rows": {"stream"}, "survey-rows": {"stream"}, "cv --checkpoint": {"stream"},
	"top": {"stability"}, "block": {"stability"}, "granger --checkpoint": {"stability", "null"},
	"granger --interval": {"forecast"},
}

// checkValues refuses given flags whose values are out of bounds or not among the choices, and flags that need another
// one that is not given.
func checkValues(cmd *cobra.Command, _ []string) (err error) {
	if cmd.Flags().Lookup("memory") == nil { // the other commands set the bound from --memory
		memory.Bound(0)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		text := f.Value.String()
		v, notNumber := strconv.ParseFloat(text, 64)
		if d, e := time.ParseDuration(text); e == nil {
			v, notNumber = d.Seconds(), nil
		}
		usual := cmd.Name() == "update" && text == f.DefValue // 0 means the value of the fit
		for _, b := range bounds {
			if slices.Contains(b.flags, f.Name) && notNumber == nil && !b.holds(v) && !usual && err == nil {
				err = fmt.Errorf("--%s %s: %s", f.Name, text, b.what)
			}
		}
		if words := choices[f.Name]; words != nil && !slices.Contains(words, text) && err == nil {
			err = fmt.Errorf("--%s %q: want %s", f.Name, text,
				strings.Replace(page.Enumerated(words, len(words)), " and ", " or ", 1))
		}
		of := slices.Concat(purposes[f.Name], purposes[cmd.Name()+" --"+f.Name])
		if of != nil && !slices.ContainsFunc(of, cmd.Flags().Changed) && err == nil {
			err = fmt.Errorf("--%s is for --%s", f.Name, strings.Join(of, " and --"))
		}
	})
	return err
}

// newCommand is a command without arguments.
func newCommand(name string, run func(cmd *cobra.Command) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Args: flagsOnly, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) },
	}
}

// flagsOnly refuses arguments, and suggests the flag that an argument may belong to.
func flagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	flags := []string{"x", "series", "model"}
	if strings.HasSuffix(args[0], ".iokl") {
		slices.Reverse(flags)
	}
	for _, name := range flags {
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Errorf("%q is no flag: is it --%s %s?", args[0], name, args[0])
		}
	}
	return fmt.Errorf("%q is no flag: see %s --help", args[0], cmd.CommandPath())
}

// unknownFlag adds the flags of similar names, or the first example of the command, to the error about an unknown flag.
func unknownFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	near := flags.SuggestionsFor(unknown.GetSpecifiedName())
	if len(near) > 0 && len(unknown.GetSpecifiedName()) > 1 {
		return fmt.Errorf("%w: is it --%s?", err, strings.Join(near, " or --"))
	}
	how := "usage: " + cmd.UseLine()
	if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
		how = "for example: " + example
	}
	return fmt.Errorf("%w (%s; see %s --help)", err, how, cmd.CommandPath())
}
