// Package data makes the inputs of the cases of package bench: data sets of the module and of the folder of --data, and
// samples and systems simulated from a seed.
package data

import (
	"bytes"
	_ "embed" // the sets of the module
	"encoding/csv"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext/prng"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/table"
)

// path is the path of a file in a data set's folder: below that of --data, or below ../shared/data from the module's
// root or the working directory.
func path(e *bench.Env, set, file string) string {
	dir := e.Data
	for at, _ := os.Getwd(); dir == ""; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			dir = filepath.Join(at, "..", "shared", "data")
		} else if at == filepath.Dir(at) {
			dir = filepath.Join("..", "shared", "data")
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

// SplitRows holds the rows test of X and Y out.
func SplitRows(X, Y blas.General, train, test []int) *Split {
	return &Split{blas.TakeRows(X, train), blas.TakeRows(Y, train), blas.TakeRows(X, test), blas.TakeRows(Y, test)}
}

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
	return SplitRows(X, Y, train, test), nil
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

// Curves are learning curves Y (l×n), a row for the settings in each row of X, and Z, which is Y with NaN in the tails
// that are cut off.
type Curves struct{ X, Y, Z blas.General }

// LCBench reads a set of learning curves and cuts a share of them at epochs that are drawn uniformly, as Lin et al.
// do: Scalable Gaussian Processes with Latent Kronecker Structure, ICML 2025.
func LCBench(env *bench.Env, set string, share float64) (*Curves, error) {
	t, err := ReadAll(env, "lcbench", set+".npz:X", set+".npz:Y")
	if err != nil {
		return nil, err
	}
	return newCurves(t[0], t[1], share), nil
}

// newCurves cuts curves and standardises the settings. The unit of targets is the deviation of those in the last
// column that are left, and 0 is their mean.
func newCurves(X, Y blas.General, share float64) *Curves {
	c := &Curves{blas.Clone(X), blas.Clone(Y), blas.Clone(Y)}
	l, n := Y.Rows, Y.Cols
	g := legacy{prng.NewMT19937()}
	g.Seed(2025)
	for _, i := range g.permutation(l)[:int(share*float64(l))] {
		tail := blas.Row(c.Z, i)[g.upTo(n-1):]
		for k := range tail {
			tail[k] = math.NaN()
		}
	}
	var last []float64
	for i := range l {
		if v := blas.Row(c.Z, i)[n-1]; !math.IsNaN(v) {
			last = append(last, v)
		}
	}
	mean, deviation := stat.PopMeanStdDev(last, nil)
	for _, a := range []blas.General{c.Y, c.Z} {
		for i, v := range a.Data {
			a.Data[i] = (v - mean) / deviation
		}
	}
	Standardise(c.X, blas.General{})
	return c
}

// legacy draws the numbers that numpy.random.RandomState draws.
type legacy struct{ *prng.MT19937 }

// upTo is a number from 0 to most.
func (g legacy) upTo(most int) int {
	mask := uint32(1)<<bits.Len(uint(most)) - 1
	for {
		if v := int(g.Uint32() & mask); v <= most {
			return v
		}
	}
}

func (g legacy) permutation(l int) []int {
	p := make([]int, l)
	for i := range p {
		p[i] = i
	}
	for i := l - 1; i > 0; i-- {
		j := g.upTo(i)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// MadeCurves draws l settings of five numbers and curves of n epochs that saturate: start, limit and rate are smooth
// functions of the settings, of which each curve departs in its own way, and every cell has noise.
func MadeCurves(rng *rand.Rand, l, n int, share float64) *Curves {
	X, Y := Normal(rng, l, 5), blas.NewGeneral(l, n)
	for i := range l {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		limit := math.Tanh(x[0]) + 0.5*math.Sin(2*x[1]) - 0.3*x[2]*x[2] + 0.15*rng.NormFloat64()
		start := -1.5 + 0.3*x[2]
		rate := math.Exp(0.7*math.Sin(x[3]+x[0]) + 0.2*rng.NormFloat64() - 1)
		wander := 0.0
		for k := range y {
			wander = 0.8*wander + 0.03*rng.NormFloat64()
			y[k] = limit + (start-limit)*math.Pow(1+float64(k), -rate) + wander + 0.02*rng.NormFloat64()
		}
	}
	return newCurves(X, Y, share)
}

// Score is that of predictions in the missing cells.
func (c *Curves) Score(F, D blas.General) (rmse, density float64) {
	return Score(F, D, c.Y, func(i, k int) bool { return math.IsNaN(blas.Row(c.Z, i)[k]) })
}

// LastValue is each curve with its last value in the place of those missing, and the mean of the column for curves
// without any.
func (c *Curves) LastValue() blas.General {
	F := blas.Clone(c.Z)
	sum, count := make([]float64, F.Cols), make([]float64, F.Cols)
	for i := range F.Rows {
		for k, v := range blas.Row(c.Z, i) {
			if !math.IsNaN(v) {
				sum[k], count[k] = sum[k]+v, count[k]+1
			}
		}
	}
	for i := range F.Rows {
		row := blas.Row(F, i)
		for k, v := range row {
			switch {
			case !math.IsNaN(v):
			case k > 0 && !math.IsNaN(c.Z.Data[i*c.Z.Stride]):
				row[k] = row[k-1]
			default:
				row[k] = sum[k] / count[k]
			}
		}
	}
	return F
}
