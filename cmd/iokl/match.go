// This file finds the inputs of a model among the columns of a file.

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/schema"
)

// columnsOf chooses the inputs of the model among the columns of --x: those asked for, or those of the same names
// wherever they stand; without names all in order. A renamed column is found where as many names are left over on
// both sides.
func (d *dataFlags) columnsOf(cmd *cobra.Command, model *iokl.Model) func([]string, int) ([]int, error) {
	return func(names []string, cols int) ([]int, error) {
		all, err := d.inputColumns().index(names, cols)
		want := schema.Columns(model.InputSchema())
		if want == nil {
			want = schema.Numbers(model.InputNames(), len(model.InputNames()))
		}
		if err != nil || d.xColumns != "" || names == nil || want.Sources() == nil {
			return all, err // a wrong number is refused by the model
		}
		idx, renamed, err := match(want, names, all)
		if err != nil {
			return nil, status.Input("%s: %v", d.x, err)
		}
		if renamed != nil {
			warn(cmd.ErrOrStderr(), []string{fmt.Sprintf("%s: by the order of the columns that have other names, %s",
				d.x, results.Enumerated(renamed, 5))})
		}
		return idx, nil
	}
}

// match says which of the columns have of a file each column of a schema is, and which were found by their order.
// A column that is left out may be any.
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

// absent is the error about columns that a file lacks, with the names in it that are most like theirs.
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
	text := fmt.Sprintf("has no %s %s, which the model needs", column, results.Enumerated(quoted(lacking), 5))
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
		return fmt.Errorf("%s: is %s? (--x-columns says which columns to use)", text, results.Enumerated(like, 5))
	}
	return fmt.Errorf("%s: %s", text, add)
}

// inOrder says where the names wanted are among those there, nil when some are not.
// A name wanted twice is the first and the second of that name.
func inOrder(want, have []string) []int {
	idx, next := make([]int, len(want)), map[string]int{}
	for k, name := range want {
		j := slices.Index(have[next[name]:], name)
		if j < 0 {
			return nil
		}
		idx[k] = next[name] + j
		next[name] = idx[k] + 1
	}
	return idx
}
