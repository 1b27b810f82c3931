package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/files/table"
)

// FuzzReports makes pages of what may be the JSON of cv or of granger, and reads what may be the checkpoint of a
// graph's rounds.
func FuzzReports(f *testing.F) {
	dir := f.TempDir()
	for name, text := range map[string]string{
		"s.csv":  "a,b\n" + strings.Repeat("0,1\n1,0\n1,1\n0,0\n0.5,0.1\n", 5),
		"c.json": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	series := filepath.Join(dir, "s.csv")
	for _, line := range []string{
		"cv --x " + series + " --y " + series +
			" --x-columns a --y-columns b --kernel linear:all --lambdas 0.1,1 --folds 2 --json",
		"granger --series " + series + " --lag 1 --lambda 0.1 --stability 2 --null 2 --checkpoint " + filepath.Join(dir,
			"rounds.json") + " --json",
	} {
		var out, said bytes.Buffer
		if status := run(f.Context(), strings.Fields(line), nil, &out, &said); status != exitOK {
			f.Fatal(said.String())
		}
		f.Add(out.Bytes())
	}
	kept, err := os.ReadFile(filepath.Join(dir, "rounds.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kept)
	path := filepath.Join(dir, "c.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := results.Read(path)
		if err == nil {
			err = results.WritePage(filepath.Join(dir, "page.html"), s)
		}
		if err != nil && !errors.Is(err, table.ErrData) && !errors.Is(err, iokl.ErrModel) {
			t.Fatal(err)
		}
		k := keeper{path: path}
		if err := k.open(); err != nil && !errors.Is(err, table.ErrData) {
			t.Fatal(err)
		}
	})
}
