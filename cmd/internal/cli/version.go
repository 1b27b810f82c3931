package cli

import (
	"github.com/spf13/cobra"

	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/build"
)

// addVersion gives root the flag --version and the subcommand version. Its own RunE still runs without the flag.
func addVersion(root *cobra.Command) {
	var shown, asJSON bool
	show := func(cmd *cobra.Command, _ []string) error {
		return status.Failure(build.Write(cmd.OutOrStdout(), root.Name(), asJSON))
	}
	otherwise := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if shown {
			return show(cmd, args)
		}
		return otherwise(cmd, args)
	}
	const short = "Say which version this is, of which commit, and what it computes with"
	sub := &cobra.Command{Use: "version", Short: short, Args: cobra.NoArgs, RunE: show}
	root.AddCommand(sub)
	root.Flags().BoolVar(&shown, "version", false, "as the command version")
	for _, cmd := range []*cobra.Command{root, sub} {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	}
	root.Flag("json").Usage = "with --version: print one JSON object"
}
