package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/cmd/internal/results"
)

// Series are read from tables as fit reads them: dates are time, words tell replicates apart, other words are left
// out, numbers may have marks. The graph is that of the plain table.
func TestGrangerReadsTables(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	lines := strings.Split(strings.TrimSpace(mustRead(t, dir+"/s.csv")), "\n")[1:]
	day := time.Date(2020, 1, 31, 0, 0, 0, 0, time.UTC)
	table := func(layout string, step func(i int) int, extra string) string {
		text := "station;when;a;b;c;remark" + extra + "\n"
		for i, line := range lines {
			cells := strings.Split(line, ",")
			for k := 2; k < 5; k++ {
				cells[k] = strings.Replace(cells[k], ".", ",", 1)
			}
			text += fmt.Sprintf("%s;%s;%s;seen by %d", []string{"north", "south"}[i/120],
				day.AddDate(0, 0, step(i%120)).Format(layout), strings.Join(cells[2:], ";"), i)
			if extra != "" {
				text += fmt.Sprintf(";%d", i*i%17)
			}
			text += "\n"
		}
		return text
	}
	const run = " --lag 2 --json --kernel linear:groups"
	var want, got results.Graph
	command(t, dir, "granger --series s.csv --replicate run"+run).object(&want)
	daily := func(i int) int { return i }
	for name, c := range map[string]struct {
		text, flags string
		says        []string
	}{
		"days": {
			table("2/1/2006", daily, ""), "",
			[]string{`left out, since they hold no numbers: column 6 "remark"`},
		},
		"dropped":         {table("2006-01-02", daily, ";more"), "--drop rem*,more", nil},
		"columns":         {table("2006-01-02", daily, ";more"), "--columns station,when,2-4", nil},
		"numbers of rows": {rowNumbers(table("2006-01-02", daily, "")), "--drop when,remark", nil},
		"weekdays only": {table("02.01.06", func(i int) int {
			return i + 2*(i/5)
		}, ""), "--drop remark", []string{`rows are not evenly spaced in column 2 "when": steps are 1 to 3 days`}},
		"not in order": {
			shuffled(table("2006-01-02", daily, "")), "--drop remark",
			[]string{`rows are put in the order of column 2 "when"`},
		},
		"newest first": {
			backwards(table("2006-01-02", daily, "")), "--drop remark",
			[]string{`rows are put in the order of column 2 "when"`},
		},
		"years": {timed(table("2006-01-02", daily, ""), "Year", func(i int) string {
			return fmt.Sprint(1900 + i)
		}), "--drop when,remark", nil},
		"falling seconds": {
			timed(backwards(table("2006-01-02", daily, "")), "unix_time", func(i int) string {
				return fmt.Sprint(1700000000 - 60*i)
			}), "--drop when,remark",
			[]string{`rows are put in the order of column 1 "unix_time"`},
		},
		"even steps": {timed(table("2006-01-02", daily, ""), "q", func(i int) string {
			return fmt.Sprint(float64(i) / 8)
		}), "--drop when,remark", []string{`column 1 "q" is taken for the time`}},
		"two clocks": {
			timed(table("2006-01-02", daily, ""), "day", func(i int) string { return fmt.Sprint(i * i) }),
			"--drop remark",
			[]string{`no series, since they tell the time too: column 1 "day"`},
		},
		"a date and a time of day": {
			timed(table("2006-01-02", func(i int) int { return i / 24 }, ""), "hour", func(i int) string {
				return fmt.Sprintf("%d:00", i%24)
			}), "--drop remark", nil,
		},
		"months, in turn": {table("2006-01-02", func(i int) int {
			return int(day.AddDate(0, i, -30).Sub(day).Hours() / 24)
		}, ""), "--drop remark", nil},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, dir, "odd.csv", c.text)
			r := command(t, dir, "granger --series odd.csv --replicate station "+c.flags+run)
			r.object(&got)
			for _, text := range c.says {
				if !strings.Contains(r.stderr, text) {
					t.Errorf("said %q, want %q", r.stderr, text)
				}
			}
			if c.says == nil && r.stderr != "" {
				t.Errorf("said %q", r.stderr)
			}
			if !slices.Equal(got.Nodes, want.Nodes) {
				t.Fatalf("nodes %q, want %q", got.Nodes, want.Nodes)
			}
			for i := range want.Graph {
				if !floats.EqualApprox(
					got.Graph[i],
					want.Graph[i],
					1e-12,
				) { // replicates in another order are added up in it
					t.Errorf("row %d: %v, want %v", i, got.Graph[i], want.Graph[i])
				}
			}
		})
	}
}

// timed puts a column before the others that tells the time of row i of each replicate of 120 rows.
func timed(table, name string, time func(i int) string) string {
	lines := strings.SplitAfter(table, "\n")
	for i := range lines[:len(lines)-1] {
		cell := name
		if i > 0 {
			cell = time((i - 1) % 120)
		}
		lines[i] = cell + ";" + lines[i]
	}
	return strings.Join(lines, "")
}

// backwards has the rows of a table in the other order.
func backwards(table string) string {
	lines := strings.SplitAfter(table, "\n")
	slices.Reverse(lines[1 : len(lines)-1])
	return strings.Join(lines, "")
}

// shuffled has each row of a table, whose number of rows is even, exchanged for its neighbour.
func shuffled(table string) string {
	lines := strings.SplitAfter(table, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		lines[i], lines[i+1] = lines[i+1], lines[i]
	}
	return strings.Join(lines, "")
}

// rowNumbers puts a column without a name before the others, which counts the rows.
func rowNumbers(table string) string {
	lines := strings.SplitAfter(table, "\n")
	for i := range lines[:len(lines)-1] {
		if lines[i] = ";" + lines[i]; i > 0 {
			lines[i] = fmt.Sprint(i-1) + lines[i]
		}
	}
	return strings.Join(lines, "")
}
