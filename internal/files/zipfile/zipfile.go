// Package zipfile opens zip archives so that damage is detected: [Open] and [Verify] check lengths and checksums.
package zipfile

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Offsets in the header before the data of a member, by 4.3.7 of the specification APPNOTE.TXT.
const lengthAt, nameAt = 26, 30

// errName says that a member has another name before its data than in the directory of the archive.
var errName = errors.New("its directory does not fit its members")

// Open opens the archive of size bytes in r. The checksums of members do not cover their names, which must be the same
// in the directory and before the data. The checksum of a member is verified by reading it to its end.
func Open(r io.ReaderAt, size int64) (*zip.Reader, error) {
	at := &lastRead{ReaderAt: r}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		if _, err := f.DataOffset(); err != nil { // reads the header before the data
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		head := make([]byte, nameAt+len(f.Name))
		if _, err := r.ReadAt(head, at.offset); err != nil || string(head[nameAt:]) != f.Name ||
			int(binary.LittleEndian.Uint16(head[lengthAt:])) != len(f.Name) {
			return nil, fmt.Errorf("%q: %w", f.Name, errName)
		}
	}
	return zip.NewReader(r, size)
}

// lastRead knows where it was read last.
type lastRead struct {
	io.ReaderAt
	offset int64
}

func (l *lastRead) ReadAt(b []byte, offset int64) (int, error) {
	l.offset = offset
	return l.ReaderAt.ReadAt(b, offset)
}

// Verify reads all members of the archive to their ends, for readers that look at no error there, and writes what they
// hold to w, which may end that by an error.
func Verify(w io.Writer, r io.ReaderAt, size int64) error {
	z, err := Open(r, size)
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if err := verify(w, f); err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
	}
	return nil
}

func verify(w io.Writer, f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}
