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

// The version is that of the changelog: a dated section for a release, "Unreleased"
// above one for what becomes the next.
func TestVersionIsThatOfTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1)
	dated := regexp.MustCompile(`^(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)$`)
	release, dev := strings.CutSuffix(Version, "-dev")
	if dev != (section[0][1] == "Unreleased") {
		t.Fatalf("version %s, first section %q", Version, section[0][1])
	}
	if dev {
		section = section[1:]
	}
	for i, s := range section {
		m := dated.FindStringSubmatch(s[1])
		if m == nil {
			t.Errorf("section %q: want VERSION (YYYY-MM-DD)", s[1])
			continue
		}
		if i == 0 && (m[1] == release) == dev {
			t.Errorf("version %s, newest release in the changelog %s", Version, m[1])
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
	if i != Describe() || i.Version != Version || i.Backend != be.Backend || i.InstructionSet != be.Kernel ||
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
