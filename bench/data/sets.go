// Package data has what the cases of package bench measure on: data sets, those in
// the module and those in the folder of --data, and samples and systems made from a seed.
package data

import (
	"bytes"
	_ "embed" // the sets of the module
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/table"
)

// path is the path of a file in a data set's folder.
func path(e *bench.Env, set, file string) string {
	dir := e.Data
	if dir == "" {
		dir = filepath.Join("..", "shared", "data")
		if root, err := bench.ModuleRoot(); err == nil {
			dir = filepath.Join(root, "..", "shared", "data")
		}
	}
	return filepath.Join(dir, set, file)
}

func absent(set string, err error) error {
	return fmt.Errorf("%w: the data set %s is not here (%v); --data names its folder", bench.ErrSkipped, set, err)
}

// Read reads the columns, or all, of one file of a data set, or says that the case is skipped.
func Read(e *bench.Env, set, file string, columns ...string) (*table.Table, error) {
	var opt table.Options
	if columns != nil {
		opt.Columns = func(names []string, _ int) (idx []int, err error) {
			for _, c := range columns {
				j := slices.Index(names, c)
				if j < 0 {
					return nil, fmt.Errorf("no column %s", c)
				}
				idx = append(idx, j)
			}
			return idx, nil
		}
	}
	t, err := table.Read(path(e, set, file), opt)
	if err != nil {
		return nil, absent(set, err)
	}
	return t, nil
}

// ReadAll reads files of a data set.
func ReadAll(e *bench.Env, set string, files ...string) ([]blas.General, error) {
	var all []blas.General
	for _, file := range files {
		t, err := Read(e, set, file)
		if err != nil {
			return nil, err
		}
		all = append(all, t.Data)
	}
	return all, nil
}

// ReadText reads a CSV file of words.
func ReadText(e *bench.Env, set, file string) ([][]string, error) {
	in, err := os.Open(path(e, set, file))
	if err != nil {
		return nil, absent(set, err)
	}
	defer in.Close()
	return csv.NewReader(in).ReadAll()
}

//go:embed macrodata.csv
var macroCSV []byte

// macroLevels are the series taken as they are; of the others, which grow, the
// quarterly change of the logarithm is taken.
var macroLevels = map[string]bool{"tbilrate": true, "unemp": true, "infl": true, "realint": true}

// Macro returns the US macroeconomic series of 1959–2009 (FRED, BLS; public
// domain) in stationary form, a row per quarter from the second on.
func Macro() (series blas.General, names []string, err error) {
	t, err := table.Read("macrodata.csv", table.Options{Stdin: bytes.NewReader(macroCSV)})
	if err != nil {
		return series, nil, err
	}
	names = t.Names[2:] // after year and quarter
	series = blas.NewGeneral(t.Data.Rows-1, len(names))
	for i := range series.Rows {
		before, now := blas.Row(t.Data, i)[2:], blas.Row(t.Data, i+1)[2:]
		for j, name := range names {
			if macroLevels[name] {
				blas.Row(series, i)[j] = now[j]
				continue
			}
			blas.Row(series, i)[j] = 100 * math.Log(now[j]/before[j])
		}
	}
	return series, names, nil
}

//go:embed digits.csv.gz
var digitsCSV []byte

// Digits returns the 1797 images, 64 pixels from 0 to 16 each, and their classes
// (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, CC BY 4.0).
func Digits() (images blas.General, labels []int, err error) {
	t, err := table.Read("digits.csv.gz", table.Options{Stdin: bytes.NewReader(digitsCSV), Header: table.HeaderNo})
	if err != nil {
		return images, nil, err
	}
	last := blas.Clone(blas.View(t.Data, 0, 64, t.Data.Rows, 1))
	return blas.Clone(blas.View(t.Data, 0, 0, t.Data.Rows, 64)), Ints(last.Data), nil
}

// Split is a table of which some rows are held out: inputs and targets to train on, and to test on.
type Split struct{ X, Y, Xt, Yt blas.General }

// UCI reads a set of regression, whose last column is the target, and the rows that its published split holds out.
func UCI(env *bench.Env, set string) (*Split, error) {
	t, err := ReadAll(env, "uci", set+".csv.gz", set+".test.npy")
	if err != nil {
		return nil, err
	}
	all, held := t[0], map[int]bool{}
	for _, i := range t[1].Data {
		held[int(i)] = true
	}
	var train, test []int
	for i := range all.Rows {
		if held[i] {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	d := all.Cols - 1
	X, Y := blas.View(all, 0, 0, all.Rows, d), blas.View(all, 0, d, all.Rows, 1)
	return &Split{blas.TakeRows(X, train), blas.TakeRows(Y, train), blas.TakeRows(X, test), blas.TakeRows(Y, test)}, nil
}

// MTR reads a set of multi-target regression; the columns named y_… are its targets.
func MTR(env *bench.Env, set string) (X, Y blas.General, err error) {
	t, err := Read(env, "mtr", set+".csv")
	if err != nil {
		return X, Y, err
	}
	var xs, ys []int
	for j, name := range t.Names {
		if strings.HasPrefix(name, "y_") {
			ys = append(ys, j)
		} else {
			xs = append(xs, j)
		}
	}
	columns := func(cols []int) blas.General {
		out := blas.NewGeneral(t.Data.Rows, len(cols))
		for i := range out.Rows {
			for k, j := range cols {
				blas.Row(out, i)[k] = blas.Row(t.Data, i)[j]
			}
		}
		return out
	}
	return columns(xs), columns(ys), nil
}
