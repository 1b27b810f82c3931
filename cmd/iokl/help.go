// This file reads the help of commands and flags, which is text in the folder help.

package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/kernel"
)

// help has a file for each command and topic: a line, a text, and examples; and flags.txt, where what is said of a flag
// follows its name, behind that of a command where others say something else of theirs.
//
//go:embed help
var help embed.FS

// describe fills in what the root and its commands say about themselves and their flags.
func describe(root *cobra.Command) {
	usage := map[string]string{}
	for _, block := range strings.Split(strings.TrimSpace(helpText("flags")), "\n\n") {
		name, text, _ := strings.Cut(block, "\n")
		usage[name] = text
	}
	for _, c := range append(root.Commands(), root) {
		text, examples, _ := strings.Cut(helpText(c.Name()), "\nExamples:\n")
		c.Short, c.Long, _ = strings.Cut(strings.TrimRight(text, "\n"), "\n\n")
		c.Long = strings.Replace(c.Long, "KERNELS\n", kernel.Usage()+"\n", 1)
		c.Example = strings.TrimRight(examples, "\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, name := range []string{c.Name() + " --" + f.Name, "--" + f.Name} {
				if f.Usage == "" {
					f.Usage = usage[name]
				}
			}
		})
	}
}

// helpText is a file of the folder.
func helpText(name string) string {
	b, err := help.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("iokl: " + err.Error()) // a command without its text
	}
	return string(b)
}
