// This file reads time series, their groups, and true edges.

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/table"
)

// load reads the series and says which columns are what.
func (g *grangerFlags) load(cmd *cobra.Command) (*granger.Data, error) {
	flags := dataFlags{header: g.header, missing: "mean"}
	opt, err := flags.options()
	if err != nil {
		return nil, err
	}
	t, err := readTable(g.series, columns{}, opt, &stdin{r: cmd.InOrStdin()})
	if err != nil {
		return nil, err
	}
	if t.Names == nil {
		for j := range t.Data.Cols {
			t.Names = append(t.Names, fmt.Sprintf("x%d", j+1))
		}
	}
	d := new(granger.Data)
	out := map[int]bool{}
	if g.replicate != "" {
		j, err := oneColumn(g.replicate, "--replicate", t)
		if err != nil {
			return nil, err
		}
		if d.Replicate, err = replicates(t, j); err != nil {
			return nil, err
		}
		out[j] = true
	}
	j, err := g.clockColumn(t, d.Replicate)
	if err != nil {
		return nil, err
	}
	out[j] = true
	var idx []int
	for j := range t.Data.Cols {
		if !out[j] {
			idx = append(idx, j)
		}
	}
	if len(idx) == 0 {
		return nil, inputError("%s: no series are left beside the replicate and time columns", g.series)
	}
	t = pick(t, idx)
	d.Names, d.X = t.Names, t.Data
	return d, g.nodes(d)
}

func oneColumn(name, flag string, t *table.Table) (int, error) {
	idx, err := selectColumns(name, flag, t.Names, t.Data.Cols)
	if err != nil {
		return 0, err
	}
	if len(idx) != 1 {
		return 0, inputError("%s %s: one column is wanted", flag, name)
	}
	return idx[0], nil
}

// replicates numbers the values of a column.
func replicates(t *table.Table, j int) ([]int, error) {
	at := map[float64]int{}
	out := make([]int, t.Data.Rows)
	for i := range out {
		v := t.Data.Data[i*t.Data.Stride+j]
		if math.IsNaN(v) {
			return nil, inputError("row %d has no replicate", i+1)
		}
		if _, known := at[v]; !known {
			at[v] = len(at) + 1
		}
		out[i] = at[v]
	}
	return out, nil
}

// clockColumn is the time column, -1 where there is none.
func (g *grangerFlags) clockColumn(t *table.Table, replicate []int) (int, error) {
	if g.clock != "" {
		return oneColumn(g.clock, "--time", t)
	}
	for j, name := range t.Names {
		if n := strings.ToLower(name); (n == "t" || n == "time") && rises(t, j, replicate) {
			return j, nil
		}
	}
	return -1, nil
}

// rises reports whether the column grows from row to row inside every replicate.
func rises(t *table.Table, j int, replicate []int) bool {
	for i := 1; i < t.Data.Rows; i++ {
		if replicate != nil && replicate[i] != replicate[i-1] {
			continue
		}
		if !(t.Data.Data[i*t.Data.Stride+j] > t.Data.Data[(i-1)*t.Data.Stride+j]) {
			return false
		}
	}
	return true
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
			return inputError("%s: row %d has %d cells, want series,node", g.groups, i+1, len(rec))
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
	if t, err := table.Read(name, table.Options{}); err == nil && t.Data.Rows == len(nodes) && t.Data.Cols == len(nodes) {
		return t.Data, nil
	}
	_, records, err := table.ReadText(name, table.Options{})
	if err != nil {
		return blas.General{}, err
	}
	var edges []granger.Edge
	for i, rec := range records {
		if len(rec) < 2 {
			return blas.General{}, inputError("%s: row %d has %d cells, want from,to", name, i+1, len(rec))
		}
		if i == 0 && strings.EqualFold(rec[0], "from") && strings.EqualFold(rec[1], "to") {
			continue
		}
		edges = append(edges, granger.Edge{From: rec[0], To: rec[1]})
	}
	return granger.Truth(nodes, edges)
}
