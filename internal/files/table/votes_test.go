package table

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/schema"
)

// learn is the schema of a file of the column a with these cells and a column of numbers.
func learn(t *testing.T, opt Options, cells ...string) (schema.Column, error) {
	t.Helper()
	var b strings.Builder
	b.WriteString("a\tx\n")
	for i, cell := range cells {
		fmt.Fprintf(&b, "%s\t%d\n", cell, i)
	}
	opt.Types = true
	tab, err := Read(file(t, "a.tsv", b.String()), opt)
	if err != nil || tab.Schema == nil {
		return schema.Column{}, err
	}
	return tab.Schema[0], nil
}

// many are n cells of k different words, the first ones more often.
func many(n, k int) (cells []string) {
	for i := range n {
		w := i
		if w >= k {
			w = (i * i) % (k/3 + 1)
		}
		cells = append(cells, fmt.Sprintf("w%d", w))
	}
	return cells
}

func TestVotes(t *testing.T) {
	for name, c := range map[string]struct {
		cells []string
		want  schema.Column
	}{
		"days first, by one cell": {[]string{"1/2/2021", "3/4/2021", "13/4/2021"}, schema.Column{
			Kind:   schema.Date,
			Layout: "2/1/2006",
		}},
		"months first, by one cell": {[]string{"1/2/2021", "3/4/2021", "4/13/2021"}, schema.Column{
			Kind:   schema.Date,
			Layout: "1/2/2006",
		}},
		"days first, by the order": {
			[]string{"1/2/2021", "1/3/2021", "2/3/2021", "3/3/2021", "1/4/2021"},
			schema.Column{Kind: schema.Date, Layout: "2/1/2006"},
		},
		"months first, by the order": {
			[]string{"2/1/2021", "3/1/2021", "3/2/2021", "3/3/2021", "4/1/2021"},
			schema.Column{Kind: schema.Date, Layout: "1/2/2006"},
		},
		"undecided: months first": {[]string{"2/2/2021", "3/3/2021"}, schema.Column{
			Kind:   schema.Date,
			Layout: "1/2/2006",
		}},
		"undecided points: days first": {[]string{"2.2.2021", "3.3.2021"}, schema.Column{
			Kind:   schema.Date,
			Layout: "2.1.2006",
		}},
		"two digits": {[]string{"13.2.21", "14.2.21"}, schema.Column{
			Kind:   schema.Date,
			Layout: "2.1.06",
		}},
		"two digits, over the century": {[]string{"13.2.50", "2.2.60", "1.5.99", "29.2.00", "14.2.04"}, schema.Column{
			Kind: schema.Date, Layout: "2.1.06", First: -7262, FirstYear: 1927,
		}},
		"two digits, this century": {[]string{"13.2.21", "1.5.24", "14.2.30"}, schema.Column{
			Kind: schema.Date, Layout: "2.1.06",
		}},
		"nothing among dates": {[]string{"2021-01-01", "NA", "2021-01-02"}, schema.Column{
			Kind: schema.Date, Layout: "2006-1-2", Nothing: 1,
		}},
		"dates of eight digits": {[]string{"20240131", "", "NA", "20231201"}, schema.Column{
			Kind: schema.Date, Layout: "20060102", Nothing: 1,
		}},
		"eight digits, no dates": {[]string{"20240131", "20231301"}, schema.Column{}},
		"quarters":               {[]string{"2000Q1", "2000q3"}, schema.Column{Kind: schema.Date, Layout: "2006Q1"}},
		"quarters, turned":       {[]string{"Q1 2000", "Q4 2000"}, schema.Column{Kind: schema.Date, Layout: "Q1 2006"}},
		"no fifth quarter":       {[]string{"2000Q5", "2000Q6"}, schema.Column{Kind: schema.Category}},
		"ends of days":           {[]string{"9:05", "24:00"}, schema.Column{Kind: schema.Clock, Layout: "15:04"}},
		"no time after one":      {[]string{"24:30", "24:00:01", "24:30"}, schema.Column{Kind: schema.Category}},

		"hours":  {[]string{"9:05", "23:59"}, schema.Column{Kind: schema.Clock, Layout: "15:04"}},
		"months": {[]string{"Jan", "DEC.", "march"}, schema.Column{Kind: schema.Month}},
		"weekdays": {[]string{"Mon", "sunday", "-"}, schema.Column{
			Kind:    schema.Weekday,
			Nothing: 1,
		}},
		"words for nothing in words": {[]string{"no", "None", "no", "NA", "yes"}, schema.Column{
			Kind:   schema.Category,
			Levels: []string{"NA", "None", "no", "yes"},
		}},
		"nothing at all": {[]string{"NA", "", "?", `\N`}, schema.Column{Kind: schema.Empty}},
		"identifiers":    {many(40, 40), schema.Column{Kind: schema.Text}},
		"hashes, one like an infinite number": {
			append(many(40, 40), "4305e986", "1234e567"),
			schema.Column{Kind: schema.Text},
		},
		"identifiers with numbers": {append(many(40, 40), "7"), schema.Column{Kind: schema.Text}},
		"all different, but few": {many(4, 4), schema.Column{Kind: schema.Category, Levels: []string{
			"w0", "w1", "w2", "w3",
		}}},
		"free text":                {many(100, 60), schema.Column{Kind: schema.Text}},
		"fifty levels":             {many(150, 50), schema.Column{Kind: schema.Category, Levels: levelsOf(50)}},
		"minus signs":              {[]string{"−1.250", "0.375", "−2.5"}, schema.Column{}},
		"zeros are no thousands":   {[]string{"€0.250", "€1.375"}, schema.Column{Decimal: ".", Sign: "€"}},
		"points between thousands": {[]string{"1.200,5", "3", "2.000"}, schema.Column{Decimal: ","}},
		"undecided commas":         {[]string{"1,200", "2,300"}, schema.Column{Decimal: "."}},
		"decided commas":           {[]string{"1,200", "2,30"}, schema.Column{Decimal: ","}},
		"francs":                   {[]string{"CHF 1'200.50", "CHF −3"}, schema.Column{Decimal: ".", Sign: "CHF"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := learn(t, Options{}, c.cells...)
			if err != nil {
				t.Fatal(err)
			}
			w := c.want
			if got.Kind != w.Kind || got.Layout != w.Layout || got.Nothing != w.Nothing || got.Decimal != w.Decimal ||
				got.Sign != w.Sign || got.FirstYear != w.FirstYear || w.First != 0 && got.First != w.First ||
				w.Levels != nil && !slices.Equal(got.Levels, w.Levels) || got.Buckets != 0 {
				t.Errorf("%+v, want %+v", got, w)
			}
		})
	}
}

