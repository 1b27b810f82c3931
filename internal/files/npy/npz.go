// Archives of arrays, .npz.

package npy

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/iokl/iokl/internal/files/zipfile"
)

// Archive reads the members of a .npz file.
type Archive struct {
	names   []string // in the order of the archive
	members map[string]*zip.File
}

// NewArchive opens the archive of size bytes in r.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zipfile.Open(r, size)
	if err != nil {
		return nil, bad("no whole .npz archive (%v)", err)
	}
	a := &Archive{members: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		a.names, a.members[f.Name] = append(a.names, f.Name), f
	}
	return a, nil
}

// Names lists the arrays, without ".npy", in the order of the archive.
func (a *Archive) Names() []string {
	var names []string
	for _, member := range a.names {
		if name, ok := strings.CutSuffix(member, ".npy"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether there is an array of that name.
func (a *Archive) Has(name string) bool { return a.members[name+".npy"] != nil }

// Bytes is how many bytes the members claim, unpacked.
func (a *Archive) Bytes() (sum float64) {
	for _, f := range a.members {
		sum += float64(f.UncompressedSize64)
	}
	return sum
}

// open opens a member.
func (a *Archive) open(name string) (*zip.File, io.ReadCloser, error) {
	f := a.members[name]
	if f == nil {
		names := a.Names()
		if len(names) > 10 {
			names = append(names[:10], "…")
		}
		return nil, nil, bad("no array %.99q, the archive has %.999s", strings.TrimSuffix(name, ".npy"),
			strings.Join(names, ", "))
	}
	r, err := f.Open()
	if err != nil {
		return nil, nil, bad("%s: %v", f.Name, err)
	}
	return f, r, nil
}

// Array reads the array of that name (without ".npy").
func (a *Archive) Array(name string) (*Array, error) {
	f, r, err := a.open(name + ".npy")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	arr, err := Read(r, plausibleSize(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	// The checksum of the member is verified at its end.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, bad("%s: %v", f.Name, err)
	}
	return arr, nil
}

// Raw reads a member as bytes, at most limit of them.
func (a *Archive) Raw(name string, limit int64) ([]byte, error) {
	f, r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if f.UncompressedSize64 > uint64(limit) {
		return nil, bad("member %s is longer than %d bytes", name, limit)
	}
	b := bytes.NewBuffer(make([]byte, 0, max(plausibleSize(f), 0)+bytes.MinRead))
	if _, err := b.ReadFrom(r); err != nil { // to the end, where the checksum is verified
		return nil, bad("%s: %v", f.Name, err)
	}
	return b.Bytes(), nil
}

// plausibleSize is the length a member claims, or -1 when deflate could not have
// packed that much into it (its ratio ends at 1032), so that nothing is allocated on the claim.
func plausibleSize(f *zip.File) int64 {
	if f.UncompressedSize64 > 1032*f.CompressedSize64+1024 || f.UncompressedSize64 > 1<<62 {
		return -1
	}
	return int64(f.UncompressedSize64)
}

// ArchiveWriter writes a .npz file, members stored as they are, so that numpy can map them.
type ArchiveWriter struct{ z *zip.Writer }

// NewArchiveWriter starts an archive on w; Close ends it.
func NewArchiveWriter(w io.Writer) *ArchiveWriter { return &ArchiveWriter{zip.NewWriter(w)} }

func (a *ArchiveWriter) create(name string) (io.Writer, error) {
	return a.z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
}

// Array adds the array under name (without ".npy").
func (a *ArchiveWriter) Array(name string, arr Array) error {
	w, err := a.create(name + ".npy")
	if err != nil {
		return err
	}
	return Write(w, arr)
}

// Raw adds a member of any bytes; numpy's loader hands it out as bytes.
func (a *ArchiveWriter) Raw(name string, b []byte) error {
	w, err := a.create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Close writes the archive's directory.
func (a *ArchiveWriter) Close() error { return a.z.Close() }
