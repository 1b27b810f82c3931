package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/internal/base/memory"
)

func openFile(t *testing.T, path string) *Archive {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The archive was written by numpy: every member is (arange(24)-5) as 2×3×4, some divided by 3.
func TestNumpyKinds(t *testing.T) {
	a := openFile(t, "testdata/kinds.npz")
	for name, f := range map[string]func(v float64) float64{
		"f8":      func(v float64) float64 { return v / 3 },
		"f4":      func(v float64) float64 { return float64(float32(v) / 3) },
		"big":     func(v float64) float64 { return v / 3 },
		"fortran": func(v float64) float64 { return v / 3 },
		"i1":      func(v float64) float64 { return v },
		"i2":      func(v float64) float64 { return v },
		"i4":      func(v float64) float64 { return v },
		"i8":      func(v float64) float64 { return v },
		"u1":      func(v float64) float64 { return v + 5 },
		"u4":      func(v float64) float64 { return v + 5 },
		"b1":      func(v float64) float64 { return map[bool]float64{true: 1}[v > 0] },
	} {
		t.Run(name, func(t *testing.T) {
			arr, err := a.Array(name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(arr.Shape, []int{2, 3, 4}) {
				t.Fatalf("shape %v", arr.Shape)
			}
			for i, v := range arr.Data {
				if v != f(float64(i-5)) {
					t.Errorf("element %d is %v, want %v", i, v, f(float64(i-5)))
				}
			}
		})
	}
	if arr, err := a.Array("scalar"); err != nil || len(arr.Shape) != 0 || arr.Data[0] != 7 {
		t.Errorf("scalar: %v %v", arr, err)
	}
	if arr, err := openFile(t, "testdata/packed.npz").Array("x"); err != nil || len(arr.Data) != 90000 {
		t.Errorf("compressed member: %v", err)
	}
}

func TestRefused(t *testing.T) {
	a := openFile(t, "testdata/refused.npz")
	for _, name := range []string{"text", "complex", "half", "absent"} {
		if _, err := a.Array(name); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, a := range []Array{
		{Shape: []int{2, 2}, Data: []float64{1, math.Inf(1), math.NaN(), -0.5}},
		{Shape: []int{3}, Data: []float64{1, 2, 3}},
		{Shape: []int{0, 4}, Data: []float64{}},
		{Data: []float64{9}},
	} {
		var b bytes.Buffer
		if err := Write(&b, a); err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexByte(b.Bytes(), '\n'); (i+1)%64 != 0 {
			t.Errorf("elements start at %d, want a multiple of 64", i+1)
		}
		for _, available := range []int64{-1, int64(b.Len())} {
			got, err := Read(bytes.NewReader(b.Bytes()), available)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Shape, a.Shape) {
				t.Errorf("shape %v, want %v", got.Shape, a.Shape)
			}
			for i, v := range a.Data {
				if math.Float64bits(got.Data[i]) != math.Float64bits(v) {
					t.Errorf("element %d is %v, want %v", i, got.Data[i], v)
				}
			}
		}
	}
}

func TestTruncatedEverywhere(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, Array{Shape: []int{2, 3}, Data: make([]float64, 6)}); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		for _, available := range []int64{-1, int64(n)} {
			if _, err := Read(bytes.NewReader(b.Bytes()[:n]), available); !errors.Is(err, ErrFormat) {
				t.Fatalf("first %d bytes: error %v, want ErrFormat", n, err)
			}
		}
	}
}

// A header that claims more than there is must not be believed.
func TestHugeClaim(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHeader(&b, 1<<30, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b, -1); !errors.Is(err, ErrFormat) && !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("error %v, want ErrFormat or ErrTooLarge", err)
	}
	b.Reset()
	if err := WriteHeader(&b, math.MaxInt, math.MaxInt); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b, -1); !errors.Is(err, ErrFormat) {
		t.Errorf("overflowing shape: error %v, want ErrFormat", err)
	}
}

func TestArchive(t *testing.T) {
	var b bytes.Buffer
	w := NewArchiveWriter(&b)
	want := Array{Shape: []int{1, 2}, Data: []float64{3, 4}}
	if err := errors.Join(w.Array("x", want), w.Raw("meta.json", []byte("{}")), w.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := NewArchive(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Array("x"); err != nil || !slices.Equal(got.Data, want.Data) {
		t.Errorf("x = %v, %v", got, err)
	}
	if got, err := a.Raw("meta.json", 10); err != nil || string(got) != "{}" {
		t.Errorf("meta.json = %q, %v", got, err)
	}
	if _, err := a.Raw("meta.json", 1); !errors.Is(err, ErrFormat) {
		t.Errorf("over the limit: %v", err)
	}
	flipped := bytes.Replace(b.Bytes(), []byte{0, 0, 8, 64}, []byte{0, 0, 9, 64}, 1)
	a, err = NewArchive(bytes.NewReader(flipped), int64(len(flipped)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Array("x"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("flipped bit: %v, want a checksum error", err)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, Array{Shape: []int{2, 3}, Data: make([]float64, 6)}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x93NUMPY\x02\x00\x10\x00\x00\x00{'descr': '<f8'}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		arr, err := Read(bytes.NewReader(in), int64(len(in)))
		again, err2 := Read(io.MultiReader(bytes.NewReader(in)), -1)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("known length: %v, unknown length: %v", err, err2)
		}
		if err == nil && (len(arr.Data) != len(again.Data) || (Header{Shape: arr.Shape}).Len() != len(arr.Data)) {
			t.Fatalf("shape %v with %d and %d elements", arr.Shape, len(arr.Data), len(again.Data))
		}
	})
}

// FuzzArchive changes what the members of an archive hold, behind their checksums, and then a byte of
// the whole. What a whole archive holds reads as it does alone.
func FuzzArchive(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, Array{Shape: []int{2, 3}, Data: make([]float64, 6)}); err != nil {
		f.Fatal(err)
	}
	f.Add("x", b.Bytes(), []byte("{}"), false, uint16(0), uint8(0))
	f.Add("a/x", b.Bytes()[:70], []byte{}, true, uint16(30), uint8(1))
	f.Fuzz(func(t *testing.T, name string, array, other []byte, packed bool, at uint16, flip uint8) {
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		for _, m := range []struct {
			name string
			data []byte
		}{{name + ".npy", array}, {"other.json", other}} {
			h := &zip.FileHeader{Name: m.name}
			if packed {
				h.Method = zip.Deflate
			}
			w, err := z.CreateHeader(h)
			if err != nil {
				t.Skip("a name or size that no archive has")
			}
			if _, err := w.Write(m.data); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Skip("a name that no archive has")
		}
		whole := file.Bytes()
		whole[int(at)%len(whole)] ^= flip
		a, err := NewArchive(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			if !errors.Is(err, ErrFormat) || flip == 0 {
				t.Fatal(err)
			}
			return
		}
		for _, name := range a.Names() {
			got, err := a.Array(name)
			if err != nil && !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			if flip != 0 {
				continue
			}
			alone, fault := Read(bytes.NewReader(array), int64(len(array)))
			if (err == nil) != (fault == nil) || err == nil && !slices.Equal(got.Shape, alone.Shape) {
				t.Fatalf("in the archive %v, alone %v", err, fault)
			}
		}
		if text, err := a.Raw("other.json", 100); err == nil && len(text) > 100 || err != nil &&
			!errors.Is(err, ErrFormat) {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	})
}