// Numbers with a sign and no mark have no decimal commas, in files that semicolons separate either.
func TestSignAlone(t *testing.T) {
	tab, err := Read(file(t, "a.csv", "a;b\n5 %;1,5\n12 %;2,5\n"), Options{Types: true})
	if err != nil || tab.Schema[0].Decimal != "." || tab.Schema[0].Sign != "%" || tab.Schema[1].Decimal != "," {
		t.Errorf("%+v, %v", tab, err)
	}
}

func levelsOf(k int) (levels []string) {
	for i := range k {
		levels = append(levels, fmt.Sprintf("w%d", i))
	}
	slices.Sort(levels)
	return levels
}

// The most frequent of many levels have columns of their own, the others share some: every row of a level that was
// learned is 1 in one column, and one of a new level in none.
func TestManyLevels(t *testing.T) {
	cells := many(700, 300)
	s, err := learn(t, Options{MaxLevels: 20}, cells...)
	if err != nil || s.Kind != schema.Category || len(s.Levels) != 20 || len(s.Rest) != 280 || s.Buckets != buckets {
		t.Fatalf("%v, %d levels, %d in %d", err, len(s.Levels), len(s.Rest), s.Buckets)
	}
	count := map[string]int{}
	for _, cell := range cells {
		count[cell]++
	}
	for _, often := range s.Levels {
		for _, rare := range s.Rest {
			if count[often] < count[rare] {
				t.Fatalf("%s with %d cells has a column, %s with %d has none", often, count[often], rare, count[rare])
			}
		}
	}
	r, err := Open(file(t, "b.csv", "a\n"+strings.Join(append(slices.Clone(cells), "new"), "\n")+"\n"),
		Options{Schema: schema.Columns{s}})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := ReadAll(r)
	if err != nil || tab.Data.Cols != 20+buckets || len(r.Names()) != 20+buckets {
		t.Fatalf("%v, %d columns", err, tab.Data.Cols)
	}
	perColumn := make([]float64, tab.Data.Cols)
	for i := range tab.Data.Rows {
		sum := 0.0
		for j, v := range tab.Data.Data[i*tab.Data.Stride:][:tab.Data.Cols] {
			sum += v
			perColumn[j] += v
		}
		if want := 1.0; (sum != want) != (i == len(cells)) {
			t.Fatalf("row %d: %g", i, sum)
		}
	}
	if slices.Contains(perColumn, 0) || len(Unseen(r)) != 1 {
		t.Errorf("%v, %q", perColumn, Unseen(r))
	}
}

