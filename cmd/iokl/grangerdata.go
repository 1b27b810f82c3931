package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/schema"
)

// load reads the series, replicates, times and nodes.
func (g *grangerFlags) load(cmd *cobra.Command) (*granger.Data, error) {
	flags := dataFlags{header: g.header, missing: "mean", na: g.na}
	opt := flags.options()
	opt.Types, opt.Codes = true, true
	t, err := readTable(g.series, columns{flag: "--columns", list: g.columns, drop: g.drop}.index, opt,
		&stdin{r: cmd.InOrStdin()})
	if err != nil {
		return nil, err
	}
	if t.Names == nil {
		for j := range t.Data.Cols {
			t.Names = append(t.Names, fmt.Sprintf("x%d", j+1))
		}
	}
	d := new(granger.Data)
	replicate, clock := -1, -1
	if g.replicate != "" {
		if replicate, err = oneColumn(g.replicate, "--replicate", t); err != nil {
			return nil, err
		}
		if d.Replicate, err = replicates(t, replicate); err != nil {
			return nil, err
		}
	}
	if g.clock != "" {
		if clock, err = oneColumn(g.clock, "--time", t); err != nil {
			return nil, err
		}
	}
	if err = g.takeSeries(cmd, d, t, replicate, clock); err != nil {
		return nil, err
	}
	return d, g.nodes(d)
}

// takeSeries takes the columns of numbers as series in the order of time, and warns of those that it leaves out.
func (g *grangerFlags) takeSeries(cmd *cobra.Command, d *granger.Data, t *table.Table, replicate, clock int) error {
	var idx []int
	var others []string
	times := granger.Times{Clock: -1, Label: func(j int) string { return t.Schema.Label(idx[j]) }}
	first := func(kind schema.Kind) int {
		return slices.IndexFunc(t.Schema, func(c schema.Column) bool { return c.Kind == kind })
	}
	day, hour := first(schema.Date), first(schema.Clock)
	if day >= 0 && hour >= 0 { // a date and a time of day are one time
		for i := range t.Data.Rows {
			if row := blas.Row(t.Data, i); !math.IsNaN(row[hour]) {
				row[day] += row[hour]
			}
		}
	}
	for j, c := range t.Schema {
		switch {
		case j == replicate, j == hour && day >= 0 && j != clock:
			continue
		case c.Kind == schema.Date, c.Kind == schema.Clock && j == clock:
			times.Dates = append(times.Dates, len(idx))
		case c.Kind != schema.Number:
			others = append(others, t.Schema.Label(j))
			continue
		}
		if j == clock {
			times.Clock = len(idx)
		}
		idx = append(idx, j)
	}
	if clock >= 0 && times.Clock < 0 {
		return status.Input("--time: %s holds neither numbers nor dates", t.Schema.Label(clock))
	}
	if others != nil {
		warn(cmd.ErrOrStderr(), []string{"left out, since they hold no numbers: " + page.Enumerated(others, 10)})
	}
	d.X = blas.NewGeneral(t.Data.Rows, len(idx))
	for k, j := range idx {
		d.Names = append(d.Names, t.Names[j])
		for i := range d.X.Rows {
			d.X.Data[i*len(idx)+k] = blas.Row(t.Data, i)[j]
		}
	}
	err := d.InTime(times)
	if errors.Is(err, granger.ErrTime) {
		return fmt.Errorf("%w (--replicate COLUMN, --drop COLUMN)", err)
	}
	warn(cmd.ErrOrStderr(), d.Notes)
	if err == nil && len(d.Names) == 0 {
		return status.Input("%s: no series are left beside the replicate and time columns", g.series)
	}
	return err
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

// nodes reads the groups file.
func (g *grangerFlags) nodes(d *granger.Data) error {
	if g.groups == "" {
		return nil
	}
	all, err := records(g.groups, 2, "series,node")
	if err != nil {
		return err
	}
	if len(all) > 1 && !slices.Contains(d.Names, all[0][0]) && (all[0][0] == "series" || all[0][1] == "node") {
		all = all[1:] // below a header
	}
	var pairs [][2]string
	for _, rec := range all {
		pairs = append(pairs, [2]string(rec))
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
