// This file says in words how columns that are no plain numbers are taken.

package schema

import (
	"fmt"
	"strings"
)

// Notes says how columns that are not plain numbers are taken, a line for each kind.
func (s Columns) Notes() []string {
	leads := []string{
		"left out, since their words hardly repeat or they count the rows (identifiers or free text): ",
		"left out, since they are empty: ", "categories: ", "dates, taken as days since the first: ",
		"taken as what repeats: ", "numbers with marks: ",
		"words for nothing (as NA, ? and -), taken as missing cells: ",
	}
	const texts, empties, categories, dates, cycles, numbers, nothings = 0, 1, 2, 3, 4, 5, 6
	parts := make([][]string, len(leads))
	for k := range s {
		c, label := &s[k], s.Label(k)
		add := func(line int, text string) { parts[line] = append(parts[line], label+text) }
		switch {
		case c.Kind == Text:
			add(texts, "")
		case c.Kind == Empty && c.Name != "":
			add(empties, "")
		case c.Kind == Category && c.Buckets > 0:
			add(categories, fmt.Sprintf(" of %d levels, of which the %d rarest share %d columns",
				len(c.Levels)+len(c.Rest), len(c.Rest), c.Buckets))
		case c.Kind == Category:
			add(categories, fmt.Sprintf(" of %d levels: %s", len(c.Levels), someOf(c.Levels)))
		case c.Kind == Date:
			add(dates, c.dateNote())
		case period[c.Kind] > 0:
			names := map[Kind]string{Clock: " (times of day)", Month: " (months)", Weekday: " (days of the week)"}
			add(cycles, names[c.Kind])
		}
		if with := c.marks(); with != nil {
			add(numbers, " with "+strings.Join(with, " and "))
		}
		if c.Nothing > 0 {
			parts[nothings] = append(parts[nothings], fmt.Sprintf("%d in %s", c.Nothing, label))
		}
	}
	var notes []string
	for k, lead := range leads {
		if parts[k] != nil {
			notes = append(notes, lead+shortened(parts[k]))
		}
	}
	return notes
}

// shortened joins the first of many parts.
func shortened(parts []string) string {
	const most = 10
	if len(parts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:most], "; "), len(parts)-most)
	}
	return strings.Join(parts, "; ")
}

// Label is what column k of the schema is called in messages, by its place in the file and its name.
func (s Columns) Label(k int) string {
	if k < len(s) && s[k].Place > 0 {
		return label(s[k].Name, s[k].Place)
	}
	return Label(s.Sources(), k)
}

// dateNote says how a date is written and taken.
func (c *Column) dateNote() string {
	text := " since " + AsDate(c.First)
	if c.Layout != "" && !strings.HasPrefix(c.Layout, "2006") {
		text += ", written as " + readable.Replace(c.Layout)
	}
	if c.Cycles != nil {
		text += ", and as part of the " + strings.Join(c.Cycles, " and the ")
	}
	return text
}

// readable turns a layout of package time into letters.
var readable = strings.NewReplacer("Q1", "quarter", "2006", "year", "January", "month", "Jan", "month", "Monday",
	"weekday", "Mon", "weekday", "15", "hour", "04", "minute", "05", "second", "06", "year", "PM", "AM/PM",
	"1", "month", "2", "day", "3", "hour")

// marks are what stands with the numbers of a column.
func (c *Column) marks() (with []string) {
	switch {
	case c.Decimal == ",":
		with = append(with, "decimal commas")
	case c.Decimal == "." && c.Sign == "":
		with = append(with, "marks between thousands")
	}
	if c.Sign != "" {
		with = append(with, "the sign "+c.Sign)
	}
	return with
}
