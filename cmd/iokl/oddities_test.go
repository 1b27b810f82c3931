package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// oddity is one way to write a table. Two of one place exclude each other.
type oddity struct {
	name, place string
	gaps        bool // it is about missing cells
	do          func(o *odd)
}

func oddities() (all []oddity) {
	add := func(place, name string, do func(*odd)) { all = append(all, oddity{name: name, place: place, do: do}) }
	number := func(name string, f func(v float64) string) func(*odd) {
		return func(o *odd) {
			for _, column := range []string{"u", "price", "y"} {
				o.column(column, func(_ int, cell string) string {
					v, err := strconv.ParseFloat(cell, 64)
					if err != nil {
						return cell
					}
					return f(v)
				})
			}
			o.wantWord = name
		}
	}
	add("numbers", "decimal commas", number("decimal commas", func(v float64) string {
		return strings.Replace(fmt.Sprint(v), ".", ",", 1)
	}))
	add("numbers", "points and decimal commas", number("decimal commas", func(v float64) string {
		return strings.NewReplacer(",", ".", ".", ",").Replace(grouped(v))
	}))
	add("numbers", "marks between thousands", number("marks between thousands", grouped))
	add("numbers", "dollars", number("the sign $", func(v float64) string {
		return strings.Replace("$"+grouped(v), "$-", "-$", 1)
	}))
	add("numbers", "euros behind", number("the sign €", func(v float64) string { return grouped(v) + " €" }))
	add("numbers", "percents", number("the sign %", func(v float64) string { return fmt.Sprint(v) + " %" }))
	add("numbers", "parentheses", number("", func(v float64) string {
		if v < 0 {
			return "(" + grouped(-v) + ")"
		}
		return grouped(v)
	}))
	date := func(layout string) func(*odd) {
		return func(o *odd) {
			o.column("when", func(_ int, cell string) string {
				d, _ := time.Parse(time.DateOnly, cell)
				return d.Format(layout)
			})
		}
	}
	for _, layout := range []string{
		"2/1/2006", "01/02/2006", "02.01.06", "1/2/06", "02-Jan-2006", "January 2, 2006",
		"2006/01/02", "2006-01-02T15:04:05Z", "20060102",
	} {
		add("dates", "dates as "+layout, date(layout))
	}
	add("clocks", "clocks of 12 hours", func(o *odd) {
		o.column("at", func(_ int, cell string) string {
			d, _ := time.Parse("15:04", cell)
			return d.Format("3:04 PM")
		})
	})
	add("names", "short names", func(o *odd) {
		o.column("month", func(_ int, cell string) string { return cell[:3] })
		o.column("weekday", func(_ int, cell string) string { return strings.ToUpper(cell[:3]) })
	})
	add("more", "identifiers", func(o *odd) {
		o.insert(0, "id", func(i int) string { return fmt.Sprintf("row-%03d", i) })
		o.leftOut = "identifiers or free text"
	})
	add("more", "codes of numbers and letters", func(o *odd) {
		o.insert(1, "ticket", func(i int) string {
			return []string{"", "PC ", "", "C.A. "}[i%4] + fmt.Sprint(1000+7*i)
		})
		o.leftOut = "identifiers or free text"
	})
	add("more", "free text", func(o *odd) {
		o.insert(3, "remark", func(i int) string { return fmt.Sprintf("said %d times, by %c", i/2, 'a'+rune(i%26)) })
		o.leftOut = "identifiers or free text"
	})
	add("more", "an empty column", func(o *odd) {
		o.insert(2, "nil", func(int) string { return "" })
		o.leftOut = "they are empty"
	})
	add("more", "names of rows", func(o *odd) {
		o.insert(0, "", func(i int) string { return fmt.Sprintf("r%d", i) })
		o.leftOut = "identifiers or free text"
	})
	add("file", "numbers of rows", func(o *odd) {
		o.insert(0, "", func(i int) string { return fmt.Sprint(i) })
		o.leftOut = "they count the rows"
	})
	add("file", "a numbered identifier", func(o *odd) {
		o.insert(3, "PassengerId", func(i int) string { return fmt.Sprint(i + 892) })
		o.leftOut = "they count the rows"
	})
	add("more", "hashes", func(o *odd) {
		o.insert(2, "key", func(i int) string { return fmt.Sprintf("43%02d%ce98%d", i, "abcdef"[i%6], i%10) })
		o.leftOut = "identifiers or free text"
	})
	for _, word := range []string{"NA", "N/A", "null", "NULL", "None", "?", "#N/A", "-", ""} {
		all = append(all, oddity{"missing as " + word, "missing", true, func(o *odd) {
			o.column("u", func(_ int, cell string) string {
				if cell == "" {
					return word
				}
				return cell
			})
			if word != "" {
				o.wantWord = "6 in column"
			}
		}})
	}
	all = append(all, oddity{"missing as a word of its own", "missing", true, func(o *odd) {
		o.column("u", func(_ int, cell string) string {
			if cell == "" {
				return "unknown"
			}
			return cell
		})
		o.flags = "--na unknown"
	}})
	add("missing", "a word among numbers", func(o *odd) {
		o.rows[7][slices.Index(o.names, "u")] = "high"
		o.refused = `"high" is not a number (an empty cell means missing; --na names words that do too, --drop columns to leave out)`
	})
	add("missing", "a row of totals", func(o *odd) {
		row := make([]string, len(o.names))
		row[0], row[len(row)-1] = "Grand total:", "123"
		o.rows = append(o.rows, row)
		o.refused = `the last one, sums up those above, as its "Grand total:" in column 1`
	})
	add("missing", "a conflict", func(o *odd) {
		o.encode = func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(slices.Insert(lines, 5, "<<<<<<< HEAD"+o.end), "")
		}
		o.refused = "resolve the conflict first"
	})
	add("separator", "semicolons", func(o *odd) { o.sep = ";" })
	add("separator", "semicolons, named", func(o *odd) {
		o.sep = ";"
		before := o.encode
		o.encode = func(s string) string { return before("sep=;" + o.end + s) }
	})
	add("separator", "tabs", func(o *odd) { o.sep, o.file = "\t", "odd.tsv" })
	add("separator", "bars", func(o *odd) { o.sep = "|" })
	add("lines", "CRLF", func(o *odd) { o.end = "\r\n" })
	add("lines", "separators at the ends", func(o *odd) { o.end = "~\n" })
	add("lines", "blank lines", func(o *odd) { o.end = "\n\n" })
	add("cells", "quotes", func(o *odd) { o.quoted = true })
	add("cells", "spaces", func(o *odd) {
		for _, row := range o.rows {
			for j := range row {
				row[j] += "  "
			}
		}
	})
	add("file", "no header", func(o *odd) { o.header, o.y = false, "" })
	encode := func(name string, f func(string) string) func(*odd) {
		return func(o *odd) {
			before := o.encode
			o.encode = func(s string) string { return f(before(s)) }
			if name != "" {
				o.file = name
			}
		}
	}
	add("file", "a byte order mark", encode("", func(s string) string { return "\xef\xbb\xbf" + s }))
	add("file", "gzip", encode("odd.csv.gz", packed))
	add("file", "Latin-1", encode("", func(s string) string {
		var b []byte
		for _, r := range s {
			b = append(b, byte(r))
		}
		return string(b)
	}))
	wide := func(mark string) func(string) string {
		return func(s string) string {
			var b []byte
			for _, unit := range utf16.Encode([]rune(mark + s)) {
				b = binary.LittleEndian.AppendUint16(b, unit)
			}
			return string(b)
		}
	}
	add("file", "UTF-16", encode("", wide("\ufeff")))
	add("file", "UTF-16 without a mark", encode("", wide("")))
	add("file", "JSON", func(o *odd) { o.file, o.write = "odd.json", (*odd).json })
	add("file", "JSON lines", func(o *odd) { o.file, o.write = "odd.jsonl.gz", (*odd).json })
	add("file", "a workbook", func(o *odd) { o.file, o.write = "odd.xlsx", (*odd).sheet })
	add("file", "a sheet", func(o *odd) { o.file, o.write = "odd.xlsx:second", (*odd).sheet })
	return all
}
