// Package cli holds what the commands iokl and mklbench share: help texts from embedded files, the run of a command
// line to its exit status, checks of output files, versions and manual pages.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/instructions"
	"github.com/iokl/iokl/internal/base/screen"
)

// New is the command of that name with its subcommands. The folder help has a file for the command and for each
// subcommand: a summary line, a text, and examples. Its flags.txt has a block for each flag: the name, then the usage.
// A name such as "fit --out" is that of the flag of one subcommand alone.
func New(name string, help fs.FS, commands ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range commands {
		if c.RunE != nil {
			names = append(names, c.Name())
		}
	}
	last := len(names) - 1
	missing := fmt.Sprintf("a command is missing: %s or %s (see %s --help)", strings.Join(names[:last], ", "),
		names[last], name)
	root := &cobra.Command{
		Use:           name,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: see %s --help", args[0], name)
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return errors.New(missing) },
	}
	root.AddCommand(commands...)
	describe(root, help)
	addVersion(root)
	addManual(root)
	return root
}

// Arguments refuses fewer or more arguments, in the words of the message.
func Arguments(least, most int, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return errors.New(message)
		}
		return nil
	}
}

// describe fills in the help texts of the root, its commands and their flags.
func describe(root *cobra.Command, help fs.FS) {
	usage := map[string]string{}
	for _, block := range strings.Split(strings.TrimSpace(helpText(help, "flags")), "\n\n") {
		name, text, _ := strings.Cut(block, "\n")
		usage[name] = text
	}
	for _, c := range append(root.Commands(), root) {
		text, examples, _ := strings.Cut(helpText(help, c.Name()), "\nExamples:\n")
		c.Short, c.Long, _ = strings.Cut(strings.TrimRight(text, "\n"), "\n\n")
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
func helpText(help fs.FS, name string) string {
	b, err := fs.ReadFile(help, "help/"+name+".txt")
	if err != nil {
		panic(err) // a command without its text
	}
	return string(b)
}

// Run executes one command line and returns the exit status.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	out, log := &screen.Writer{W: stdout}, &screen.Writer{W: stderr}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(log)
	err := instructions.Check()
	if err == nil {
		err = execute(ctx, root)
	}
	if e := out.End(); e != nil {
		err = status.Failure(fmt.Errorf("standard output: %w", e))
	}
	code := status.End(log, root.Name(), err)
	_ = log.End() // there is nowhere to say that it could not be written to
	return code
}

// execute runs the command that the arguments name. A panic is a failure.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = status.Failure(fmt.Errorf("internal error: %v", r))
		}
	}()
	return root.ExecuteContext(ctx)
}

// Terminal is the terminal that a command's writer of text ends at, to be written to as it is, or nil.
func Terminal(w io.Writer) io.Writer {
	s, ok := w.(*screen.Writer)
	if !ok {
		return nil
	}
	f, ok := s.W.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return s.Raw()
}

// Data is a command's writer of text as one of data, which reach files and pipes as they are.
func Data(w io.Writer) io.Writer {
	if s, ok := w.(*screen.Writer); ok && Terminal(w) == nil {
		return s.Raw()
	}
	return w
}
