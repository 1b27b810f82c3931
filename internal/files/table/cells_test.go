package table

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/schema"
)

func TestTypes(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		opt   Options
		names []string
		rows  [][]float64
		notes string
	}{
		"category": {
			"size,colour\n1,red\n2,blue\n3,\n4,red\n",
			Options{},
			[]string{"size", "colour=blue", "colour=red"},
			[][]float64{{1, 0, 1}, {2, 1, 0}, {3, nan, nan}, {4, 0, 1}},
			`categories: column 2 "colour" of 2 levels: blue, red`,
		},
		"booleans": {
			"b,x\nTrue,1\nFalse,2\n",
			Options{},
			[]string{"b=False", "b=True", "x"},
			[][]float64{{0, 1, 1}, {1, 0, 2}},
			"2 levels: False, True",
		},
		"no header": {
			"red,1\nblue,2\n",
			Options{},
			[]string{"x1=blue", "x1=red", "x2"},
			[][]float64{{0, 1, 1}, {1, 0, 2}},
			"categories: column 1 of 2 levels",
		},
		"dates": {
			"when,x\n2020-03-01,1\n2020-02-28,2\n,3\n",
			Options{},
			[]string{"when", "x"},
			[][]float64{{2, 1}, {0, 2}, {nan, 3}},
			`dates, taken as days since the first: column 1 "when" since 2020-02-28`,
		},
		"times": {
			"when,x\n2020-01-01 12:00:00,1\n2020-01-01 06:00:00,2\n",
			Options{},
			[]string{"when", "x"},
			[][]float64{{.25, 1}, {0, 2}},
			"since 2020-01-01 06:00:00",
		},
		"ends of days": {
			"when,at,x\n2020-01-01 24:00,24:00,1\n2020-01-01 06:00,18:00,2\n",
			Options{},
			[]string{"when", "at.cos", "at.sin", "x"},
			[][]float64{{.75, 1, 0, 1}, {0, 0, -1, 2}},
			"since 2020-01-01 06:00:00",
		},
		"quarters": {
			"when,x\n2001Q4,1\n2001Q1,2\n",
			Options{},
			[]string{"when", "x"},
			[][]float64{{273, 1}, {0, 2}},
			"since 2001-01-01",
		},
		"words for none": {
			"a,x\nn/a,1\n5,?\n",
			Options{NA: []string{"n/a", "?"}},
			[]string{"a", "x"},
			[][]float64{{nan, 1}, {5, nan}},
			"",
		},
		"none among words": {
			"a,x\n?,1\nred,2\n",
			Options{NA: []string{"?"}},
			[]string{"a=red", "x"},
			[][]float64{{nan, 1}, {1, 2}},
			"1 levels: red",
		},
		"NaN": {
			"a,b,when,x\n1,red,2020-03-01,nan\nNaN,NAN,Nan,-nan\n3,,2020-02-28,+nAn\n-NaN,red,,4\n",
			Options{},
			[]string{"a", "b=red", "when", "x"},
			[][]float64{{1, 1, 2, nan}, {nan, nan, nan, nan}, {3, nan, 0, nan}, {nan, 1, nan, 4}},
			"1 levels: red",
		},
		"numbers only": {"a,x\n3,1\n", Options{}, []string{"a", "x"}, [][]float64{{3, 1}}, ""},
		"empty column": {
			"a,x\n,1\n,2\n",
			Options{},
			[]string{"x"},
			[][]float64{{1}, {2}},
			`left out, since they are empty: column 1 "a"`,
		},
		"chosen columns": {
			"a,b,x\nred,up,1\nblue,down,2\n",
			Options{Columns: func([]string, int) ([]int, error) { return []int{2, 1}, nil }},
			[]string{"x", "b=down", "b=up"},
			[][]float64{{1, 0, 1}, {2, 1, 0}},
			`categories: column 2 "b" of 2 levels`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.Types = true
			path := file(t, "a.csv", c.in)
			tab, err := Read(path, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(tab.Names, c.names) || !equal(tab.Data, c.rows) {
				t.Errorf("got %q %v, want %q %v", tab.Names, tab.Data, c.names, c.rows)
			}
			if notes := strings.Join(tab.Schema.Notes(), "; "); !strings.Contains(notes, c.notes) ||
				(c.notes == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
			again(t, path, c.opt, tab)
		})
	}
}

// again reads the file a block of two rows at a time by the schema that Learn finds.
func again(t *testing.T, path string, opt Options, want *Table) {
	t.Helper()
	s, err := Learn(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Schema = s
	r, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rows [][]float64
	for {
		block := blas.NewGeneral(2, r.Cols())
		n, err := r.Read(block)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			rows = append(rows, blas.Row(block, i))
		}
	}
	if !equal(want.Data, rows) || !slices.Equal(r.Names(), want.Names) {
		t.Errorf("by blocks: %q %v, want %q %v", r.Names(), rows, want.Names, want.Data)
	}
}

