// This file is the command compare.

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/cmd/internal/status"
)

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
