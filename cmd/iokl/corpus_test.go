package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// odd is a table as a stranger may write it. Its numbers, words, dates and times are those of madeTable.
type odd struct {
	names    []string
	rows     [][]string
	sep      string
	y        string // of --y-columns
	flags    string
	end      string // of lines
	header   bool
	quoted   bool
	encode   func(string) string // of the text of the file
	file     string              // its name
	write    func(o *odd, t *testing.T, dir string)
	refused  string // what the message says where the table is refused
	leftOut  string // what is said of columns that are left out
	wantWord string // a word in the warnings
}

func (o *odd) column(name string, f func(i int, cell string) string) {
	j := slices.Index(o.names, name)
	for i, row := range o.rows {
		row[j] = f(i, row[j])
	}
}

// insert puts a column at j.
func (o *odd) insert(j int, name string, f func(i int) string) {
	o.names = slices.Insert(o.names, j, name)
	for i := range o.rows {
		o.rows[i] = slices.Insert(o.rows[i], j, f(i))
	}
}

// text is the table as separated text.
func (o *odd) text() string {
	var b strings.Builder
	rows := o.rows
	if o.header {
		rows = append([][]string{o.names}, rows...)
	}
	for _, row := range rows {
		for j, cell := range row {
			if j > 0 {
				b.WriteString(o.sep)
			}
			if o.quoted || strings.Contains(cell, o.sep) {
				cell = strconv.Quote(cell)
			}
			b.WriteString(cell)
		}
		b.WriteString(o.end)
	}
	return b.String()
}

const madeRows = 60

var (
	colours   = []string{"rot", "grün", "blau"}
	firstDate = time.Date(2021, 11, 3, 0, 0, 0, 0, time.UTC)
)

// madeTable is a plain table, and the numbers that its inputs become.
func madeTable(gaps bool) (o *odd, numbers [][]float64) {
	rng := rand.New(rand.NewPCG(36, 1))
	o = &odd{
		names: []string{"u", "price", "colour", "when", "at", "month", "weekday", "y"},
		sep:   ",", end: "\n", header: true, y: "y", file: "odd.csv", encode: func(s string) string { return s },
	}
	turn := func(part float64) []float64 {
		sin, cos := math.Sincos(2 * math.Pi * part)
		return []float64{cos, sin}
	}
	var first float64
	for i := range madeRows {
		u, price := math.Round(1e3*rng.NormFloat64())/1e3, math.Round(1e5*(1+rng.Float64()*40))/100
		colour, day, minute := i%3, 12*i+rng.IntN(12), rng.IntN(24*60)
		month, weekday := rng.IntN(12), rng.IntN(7)
		date := firstDate.AddDate(0, 0, day)
		y := math.Sin(u) + float64(colour) + .3*float64(weekday) + math.Round(100*rng.NormFloat64())/1e3
		o.rows = append(o.rows, []string{
			fmt.Sprint(u), fmt.Sprint(price), colours[colour], date.Format(time.DateOnly),
			fmt.Sprintf("%02d:%02d", minute/60, minute%60),
			time.Month(month + 1).String(), time.Weekday((weekday + 1) % 7).String(), fmt.Sprintf("%.3f", y),
		})
		days := float64(date.Unix()) / 86400
		if i == 0 {
			first = days
		}
		row := []float64{u, price, 0, 0, 0, days - first}
		row[2+slices.Index([]string{"blau", "grün", "rot"}, colours[colour])] = 1
		row = append(row, turn(days/7)...)
		row = append(row, turn(float64(minute)/1440)...)
		row = append(row, turn(float64(month)/12)...)
		row = append(row, turn(float64(weekday)/7)...)
		if gaps && i%10 == 4 {
			o.rows[i][0], row[0] = "", math.NaN()
		}
		numbers = append(numbers, row)
	}
	return o, numbers
}

// grouped writes a number with commas between thousands.
func grouped(v float64) string {
	text := fmt.Sprint(math.Abs(v))
	whole, fraction, has := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if v < 0 {
		whole = "-" + whole
	}
	if has {
		return whole + "." + fraction
	}
	return whole
}

// value is a number for text that is one, as JSON and workbooks have it.
func value(cell string) any {
	if v, err := strconv.ParseFloat(cell, 64); err == nil && fmt.Sprint(v) == cell {
		return v
	}
	if cell == "" {
		return nil
	}
	return cell
}

