// Command mklbench measures the solvers of iokl on the machine it runs on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	_ "github.com/iokl/iokl/bench/cases" // registers every case
	"github.com/iokl/iokl/bench/report"
	"github.com/iokl/iokl/cmd/internal/manual"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/cmd/internal/version"
	"github.com/iokl/iokl/internal/atomicfile"
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

func newCompareCmd() *cobra.Command {
	var threshold float64
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Say what changed from one run to another, beyond chance",
		Long: `Compare tests each line that both runs measured by the Mann–Whitney U test, as benchstat does. A line counts as
changed when p < 0.05, corrected for the number of lines (Benjamini and Hochberg), and both median and minimum differ
by more than the threshold; with many lines, run with --count 10 to find small changes of few. Exit status 1 means that
something became slower, or its answer worse.`,
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
				err = c.Write(cmd.OutOrStdout(), all)
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
	cmd.Flags().Float64Var(&threshold, "threshold", 0.1, "smallest change that counts, as a fraction")
	cmd.Flags().BoolVar(&all, "all", false, "show every line, not only those that changed")
	addJSON(cmd, &asJSON, ", every line in it")
	return cmd
}

func newReportCmd() *cobra.Command {
	var (
		out    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "report RESULT.json…",
		Short: "Write one self-contained HTML page about one or several runs",
		Long: `Report writes one HTML page that needs no network. With a name that ends in .md it writes the page of evidence
instead: Markdown by topic, with its pictures in the folder pictures beside it.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which results? name one or more files that run wrote with --out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
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
	cmd.Flags().StringVarP(&out, "out", "o", "report.html", "file to write")
	addJSON(cmd, &asJSON, "")
	return cmd
}
