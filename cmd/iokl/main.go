// Command iokl fits vector-valued kernel models to files of data, predicts with
// them, cross-validates, and infers causal graphs from time series.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/manual"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/cmd/internal/version"
	"github.com/iokl/iokl/internal/interrupt"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/table"
)

func main() {
	interrupt.Main("iokl", func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	})
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "iokl: internal error: %v\n", r)
			code = status.Failed
		}
	}()
	soft := debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetMemoryLimit(soft)
		memory.SetLimit(0)
	}()
	out := &sticky{w: stdout}
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if out.err != nil {
		err = status.Failure(fmt.Errorf("standard output: %w", out.err))
	}
	return status.End(stderr, "iokl", err)
}

// sticky remembers that writing failed, for those that do not look.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

// inputErrors are about the input.
var inputErrors = append([]error{
	iokl.ErrInput, iokl.ErrMemory, iokl.ErrModel, table.ErrData, fs.ErrNotExist, fs.ErrPermission,
}, grangerErrors...)

// work marks errors that are not known to be about the input as failures of the work.
func work(err error) error {
	if slices.ContainsFunc(inputErrors, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	return status.Failure(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "iokl",
		PersistentPreRunE: checkValues,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: see iokl --help", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: fit, predict, update, cv, granger, info, report or export " +
				"(see iokl --help)")
		},
	}
	root.AddCommand(newFitCmd(), newPredictCmd(), newCVCmd(), newGrangerCmd(), newInfoCmd(), newUpdateCmd(),
		newReportCmd(), newExportCmd(), &cobra.Command{Use: "kernels"}, &cobra.Command{Use: "tables"})
	root.SetFlagErrorFunc(unknownFlag)
	describe(root)
	version.Add(root)
	manual.Add(root)
	return root
}