func (o *odd) json(t *testing.T, dir string) {
	var records []string
	for _, row := range o.rows {
		var fields []string
		for j, cell := range row {
			name, _ := json.Marshal(o.names[j])
			text, err := json.Marshal(value(cell))
			if err != nil {
				t.Fatal(err)
			}
			fields = append(fields, string(name)+": "+string(text))
		}
		records = append(records, "{"+strings.Join(fields, ", ")+"}")
	}
	if strings.HasSuffix(o.file, ".gz") {
		write(t, dir, o.file, packed(strings.Join(records, "\n")))
		return
	}
	write(t, dir, o.file, "["+strings.Join(records, ",\n ")+"]\n")
}

// sheet writes dates and numbers as a workbook has them.
func (o *odd) sheet(t *testing.T, dir string) {
	rows := [][]any{nil}
	for _, name := range o.names {
		rows[0] = append(rows[0], name)
	}
	for _, row := range o.rows {
		var cells []any
		for _, cell := range row {
			v := value(cell)
			if d, err := time.Parse(time.DateOnly, cell); err == nil {
				v = d
			}
			cells = append(cells, v)
		}
		rows = append(rows, cells)
	}
	file, sheet, _ := strings.Cut(o.file, ":")
	workbook(t, filepath.Join(dir, file), [][]any{{"another", "table"}, {1, 2}}, rows)
	if sheet == "" {
		workbook(t, filepath.Join(dir, file), rows)
	}
}

