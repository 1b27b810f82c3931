package zipfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// archive has members that are stored, deflated, empty, and one without a name's worth of data.
func archive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for k, text := range []string{"first", strings.Repeat("second ", 20), "", "xyz"} {
		h := &zip.FileHeader{Name: fmt.Sprintf("dir/m%d.txt", k), Method: []uint16{zip.Store, zip.Deflate}[k%2]}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents is what the archive holds, or an error.
func contents(b []byte) (string, error) {
	if err := Verify(io.Discard, bytes.NewReader(b), int64(len(b))); err != nil {
		return "", err
	}
	z, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "%s: %s\n", f.Name, text)
	}
	return all.String(), nil
}

// No change of a byte, in the members, their headers or the directory, gives other contents.
func TestDamage(t *testing.T) {
	whole := archive(t)
	want, err := contents(whole)
	if err != nil || !strings.Contains(want, "dir/m1.txt: second second") {
		t.Fatal(want, err)
	}
	refused := 0
	for i := range whole {
		for _, flip := range []byte{1, 2, 0x10, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[i] ^= flip
			got, err := contents(b)
			if err != nil {
				refused++
			} else if got != want {
				t.Errorf("byte %d of %d, flipped by %#x, gives %q", i, len(b), flip, got)
			}
		}
	}
	if refused < len(whole) {
		t.Errorf("only %d changes of %d bytes are noticed", refused, len(whole))
	}
	for n := range whole {
		if _, err := contents(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are an archive", n, len(whole))
		}
	}
}
