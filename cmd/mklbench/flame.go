package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/atomicfile"
)

func newFlameCmd() *cobra.Command {
	var (
		out    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "flame CPU.pprof",
		Short: "Draw a CPU profile as a flame graph, an SVG file",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			if err := atomicfile.Write(out, func(w io.Writer) error { return bench.WriteFlame(w, in) }); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "wrote", out)
			if asJSON {
				return writeJSON(cmd, map[string]string{"out": out})
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "flame.svg", "file to write")
	addJSON(cmd, &asJSON, "")
	return cmd
}
