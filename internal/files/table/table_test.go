package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy"
)

func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gz(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func npyBytes(shape []int, data ...float64) string {
	var b bytes.Buffer
	_ = npy.Write(&b, npy.Array{Shape: shape, Data: data})
	return b.String()
}

func equal(a blas.General, rows [][]float64) bool {
	if a.Rows != len(rows) {
		return false
	}
	for i, want := range rows {
		if !slices.EqualFunc(blas.Row(a, i), want, func(x, y float64) bool { return x == y || x != x && y != y }) {
			return false
		}
	}
	return true
}

func TestReadCSV(t *testing.T) {
	for name, c := range map[string]struct {
		file, in string
		names    []string
		rows     [][]float64
	}{
		"plain":             {"a.csv", "1,2\n3,4\n", nil, [][]float64{{1, 2}, {3, 4}}},
		"no final newline":  {"a.csv", "1,2\n3,4", nil, [][]float64{{1, 2}, {3, 4}}},
		"header":            {"a.csv", "x,y\n3,4\n", []string{"x", "y"}, [][]float64{{3, 4}}},
		"header, one blank": {"a.csv", ",y\n3,4\n", []string{"", "y"}, [][]float64{{3, 4}}},
		"byte order mark":   {"a.csv", "\xef\xbb\xbfx,y\n3,4\n", []string{"x", "y"}, [][]float64{{3, 4}}},
		"CRLF":              {"a.csv", "x,y\r\n3,4\r\n5,6\r\n", []string{"x", "y"}, [][]float64{{3, 4}, {5, 6}}},
		"quoted": {
			"a.csv", "\"x,1\",\"say \"\"y\"\"\"\n\"3\",4\n", []string{"x,1", `say "y"`}, [][]float64{{3, 4}},
		},
		"newline in quotes": {"a.csv", "\"a\nb\",y\n3,4\n", []string{"a\nb", "y"}, [][]float64{{3, 4}}},
		"carriage returns":  {"a.csv", "x,y\r3,4\r5,6\r", []string{"x", "y"}, [][]float64{{3, 4}, {5, 6}}},
		"semicolons":        {"a.csv", "x;y\n3;4\n", []string{"x", "y"}, [][]float64{{3, 4}}},
		"quoted separators": {"a.csv", "\"a;b;c\",y\n3,4\n", []string{"a;b;c", "y"}, [][]float64{{3, 4}}},
		"tabs, empty cells": {
			"a.tsv", "x\ty\tz\n3\t\t4\n\t5\t\n", []string{"x", "y", "z"}, [][]float64{{3, nan, 4}, {nan, 5, nan}},
		},
		"empty cells":        {"a.csv", "1,,3\n,,\n", nil, [][]float64{{1, nan, 3}, {nan, nan, nan}}},
		"spaces":             {"a.csv", " 1 , 2\n 3 , 4e-1 \n", nil, [][]float64{{1, 2}, {3, .4}}},
		"one column":         {"a.csv", "y\n1\n2\n", []string{"y"}, [][]float64{{1}, {2}}},
		"blank lines":        {"a.csv", "\n1,2\n\n3,4\n\n", nil, [][]float64{{1, 2}, {3, 4}}},
		"empty in a column":  {"a.csv", "y\n\n1\n\n\n2\n\n", []string{"y"}, [][]float64{{nan}, {1}, {nan}, {nan}, {2}}},
		"gzip":               {"a.csv.gz", gz("x,y\n3,4\n"), []string{"x", "y"}, [][]float64{{3, 4}}},
		"gzip of other name": {"a.csv", gz("x,y\n3,4\n"), []string{"x", "y"}, [][]float64{{3, 4}}},
		"decimal commas":     {"a.csv", "x;y\n1;2\n3;4,5\n", []string{"x", "y"}, [][]float64{{1, 2}, {3, 4.5}}},
		"amounts": {
			"a.csv", "x,y\n\"$1,200\",1 %\n(3),\"12.5 %\"\n", []string{"x", "y"}, [][]float64{{1200, 1}, {-3, 12.5}},
		},
		"points, commas": {
			"a.csv", "x;y\n1.234;1\n1.234,5;2\n", []string{"x", "y"}, [][]float64{{1234, 1}, {1234.5, 2}},
		},
		"thousands only": {
			"a.tsv", "x\ty\n1,234\t1\n22,345\t2\n", []string{"x", "y"}, [][]float64{{1234, 1}, {22345, 2}},
		},
		"commas, semicolons": {
			"a.csv", "x;y\n1,234;1\n2,345;2\n", []string{"x", "y"}, [][]float64{{1.234, 1}, {2.345, 2}},
		},
		"words for nothing": {
			"a.csv", "x,y\nNA,1\n2,?\n#N/A,-\nnull,None\n",
			[]string{"x", "y"},
			[][]float64{{nan, 1}, {2, nan}, {nan, nan}, {nan, nan}},
		},
		"missing at ends": {
			"a.csv", "1,2,\n3,4,\n5,6,7\n8,9,1\n", nil,
			[][]float64{{1, 2, math.NaN()}, {3, 4, math.NaN()}, {5, 6, 7}, {8, 9, 1}},
		},
		"separator at ends": {"a.csv", "x,y,\n1,2,\n3,4,\n", []string{"x", "y"}, [][]float64{{1, 2}, {3, 4}}},
		"in rows only":      {"a.csv", "x,y\n1,2,\n3,4,\n", []string{"x", "y"}, [][]float64{{1, 2}, {3, 4}}},
		"in header only":    {"a.csv", "x,y,\n1,2\n3,4\n", []string{"x", "y"}, [][]float64{{1, 2}, {3, 4}}},
		"without a header":  {"a.csv", "1,2,\n3,4,\n", nil, [][]float64{{1, 2}, {3, 4}}},
		"names of rows": {
			"a.csv", "x,y\n1,3,4\n2,5,6\n", []string{"", "x", "y"}, [][]float64{{1, 3, 4}, {2, 5, 6}},
		},
		"bars":    {"a.txt", "x|y\n1|2\n", []string{"x", "y"}, [][]float64{{1, 2}}},
		"Latin-1": {"a.csv", "gr\xf6\xdfe,y\n1,2\n", []string{"größe", "y"}, [][]float64{{1, 2}}},
		"JSON records": {
			"a.json", "[{\"b\": 1, \"a\": null},\n {\"a\": 2.5, \"b\": \"3\", \"c\": 4}]",
			[]string{"b", "a", "c"},
			[][]float64{{1, nan, nan}, {3, 2.5, 4}},
		},
		"JSON in JSON": {
			"a.json", `[{"a": {"x": 1, "y": {"z": 2}}, "b": 3}, {"b": 4, "a": {"x": null}}]`,
			[]string{"a.x", "a.y.z", "b"},
			[][]float64{{1, 2, 3}, {nan, nan, 4}},
		},
		"separator named":   {"a.csv", "sep=;\r\nx;y\r\n1;2,5\r\n", []string{"x", "y"}, [][]float64{{1, 2.5}}},
		"JSON lines":        {"a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n", []string{"a"}, [][]float64{{1}, {2}}},
		"JSON, gzip":        {"a.json.gz", gz("[{\"a\": 1}]"), []string{"a"}, [][]float64{{1}}},
		"unknown extension": {"a.data", "3,4\n", nil, [][]float64{{3, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := Read(file(t, c.file, c.in), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(tab.Names, c.names) || !equal(tab.Data, c.rows) {
				t.Errorf("got %q %v, want %q %v", tab.Names, tab.Data, c.names, c.rows)
			}
		})
	}
}

func TestHeaderOption(t *testing.T) {
	in := "1990,1991\n3,4\n"
	for opt, want := range map[Header]int{HeaderAuto: 2, HeaderYes: 1, HeaderNo: 2} {
		tab, err := Read(file(t, "a.csv", in), Options{Header: opt})
		if err != nil || tab.Data.Rows != want || (tab.Names != nil) != (opt == HeaderYes) {
			t.Errorf("header option %d: %v %v", opt, tab, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	whole := npyBytes([]int{2, 2}, 1, 2, 3, 4)
	for name, c := range map[string]struct{ file, in, want string }{
		"text cell": {"a.csv", "x,y\n1,2\n3,abc\n", `row 2 (line 3), column 2 "y": "abc" is not a number`},
		"merge conflict": {
			"a.csv", "x,y\n1,2\n<<<<<<< HEAD\n3,4\n=======\n3,5\n>>>>>>> other\n",
			`line 3 is the mark of a merge conflict, "<<<<<<< HEAD"`,
		},
		"title": {
			"a.csv", "Report of May\n\na,b,c\n1,2,3\n",
			`the first row holds "Report of May" alone and another 3 cells: delete the rows above the names`,
		},
		"old spreadsheet": {"a.csv", "\xd0\xcf\x11\xe0\xa1\xb1", "is a spreadsheet of an old format"},
		"JSON of columns": {
			"a.json", `{"a": [1, 2], "b": [3, 4]}`, `it is one object of lists: JSON is read as records`,
		},
		"JSON of rows":         {"a.json", `[[1, 2], [3, 4]]`, `row 1 is no object`},
		"half a JSON":          {"a.json", `[{"a": 1}, {"a": 2`, "row 2: the file is cut short"},
		"empty JSON":           {"a.json", `[]`, "is empty"},
		"text cell, no header": {"a.csv", "1,2\n3,abc\n", `row 2 (line 2), column 2: "abc" is not a number`},
		"text below blanks":    {"a.csv", "y\n\n1\n\nabc\n", `row 4 (line 5), column 1 "y": "abc" is not a number`},
		"text in first row":    {"a.csv", "1,abc\n3,4\n", `row 1 (line 1), column 2: "abc" is not a number`},
		"infinity in words":    {"a.csv", "1,2\ninf,4\n", `row 2 (line 2), column 1: "inf" is not a finite number`},
		"infinite cell":        {"a.csv", "1,1e999\n3,4\n", "row 1 (line 1), column 2"},
		"ragged":               {"a.csv", "x,y\n1,2\n3\n", "row 2 (line 3) has 1 cells where the first row has 2"},
		"bare quote": {
			"a.csv", "x,y\n1,2\"\n", `line 2, column 4: bare " in non-quoted-field: a cell that holds a quotation mark`,
		},
		"line at the end": {"a.csv", "x,y\n1,2\nby me\n", "has 2: complete the row, or delete it"},
		"empty":           {"a.csv", "", "is empty"},
		"blank":           {"a.csv", "\n\n", "is empty"},
		"header only":     {"a.csv", "x,y\n", "no rows"},
		"UTF-16, cut":     {"a.csv", "\xff\xfex\x00\n", "has a header and no rows"},
		"spreadsheet":     {"a.csv", "PK\x03\x04....", "zip archive"},
		"binary":          {"a.csv", "\x7fELF\x00\x01", "not a text file"},
		"half a gzip":     {"a.csv.gz", gz("x,y\n3,4\n")[:20], "unexpected EOF"},
		"foreign npy":     {"a.npy", "hello, this is text", "not those of a .npy file"},
		"short npy":       {"a.npy", "\x93NU", "not a .npy file"},
		"cut npy":         {"a.npy", whole[:len(whole)-1], "cut short"},
		"infinity in npy": {"a.npy", npyBytes([]int{1, 1}, math.Inf(-1)), "row 1, column 1: -Inf"},
		"stack as table":  {"a.npy", npyBytes([]int{1, 1, 1}, 1), "3 dimensions"},
		"empty npy":       {"a.npy", npyBytes([]int{0, 3}), "is empty"},
		"foreign npz":     {"a.npz", "hello", "no whole .npz archive"},
		"foreign parquet": {"a.parquet", "hello", "Parquet"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.file, c.in)
			_, err := Read(path, Options{})
			if !errors.Is(err, ErrData) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want ErrData naming the file and %q", err, c.want)
			}
			if err != nil && strings.Contains(strings.TrimSpace(err.Error()), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.csv"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Read(t.TempDir(), Options{}); !errors.Is(err, ErrData) {
		t.Errorf("folder: %v", err)
	}
	if _, err := Read("-", Options{}); !errors.Is(err, ErrData) {
		t.Errorf("standard input not given: %v", err)
	}
}

func TestStdin(t *testing.T) {
	for _, in := range []string{"x,y\n3,4\n", gz("x,y\n3,4\n")} {
		tab, err := Read("-", Options{Stdin: strings.NewReader(in)})
		if err != nil || !equal(tab.Data, [][]float64{{3, 4}}) {
			t.Errorf("standard input: %v %v", tab, err)
		}
	}
}

func TestBlocks(t *testing.T) {
	const rows, cols = 2500, 3
	data := make([]float64, rows*cols)
	fortran := make([]float64, rows*cols)
	var text strings.Builder
	for i := range rows {
		for j := range cols {
			v := float64(i) + float64(j)/4
			data[i*cols+j], fortran[j*rows+i] = v, v
		}
		fmt.Fprintf(&text, "%v,%v,%v\n", data[i*cols], data[i*cols+1], data[i*cols+2])
	}
	want := blas.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
	fbytes := strings.Replace(npyBytes([]int{rows, cols}, fortran...), "'fortran_order': False",
		"'fortran_order': True ", 1)
	for name, path := range map[string]string{
		"csv":     file(t, "a.csv", text.String()),
		"npy":     file(t, "a.npy", npyBytes([]int{rows, cols}, data...)),
		"npy.gz":  file(t, "a.npy.gz", gz(npyBytes([]int{rows, cols}, data...))),
		"npz":     npz(t, map[string]npy.Array{"a": {Shape: []int{rows, cols}, Data: data}}),
		"fortran": file(t, "a.npy", fbytes),
		"parquet": parquetFile(t, want),

		"fortran.gz": file(t, "a.npy.gz", gz(fbytes)),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := blas.NewGeneral(0, cols)
			block := blas.NewGeneral(700, cols)
			for {
				k, err := r.Read(block)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got.Data = append(got.Data, block.Data[:k*cols]...)
				got.Rows += k
			}
			if got.Rows != rows || !slices.Equal(got.Data, data) {
				t.Errorf("read %d rows, or other values", got.Rows)
			}
		})
	}
}

// The rows before a bad one are handed out, whatever the kind of file, and then its error, again and again.
func TestRowsBeforeABadOne(t *testing.T) {
	const rows, at = 2500, 1777
	a := blas.NewGeneral(rows, 3)
	fortran := make([]float64, 3*rows)
	for i := range a.Data {
		a.Data[i] = float64(i)
	}
	a.Data[3*at+2] = math.Inf(1)
	for i := range rows {
		for j := range 3 {
			fortran[j*rows+i] = a.Data[3*i+j]
		}
	}
	whole := npyBytes([]int{rows, 3}, a.Data...)
	text := strings.Builder{}
	for i := range rows {
		fmt.Fprintf(&text, "%v,%v,%v\n", a.Data[3*i], a.Data[3*i+1], a.Data[3*i+2])
	}
	row := fmt.Sprintf("row %d", at+1)
	for name, path := range map[string]string{
		"csv": file(t, "a.csv", text.String()),
		"npy": file(t, "a.npy", whole),
		"fortran": file(t, "a.npy", strings.Replace(npyBytes([]int{rows, 3}, fortran...), "'fortran_order': False",
			"'fortran_order': True ", 1)),
		"parquet":    parquetFile(t, a),
		"cut npy.gz": file(t, "a.npy.gz", gz(whole[:len(whole)-8*(3*(rows-at)-2)])),
	} {
		r, err := Open(path, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, block := 0, blas.NewGeneral(1024, 3)
		for err == nil {
			var k int
			k, err = r.Read(block)
			if k > 0 && block.Data[0] != float64(3*got) {
				t.Errorf("%s: row %d starts with %g", name, got, block.Data[0])
			}
			got += k
		}
		_, again := r.Read(block)
		if got != at || !errors.Is(err, ErrData) || !strings.Contains(err.Error(), row) || again == nil ||
			again.Error() != err.Error() {
			t.Errorf("%s: %d rows, then %v, then %v; want %d rows and the name of %s", name, got, err, again, at, row)
		}
		_ = r.Close()
	}
}

func TestWriteReadsBack(t *testing.T) {
	a := blas.General{Rows: 2, Cols: 2, Stride: 3, Data: []float64{0.1, nan, 99, math.MaxFloat64, -5e-324, 99}}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteNpy(path, a); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path, Options{})
	if err != nil || !equal(got.Data, [][]float64{{0.1, nan}, {math.MaxFloat64, -5e-324}}) {
		t.Errorf("%v %v", got, err)
	}
}

func TestReadText(t *testing.T) {
	path := file(t, "a.csv", "from,to,sign\nG5, G1,-\n\nG2,G1,+\n")
	header, rec, err := ReadText(path, Options{Header: HeaderYes})
	if err != nil || !slices.Equal(header, []string{"from", "to", "sign"}) || len(rec) != 2 || rec[0][1] != "G1" {
		t.Errorf("%q %q %v", header, rec, err)
	}
	if _, _, err := ReadText(file(t, "e.csv", ""), Options{}); !errors.Is(err, ErrData) {
		t.Errorf("empty: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"x,y\n1,2\n", "\"a\n", "1;2\r\n;\r\n", "\xef\xbb\xbf1\t2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		tab, err := Read("-", Options{Stdin: strings.NewReader(in)})
		if err == nil && (tab.Data.Rows == 0 || len(tab.Data.Data) != tab.Data.Rows*tab.Data.Cols) {
			t.Fatalf("%d rows, %d columns, %d cells", tab.Data.Rows, tab.Data.Cols, len(tab.Data.Data))
		}
		if err != nil && !errors.Is(err, ErrData) {
			t.Fatalf("error %v is not about the data", err)
		}
	})
}

// failsOnce is a reader that reports its failure to one call and its end to the next, as a connection that was reset.
type failsOnce struct {
	io.Reader
	failed bool
}

var errReset = errors.New("reset")

func (f *failsOnce) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if errors.Is(err, io.EOF) && !f.failed {
		f.failed, err = true, errReset
	}
	return n, err
}

func TestReadFailsOnce(t *testing.T) {
	for name, text := range map[string]string{"short": "1,2\n3,4\n", "empty": "", "long": strings.Repeat("1,2\n",
		40000), "gzip": gz(strings.Repeat("1,2\n", 40000))[:100]} {
		if _, err := Read("-", Options{Stdin: &failsOnce{Reader: strings.NewReader(text)}}); err == nil ||
			!strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// stuck is a reader that neither reads nor ends.
type stuck struct{ Reader }

func (stuck) Names() []string                  { return []string{"a"} }
func (stuck) Cols() int                        { return 1 }
func (s stuck) Read(blas.General) (int, error) { return 0, nil }

type stuckAt struct {
	stuck
	rows int
}

func (s stuckAt) Rows() int { return s.rows }

func TestReadAllEnds(t *testing.T) {
	for _, rows := range []int{-1, 5} {
		if _, err := ReadAll(stuckAt{rows: rows}); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// A number that means a missing cell does however it is written.
func TestNumberForNothing(t *testing.T) {
	opt := Options{NA: []string{"-999", "none such"}, Types: true}
	want := [][]float64{{1, nan}, {nan, 2}, {nan, 3}}
	for path, text := range map[string]string{
		"a.csv": "1,−999\n-999.00,2\nnone such,3\n", "a.json": `[{"x":1,"y":-999},{"x":-9.99e2,"y":2},{"y":3}]`,
	} {
		if tab, err := Read(file(t, path, text), opt); err != nil || !equal(tab.Data, want) {
			t.Errorf("%s: %+v %v, want %v", path, tab, err, want)
		}
	}
}

// Runs of spaces separate cells where every line has as many words, of which two are numbers.
func TestSpaces(t *testing.T) {
	for text, want := range map[string][][]float64{
		"  a    b\n 1.5   2 \n-3  ?\n":        {{1.5, 2}, {-3, nan}},
		"1  2\r\n3  4\r\n5  6\r\n":            {{1, 2}, {3, 4}, {5, 6}},
		"\"a\" \"b\"\n\"1\" 2 3\n\"2\" 4 5\n": {{2, 3}, {4, 5}}, // behind names of rows
	} {
		if tab, err := Read(file(t, "a.data", text), Options{Types: true}); err != nil || !equal(tab.Data, want) {
			t.Errorf("%q: %+v %v, want %v", text, tab, err, want)
		}
	}
	for _, text := range []string{"y\ntype 1\ntype 2\n", "y\n1 200\n3 400\n", "y\nBig Ben 1 2\nBig 1 2\n"} {
		if _, cells, err := ReadText(file(t, "a.txt", text), Options{Types: true}); err != nil || len(cells[0]) != 1 {
			t.Errorf("%q: %q %v, want one column", text, cells, err)
		}
	}
}
