package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/schema"
)

// selectColumns reads a list of names, patterns with * and ?, numbers from 0 and ranges of them, in which
// names that hold a comma stand in quotes.
func selectColumns(text, flag string, names []string, cols int) ([]int, error) {
	list := csv.NewReader(strings.NewReader(text))
	list.TrimLeadingSpace = true
	items, err := list.Read()
	if err != nil {
		return nil, status.Input("%s: %s: a quote is not closed", flag, text)
	}
	var idx []int
	for _, item := range items {
		found, err := selectItem(strings.TrimSpace(item), flag, names, cols)
		if err != nil {
			return nil, err
		}
		idx = append(idx, found...)
	}
	return idx, nil
}

// selectItem lists the columns that one item of a list means.
func selectItem(item, flag string, names []string, cols int) (idx []int, err error) {
	if j := slices.Index(names, item); j >= 0 && item != "" {
		if slices.Contains(names[j+1:], item) {
			return nil, status.Input("%s: the file has several columns %q: choose by numbers from 0", flag, item)
		}
		return []int{j}, nil
	}
	if strings.ContainsAny(item, "*?[") {
		for j, name := range names {
			if ok, err := path.Match(item, name); ok && err == nil {
				idx = append(idx, j)
			}
		}
		if idx == nil {
			return nil, status.Input("%s: no column is called as %q says: %s", flag, item, someNames(names))
		}
		return idx, nil
	}
	from, to, isRange := strings.Cut(item, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil || a > b {
		return nil, status.Input("%s: there is no column %q%s", flag, item, nearestNames(item, names))
	}
	if b >= cols {
		return nil, status.Input("%s: column %d is out of range: the file has columns 0 to %d%s", flag, b, cols-1,
			map[bool]string{true: ", and no header, unless --header yes says so"}[names == nil])
	}
	for j := a; j <= b; j++ {
		idx = append(idx, j)
	}
	return idx, nil
}

const noHeader = "the file has no header (--header yes says that it has), so give numbers from 0"

// someNames lists the first columns of a file.
func someNames(names []string) string {
	if names == nil {
		return noHeader
	}
	if len(names) == 1 {
		return fmt.Sprintf("the file has one column, %q: commas, semicolons, tabs or |, or spaces between numbers, "+
			"separate columns", names[0])
	}
	return "the file has " + page.Enumerated(names, 8)
}

// nearestNames is the end of a message about an unknown name: the most similar names.
func nearestNames(name string, names []string) string {
	if names == nil {
		return ": " + noHeader
	}
	like := similar(name, names)
	if len(like) == 0 {
		return ": " + someNames(names)
	}
	return ": is it " + strings.Join(quoted(like), " or ") + "?"
}

// similar are up to three names of small edit distance to name, the nearest first.
func similar(name string, names []string) []string {
	like := slices.DeleteFunc(schema.Nearest(name, names), func(s string) bool {
		d := schema.Distance(name, s)
		return d > (len(name)+1)/2 || d == len(name)
	})
	return like[:min(3, len(like))]
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return out
}

// columnsOf chooses the inputs of the model among the columns of --x: those of --x-columns, or those of the same names
// in any order; without names all in order. Renamed columns are matched by their order where the numbers of unmatched
// names agree.
func (d *dataFlags) columnsOf(cmd *cobra.Command, model *iokl.Model) func([]string, int) ([]int, error) {
	return func(names []string, cols int) ([]int, error) {
		all, err := d.inputColumns().index(names, cols)
		want := schema.Columns(model.InputSchema())
		if err != nil || d.xColumns != "" || names == nil || want.Sources() == nil {
			if n := len(all); err == nil && n != len(want) && n != want.Cols() { // the latter in arrays
				err = status.Input("%s: the data have %d columns, the model was fitted on %d", d.x, n, len(want))
			}
			return all, err
		}
		idx, renamed, err := match(want, names, all)
		if err != nil {
			return nil, status.Input("%s: %v", d.x, err)
		}
		if renamed != nil {
			warn(cmd.ErrOrStderr(), []string{fmt.Sprintf("%s: by the order of the columns that have other names, %s",
				d.x, page.Enumerated(renamed, 5))})
		}
		return idx, nil
	}
}

// match finds the columns of a schema among the columns have of a file, and lists those that it matched by their order.
// A column that the schema does not use may be any.
func match(want schema.Columns, names []string, have []int) (idx []int, renamed []string, err error) {
	idx = make([]int, len(want))
	left := slices.Clone(have)
	var missing []int
	for k, c := range want {
		at := slices.IndexFunc(left, func(j int) bool { return names[j] == c.Name })
		switch {
		case at >= 0:
			idx[k] = left[at]
			left = slices.Delete(left, at, at+1)
		case c.Used():
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return idx, nil, nil
	}
	if len(left) != len(missing) {
		return nil, nil, absent(want, missing, names, left)
	}
	for i, k := range missing {
		idx[k] = left[i]
		renamed = append(renamed, fmt.Sprintf("%q is taken for %q", names[left[i]], want[k].Name))
	}
	return idx, renamed, nil
}

// absent is the error about missing columns, with the most similar names of the file.
func absent(want schema.Columns, missing []int, names []string, left []int) error {
	var lacking, free []string
	for _, k := range missing {
		lacking = append(lacking, want[k].Name)
	}
	for _, j := range left {
		free = append(free, names[j])
	}
	column, add := "column", "add it, with empty cells where it is not known"
	if len(lacking) > 1 {
		column, add = "columns", "add them, with empty cells where they are not known"
	}
	text := fmt.Sprintf("has no %s %s, which the model needs", column, page.Enumerated(quoted(lacking), 5))
	var like []string
	for _, name := range lacking {
		if names := similar(name, free); len(names) > 0 {
			it := "it"
			if len(lacking) > 1 {
				it = strconv.Quote(name)
			}
			like = append(like, it+" "+strings.Join(quoted(names), " or "))
		}
	}
	if like != nil {
		return fmt.Errorf("%s: is %s? (--x-columns says which columns to use)", text, page.Enumerated(like, 5))
	}
	return fmt.Errorf("%s: %s", text, add)
}

// far counts, by column, the inputs beyond the limits of a model.
type far struct {
	low, high []float64
	count     []int
}

func (f *far) note(X blas.General) {
	if len(f.low) != X.Cols {
		return
	}
	if f.count == nil {
		f.count = make([]int, X.Cols)
	}
	for i := range X.Rows {
		for j, v := range blas.Row(X, i) {
			if v < f.low[j] || v > f.high[j] {
				f.count[j]++
			}
		}
	}
}

func (f *far) warnings(file string, names []string) []string {
	var in []string
	total := 0
	for j, c := range f.count {
		if total += c; c > 0 {
			in = append(in, names[j])
		}
	}
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s %s far outside what the model learned from, in %s: the range there, "+
		"widened by its width on both sides, is as far as it goes",
		page.Counted(total, "value"), file, map[bool]string{true: "is", false: "are"}[total == 1],
		page.Enumerated(in, 5))}
}

