package schema

import (
	"slices"
	"strings"
	"unicode"
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

// Words in names of columns that tell the time: clockWords are names of times alone, unitWords may stand beside them,
// and countWords are names of times and of quantities.
var (
	clockWords = []string{
		"time", "times", "date", "dates", "datetime", "timestamp", "timestamps", "unix", "unixtime", "epoch", "year",
		"years",
	}
	unitWords = []string{
		"stamp", "utc", "gmt", "local", "s", "sec", "secs", "second", "seconds", "ms", "us", "ns", "min", "mins",
		"minute", "minutes", "h", "hr", "hrs", "hour", "hours", "d", "day", "days",
	}
	countWords = []string{
		"t", "ts", "yr", "quarter", "month", "months", "week", "weeks", "period", "step", "tick", "frame", "no", "nr",
		"number", "day", "days", "hour", "hours", "minute", "minutes", "second", "seconds",
	}
)

// NamesTime reports whether a column of that name tells the time for sure, and whether it may.
func NamesTime(name string) (surely, perhaps bool) {
	var text strings.Builder
	last := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
		last = r
	}
	words := strings.FieldsFunc(text.String(), func(r rune) bool { return !unicode.IsLetter(r) })
	other := func(known ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(known, w) })
	}
	clock := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(clockWords, w) })
	surely = clock && !other(slices.Concat(clockWords, unitWords)...)
	return surely, clock || len(words) > 0 && !other(countWords...)
}
