// Command mklbench measures the solvers of iokl on the machine it runs on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	_ "github.com/iokl/iokl/bench/cases" // registers every case
	"github.com/iokl/iokl/cmd/internal/manual"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/cmd/internal/version"
	"github.com/iokl/iokl/internal/interrupt"
	"github.com/iokl/iokl/internal/memory"
)

func main() {
	memory.Bound(0)
	interrupt.Main("mklbench", func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return status.End(stderr, "mklbench", root.ExecuteContext(ctx))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "mklbench",
		Short:         "Measure the solvers of iokl on this machine",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: see mklbench --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.New("a command is missing: env, list, run, compare or report (see mklbench --help)")
		},
	}
	root.AddCommand(newEnvCmd(), newListCmd(), newRunCmd(), newCompareCmd(), newReportCmd())
	version.Add(root)
	manual.Add(root)
	return root
}