func TestSchemaOnNewRows(t *testing.T) {
	fit, err := Read(file(t, "a.csv", "colour,when,x\nred,2020-01-02,1\nblue,2020-01-01,2\n"), Options{Types: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(file(t, "b.csv", "colour,when,x\nblue,2020-01-11,1\ngreen,2019-12-31,2\n7,,3\n"),
		Options{Schema: fit.Schema})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if !equal(tab.Data, [][]float64{{1, 0, 10, 1}, {0, 0, -1, 2}, {0, 0, nan, 3}}) {
		t.Errorf("%v", tab.Data)
	}
	const unseen = `2 cells of column 1 "colour" hold words that the model has not learned, which count as none of its ` +
		`levels: "7" (the nearest level is "red"), "green" (the nearest level is "red")`
	if got := Unseen(r); !slices.Equal(got, []string{unseen}) {
		t.Errorf("unseen %q, want 2 of column 1", got)
	}
	for in, want := range map[string]string{
		"colour,when,x\nred,soon,1\n":          `row 1 (line 2), column 2 "when": "soon" is not a date`,
		"colour,when,x\nred,2020-01-01,high\n": `column 3 "x": "high" is not a number`,
		"colour,x\nred,1\n":                    "has 2 columns where 3 are expected",
	} {
		if _, err := Read(file(t, "c.csv", in), Options{Schema: fit.Schema}); !errors.Is(err, ErrData) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func TestTypeErrors(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"word among numbers":  {"a,x\n1,1\n2,red\n", `row 2 (line 3), column 2 "x": "red" is not a number`},
		"number among words":  {"a,x\n1,1\nred,2\n7,3\n", `row 2 (line 3), column 1 "a": "red" is not a number`},
		"number after a word": {"a,x\nred,1\n7,2\n", `row 1 (line 2), column 1 "a": "red" is not a number`},
		"inf among numbers":   {"a,x\n1,1\n-Inf,2\n", `row 2 (line 3), column 1 "a": "-Inf" is not a finite number`},
		"two marks": {
			"a;x\n2,5;1\n2,5,1;2\n",
			`row 2 (line 3), column 1 "a": "2,5,1" is not a number (an empty cell means missing; --na names words that do too, --drop columns to leave out)`,
		},
		"two signs": {
			"a;x\n$2;1\n€3;2\n$4;3\n",
			`row 1 (line 2), column 1 "a": "$2" has the sign $ where others in its column have none or another`,
		},
		"long cell of letters": {
			"a,x\n1,1\nx" + strings.Repeat("é", 30) + ",2\n",
			`column 1 "a": "x` + strings.Repeat("é", 19) + `…" is not a number`,
		},
		"inf among words":       {"a,x\nred,1\ninf,2\n", `"inf" is not a finite number`},
		"word among dates":      {"a,x\n2020-01-01,1\nsoon,2\n", `row 2 (line 3), column 1 "a": "soon" is not a date`},
		"number among dates":    {"a,x\n2020-01-01,1\n2020,2\n", `"2020" is not a date`},
		"numbers without Types": {"a,x\nred,1\n", "is not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(file(t, "a.csv", c.in), Options{Types: name != "numbers without Types"})
			if !errors.Is(err, ErrData) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want ErrData and %q", err, c.want)
			}
		})
	}
}

func TestParquetTypes(t *testing.T) {
	type row struct {
		Colour *string   `parquet:"colour,optional"`
		Good   bool      `parquet:"good"`
		When   time.Time `parquet:"when,timestamp(millisecond)"`
		X      float64   `parquet:"x"`
	}
	red, blue := "red", "blue"
	day := func(d int) time.Time { return time.Date(2020, 1, d, 0, 0, 0, 0, time.UTC) }
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{
		{&red, true, day(3), 1},
		{nil, false, day(1), 2},
		{&blue, true, day(2), 3},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := file(t, "a.parquet", b.String())
	tab, err := Read(path, Options{Types: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.Names, []string{"colour=blue", "colour=red", "good=false", "good=true", "when", "x"}) ||
		!equal(tab.Data, [][]float64{{0, 1, 0, 1, 2, 1}, {nan, nan, 1, 0, 0, 2}, {1, 0, 0, 1, 1, 3}}) {
		t.Errorf("%q %v", tab.Names, tab.Data)
	}
	again(t, path, Options{Types: true}, tab)
	words := schema.Columns{
		{Name: "colour", Kind: schema.Category, Levels: []string{"red"}},
		{Name: "good"},
		{Name: "when"},
		{Name: "x", Kind: schema.Category, Levels: []string{"a"}},
	}
	if _, err := Read(path, Options{Schema: words}); !errors.Is(err, ErrData) ||
		!strings.Contains(err.Error(), `column "when" holds dates where numbers are expected`) {
		t.Errorf("dates for numbers: %v", err)
	}
}
