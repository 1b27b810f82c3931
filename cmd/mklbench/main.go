// Command mklbench measures the solvers of iokl on the machine it runs on.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/report"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/interrupt"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/atomicfile"
)

func main() {
	memory.Bound(0)
	interrupt.Main("mklbench", func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, newRoot(), args, stdout, stderr)
}

//go:embed help
var help embed.FS

func newRoot() *cobra.Command {
	return cli.New("mklbench", help, newEnvCmd(), newListCmd(), newRunCmd(), newCompareCmd(), newReportCmd())
}

func newCompareCmd() *cobra.Command {
	var threshold float64
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:  "compare A.json B.json",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(threshold >= 0) {
				return fmt.Errorf("--threshold %g: must not be negative", threshold)
			}
			a, err := bench.ReadFile(args[0])
			if err != nil {
				return err
			}
			b, err := bench.ReadFile(args[1])
			if err != nil {
				return err
			}
			c := bench.Compare(a, b, threshold)
			if asJSON {
				err = writeJSON(cmd, c)
			} else {
				err = report.WriteComparison(cmd.OutOrStdout(), c, all)
			}
			if err != nil {
				return status.Failure(err)
			}
			if c.Regressed {
				return status.Failure(errors.New("slower or worse than before"))
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&threshold, "threshold", 0.1, "")
	cmd.Flags().BoolVar(&all, "all", false, "")
	cmd.Flags().BoolVar(&asJSON, "json", false, "")
	return cmd
}

func newReportCmd() *cobra.Command {
	var (
		out    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:  "report RESULT.json…",
		Args: cli.Arguments(1, math.MaxInt, "which results? name one or more files that run wrote with --out"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckOutputs(cmd, "", "out"); err != nil {
				return err
			}
			var files []*bench.File
			for _, name := range args {
				f, err := bench.ReadFile(name)
				if err != nil {
					return err
				}
				files = append(files, f)
			}
			write := func(w io.Writer) error { return report.Write(w, files) }
			if filepath.Ext(out) == ".md" {
				if len(files) > 1 {
					return errors.New("a page of evidence (.md) is of one run: name one file of results")
				}
				write = func(w io.Writer) error { return report.WriteMarkdown(w, files[0], filepath.Dir(out)) }
			}
			if err := atomicfile.Write(out, write); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "wrote", out)
			if asJSON {
				return writeJSON(cmd, map[string]string{"out": out})
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "report.html", "")
	cmd.Flags().BoolVar(&asJSON, "json", false, "")
	return cmd
}
