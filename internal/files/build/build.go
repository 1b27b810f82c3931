// Package build says what a program of this module was built from, and what it computes with.
package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/iokl/iokl/blas"
)

// Version is that of the module, by semver.org: of a release, or with -dev of what becomes the next one.
const Version = "0.3.0-dev"

// Info is what --version prints.
type Info struct {
	Version        string `json:"version"`
	Commit         string `json:"commit,omitempty"`
	Dirty          bool   `json:"dirty,omitempty"` // the tree differed from Commit
	Go             string `json:"go"`
	Platform       string `json:"platform"`
	Backend        string `json:"backend"`         // the default one
	InstructionSet string `json:"instruction_set"` // that its kernels use on this machine
}

// describe is the Info of this program on this machine.
func describe() Info {
	be := blas.Default().Info()
	i := Info{
		Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Backend: be.Backend, InstructionSet: be.Kernel,
	}
	i.Commit, i.Dirty = Commit()
	return i
}

// Write prints the Info of the program called name, as a line of text or as JSON.
func Write(w io.Writer, name string, asJSON bool) error {
	i := describe()
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(i)
	}
	commit := "unknown"
	if i.Commit != "" {
		commit = i.Commit[:min(12, len(i.Commit))]
	}
	if i.Dirty {
		commit += " with changes"
	}
	_, err := fmt.Fprintf(w, "%s %s, commit %s, %s %s, backend %s (%s)\n", name, i.Version, commit, i.Go, i.Platform,
		i.Backend, i.InstructionSet)
	return err
}

// Commit is the revision the build was made from, as the Go command recorded it, and
// whether the tree differed from it; under go run and go test it is that of the
// working directory. It is "" where nothing is known.
func Commit() (rev string, dirty bool) {
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				rev = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	if rev != "" {
		return rev, dirty
	}
	if exe, err := os.Executable(); err != nil || !strings.Contains(exe, "go-build") {
		return "", false // a binary built earlier may be of any revision
	}
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	status, err := exec.Command("git", "status", "--porcelain").Output()
	return strings.TrimSpace(string(out)), err == nil && len(bytes.TrimSpace(status)) > 0
}
