// Package zipfile opens zip archives so that damage is detected: [Open] and [Verify] check lengths and checksums.
package zipfile

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Offsets in the header before the data of a member, by 4.3.7 of the specification APPNOTE.TXT.
const lengthAt, nameAt = 26, 30

// errName says that a member has another name before its data than in the directory of the archive.
var errName = errors.New("its directory does not fit its members")

// maxDirectory is how many bytes the list of the members may take, 46 and more for each.
const maxDirectory = 8 << 20

// Open opens the archive of size bytes in r. The checksums of members do not cover their names, which must be the same
// in the directory and before the data. Members that share bytes or a name are an error. The checksum of a member is
// verified by reading it to its end.
func Open(r io.ReaderAt, size int64) (*zip.Reader, error) {
	at := &lastRead{ReaderAt: r, left: maxDirectory}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	at.left = math.MaxInt64
	type span struct{ from, to int64 }
	var spans []span
	names := map[string]bool{}
	for _, f := range z.File {
		from, err := f.DataOffset() // reads the header before the data
		switch {
		case err != nil:
			return nil, fmt.Errorf("%.99q: %w", f.Name, err)
		case from > size || f.CompressedSize64 > uint64(size-from) ||
			f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
			return nil, fmt.Errorf("member %.99q does not lie in the archive", f.Name)
		case names[f.Name]:
			return nil, fmt.Errorf("two members have the name %.99q", f.Name)
		}
		names[f.Name] = true
		spans = append(spans, span{from, from + int64(f.CompressedSize64)})
		head := make([]byte, nameAt+len(f.Name))
		if _, err := r.ReadAt(head, at.offset); err != nil || string(head[nameAt:]) != f.Name ||
			int(binary.LittleEndian.Uint16(head[lengthAt:])) != len(f.Name) {
			return nil, fmt.Errorf("%.99q: %w", f.Name, errName)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for k := 1; k < len(spans); k++ {
		if spans[k].from < spans[k-1].to {
			return nil, errors.New("members share bytes of the archive")
		}
	}
	return zip.NewReader(r, size)
}

// lastRead knows where it was read last, and of how many bytes more it can be read.
type lastRead struct {
	io.ReaderAt
	offset, left int64
}

func (l *lastRead) ReadAt(b []byte, offset int64) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, errors.New("its list of members is too long")
	}
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
