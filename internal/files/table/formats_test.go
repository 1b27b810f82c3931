package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parquet-go/parquet-go"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/npy"
)

func npz(t *testing.T, arrays map[string]npy.Array) string {
	t.Helper()
	var b bytes.Buffer
	w := npy.NewArchiveWriter(&b)
	for name, a := range arrays {
		if err := w.Array(name, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "a.npz", b.String())
}

func TestNpz(t *testing.T) {
	one := npy.Array{Shape: []int{3}, Data: []float64{1, 2, 3}}
	stack := npy.Array{Shape: []int{2, 2, 2}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}}
	path := npz(t, map[string]npy.Array{"y": one, "Ks": stack})
	tab, err := Read(path+":y", Options{})
	if err != nil || !equal(tab.Data, [][]float64{{1}, {2}, {3}}) {
		t.Errorf("y: %v %v", tab, err)
	}
	for _, wrong := range []string{path + ":none", path} {
		if _, err := Read(wrong, Options{}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), "Ks") {
			t.Errorf("%s: %v, want the members listed", wrong, err)
		}
	}
	grams, err := ReadStack(path+":Ks", Options{})
	if err != nil || len(grams) != 2 || !equal(grams[1], [][]float64{{5, 6}, {7, 8}}) {
		t.Errorf("stack: %v %v", grams, err)
	}
	if _, err := ReadStack(path+":y", Options{}); !errors.Is(err, ErrData) {
		t.Errorf("vector as a Gram matrix: %v", err)
	}
	grams, err = ReadStack(file(t, "k.csv", "1,2\n2,1\n"), Options{})
	if err != nil || len(grams) != 1 || !equal(grams[0], [][]float64{{1, 2}, {2, 1}}) {
		t.Errorf("CSV as a Gram matrix: %v %v", grams, err)
	}
	only := npz(t, map[string]npy.Array{"y": one})
	if tab, err := Read(only, Options{}); err != nil || tab.Data.Rows != 3 {
		t.Errorf("archive of one array: %v %v", tab, err)
	}
}

