// This file compares names of columns, and knows those of numbers of rows.

package schema

import (
	"slices"
	"strings"
)

// Nearest are the names, those that are written most nearly as name is first.
func Nearest(name string, names []string) []string {
	far := make(map[string]int, len(names))
	for _, other := range names {
		far[other] = Distance(name, other)
	}
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return near
}

// Distance is the edit distance of two names, in characters and without regard to case.
func Distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

// NamesRows reports whether a column of that name may hold identifiers of rows: it has no name in a table where others
// have, which data frames write before their columns, or is called as one.
func NamesRows(name string) bool {
	low := strings.ToLower(name)
	return slices.Contains([]string{"", "id", "index"}, low) || strings.HasPrefix(low, "unnamed: ") ||
		strings.HasPrefix(low, "__index_level_") || strings.HasSuffix(low, "_id") || strings.HasSuffix(name, "Id") ||
		strings.HasSuffix(name, "ID")
}
