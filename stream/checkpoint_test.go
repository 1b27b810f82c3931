package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/checkpoint"
)

func TestDecodeRefusals(t *testing.T) {
	X, Y, maps := data(t, 100)
	opt := Options{BlockRows: 32, Folds: 2, Identity: "mine"}
	a := New(maps, 3, 2, opt)
	if err := a.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := a.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	good := buf.Bytes()
	flipped := slices.Clone(good)
	flipped[len(good)/2] ^= 4
	other := opt
	other.Identity = "other"
	more := opt
	more.Folds = 3
	for _, c := range []struct {
		name string
		text []byte
		opt  Options
		say  string
	}{
		{"good", good, opt, ""},
		{"empty", nil, opt, "cut short"},
		{"foreign", []byte("PK\x03\x04 and more"), opt, "no checkpoint"},
		{"format 1", append([]byte("IOKLSUM1"), good[len(magic):]...), opt, "another version"},
		{"half", good[:len(good)/2], opt, "cut short"},
		{"last byte missing", good[:len(good)-1], opt, "cut short"},
		{"a bit flipped", flipped, opt, "checksum"},
		{"longer", append(slices.Clone(good), 0), opt, "after its end"},
		{"other identity", good, other, "belongs to other data"},
		{"other folds", good, more, "2 folds"},
		{"huge header", append([]byte(magic), slices.Repeat([]byte{255}, 30)...), opt, "cut short"},
	} {
		b := New(maps, 3, 2, c.opt)
		err := b.Decode(bytes.NewReader(c.text))
		if c.say == "" {
			if err != nil || b.Rows() != 100 {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), c.say) || b.Rows() != 0 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzDecode changes the header and the numbers of a checkpoint, behind its checksum,
// and goes on with the pass where it was read.
func FuzzDecode(f *testing.F) {
	X, Y, maps := data(f, 10)
	a := New(maps, 3, 2, Options{BlockRows: 4})
	if err := a.Add(Block{X: X, Y: Y}); err != nil {
		f.Fatal(err)
	}
	var buf bytes.Buffer
	if err := a.Encode(&buf); err != nil {
		f.Fatal(err)
	}
	whole := buf.Bytes()
	from := len(magic) + 8
	end := from + int(binary.LittleEndian.Uint64(whole[from-8:]))
	f.Add(whole[from:end], whole[end+8:len(whole)-8])
	f.Fuzz(func(t *testing.T, header, body []byte) {
		numbers := make([]float64, len(body)/8)
		if _, err := binary.Decode(body, binary.LittleEndian, numbers); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if checkpoint.Write(&file, magic, json.RawMessage(header), [][]float64{numbers}) != nil {
			return // no JSON
		}
		b := New(maps, 3, 2, Options{BlockRows: 4})
		if err := b.Decode(&file); err != nil {
			if !errors.Is(err, ErrCheckpoint) {
				t.Fatal(err)
			}
			return
		}
		if err := b.Add(Block{X: X, Y: Y}); err != nil {
			t.Fatal(err)
		}
		_, _ = b.Sums()
	})
}

// FuzzSums adds up rows in blocks and folds of any size, and compares with the definition.
func FuzzSums(f *testing.F) {
	f.Add(uint8(40), uint8(7), uint8(3), uint8(5), uint8(13))
	f.Add(uint8(1), uint8(1), uint8(1), uint8(1), uint8(1))
	X, Y, maps := data(f, 60)
	f.Fuzz(func(t *testing.T, rows, block, folds, first, second uint8) {
		l := 1 + int(rows)%60
		x, y := blas.View(X, 0, 0, l, X.Cols), blas.View(Y, 0, 0, l, Y.Cols)
		opt := Options{BlockRows: 1 + int(block)%20, Folds: int(folds) % 6}
		a := New(maps, 3, 2, opt)
		src := &chopped{x: x, y: y, sizes: []int{1 + int(first), 1 + int(second)}, end: io.EOF}
		if err := a.Run(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		sums, err := a.Sums()
		if err != nil {
			t.Fatal(err)
		}
		if err := same(Total(sums, nil), direct(t, maps, x, y, func(int) bool { return true }), 1e-10); err != nil {
			t.Fatal(err)
		}
	})
}
