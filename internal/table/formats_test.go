package table

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/npy"
	"github.com/parquet-go/parquet-go"
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

func TestNpyAllowNaN(t *testing.T) {
	tab, err := Read(file(t, "a.npy", npyBytes([]int{1, 2}, 1, nan)), Options{AllowNaN: true})
	if err != nil || !equal(tab.Data, [][]float64{{1, nan}}) {
		t.Errorf("%v %v", tab, err)
	}
}

func parquetFile(t *testing.T, a blas.General) string {
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

func TestParquet(t *testing.T) {
	path := parquetFile(t, blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 3, 4, -1, 6}})
	tab, err := Read(path, Options{})
	if err != nil || !slices.Equal(tab.Names, []string{"a", "b", "c"}) || !equal(tab.Data, [][]float64{{1, 2, 3}, {4, nan, 6}}) {
		t.Errorf("%v %v", tab, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file(t, "cut.parquet", string(whole[:len(whole)/2])), Options{}); !errors.Is(err, ErrData) {
		t.Errorf("half a file: %v", err)
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[struct{ Name string }](&b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file(t, "text.parquet", b.String()), Options{}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), "Name") {
		t.Errorf("text column: %v", err)
	}
}
