// This file is the command report.

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/report"
	"github.com/iokl/iokl/internal/atomicfile"
)

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
