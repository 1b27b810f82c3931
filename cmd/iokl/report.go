// This file is the command report.

package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/cmd/internal/results"
)

func newReportCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "report FILE... --out PAGE",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("report takes models, or JSON files of cv and granger")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("give the page to write by --out")
			}
			if err := checkFile(cmd, "out"); err != nil {
				return err
			}
			var all []results.Subject
			for _, name := range args {
				s, err := reading(cmd, func() (results.Subject, error) { return results.Read(name) })
				if err != nil {
					return work(err)
				}
				all = append(all, s)
			}
			return results.WritePage(out, all...)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "")
	return cmd
}

// reportFlag is the flag of the commands that write a page about what they found.
func reportFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "report", "", "")
}
