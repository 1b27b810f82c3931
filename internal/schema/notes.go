// This file says in words how columns that are no plain numbers are taken.

package schema

import (
	"fmt"
	"strings"
)

// Notes says how columns that are not plain numbers are taken, a line for each kind.
func (s Columns) Notes() []string {
	var notes []string
	for _, kind := range []struct {
		lead string
		says func(k int, c *Column) string
	}{
		{"left out, since their words hardly repeat or they count the rows (identifiers or free text): ", s.textNote},
		{"left out, since they are empty: ", s.emptyNote},
		{"categories: ", s.categoryNote},
		{"dates, taken as days since the first: ", s.dateNote},
		{"taken as what repeats: ", s.cycleNote},
		{"numbers with marks: ", s.numberNote},
		{"words for nothing (as NA, ? and -), taken as missing cells: ", s.nothingNote},
	} {
		var parts []string
		for k := range s {
			if text := kind.says(k, &s[k]); text != "" {
				parts = append(parts, text)
			}
		}
		if parts != nil {
			notes = append(notes, kind.lead+shortened(parts))
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

func (s Columns) textNote(k int, c *Column) string {
	if c.Kind != Text {
		return ""
	}
	return s.Label(k)
}

func (s Columns) emptyNote(k int, c *Column) string {
	if c.Kind != Empty || c.Name == "" {
		return ""
	}
	return s.Label(k)
}

func (s Columns) categoryNote(k int, c *Column) string {
	switch {
	case c.Kind != Category:
		return ""
	case c.Buckets > 0:
		return fmt.Sprintf("%s of %d levels, of which the %d rarest share %d columns", s.Label(k),
			len(c.Levels)+len(c.Rest), len(c.Rest), c.Buckets)
	}
	return fmt.Sprintf("%s of %d levels: %s", s.Label(k), len(c.Levels), someOf(c.Levels))
}

func (s Columns) dateNote(k int, c *Column) string {
	if c.Kind != Date {
		return ""
	}
	text := fmt.Sprintf("%s since %s", s.Label(k), AsDate(c.First))
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

func (s Columns) cycleNote(k int, c *Column) string {
	if period[c.Kind] == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", s.Label(k), map[Kind]string{
		Clock: "times of day", Month: "months", Weekday: "days of the week",
	}[c.Kind])
}

func (s Columns) numberNote(k int, c *Column) string {
	var with []string
	if c.Decimal == "," {
		with = append(with, "decimal commas")
	}
	if c.Decimal == "." && c.Sign == "" {
		with = append(with, "marks between thousands")
	}
	if c.Sign != "" {
		with = append(with, "the sign "+c.Sign)
	}
	if with == nil {
		return ""
	}
	return s.Label(k) + " with " + strings.Join(with, " and ")
}

func (s Columns) nothingNote(k int, c *Column) string {
	if c.Nothing == 0 {
		return ""
	}
	return fmt.Sprintf("%d in %s", c.Nothing, s.Label(k))
}
