// Dates, times of day, and the names of months and weekdays.

package table

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iokl/iokl/schema"
)

var errDate = errors.New("is not a date written as the others in its column " + wayOut)

// isoLayouts leave no doubt about the order of day and month. They are tried where a schema names no layout.
var isoLayouts = withTimes("2006-1-2", "2006/1/2", "2006.1.2", "2006-1", "2.1.2006")

// layouts are all ways to write a date. Month first comes before day first where the column leaves it open.
var layouts = slices.Concat(isoLayouts, withTimes(
	"1/2/2006", "2/1/2006", "2-1-2006", "1-2-2006", "1/2/06", "2/1/06", "2.1.06", "2-1-06",
	"2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006", "2-Jan-2006",
	"2-Jan-06",
	"2. January 2006", "Mon, 2 Jan 2006", "Monday, January 2, 2006", "Jan 2006", "January 2006", "Jan-2006", "1/2006",
	"2006Q1", "2006-Q1", "2006 Q1", "Q1 2006", "Q1-2006", "Q1/2006",
))

// compactLayout is that of dates which are numbers too.
const compactLayout = "20060102"

// clockLayouts are the ways to write a time of day.
var clockLayouts = []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM", "3:04PM", "3 PM", "3PM"}

// withTimes are layouts of dates alone and with a time of day.
func withTimes(dates ...string) (all []string) {
	all = append(all, dates...)
	for _, date := range dates {
		if !hasDay(date) {
			continue
		}
		for _, clock := range []string{
			" 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", "T15:04", "T15:04:05", "T15:04:05Z07:00", "T15:04Z07:00",
			" 15:04:05Z07:00", " 15:04:05Z07", "T15:04:05Z0700", " 15:04:05 MST",
		} {
			all = append(all, date+clock)
		}
	}
	return all
}

// hasDay reports whether the dates of a layout name the day of the month.
func hasDay(layout string) bool { return strings.Contains(strings.ReplaceAll(layout, "2006", ""), "2") }

// parse is [time.Parse] that reads the end of a day as 24:00 and, where the layout has Q1, quarters by their first day.
func parse(layout, cell string) (time.Time, error) {
	if strings.Contains(layout, "Q1") {
		before, after, ok := strings.Cut(strings.ToUpper(cell), "Q")
		if !ok || after == "" || after[0] < '1' || after[0] > '4' {
			return time.Time{}, errDate
		}
		month := 3*int(after[0]-'1') + 1
		return time.Parse(strings.Replace(layout, "Q", "", 1), before+strconv.Itoa(month)+after[1:])
	}
	t, err := time.Parse(layout, cell)
	at := strings.LastIndex(cell, "24:00")
	if err == nil || at < 0 || !strings.Contains(layout, "15") || at > 0 && cell[at-1] != ' ' && cell[at-1] != 'T' {
		return t, err
	}
	if t, err = time.Parse(layout, cell[:at]+"00:00"+cell[at+len("24:00"):]); t.Second() > 0 {
		return t, errDate
	}
	return t.AddDate(0, 0, 1), err
}

// days is a date in days since 1970-01-01.
func days(layout, cell string) (float64, bool) {
	t, err := parse(layout, cell)
	if err != nil {
		return 0, false
	}
	return float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9, true
}

// clock is the part of the day that has passed.
func clock(layout, cell string) (float64, bool) {
	t, err := parse(layout, strings.ToUpper(cell))
	if err != nil {
		return 0, false
	}
	return float64(t.Hour()*3600+t.Minute()*60+t.Second())/86400 + float64(t.Nanosecond())/86400e9, true
}

// ordinal is the number, from 0, of the month or weekday of that name or its first three letters.
func ordinal(kind schema.Kind, cell string) (float64, bool) {
	names := 12
	name := func(k int) string { return time.Month(k + 1).String() }
	if kind == schema.Weekday {
		names = 7
		name = func(k int) string { return time.Weekday((k + 1) % 7).String() }
	}
	for k := range names {
		if full := name(k); strings.EqualFold(cell, full) || len(cell) >= 3 &&
			strings.EqualFold(strings.TrimSuffix(cell, "."), full[:3]) {
			return float64(k), true
		}
	}
	return 0, false
}

// dateVotes counts which layouts the cells of a column are written in.
type dateVotes struct {
	tried  int
	layout []layoutVotes
}