// A .zip is its only file, of any format, or the one that is named; several are listed.
func TestZip(t *testing.T) {
	zipped := func(files ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			member, err := w.Create(files[i])
			if err == nil {
				_, err = member.Write([]byte(files[i+1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return file(t, "a.zip", b.String())
	}
	want := [][]float64{{1, 2}, {3, 4}}
	two := zipped("d/", "", "d/a.csv", "x,y\n1,2\n3,4\n", "b.json", `[{"x":1,"y":2},{"x":3,"y":4}]`)
	for _, path := range []string{
		zipped("d/", "", "d/a.csv", "x,y\n1,2\n3,4\n"), zipped("a.json", `[{"x":1,"y":2},{"x":3,"y":4}]`),
		two + ":d/a.csv", two + ":b.json",
	} {
		tab, err := Read(path, Options{})
		if err != nil || !equal(tab.Data, want) || !slices.Equal(tab.Names, []string{"x", "y"}) {
			t.Errorf("%s: %+v %v", path, tab, err)
		}
		if _, cells, err := ReadText(path, Options{}); err != nil || len(cells) != 2 || cells[1][0] != "3" {
			t.Errorf("%s as text: %v %v", path, cells, err)
		}
	}
	for path, names := range map[string]string{
		two: "d/a.csv, b.json: choose one", two + ":c.csv": "d/a.csv, b.json: choose one", zipped(): "choose one",
		file(t, "a.zip", "PK\x03\x04 cut off"): "a.zip",
	} {
		if _, err := Read(path, Options{}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, want %q", path, err, names)
		}
	}
}

// Text of two bytes a character is read in either order of the bytes, also compressed or without its mark, as the same
// text in UTF-8 is.
func TestUTF16(t *testing.T) {
	const text = "unsre größe\tcost €\r\n1,5\t2\r\n−3\t4\r\n"
	want, err := Read(file(t, "a.txt", text), Options{Types: true})
	if err != nil || len(want.Names) != 2 {
		t.Fatal(want, err)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			wide = order.AppendUint16(wide, unit)
		}
		for _, path := range []string{
			file(t, "a.txt", string(wide)), file(t, "a.txt.gz", gz(string(wide))), file(t, "b.txt", string(wide[2:])),
		} {
			got, err := Read(path, Options{Types: true})
			if err != nil || !slices.Equal(got.Names, want.Names) || !slices.Equal(got.Data.Data, want.Data.Data) {
				t.Errorf("%s by %v: %+v %v, want %+v", path, order, got, err, want)
			}
		}
	}
}

func TestNpyMissing(t *testing.T) {
	tab, err := Read(file(t, "a.npy", npyBytes([]int{1, 2}, 1, nan)), Options{})
	if err != nil || !equal(tab.Data, [][]float64{{1, nan}}) {
		t.Errorf("%v %v", tab, err)
	}
}

func parquetFile(t testing.TB, a blas.General) string {
	t.Helper()
	type row struct {
		A float64  `parquet:"a"`
		B *float32 `parquet:"b,optional"`
		C float64  `parquet:"c"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.MaxRowsPerRowGroup(900))
	for i := range a.Rows {
		v := float32(a.Data[i*a.Stride+1])
		r := row{a.Data[i*a.Stride], &v, a.Data[i*a.Stride+2]}
		if v < 0 {
			r.B = nil
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "a.parquet", b.String())
}

// FuzzParquet changes the bytes of Parquet files.
func FuzzParquet(f *testing.F) {
	path := parquetFile(f, blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 3, 4, -1, 6}})
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(whole, true)
	f.Fuzz(func(t *testing.T, text []byte, types bool) {
		r, err := (&source{name: "a.parquet", at: bytes.NewReader(text), size: int64(len(text))}).reader(
			Options{Types: types})
		if err == nil {
			_, err = ReadAll(r)
		}
		if err != nil && !errors.Is(err, ErrData) {
			t.Fatalf("error %v is not about the data", err)
		}
	})
}

func TestParquet(t *testing.T) {
	path := parquetFile(t, blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 3, 4, -1, 6}})
	tab, err := Read(path, Options{})
	if err != nil || !slices.Equal(tab.Names, []string{"a", "b", "c"}) ||
		!equal(tab.Data, [][]float64{{1, 2, 3}, {4, nan, 6}}) {
		t.Errorf("%v %v", tab, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file(t, "cut.parquet", string(whole[:len(whole)/2])), Options{}); !errors.Is(err, ErrData) {
		t.Errorf("half a file: %v", err)
	}
	lying := slices.Clone(whole)
	copy(lying[len(lying)-8:], "\xff\xff\xff\x7f")
	if _, err := Read(file(t, "long.parquet", string(lying)), Options{}); !errors.Is(err, ErrData) ||
		!strings.Contains(err.Error(), "footer claims") {
		t.Errorf("a footer longer than the file: %v", err)
	}
	var b bytes.Buffer
	type row struct {
		Name string
		Sub  struct{ A, B float64 }
		V, W float64
	}
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{Name: "x", V: 1, W: 2}, {Name: "y", V: 3, W: 4}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = file(t, "text.parquet", b.String())
	if _, err := Read(path, Options{}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), "Name") {
		t.Errorf("text column: %v", err)
	}
	if tab, err := Read(path, Options{Columns: only(3, 2)}); err != nil ||
		!slices.Equal(tab.Names, []string{"W", "V"}) || !equal(tab.Data, [][]float64{{2, 1}, {4, 3}}) {
		t.Errorf("columns without text: %v %v", tab, err)
	}
}

// only chooses columns by number.
func only(idx ...int) func([]string, int) ([]int, error) {
	return func([]string, int) ([]int, error) { return idx, nil }
}

// Columns are read in the order asked for, of every kind of file, and in CSV the others are not looked at.
func TestColumns(t *testing.T) {
	data := []float64{1, 2, 3, 4, 5, 6}
	whole := npyBytes([]int{2, 3}, data...)
	for name, path := range map[string]string{
		"csv":     file(t, "a.csv", "a,b,c\n1,2,3\n4,5,6\n"),
		"text":    file(t, "a.csv", "a,b,c\n1,red,3\n4,,6\n"),
		"npy":     file(t, "a.npy", whole),
		"npy.gz":  file(t, "a.npy.gz", gz(whole)),
		"parquet": parquetFile(t, blas.General{Rows: 2, Cols: 3, Stride: 3, Data: data}),
	} {
		opt := Options{Columns: func(names []string, cols int) ([]int, error) {
			if cols != 3 || names != nil && !slices.Equal(names, []string{"a", "b", "c"}) {
				t.Errorf("%s: columns %q, %d", name, names, cols)
			}
			return []int{2, 0, 2}, nil
		}}
		tab, err := Read(path, opt)
		if err != nil || !equal(tab.Data, [][]float64{{3, 1, 3}, {6, 4, 6}}) || tab.Names != nil &&
			!slices.Equal(tab.Names, []string{"c", "a", "c"}) {
			t.Errorf("%s: %v %v", name, tab, err)
		}
		if _, err := Read(path, Options{Columns: only()}); !errors.Is(err, ErrData) {
			t.Errorf("%s: no columns: %v", name, err)
		}
	}
}

// TestParquetClaims refuses footers whose lists are longer than their bytes, and pages that claim more than the limit,
// before anything of that length is made.
func TestParquetClaims(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[struct{ A, B float64 }](&b)
	rows := make([]struct{ A, B float64 }, 1000)
	for i := range rows {
		rows[i].A = float64(i)
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if tab, err := Read(file(t, "a.parquet", b.String()), Options{}); err != nil || tab.Data.Rows != 1000 {
		t.Fatal(err)
	}
	// version 1, a list of 2³¹−1 structures
	footer := "\x15\x02\x19\xfc\xff\xff\xff\xff\x07"
	claim := "PAR1" + footer + string(binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))) + "PAR1"
	if _, err := Read(file(t, "b.parquet", claim), Options{}); !errors.Is(err, ErrData) ||
		!strings.Contains(err.Error(), "footer is broken") {
		t.Errorf("a list of 2³¹−1 columns: %v", err)
	}
	memory.SetLimit(32 << 10)
	t.Cleanup(func() { memory.SetLimit(0) })
	if _, err := Read(file(t, "a.parquet", b.String()), Options{}); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("pages of 8 kB each, and 32 kB: %v", err)
	}
}

// TestNestedJSON decodes what lies in each other once: columns have the names of all levels, up to a depth.
func TestNestedJSON(t *testing.T) {
	for depth, fine := range map[int]bool{99: true, 100: false, 50_000: false} {
		text := "[" + strings.Repeat(`{"a":`, depth+1) + "1" + strings.Repeat("}", depth+1) + "]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tab, err := Read(file(t, "a.json", text), Options{})
		runtime.ReadMemStats(&after)
		if fine && (err != nil || tab.Names[0] != strings.Repeat("a.", depth)+"a") ||
			!fine && (!errors.Is(err, ErrData) || !strings.Contains(err.Error(), "nested 100 deep")) {
			t.Errorf("depth %d: %v", depth, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("depth %d: %d bytes took %d", depth, len(text), took)
		}
	}
	header, records, err := ReadText(file(t, "b.json", `[{"a": [1, {"b" : "é<", "c": null}, [true]], "d": 1e-3}]`), Options{Types: true})
	if err == nil || header != nil || records != nil {
		t.Errorf("one object with a list is read as %q %q", header, records)
	}
	_, records, err = ReadText(file(t, "c.json", `{"a": [1, {"b" : "é<", "c": null}, [true], []], "d": 1e-3} {"a": [ ]}`), Options{Types: true})
	want := []string{`[1,{"b":"é<","c":null},[true],[]]`, "1e-3"}
	if err != nil || !slices.Equal(records[0], want) || records[1][0] != "[]" {
		t.Errorf("%q, %v, want %q", records, err, want)
	}
}
