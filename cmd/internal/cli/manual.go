package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/build"
)

// addManual gives root the hidden subcommand man, which writes manual pages. They are dated by SOURCE_DATE_EPOCH where
// the environment has it.
func addManual(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands to a folder", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			head := &doc.GenManHeader{Section: "1", Source: "iokl " + build.Version, Manual: "iokl"}
			return status.Failure(doc.GenManTree(root, head, args[0]))
		},
	})
}