func TestMarked(t *testing.T) {
	for text, want := range map[string][2]float64{ // with points and with commas as decimal marks; NaN: no number
		"1,200": {1200, 1.2}, "1.200": {1.2, 1200}, "1,200.5": {1200.5, nan}, "1.200,5": {nan, 1200.5},
		"12,34": {nan, 12.34},
		"(3)":   {-3, -3}, "-$5": {-5, -5}, "$-5": {-5, -5}, "€ 7": {7, 7}, "7 €": {7, 7}, "3 %": {3, 3},
		"1 234 567": {1234567, 1234567},
		"1'234.5":   {1234.5, nan}, "1,2,3": {nan, nan}, "--5": {nan, nan}, "$": {nan, nan}, "1e3": {1000, 1000},
		"0x10": {nan, nan}, "(-3)": {nan, nan},
		",5": {nan, .5}, "1,23,456": {nan, nan}, "1234,567": {nan, 1234.567}, "5 apples": {nan, nan}, "inf": {nan, nan},
		"1_000": {nan, nan},
	} {
		for k, decimal := range []string{".", ","} {
			v, _, ok := marked(text, decimal)
			if !ok {
				v = nan
			}
			if v != want[k] && !(math.IsNaN(v) && math.IsNaN(want[k])) {
				t.Errorf("%q with decimal mark %s: %g, want %g", text, decimal, v, want[k])
			}
		}
	}
}

// A column of whole numbers and codes with letters is one of words: a category whose levels hold the numbers too, or
// identifiers. Few such words, or words among measurements, are errors.
func TestCodes(t *testing.T) {
	repeated := strings.Fields(strings.Repeat("17 A1 18 B2 19 C3 17 18 ", 20))
	got, err := learn(t, Options{}, repeated...)
	if want := []string{"17", "18", "19", "A1", "B2", "C3"}; err != nil || got.Kind != schema.Category ||
		!slices.Equal(got.Levels, want) {
		t.Errorf("%+v, %v, want levels %q", got, err, want)
	}
	var tickets, late, limits []string
	for i := range 300 {
		tickets, late, limits = append(tickets, fmt.Sprint(1000+i)), append(late, fmt.Sprint(i)), append(limits, "1")
		if i%4 == 3 {
			tickets[i], limits[i] = fmt.Sprintf("PC %d", i), fmt.Sprintf("<%d", i)
		}
	}
	if got, err := learn(t, Options{}, tickets...); err != nil || got.Kind != schema.Text {
		t.Errorf("%+v, %v, want text", got, err)
	}
	late[290], late[295] = "A1", "B2"
	fraction := append(slices.Clone(tickets), "1.5")
	for word, cells := range map[string][]string{`"A1"`: late, `"<3"`: limits, `"PC 3"`: fraction} {
		if _, err := learn(t, Options{}, cells...); err == nil || !strings.Contains(err.Error(), word+" is not a num") {
			t.Errorf("%v, want %s refused", err, word)
		}
	}
}

// Cells that do not fit are refused with their row, whichever comes first.
func TestOddCells(t *testing.T) {
	for want, cells := range map[string][]string{
		`row 2 (line 3), column 1 "a": "soon" is not a date`:           {"1/2/2021", "soon", "13/2/2021"},
		`row 1 (line 2), column 1 "a": "13/2/2021" is not a date`:      {"13/2/2021", "2/13/2021", "3/14/2021"},
		`row 3 (line 4), column 1 "a": "yes" is not a number`:          {"1,5", "2,5", "yes"},
		`row 2 (line 3), column 1 "a": "a lot" is not a number`:        {"$1,200", "a lot", "$3"},
		`row 3 (line 4), column 1 "a": "25:00" is not a date`:          {"9:05", "10:00", "25:00"},
		`row 2 (line 3), column 1 "a": "Smarch" is not a date`:         {"Jan", "Smarch", "Feb"},
		`row 3 (line 4), column 1 "a": "inf" is not a finite number`:   {"red", "blue", "inf"},
		`row 2 (line 3), column 1 "a": "3+" is not a number (an empty`: {"1", "3+", "2"},
	} {
		if _, err := learn(t, Options{}, cells...); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--drop") {
			t.Errorf("%q: %v, want %q", cells, err, want)
		}
	}
}

// A table is read by a schema of which few columns are learned from.
func TestReadBySchema(t *testing.T) {
	s := schema.Columns{{Kind: schema.Text}, {Kind: schema.Empty}, {Kind: schema.Number}}
	got, err := Read(file(t, "a.csv", "u,v,x\na,,1\nb,,2\n"), Options{Schema: s})
	if err != nil || got.Data.Cols != 1 || !slices.Equal(got.Data.Data, []float64{1, 2}) {
		t.Fatalf("%+v, %v", got, err)
	}
}
