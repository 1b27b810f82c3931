package granger

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
)

// Errors about data and options. Their messages name series, rows and numbers.
var (
	ErrGap       = errors.New("granger: a value is missing or not finite")
	ErrConstant  = errors.New("granger: a series is constant")
	ErrShort     = errors.New("granger: too few time points")
	ErrUnknown   = errors.New("granger: unknown name")
	ErrDuplicate = errors.New("granger: duplicate name")
	ErrOption    = errors.New("granger: invalid option")
	ErrMemory    = memory.ErrTooLarge
)

// Node is a named group of series.
type Node struct {
	Name   string
	Series []int // columns of Data.X
}

// Data is a table of series with a row for each point in time.
type Data struct {
	Names []string // of the series
	// rows × series; the rows of a replicate are in the order of time. NaN is a missing value:
	// windows with one are left out
	X         blas.General
	Replicate []int    // of each row; nil means one replicate. The rows of a replicate are consecutive
	Nodes     []Node   // nil means one node for every series
	Notes     []string // what [Data.InTime] has done
}

// Group makes nodes of pairs (series, node), in the order in which nodes first
// appear. A series in no pair is left out. Errors wrap ErrUnknown and ErrDuplicate.
func Group(names []string, pairs [][2]string) ([]Node, error) {
	if err := unique("series", names); err != nil {
		return nil, err
	}
	column := make(map[string]int, len(names))
	for j, name := range names {
		column[name] = j
	}
	index := map[string]int{}
	var nodes []Node
	for _, p := range pairs {
		j, ok := column[p[0]]
		if !ok {
			return nil, fmt.Errorf("%w: node %q names the series %q, which the data do not have", ErrUnknown, p[1],
				p[0])
		}
		i, ok := index[p[1]]
		if !ok {
			i = len(nodes)
			index[p[1]] = i
			nodes = append(nodes, Node{Name: p[1]})
		}
		if slices.Contains(nodes[i].Series, j) {
			return nil, fmt.Errorf("%w: series %q is twice in node %q", ErrDuplicate, p[0], p[1])
		}
		nodes[i].Series = append(nodes[i].Series, j)
	}
	return nodes, nil
}

// check validates the data for a lag and returns a copy with the defaults filled in.
func (d *Data) check(lag int) (*Data, error) {
	q := *d
	if len(q.Names) != q.X.Cols {
		return nil, fmt.Errorf("%w: %d names for %d series", ErrOption, len(q.Names), q.X.Cols)
	}
	if q.Replicate == nil {
		q.Replicate = make([]int, q.X.Rows)
	}
	if len(q.Replicate) != q.X.Rows {
		return nil, fmt.Errorf("%w: %d replicate numbers for %d rows", ErrOption, len(q.Replicate), q.X.Rows)
	}
	if err := unique("series", q.Names); err != nil {
		return nil, err
	}
	if err := q.checkTime(lag); err != nil {
		return nil, err
	}
	if q.Nodes == nil {
		for j, name := range q.Names {
			q.Nodes = append(q.Nodes, Node{Name: name, Series: []int{j}})
		}
	}
	return &q, q.checkNodes()
}

func unique(what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("%w: two %s are called %q", ErrDuplicate, what, name)
		}
		seen[name] = true
	}
	return nil
}

// LagError returns the error for a lag below 1.
func LagError(lag int) error { return fmt.Errorf("%w: lag %d: at least 1 is needed", ErrOption, lag) }

// checkTime checks the lengths of the series and of each replicate.
func (d *Data) checkTime(lag int) error {
	if lag < 1 {
		return LagError(lag)
	}
	if d.X.Rows < 3*lag || d.X.Rows < 3 {
		return d.tooShort(lag)
	}
	seen := map[int]bool{}
	for _, r := range d.runs() {
		name := d.Replicate[r.lo]
		if seen[name] {
			return fmt.Errorf("%w: the rows of replicate %d are not consecutive (again at row %d)", ErrDuplicate, name,
				r.lo)
		}
		seen[name] = true
		if r.hi-r.lo <= lag {
			return fmt.Errorf("%w: replicate %d has %d rows, lag %d takes at least %d", ErrShort, name, r.hi-r.lo, lag,
				lag+1)
		}
	}
	return nil
}

// leastWindows is the least number of windows that a graph is learned from: twice the lag, and 5 + log₂ nodes, so that
// one of as many unrelated sources has the signs of a target in all windows with a probability of at most 1/32.
func leastWindows(lag, nodes int) int { return max(2*lag, 5+bits.Len(uint(max(nodes, 1)-1))) }

// tooShort is the error about too few rows.
func (d *Data) tooShort(lag int) error {
	nodes := len(d.Nodes)
	if d.Nodes == nil {
		nodes = d.X.Cols
	}
	runs := len(d.runs())
	text := fmt.Sprintf("%d rows for lag %d", d.X.Rows, lag)
	need := fmt.Sprintf("at least %d are needed for %d nodes", leastWindows(lag, nodes)+lag*runs, nodes)
	if runs > 1 {
		need += fmt.Sprintf(" and %d replicates", runs)
	}
	return fmt.Errorf("%w: %s, %s", ErrShort, text, need)
}

// span is the range [lo,hi) of rows, or of columns.
type span struct{ lo, hi int }

// runs are the rows of each replicate.
func (d *Data) runs() []span {
	var runs []span
	for t := range d.X.Rows {
		if t == 0 || d.Replicate[t] != d.Replicate[t-1] {
			runs = append(runs, span{t, t})
		}
		runs[len(runs)-1].hi = t + 1
	}
	return runs
}

// checkNodes checks the nodes and the values of every series that is in one.
func (d *Data) checkNodes() error {
	if len(d.Nodes) == 0 {
		return fmt.Errorf("%w: no nodes", ErrOption)
	}
	names := make([]string, len(d.Nodes))
	for i, node := range d.Nodes {
		names[i] = node.Name
		if len(node.Series) == 0 {
			return fmt.Errorf("%w: node %q has no series", ErrOption, node.Name)
		}
		for k, j := range node.Series {
			if j < 0 || j >= d.X.Cols {
				return fmt.Errorf("%w: node %q has series number %d of %d", ErrUnknown, node.Name, j, d.X.Cols)
			}
			if slices.Contains(node.Series[:k], j) {
				return fmt.Errorf("%w: series %q is twice in node %q", ErrDuplicate, d.Names[j], node.Name)
			}
			if err := d.checkSeries(j); err != nil {
				return err
			}
		}
	}
	return unique("nodes", names)
}

func (d *Data) checkSeries(j int) error {
	first, constant := math.NaN(), true
	for t := range d.X.Rows {
		v := d.X.Data[t*d.X.Stride+j]
		if math.IsInf(v, 0) {
			return fmt.Errorf("%w: series %q is %g at row %d", ErrGap, d.Names[j], v, t)
		}
		if math.IsNaN(first) {
			first = v
		}
		constant = constant && (v == first || math.IsNaN(v))
	}
	if constant {
		return fmt.Errorf("%w: %q is %g at every row", ErrConstant, d.Names[j], first)
	}
	return nil
}