// giveaways warns of single input columns that determine a target.
func (d *data) giveaways() (hints []string) {
	if d.X == nil {
		return nil
	}
	s := d.X.Schema
	targets, names := d.targetCodes()
	at := 0
	for k := range s {
		w := schema.Columns{s[k]}.Cols()
		for t, target := range targets {
			if w > 0 && at+w <= d.X.Data.Cols && len(target) == d.X.Data.Rows &&
				determines(blas.View(d.X.Data, 0, at, d.X.Data.Rows, w), target) {
				hints = append(hints,
					fmt.Sprintf("%s gives %s away: rows with the same value have the same target; if it is not known "+
						"when predicting, --drop it", s.Label(k), names[t]))
			}
		}
		at += w
	}
	return hints
}

// targetCodes are the targets as numbers, with their names.
func (d *data) targetCodes() (targets [][]float64, names []string) {
	if d.labels != nil {
		target := make([]float64, len(d.labels))
		for i, number := range numbered(d.labels, nil) {
			if target[i] = float64(number); d.labels[i] == "" {
				target[i] = math.NaN()
			}
		}
		return [][]float64{target}, []string{"the class"}
	}
	for j := range d.Y.Data.Cols {
		targets, names = append(targets, mat.Col(nil, j, blas.Dense(d.Y.Data))), append(names, d.Y.Schema.Label(j))
	}
	return targets, names
}

// A column determines a target where it has at most mostValues different values, with repeats rows each on average.
const mostValues, repeats = 1000, 5

// determines reports whether equal rows of X, of which there are several, have equal targets, while the targets of all
// rows are not equal.
func determines(X blas.General, target []float64) bool {
	value := map[string]float64{}
	rows := 0
	for i, v := range target {
		if v != v {
			continue
		}
		rows++
		key := fmt.Sprint(blas.Row(X, i))
		known, ok := value[key]
		if ok && known != v || len(value) > mostValues {
			return false
		}
		value[key] = v
	}
	different := slices.Compact(slices.Sorted(maps.Values(value)))
	return len(different) > 1 && repeats*len(value) <= rows
}

// classNumbers warns of class labels that are many different numbers.
func classNumbers(labels []string) []string {
	const many = 20
	different := map[string]bool{}
	for _, label := range labels {
		if !table.MayBeNumber(label) {
			return nil
		}
		different[label] = true
	}
	if len(different) <= many {
		return nil
	}
	return []string{fmt.Sprintf("the labels are %d different numbers, and each is a class of its own: are they "+
		"amounts? Without --classes they are predicted as such", len(different))}
}
