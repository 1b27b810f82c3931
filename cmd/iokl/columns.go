// This file finds columns by lists of names, patterns and numbers.

package main

import (
	"encoding/csv"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
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
		return fmt.Sprintf("the file has one column, %q: commas, semicolons, tabs or | separate columns", names[0])
	}
	return "the file has " + results.Enumerated(names, 8)
}

// nearestNames ends a message about a name that is not there with the names most like it.
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

// similar are up to three names that are written nearly as name is, the most similar first.
func similar(name string, names []string) []string {
	like := slices.Clone(names)
	slices.SortStableFunc(like, func(a, b string) int { return distance(name, a) - distance(name, b) })
	like = slices.DeleteFunc(like, func(s string) bool {
		return distance(name, s) > (len(name)+1)/2 || distance(name, s) == len(name)
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

// distance is the edit distance of two names, in characters and without regard to case.
func distance(a, b string) int {
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
