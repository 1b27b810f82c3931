// Package npytest reads the reference cases of tests from .npz files.
package npytest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/iokl/iokl/internal/files/npy"
)

// Load returns the arrays of testdata/name.npz by their names.
func Load(t testing.TB, name string) map[string]*npy.Array {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("testdata", name+".npz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := npy.NewArchive(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*npy.Array{}
	for _, k := range z.Names() {
		if out[k], err = z.Array(k); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
