// Package checkpoint writes and reads files of a header and of numbers, with checksums that detect truncation and
// damage.
package checkpoint

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"slices"

	"github.com/iokl/iokl/internal/base/memory"
)

// A file is the magic string, the length of the header (uint64), the header in JSON, and the numbers (float64), all
// little-endian. After the header, and at the end, is the CRC-64 of what is before it but for the other.
var table = crc64.MakeTable(crc64.ECMA)

// Buffer is the size of buffers.
const Buffer = 1 << 16

// partSize is how many numbers are converted at a time.
const partSize = 1 << 12

// Write writes a file with the magic string, the header, and the numbers of all slices in their order.
func Write(w io.Writer, magic string, header any, numbers [][]float64) error {
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	sum := crc64.New(table)
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), Buffer)
	seal := func() error {
		if err := out.Flush(); err != nil {
			return err
		}
		return binary.Write(w, binary.LittleEndian, sum.Sum64())
	}
	_, _ = out.WriteString(magic) // out keeps its first error
	_ = binary.Write(out, binary.LittleEndian, uint64(len(text)))
	_, _ = out.Write(text)
	if err := seal(); err != nil {
		return err
	}
	for _, s := range numbers {
		for part := range slices.Chunk(s, partSize) {
			if err := binary.Write(out, binary.LittleEndian, part); err != nil {
				return err
			}
		}
	}
	return seal()
}

// Reader reads the numbers of a file.
type Reader struct {
	in  *bufio.Reader
	sum hash.Hash64
}

// Open reads the beginning of a file with that magic string, and its header. It takes no more memory than the file. Of
// several files behind each other r is a bufio.Reader of [Buffer] bytes.
func Open(r io.Reader, magic string, header any) (*Reader, error) {
	c := &Reader{in: bufio.NewReaderSize(r, Buffer), sum: crc64.New(table)}
	start, size := make([]byte, len(magic)), uint64(0)
	if _, err := io.ReadFull(c, start); err != nil {
		return nil, told(err)
	}
	if string(start) != magic {
		return nil, errors.New("it is no checkpoint, or one of another version: start anew")
	}
	if err := c.read(&size); err != nil {
		return nil, err
	}
	text, err := memory.ReadAll(io.LimitReader(c, int64(min(size, 1<<62))), "the header")
	if err == nil && uint64(len(text)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, told(err)
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	if err := memory.Unmarshal(text, header); err != nil {
		return nil, fmt.Errorf("its header is damaged: %w", err)
	}
	return c, nil
}

// Read adds to the checksum what it reads.
func (c *Reader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	_, _ = c.sum.Write(p[:n])
	return n, err
}

func (c *Reader) read(v any) error { return told(binary.Read(c, binary.LittleEndian, v)) }

// told is err, or where it is an early end that the file is cut short.
func told(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}

// Numbers reads the next numbers.
func (c *Reader) Numbers(dst []float64) error {
	for part := range slices.Chunk(dst, partSize) {
		if err := c.read(part); err != nil {
			return err
		}
	}
	return nil
}

// End compares the checksum behind the numbers. Another file may begin there.
func (c *Reader) End() error {
	var sum uint64
	if err := binary.Read(c.in, binary.LittleEndian, &sum); err != nil {
		return told(err)
	}
	if sum != c.sum.Sum64() {
		return errors.New("the checksum does not match")
	}
	return nil
}

// Last is End at the end of what is read.
func (c *Reader) Last() error {
	if err := c.End(); err != nil {
		return err
	}
	if _, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after its end")
	}
	return nil
}
