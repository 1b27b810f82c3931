package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/table"
)

// Values are those of a flag that may be repeated, or its one value.
func Values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// file is what a flag, an argument or a standard stream names.
type file struct {
	what, path string
	target     string // see atomicfile.Target; "" for a stream
	info       os.FileInfo
}

func named(what, path string) file {
	info, _ := os.Stat(path)
	return file{what, path, atomicfile.Target(path), info}
}

// same reports whether a and b are one file or folder whose contents one of them would lose to the other.
func same(a, b file) bool {
	if a.info != nil && !a.info.Mode().IsRegular() && !a.info.IsDir() {
		return false // a device or pipe
	}
	return a.target == b.target || a.info != nil && b.info != nil && os.SameFile(a.info, b.info)
}

// CheckOutputs refuses, before any work is done, files of the flags named that cannot be written; two that are one
// file, whatever they are called; and one that another flag or an argument names, and that would be replaced. The file
// of the flag inPlace, "" for none, is read before a file of the same name replaces it, and so is a checkpoint, which
// is refused where it is none. Flags that the command does not have count for nothing. Those that begin with plot name
// folders, which are written to and not replaced; they are made where nothing is refused.
func CheckOutputs(cmd *cobra.Command, inPlace string, flags ...string) error {
	var outputs []file
	for _, s := range []*os.File{os.Stdout, os.Stderr} {
		if info, err := s.Stat(); err == nil && info.Mode().IsRegular() {
			outputs = append(outputs, file{what: s.Name(), info: info})
		}
	}
	written := map[string]bool{}
	for _, flag := range flags {
		f := cmd.Flag(flag)
		if f == nil || f.Value.String() == "" {
			continue
		}
		written[flag] = true
		path := f.Value.String()
		if !strings.HasPrefix(flag, "plot") {
			if err := atomicfile.Check(path); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
		out := named("--"+flag, path)
		for _, other := range outputs {
			if same(out, other) && !strings.HasPrefix(path, "/dev/") { // who names a stream means it
				return fmt.Errorf("%s %s: %s names the same file: give each its own", out.what, path, other.what)
			}
		}
		outputs = append(outputs, out)
	}
	var err error
	read := func(what, name string) {
		if file, _, ok := table.SplitMember(name); ok {
			name = file
		}
		in := named(what, name)
		if in.info == nil || !in.info.Mode().IsRegular() {
			return
		}
		for _, out := range outputs {
			readFirst := out.what == "--checkpoint" || what == "--"+inPlace && out.target == in.target
			if err == nil && out.target != "" && !readFirst && same(out, in) {
				err = fmt.Errorf("%s %s: %s names the same file, which would be replaced", out.what, out.path, what)
			}
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, name := range Values(f) {
			if !written[f.Name] {
				read("--"+f.Name, name)
			}
		}
	})
	for _, name := range cmd.Flags().Args() {
		read("an argument", name)
	}
	for flag := range written {
		if strings.HasPrefix(flag, "plot") && err == nil {
			if err = os.MkdirAll(cmd.Flag(flag).Value.String(), 0o777); err != nil {
				err = fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	return err
}
