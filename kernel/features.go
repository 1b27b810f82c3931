// The FEATURES of a SPEC: the columns that a kernel is a function of.

package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Group is a named set of columns, such as one view of the data or the past of one series.
type Group struct {
	Name    string
	Columns []int
	// Knots are ascending values of each of Columns. Kernels take the rank of a value among them, scaled to
	// [−√3, √3], in place of the value. nil, for one column or for all, means the value.
	Knots [][]float64
	// Scale has a factor ≥ 0 for each of Columns, by which kernels multiply it: the
	// larger, the more the column matters. nil means 1 for all.
	Scale []float64
	// Directions are linear combinations of the scaled Columns that kernels take in place of them: a list of
	// len(Columns) coefficients for each. nil means none.
	Directions [][]float64
	// Sum and Term restrict the group to one kernel: number Term, from 0, of SPECs whose kinds are written as Sum. ""
	// means all kernels.
	Sum  string
	Term int
	// Unit is the width that the word median of a SPEC stands for; 1 where the factors are inverse lengths. 0 means the
	// median distance.
	Unit float64
}

// Means reports whether the FEATURES of the SPEC name the group, for the kernel number term of its sum.
func (s Spec) Means(g *Group, term int) bool {
	return g.Name == s.Features && (g.Sum == "" || g.Sum == s.Sum() && g.Term == term)
}

// view is what kernels see of the columns.
func (g *Group) view() view {
	return view{nilIfEmpty(g.Columns), nilIfEmpty(g.Knots), nilIfEmpty(g.Scale), nilIfEmpty(g.Directions)}
}

// checkFeatures refuses what no data can make sense of.
func checkFeatures(text string) error {
	if text == "" {
		return errors.New("the features are empty: write all, each, groups, a group's name or column numbers")
	}
	if !indexList(text) {
		return nil
	}
	_, err := parseIndices(text)
	return err
}

// indexList reports whether the text is made of column numbers rather than a name.
func indexList(text string) bool {
	return strings.Trim(text, "0123456789,-") == ""
}

// parseIndices reads "0,3-5"; repeated columns are an error.
func parseIndices(text string) ([]int, error) {
	var columns []int
	for item := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		i, err := strconv.Atoi(from)
		j, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || i > j {
			return nil, fmt.Errorf("%q is not a column number or a range of them such as 0-3", item)
		}
		if j-i > 1<<24 {
			return nil, fmt.Errorf("the range %q is too long", item)
		}
		for c := i; c <= j; c++ {
			columns = append(columns, c)
		}
	}
	sorted := slices.Clone(columns)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(columns) {
		return nil, fmt.Errorf("a column occurs twice in %q", text)
	}
	return columns, nil
}

// subsets resolves the features of a kernel of the specification on d columns, by the names that kernels call them.
func (s Spec) subsets(d int, groups []Group, term int) ([]Group, error) {
	switch {
	case s.Features == "all":
		return []Group{{Name: "all"}}, nil
	case s.Features == "each":
		out := make([]Group, d)
		for c := range out {
			out[c] = Group{Name: strconv.Itoa(c), Columns: []int{c}}
		}
		return out, nil
	case s.Features == "groups":
		if len(groups) == 0 {
			return nil, errors.New("the features are groups, but no groups were given")
		}
		return groups, inRange(groups, d)
	case indexList(s.Features):
		columns, err := parseIndices(s.Features)
		if err != nil {
			return nil, err
		}
		out := []Group{{Name: s.Features, Columns: columns}}
		return out, inRange(out, d)
	}
	for _, g := range groups {
		if s.Means(&g, term) {
			if g.Sum != "" && s.Others != nil {
				g.Name += "." + strconv.Itoa(term+1)
			}
			return []Group{g}, inRange([]Group{g}, d)
		}
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return nil, fmt.Errorf("unknown group %q (have %s)", s.Features, cmp.Or(strings.Join(names, ", "), "none"))
}

// inRange checks every column against the width d of the data.
func inRange(sets []Group, d int) error {
	for _, s := range sets {
		if len(s.Columns) == 0 {
			return fmt.Errorf("group %q has no columns", s.Name)
		}
		for _, c := range s.Columns {
			if c < 0 || c >= d {
				return fmt.Errorf("feature %d of %q is out of range: the data have columns 0 to %d", c, s.Name, d-1)
			}
		}
		if err := s.view().check(len(s.Columns)); err != nil {
			return fmt.Errorf("group %q: %w", s.Name, err)
		}
	}
	return nil
}
