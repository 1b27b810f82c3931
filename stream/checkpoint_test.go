package stream

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
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
		{"foreign", []byte("PK\x03\x04 and more"), opt, "not a checkpoint"},
		{"format 1", append([]byte("IOKLSUM1"), good[len(magic):]...), opt, "format 1"},
		{"half", good[:len(good)/2], opt, "cut short"},
		{"last byte missing", good[:len(good)-1], opt, "cut short"},
		{"a bit flipped", flipped, opt, "checksum"},
		{"longer", append(slices.Clone(good), 0), opt, "after its end"},
		{"other identity", good, other, "belongs to other data"},
		{"other folds", good, more, "2 folds"},
		{"huge header", append([]byte(magic), 255, 255, 255, 255), opt, "damaged"},
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
	f.Add(buf.Bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := New(maps, 3, 2, Options{BlockRows: 4})
		if err := b.Decode(bytes.NewReader(text)); err != nil && !errors.Is(err, ErrCheckpoint) {
			t.Fatal(err)
		}
	})
}
