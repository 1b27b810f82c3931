// This file reads and writes .npz archives.

package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"github.com/iokl/iokl/internal/zipfile"
)

// Archive reads the members of a .npz file.
type Archive struct{ z *zip.Reader }

// NewArchive opens the archive of size bytes in r.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zipfile.Open(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: no whole .npz archive (%v)", ErrFormat, err)
	}
	return &Archive{z}, nil
}

// Names lists the arrays, without ".npy", in the order of the archive.
func (a *Archive) Names() []string {
	var names []string
	for _, f := range a.z.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			names = append(names, name)
		}
	}
	return names
}

func (a *Archive) find(name string) (*zip.File, error) {
	for _, f := range a.z.File {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: no member %q", ErrFormat, name)
}

// Array reads the array of that name (without ".npy").
func (a *Archive) Array(name string) (*Array, error) {
	f, err := a.find(name + ".npy")
	if err != nil {
		return nil, fmt.Errorf("%w: no array %q, the archive has %s", ErrFormat, name, strings.Join(a.Names(), ", "))
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrFormat, f.Name, err)
	}
	defer r.Close()
	size := plausibleSize(f)
	arr, err := Read(r, size)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // the checksum of the member is verified at its end
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFormat, f.Name, err)
	}
	return arr, nil
}

// Raw reads a member as bytes, at most limit of them.
func (a *Archive) Raw(name string, limit int64) ([]byte, error) {
	f, err := a.find(name)
	if err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrFormat, f.Name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrFormat, f.Name, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: member %s is longer than %d bytes", ErrFormat, name, limit)
	}
	return b, nil
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
