package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"slices"
	"strings"
	"testing"
)

const magic = "a test\n"

// file is one with the given header and numbers.
func file(t testing.TB, header any, numbers ...[]float64) []byte {
	var b bytes.Buffer
	if err := Write(&b, magic, header, numbers); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read reads two numbers, and wants the end of the file behind them.
func read(text []byte) (header []string, numbers []float64, err error) {
	c, err := Open(bytes.NewReader(text), magic, &header)
	if err != nil {
		return nil, nil, err
	}
	numbers = make([]float64, 2)
	if err = c.Numbers(numbers); err == nil {
		err = c.Last()
	}
	return header, numbers, err
}

func TestRefusals(t *testing.T) {
	good := file(t, []string{"a", "b"}, []float64{1}, nil, []float64{2})
	h, x, err := read(good)
	if err != nil || !slices.Equal(h, []string{"a", "b"}) || !slices.Equal(x, []float64{1, 2}) {
		t.Errorf("read as %q, %v, %v", h, x, err)
	}
	for n := range good {
		if _, _, err := read(good[:n]); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
		altered := slices.Clone(good)
		altered[n] ^= 4
		if _, _, err := read(altered); err == nil {
			t.Errorf("byte %d altered: no error", n)
		}
	}
	for name, c := range map[string]struct {
		text []byte
		say  string
	}{
		"longer":       {append(slices.Clone(good), 0), "after its end"},
		"foreign":      {[]byte("PK\x03\x04 and more"), "no checkpoint"},
		"other header": {file(t, 7, []float64{1, 2}), "header"},
		"no JSON":      {sealed("[\"a\""), "header"},
		"one number":   {file(t, []string{}, []float64{1}), ""},
	} {
		if _, _, err := read(c.text); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Several files lie behind each other.
func TestBehind(t *testing.T) {
	r := bufio.NewReaderSize(bytes.NewReader(slices.Concat(file(t, 1), file(t, 2, []float64{3}))), Buffer)
	for want := 1; want <= 2; want++ {
		var header int
		c, err := Open(r, magic, &header)
		if err != nil || header != want {
			t.Fatalf("header %d: %d, %v", want, header, err)
		}
		if want == 1 {
			err = c.End()
		} else if err = c.Numbers(make([]float64, 1)); err == nil {
			err = c.Last()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// sealed is a file with any text for its header.
func sealed(header string) []byte {
	text := binary.LittleEndian.AppendUint64([]byte(magic), uint64(len(header)))
	text = append(text, header...)
	return binary.LittleEndian.AppendUint64(text, crc64.Checksum(text, table))
}

// FuzzOpen changes the bytes of a file, and its header behind the checksum.
func FuzzOpen(f *testing.F) {
	f.Add(file(f, []string{"a"}, []float64{1, 2}), "[]")
	f.Fuzz(func(_ *testing.T, text []byte, header string) {
		_, _, _ = read(text)
		_, _, _ = read(sealed(header))
	})
}