// layoutVotes is what the cells say as dates of one layout.
type layoutVotes struct {
	layout      string
	n           int              // cells that are dates
	falls       int              // of these, those before the date above them
	last        float64          // date
	first, most float64          // the earliest and the latest date
	weekdays    uint8            // a bit for each one that occurs
	clock       bool             // some date is not at midnight
	years       map[int]yearSpan // of a layout with years of two digits
}

// yearSpan is the earliest and the latest date of a year.
type yearSpan struct{ first, most float64 }

// hopeless is the number of cells of which one must be a date for others to be tried. It bounds the time that a column
// of text takes: of a column of which a third are dates, one of 3000 has none of them among its first 20
// cells. Dates that begin later in a column are not found.
const hopeless = 20

// note counts a cell that is no number.
func (d *dateVotes) note(cell string) {
	if len(cell) > 40 || d.tried >= hopeless && len(d.layout) == 0 || !strings.ContainsAny(cell, digits) {
		d.tried++
		return
	}
	d.tried++
	fits := false
	for i := range d.layout {
		if v, ok := days(d.layout[i].layout, cell); ok {
			d.layout[i].add(v)
			fits = true
		}
	}
	if fits || d.tried > hopeless {
		return
	}
	for _, layout := range layouts { // the first cells are the odd ones, or this one is
		if v, ok := days(layout, cell); ok {
			l := layoutVotes{layout: layout}
			if strings.Contains(strings.ReplaceAll(layout, "2006", ""), "06") {
				l.years = map[int]yearSpan{}
			}
			l.add(v)
			d.layout = append(d.layout, l)
		}
	}
}

func (l *layoutVotes) add(v float64) {
	if l.n == 0 {
		l.first, l.most = v, v
	}
	if l.n++; l.n > 1 && v < l.last {
		l.falls++
	}
	l.last, l.first, l.most = v, min(l.first, v), max(l.most, v)
	day := math.Floor(v)
	l.weekdays |= 1 << (int(math.Mod(day, 7)+7) % 7)
	l.clock = l.clock || v != day
	if l.years != nil {
		year := dateOf(v).Year()
		span, known := l.years[year]
		if !known {
			span = yearSpan{v, v}
		}
		l.years[year] = yearSpan{min(span.first, v), max(span.most, v)}
	}
}

// firstYear is the first of the hundred years that years of two digits are of, in the middle of the longest time
// without a date; 0 where they are those of package time, 1969 to 2068.
func (l *layoutVotes) firstYear() (first int) {
	years := slices.Sorted(maps.Keys(l.years))
	if len(years) == 0 {
		return 0
	}
	longest := years[0] + 100 - years[len(years)-1]
	for i, year := range years[1:] {
		if gap := year - years[i]; gap > longest {
			longest, first = gap, year-gap/2-100
		}
	}
	return first
}

// window moves a date into the hundred years from first on, where first is not 0.
func window(v float64, first int) float64 {
	if t := dateOf(v); first != 0 && t.Year() >= first+100 {
		v += float64(t.AddDate(-100, 0, 0).Unix()-t.Unix()) / 86400
	}
	return v
}

func dateOf(v float64) time.Time { return time.Unix(int64(math.Floor(v))*86400, 0).UTC() }

// best is the layout that most cells are written in; of several the one whose dates are most in order.
func (d *dateVotes) best() layoutVotes {
	var best layoutVotes
	for _, l := range d.layout {
		if l.n > best.n || l.n == best.n && l.falls < best.falls {
			best = l
		}
	}
	return best
}

// column is the column of dates that the votes make.
func (l layoutVotes) column() schema.Column {
	c := schema.Column{Kind: schema.Date, First: l.first, Layout: l.layout, FirstYear: l.firstYear()}
	most := l.most
	if c.FirstYear != 0 {
		c.First, most = math.Inf(1), math.Inf(-1)
		for _, year := range l.years {
			c.First, most = min(c.First, window(year.first, c.FirstYear)), max(most, window(year.most, c.FirstYear))
		}
	}
	span := most - c.First
	if l.clock && span >= 2*schema.Cycles["day"] {
		c.Cycles = append(c.Cycles, "day")
	}
	if l.weekdays&(l.weekdays-1) != 0 && span >= 2*schema.Cycles["week"] && hasDay(l.layout) {
		c.Cycles = append(c.Cycles, "week")
	}
	if span >= 2*schema.Cycles["year"] {
		c.Cycles = append(c.Cycles, "year")
	}
	return c
}
