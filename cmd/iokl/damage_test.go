package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/files/table"
)

// archived is an archive of one member.
func archived(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	m, err := z.Create(name)
	if err == nil {
		_, err = m.Write(text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// intact are small files of every kind, of words and numbers where the kind has words.
func intact(t *testing.T) map[string][]byte {
	t.Helper()
	text, records := "n,word,y\n", "["
	book := excelize.NewFile()
	_ = book.SetSheetRow("Sheet1", "A1", &[]any{"n", "word", "y"})
	a := npy.Array{Shape: []int{12, 3}}
	var rows []sample
	for i := range 12 {
		word := []string{"red", "blue", "green"}[i%3]
		text += fmt.Sprintf("%d,%s,%g\n", i, word, float64(i*i)/7)
		records += fmt.Sprintf(`{"n":%d,"word":%q,"y":%g},`, i, word, float64(i*i)/7)
		_ = book.SetSheetRow("Sheet1", fmt.Sprint("A", i+2), &[]any{i, word, float64(i*i) / 7})
		a.Data = append(a.Data, float64(i), float64(i%3), float64(i*i)/7)
		rows = append(rows, sample{U: float64(i), V: float64(i % 3), A: float64(i * i), B: 1})
	}
	records = strings.TrimSuffix(records, ",") + "]"
	var xlsx, array, arrays, pq bytes.Buffer
	z := npy.NewArchiveWriter(&arrays)
	w := parquet.NewGenericWriter[sample](&pq)
	_, err := w.Write(rows)
	for _, e := range []error{
		err, book.Write(&xlsx), npy.Write(&array, a), z.Array("a", a), z.Close(), w.Close(),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	return map[string][]byte{
		"t.xlsx": xlsx.Bytes(), "t.npy": array.Bytes(), "t.npz": arrays.Bytes(), "t.parquet": pq.Bytes(),
		"t.csv.gz": []byte(packed(text)), "t.json.gz": []byte(packed(records)),
		"t.npy.gz": []byte(packed(array.String())), "t.parquet.gz": []byte(packed(pq.String())),
		"t.npz.gz": []byte(packed(arrays.String())), "csv.zip": archived(t, "t.csv", []byte(text)),
		"deflated.npz": archived(t, "a.npy", array.Bytes()),
		"npy.zip":      archived(t, "t.npy", array.Bytes()), "json.zip": archived(t, "t.json", []byte(records)),
	}
}

// A file of which any byte is damaged, or the end is missing, is refused as bad input, or read as before. Numpy's and
// Parquet's arrays without checksums of their own are only seen to be damaged where their structure is.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, file := range intact(t) {
		checked := name != "t.npy" && name != "t.parquet"
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			read := func(b []byte) (*table.Table, error) {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				return table.Read(path, table.Options{Types: true})
			}
			want, err := read(file)
			if err != nil || want.Data.Rows != 12 {
				t.Fatal(want, err)
			}
			refused := 0
			try := func(b []byte, what string, at int) {
				got, err := read(b)
				switch {
				case err != nil && status.Of(work(err)) != exitUsage:
					t.Errorf("%s %d of %d: status %d: %v", what, at, len(file), status.Of(work(err)), err)
				case err != nil:
					refused++
				case checked && !reflect.DeepEqual(got, want):
					t.Errorf("%s %d of %d gives another table: %+v", what, at, len(file), got)
				}
			}
			step := max(1, len(file)/150)
			for i := 0; i < len(file); i += step {
				for _, flip := range []byte{1, 0xff} {
					b := bytes.Clone(file)
					b[i] ^= flip
					try(b, fmt.Sprintf("flip %#x of byte", flip), i)
				}
			}
			if least := len(file) / step; checked && refused < least {
				t.Errorf("%d of %d changes are noticed", refused, 2*least)
			}
			for n := 0; n < len(file); n += step {
				before := refused
				if try(file[:n], "end at byte", n); refused == before {
					t.Errorf("the first %d of %d bytes are a table", n, len(file))
				}
			}
		})
	}
}

// A model of which any byte is damaged is refused as bad input, or predicts as before.
func TestDamagedModels(t *testing.T) {
	dir := folder(t)
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-2 --out m")
	file, X := []byte(mustRead(t, "m")), mustTable(t, "xt.csv").Data
	predict := func(b []byte) ([]float64, error) {
		write(t, dir, "damaged", string(b))
		m, err := iokl.Load("damaged")
		if err != nil {
			return nil, err
		}
		F, err := m.Predict(blas.Dense(X))
		if err != nil {
			t.Fatal(err)
		}
		return F.RawMatrix().Data, nil
	}
	want, err := predict(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(file); i += len(file) / 300 {
		b := bytes.Clone(file)
		b[i] ^= 0x11
		got, err := predict(b)
		if err != nil && status.Of(work(err)) != exitUsage || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d of %d: %v, %v", i, len(file), got[:min(len(got), 3)], err)
		}
	}
}