// workbook writes the rows of the sheets Sheet1, second, ….
func workbook(t *testing.T, path string, sheets ...[][]any) {
	t.Helper()
	f := excelize.NewFile()
	for k, rows := range sheets {
		name := []string{"Sheet1", "second"}[k]
		if _, err := f.NewSheet(name); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if err := f.SetSheetRow(name, fmt.Sprintf("A%d", i+1), &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.SaveAs(path); err != nil {
		t.Fatal(err)
	}
}

// save writes the table to its file.
func (o *odd) save(t *testing.T, dir string) {
	if o.write != nil {
		o.write(o, t, dir)
		return
	}
	o.end = strings.Replace(o.end, "~", o.sep, 1)
	write(t, dir, o.file, o.encode(o.text()))
}

const oddFit = " --kernel gaussian:all:median --lambda 1e-2"

// predictions of a model that is fitted to the table, for its own rows.
func (o *odd) predictions(t *testing.T, dir string) ([]float64, string) {
	t.Helper()
	o.save(t, dir)
	y := o.y
	if y == "" {
		y = fmt.Sprint(slices.Index(o.names, "y"))
	}
	line := fmt.Sprintf("fit --x %s --y-columns %s %s --out odd.iokl %s", o.file, y, o.flags, oddFit)
	r := command(t, dir, line)
	if o.refused != "" {
		if r.status != exitUsage || !strings.Contains(r.stderr, o.refused) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want %q", line, r, o.refused)
		}
		return nil, ""
	}
	if r.status != exitOK || !strings.Contains(r.stderr, o.leftOut) || !strings.Contains(r.stderr, o.wantWord) {
		t.Fatalf("%s: %+v, want %q and %q", line, r, o.leftOut, o.wantWord)
	}
	head := ""
	if !o.header {
		head = fmt.Sprintf("--drop %s", y)
	}
	succeed(t, dir, fmt.Sprintf("predict --model odd.iokl --x %s %s %s --out odd-p.csv", o.file, o.flags, head))
	return mustTable(t, filepath.Join(dir, "odd-p.csv")).Data.Data, r.stderr
}

// wanted are the predictions of a model of numbers worked out by hand.
func wanted(t *testing.T, gaps bool) []float64 {
	dir := t.TempDir()
	o, numbers := madeTable(gaps)
	o.names = nil
	for j := range numbers[0] {
		o.names = append(o.names, fmt.Sprintf("n%d", j))
	}
	o.names = append(o.names, "y")
	for i, row := range numbers {
		y := o.rows[i][len(o.rows[i])-1]
		o.rows[i] = nil
		for _, v := range row {
			cell := ""
			if v == v {
				cell = fmt.Sprint(v)
			}
			o.rows[i] = append(o.rows[i], cell)
		}
		o.rows[i] = append(o.rows[i], y)
	}
	p, _ := o.predictions(t, dir)
	return p
}

// Every way to write a table, and pairs of such, gives the predictions that its numbers give, or is refused in one
// sentence that names the way out.
func TestOddTables(t *testing.T) {
	want := map[bool][]float64{false: wanted(t, false), true: wanted(t, true)}
	all := oddities()
	var cases [][]oddity
	cases = append(cases, nil)
	for _, a := range all {
		cases = append(cases, []oddity{a})
	}
	rng := rand.New(rand.NewPCG(36, 2))
	for len(cases) < 130 {
		a, b := rng.IntN(len(all)), rng.IntN(len(all))
		if a < b && all[a].place != all[b].place {
			cases = append(cases, []oddity{all[a], all[b]})
		}
	}
	for _, c := range cases {
		name, gaps := "plain", false
		for k, o := range c {
			if gaps = gaps || o.gaps; k == 0 {
				name = o.name
			} else {
				name += ", " + o.name
			}
		}
		t.Run(name, func(t *testing.T) {
			o, _ := madeTable(gaps)
			for _, oddity := range c {
				oddity.do(o)
			}
			if o.write != nil && strings.Contains(o.refused, "conflict") {
				t.Skip("no lines")
			}
			got, _ := o.predictions(t, t.TempDir())
			if o.refused != "" {
				return
			}
			for i, v := range want[gaps] {
				if !(math.Abs(got[i]-v) <= 1e-8*(1+math.Abs(v))) {
					t.Fatalf("row %d: %g, want %g", i+1, got[i], v)
				}
			}
		})
	}
}

// A model finds its columns in a file that has them in another order, among others, or one of them under another
// name, and names the one that is missing.
func TestOtherColumns(t *testing.T) {
	dir := t.TempDir()
	o, _ := madeTable(false)
	o.insert(0, "id", func(i int) string { return fmt.Sprintf("row-%03d", i) })
	want, _ := o.predictions(t, dir)
	change := func(order []int, rename func(string) string) string {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		for _, row := range append([][]string{o.names}, o.rows...) {
			var cells []string
			for _, j := range order {
				cells = append(cells, row[j])
			}
			if b.Len() == 0 {
				for k := range cells {
					cells[k] = rename(cells[k])
				}
			}
			_ = w.Write(cells)
			w.Flush()
		}
		return b.String()
	}
	same := func(s string) string { return s }
	for name, c := range map[string]struct {
		order  []int
		rename func(string) string
		says   string
		fails  bool
	}{
		"shuffled":      {[]int{7, 3, 1, 0, 2, 6, 5, 4}, same, "", false},
		"extra":         {[]int{8, 0, 1, 2, 8, 3, 4, 5, 6, 7}, same, "", false},
		"no identifier": {[]int{1, 2, 3, 4, 5, 6, 7}, same, "", false},
		"renamed, in turn": {[]int{7, 6, 5, 4, 3, 2, 1}, func(s string) string {
			return strings.Replace(s, "colour", "color", 1)
		}, `"color" is taken for "colour"`, false},
		"two renamed among others": {[]int{1, 2, 3, 4, 5, 6, 7, 8, 0}, func(s string) string {
			return strings.NewReplacer("colour", "Colour", "price", "Prices").Replace(s)
		}, `has no columns "price" and "colour", which the model needs: is "price" "Prices" and "colour" "Colour"?`, true},
		"missing": {[]int{0, 1, 2, 4, 5, 6, 7}, same, `has no column "colour", which the model needs`, true},
		"missing, similar": {[]int{1, 2, 3, 4, 5, 6, 7, 8}, func(s string) string {
			return strings.Replace(s, "colour", "Colours", 1)
		}, `has no column "colour", which the model needs: is it "Colours"?`, true},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, dir, "new.csv", change(c.order, c.rename))
			r := command(t, dir, "predict --model odd.iokl --x new.csv --out p.csv")
			if !strings.Contains(r.stderr, c.says) || (c.says == "") != (r.stderr == "") ||
				(r.status == exitUsage) != c.fails {
				t.Fatalf("%+v, want %q", r, c.says)
			}
			if c.fails {
				return
			}
			if got := mustTable(t, filepath.Join(dir, "p.csv")).Data.Data; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got[:3], want[:3])
			}
		})
	}
}
