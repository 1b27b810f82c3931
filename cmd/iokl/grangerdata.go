// This file reads time series, their groups, and true edges.

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
)

// load reads the series and says which columns are what.
func (g *grangerFlags) load(cmd *cobra.Command) (*granger.Data, error) {
	flags := dataFlags{header: g.header, missing: "mean", na: g.na}
	opt := flags.options()
	opt.Types, opt.Codes = true, true
	t, err := readTable(g.series, columns{flag: "--columns", list: g.columns, drop: g.drop}.index, opt,
		&stdin{r: cmd.InOrStdin()})
	if err != nil {
		return nil, err
	}
	if t.Schema == nil {
		t.Schema = schema.Numbers(t.Names, t.Data.Cols)
	}
	if t.Names == nil {
		for j := range t.Data.Cols {
			t.Names = append(t.Names, fmt.Sprintf("x%d", j+1))
		}
	}
	d := new(granger.Data)
	roles := make([]string, t.Data.Cols) // of the columns that are no series
	if g.replicate != "" {
		j, err := oneColumn(g.replicate, "--replicate", t)
		if err != nil {
			return nil, err
		}
		if d.Replicate, err = replicates(t, j); err != nil {
			return nil, err
		}
		roles[j] = "replicate"
	}
	j, err := g.clockColumn(t, d.Replicate)
	if err != nil {
		return nil, err
	}
	if j >= 0 {
		roles[j] = "time"
		warn(cmd.ErrOrStderr(), timeNotes(t, j, d.Replicate))
	}
	return d, g.takeSeries(cmd, d, t, roles)
}

// takeSeries takes the columns of numbers without a role as series, and says which others are left out.
func (g *grangerFlags) takeSeries(cmd *cobra.Command, d *granger.Data, t *table.Table, roles []string) error {
	var idx []int
	var others []string
	for j, c := range t.Schema {
		switch {
		case roles[j] != "":
		case c.Kind == schema.Number:
			idx = append(idx, j)
		default:
			others = append(others, t.Schema.Label(j))
		}
	}
	if len(idx) == 0 {
		return status.Input("%s: no series are left beside the replicate and time columns", g.series)
	}
	if others != nil {
		warn(cmd.ErrOrStderr(), []string{"left out, since they hold no numbers: " + results.Enumerated(others, 10)})
	}
	t = pick(t, idx)
	d.Names, d.X = t.Names, t.Data
	return g.nodes(d)
}

func oneColumn(name, flag string, t *table.Table) (int, error) {
	idx, err := selectColumns(name, flag, t.Names, t.Data.Cols)
	if err != nil {
		return 0, err
	}
	if len(idx) != 1 {
		return 0, status.Input("%s %s: one column is wanted", flag, name)
	}
	return idx[0], nil
}

// replicates numbers the values of a column.
func replicates(t *table.Table, j int) ([]int, error) {
	if t.Schema[j].Kind == schema.Text {
		return nil, status.Input("--replicate: the values of %s hardly repeat", t.Schema.Label(j))
	}
	values := mat.Col(nil, j, blas.Dense(t.Data))
	if i := slices.IndexFunc(values, math.IsNaN); i >= 0 {
		return nil, status.Input("row %d has no replicate", i+1)
	}
	numbers := numbered(values, nil)
	for i := range numbers {
		numbers[i]++ // messages count from 1
	}
	return numbers, nil
}

// clockColumn is the time column, -1 where there is none.
func (g *grangerFlags) clockColumn(t *table.Table, replicate []int) (int, error) {
	if g.clock != "" {
		return oneColumn(g.clock, "--time", t)
	}
	for j, name := range t.Names {
		if t.Schema[j].Kind == schema.Date {
			return j, nil
		}
		if n := strings.ToLower(name); n == "t" || n == "time" || table.NamesRows(name) {
			if _, back := steps(t, j, replicate); back == nil {
				return j, nil
			}
		}
	}
	return -1, nil
}

// steps are those of a time column from row to row inside every replicate, and the rows, from 1, whose time is not
// after that of the row above.
func steps(t *table.Table, j int, replicate []int) (all []float64, back []int) {
	for i := 1; i < t.Data.Rows; i++ {
		if replicate != nil && replicate[i] != replicate[i-1] {
			continue
		}
		step := t.Data.Data[i*t.Data.Stride+j] - t.Data.Data[(i-1)*t.Data.Stride+j]
		if all = append(all, step); !(step > 0) {
			back = append(back, i+1)
		}
	}
	return all, back
}

// evenSteps is the ratio of the longest to the shortest step of times that are evenly spaced: months are.
const evenSteps = 31.0 / 28

// timeNotes says, of a time column, that rows are not in its order or not evenly spaced.
func timeNotes(t *table.Table, j int, replicate []int) []string {
	all, back := steps(t, j, replicate)
	what := t.Schema.Label(j)
	if back != nil {
		return []string{fmt.Sprintf("rows are not in the order of %s: row %d is not after the row above it, nor are "+
			"%d others; lags count rows as they stand", what, back[0], len(back)-1)}
	}
	if len(all) == 0 || slices.Max(all) <= (1+1e-6)*evenSteps*slices.Min(all) {
		return nil
	}
	unit := ""
	if t.Schema[j].Kind == schema.Date {
		unit = " days"
	}
	return []string{fmt.Sprintf("rows are not evenly spaced in %s: steps are %.4g to %.4g%s; lags count rows, "+
		"whatever time passes", what, slices.Min(all), slices.Max(all), unit)}
}

// nodes reads the groups file.
func (g *grangerFlags) nodes(d *granger.Data) error {
	if g.groups == "" {
		return nil
	}
	_, records, err := table.ReadText(g.groups, table.Options{})
	if err != nil {
		return err
	}
	var pairs [][2]string
	for i, rec := range records {
		if len(rec) != 2 {
			return status.Input("%s: row %d has %d cells, want series,node", g.groups, i+1, len(rec))
		}
		if i == 0 && !slices.Contains(d.Names, rec[0]) && len(records) > 1 && (rec[0] == "series" || rec[1] == "node") {
			continue // a header
		}
		pairs = append(pairs, [2]string{rec[0], rec[1]})
	}
	d.Nodes, err = granger.Group(d.Names, pairs)
	return err
}

// readTruth reads edges from,to[,sign], or an N×N matrix of targets by sources.
func readTruth(name string, nodes []string) (blas.General, error) {
	if t, err := table.Read(name, table.Options{}); err == nil && t.Data.Rows == len(nodes) &&
		t.Data.Cols == len(nodes) {
		return t.Data, nil
	}
	_, records, err := table.ReadText(name, table.Options{})
	if err != nil {
		return blas.General{}, err
	}
	var edges []granger.Edge
	for i, rec := range records {
		if len(rec) < 2 {
			return blas.General{}, status.Input("%s: row %d has %d cells, want from,to", name, i+1, len(rec))
		}
		if i == 0 && strings.EqualFold(rec[0], "from") && strings.EqualFold(rec[1], "to") {
			continue
		}
		edges = append(edges, granger.Edge{From: rec[0], To: rec[1]})
	}
	return granger.Truth(nodes, edges)
}
