package granger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/schema"
)

// ErrTime says that the rows have no one order of time.
var ErrTime = errors.New("granger: rows have no one order of time")

// Times is what the caller of [Data.InTime] knows about columns of times.
type Times struct {
	Clock int                // the column that orders the rows; −1 to find it
	Dates []int              // columns that hold dates, in days
	Label func(j int) string // what messages call a column; nil: by its name
}

// InTime sorts the rows of each replicate by the column that tells the time, and removes all columns that tell the time
// from the series. Data without such a column stay as they are. Notes say what was done.
//
// A column tells the time if it holds dates; if its name does, as time, date, year and timestamp do; or if it rises or
// falls by the same in nine of ten steps. Names that series have too, such as day and response_time, and names of
// identifiers of rows count only if the column rises or falls throughout. Errors wrap ErrTime: a row has no time, or
// two rows of a replicate have the same.
func (d *Data) InTime(t Times) error {
	if t.Label == nil {
		t.Label = func(j int) string { return fmt.Sprintf("%q", d.Names[j]) }
	}
	runs := d.replicates()
	all, notes := t.find(d, runs)
	if all == nil {
		return nil
	}
	clock := all[0]
	when := mat.Col(nil, clock, blas.Dense(d.X))
	var order []int
	var steps []float64
	for _, run := range runs {
		if i := slices.IndexFunc(run, func(i int) bool { return math.IsNaN(when[i]) }); i >= 0 {
			return fmt.Errorf("%w: row %d has no time in %s", ErrTime, run[i]+1, t.Label(clock))
		}
		slices.SortStableFunc(run, func(a, b int) int { return cmp.Compare(when[a], when[b]) })
		for k, i := range run[1:] {
			if steps = append(steps, when[i]-when[run[k]]); when[i] == when[run[k]] {
				return fmt.Errorf("%w: rows %d and %d have the same one in %s: where rows of several units stand in "+
					"one table, a replicate for each unit tells them apart; otherwise keep one row of each time, or "+
					"leave the column out to take the rows as they stand", ErrTime, run[k]+1, i+1, t.Label(clock))
			}
		}
		order = append(order, run...)
	}
	if !slices.IsSorted(order) {
		notes = append(notes, "rows are put in the order of "+t.Label(clock))
	}
	if len(steps) > 0 && slices.Max(steps) > (1+1e-6)*evenSteps*slices.Min(steps) {
		unit := ""
		if slices.Contains(t.Dates, clock) {
			unit = " days"
		}
		notes = append(
			notes,
			fmt.Sprintf("rows are not evenly spaced in %s: steps are %.4g to %.4g%s; lags count rows, "+
				"whatever time passes", t.Label(clock), slices.Min(steps), slices.Max(steps), unit),
		)
	}
	d.reorder(order, all)
	d.Notes = append(d.Notes, notes...)
	return nil
}

// evenSteps is the largest ratio of two steps between times that count as evenly spaced: that of two months.
const evenSteps = 31.0 / 28

// replicates lists the rows of each replicate, which need not be consecutive.
func (d *Data) replicates() (runs [][]int) {
	at := map[int]int{}
	for i := range d.X.Rows {
		name := 0
		if d.Replicate != nil {
			name = d.Replicate[i]
		}
		k, known := at[name]
		if !known {
			k, runs = len(runs), append(runs, nil)
			at[name] = k
		}
		runs[k] = append(runs[k], i)
	}
	return runs
}

// reorder takes the rows in that order, without some of the columns.
func (d *Data) reorder(rows, without []int) {
	kept := slices.DeleteFunc(sequence(0, d.X.Cols), func(j int) bool { return slices.Contains(without, j) })
	d.X = blas.Transposed(blas.TakeRows(blas.Transposed(blas.TakeRows(d.X, rows)), kept))
	d.Names = chosen(d.Names, kept)
	if d.Replicate != nil {
		d.Replicate = chosen(d.Replicate, rows)
	}
}

// find lists the columns that tell the time; nil where there is none. The first one sorts the rows: the one asked for,
// or dates, or one by its name, or one by its values.
func (t *Times) find(d *Data, runs [][]int) (all []int, notes []string) {
	const resets, values, named, dates, asked = 1, 2, 3, 4, 5
	clock, best := -1, 0
	for j, name := range d.Names {
		c := courseOf(mat.Col(nil, j, blas.Dense(d.X)), runs)
		surely, perhaps := schema.NamesTime(name)
		tells := (c.up > 0) != (c.down > 0) &&
			(c.even || surely || perhaps || schema.NamesRows(name) && c.level == 0)
		by := 0
		switch {
		case j == t.Clock:
			by = asked
		case slices.Contains(t.Dates, j):
			by = dates
		case surely && c.up+c.down > 0:
			by = named
		case tells:
			by = values
		case perhaps && c.even:
			by = resets
		}
		if by > best {
			clock, best = j, by
		}
		if tells || by >= dates {
			all = append(all, j)
		}
	}
	if clock < 0 {
		return nil, nil
	}
	all = slices.DeleteFunc(all, func(j int) bool { return j == clock })
	if _, perhaps := schema.NamesTime(d.Names[clock]); best < named && !perhaps && !schema.NamesRows(d.Names[clock]) {
		notes = append(notes, t.Label(clock)+" is taken for the time")
	}
	if len(all) > 0 {
		labels := make([]string, len(all))
		for k, j := range all {
			labels[k] = t.Label(j)
		}
		notes = append(notes, "no series, since they tell the time too: "+strings.Join(labels, ", "))
	}
	return append([]int{clock}, all...), notes
}

// course counts the steps of a column from row to row that lead up, down and to the same value.
type course struct {
	up, down, level int
	even            bool // there are four steps or more, nine of ten of them alike
}

func courseOf(v []float64, runs [][]int) (c course) {
	var moves []float64
	for _, run := range runs {
		last := math.NaN()
		for _, i := range run {
			switch step := v[i] - last; {
			case step > 0:
				c.up++
				moves = append(moves, step)
			case step < 0:
				c.down++
				moves = append(moves, step)
			case step == 0:
				c.level++
			}
			if !math.IsNaN(v[i]) {
				last = v[i]
			}
		}
	}
	if len(moves) > 0 {
		slices.Sort(moves)
		typical := moves[len(moves)/2]
		alike := floats.Count(func(v float64) bool { return math.Abs(v-typical) <= 1e-3*math.Abs(typical) }, moves)
		steps := len(moves) + c.level
		c.even = steps >= 4 && 10*alike >= 9*steps
	}
	return c
}
