package build

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

// The version is that of the first section of the changelog: dated for a release, unreleased while it ends in -dev.
func TestVersionIsThatOfTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	dated := regexp.MustCompile(`^(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)$`)
	release, dev := strings.CutSuffix(Version, "-dev")
	for i, s := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
		if i == 0 && dev {
			if want := release + " (unreleased)"; s[1] != want {
				t.Errorf("version %s, first section %q, want %q", Version, s[1], want)
			}
			continue
		}
		m := dated.FindStringSubmatch(s[1])
		if m == nil {
			t.Errorf("section %q: want VERSION (YYYY-MM-DD)", s[1])
			continue
		}
		if (m[1] == release) != (i == 0) {
			t.Errorf("version %s, section %d of the changelog is %s", Version, i, m[1])
		}
	}
}

func TestWrite(t *testing.T) {
	var text, object bytes.Buffer
	if err := Write(&text, "iokl", false); err != nil {
		t.Fatal(err)
	}
	if err := Write(&object, "iokl", true); err != nil {
		t.Fatal(err)
	}
	var i Info
	if err := json.Unmarshal(object.Bytes(), &i); err != nil {
		t.Fatal(err)
	}
	be := blas.Default().Info()
	if i != describe() || i.Version != Version || i.Backend != be.Backend || i.InstructionSet != be.Kernel ||
		i.InstructionSet == "" {
		t.Errorf("%+v", i)
	}
	for _, part := range []string{
		"iokl " + Version, i.Go, i.Backend, i.InstructionSet, i.Commit[:min(12, len(i.Commit))],
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q in %q", part, text.String())
		}
	}
}
