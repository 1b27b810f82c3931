package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

func TestTexts(t *testing.T) {
	type row struct {
		ID   int64     `parquet:"id"`
		Name *string   `parquet:"name,optional"`
		Good bool      `parquet:"good"`
		When time.Time `parquet:"when,timestamp(millisecond)"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	ann := "ann"
	if _, err := w.Write([]row{
		{12345678, &ann, true, time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)},
		{3, nil, false, time.Date(2020, 1, 3, 6, 0, 0, 0, time.UTC)},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, in string
		opt      Options
		names    string
		rows     []string
	}{
		"header":             {"a.csv", "k,v\na,1\nb,2\n", Options{}, "k v", []string{"a 1", "b 2"}},
		"separators at ends": {"a.csv", "k;v;\r\na;1;\r\nb;2;\r\n", Options{}, "k v", []string{"a 1", "b 2"}},
		"names of rows":      {"a.csv", "k,v\n1,a,5\n2,b,6\n", Options{}, " k v", []string{"1 a 5", "2 b 6"}},
		"words":              {"a.csv", "k,v\na,b\na,d\n", Options{}, "", []string{"k v", "a b", "a d"}},
		"words, header":      {"a.csv", "k,v\na,b\na,d\n", Options{Types: true}, "k v", []string{"a b", "a d"}},
		"words, no header":   {"a.csv", "a,b\nc,d\na,b\n", Options{Types: true}, "", []string{"a b", "c d", "a b"}},
		"label":              {"a.csv", "Label\nred\n\nblue\n", Options{}, "Label", []string{"red", "", "blue"}},
		"JSON": {
			"a.json", `[{"k": {"x": 1e3}, "v": null}, {"v": ["a", 2]}]`,
			Options{},
			"k.x v",
			[]string{"1e3 ", ` ["a",2]`},
		},
		"Parquet": {
			"a.parquet", b.String(),
			Options{},
			"id name good when",
			[]string{"12345678 ann true 2020-01-03", "3  false 2020-01-03 06:00:00"},
		},
		"some columns": {
			"a.csv", "k,v\na,1\nb,2\n",
			Options{Columns: func([]string, int) ([]int, error) { return []int{1}, nil }},
			"v",
			[]string{"1", "2"},
		},
	} {
		names, rows, err := ReadText(file(t, c.file, c.in), c.opt)
		var got []string
		for _, row := range rows {
			got = append(got, strings.Join(row, " "))
		}
		if err != nil || strings.Join(names, " ") != c.names || !slices.Equal(got, c.rows) {
			t.Errorf("%s: %q %q %v, want %q %q", name, names, got, err, c.names, c.rows)
		}
	}
	if _, err := OpenText(file(t, "a.npy", npyBytes([]int{1, 1}, 1)), Options{}); !errors.Is(err, ErrNotText) {
		t.Errorf("array: %v", err)
	}
}

// counting counts the bytes that are read.
type counting struct {
	io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// A row of text takes no more of the file than a buffer ahead.
func TestTextsAreNotReadAhead(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,v\n")
	for i := range 200_000 {
		fmt.Fprintf(&b, "row %d,%d\n", i, i)
	}
	in := &counting{Reader: strings.NewReader(b.String())}
	r, err := OpenText("-", Options{Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if row, err := r.Next(); err != nil || row[0] != fmt.Sprintf("row %d", i) {
			t.Fatalf("row %d: %q %v", i, row, err)
		}
	}
	if at := strings.Index(b.String(), "row 20000,"); in.n > at+1<<17 {
		t.Errorf("%d bytes read for the first %d", in.n, at)
	}
}

// In a table of words alone the first row names the columns where it does not recur below.
func TestHeaderOfWords(t *testing.T) {
	body := strings.Repeat("red,yes\nblue,no\ngreen,yes\n", 5)
	for in, want := range map[string]int{
		"colour,ok\n" + body:        15,
		body:                        15,
		"red,maybe\n" + body:        15, // a tie is a header
		"first,ok\nname,x\nother,y": 2,
		// a level is called as its column is
		"a;c\n1,5;a\n2,5;b\n3,25;c\n4;c\n": 4,
	} {
		tab, err := Read(file(t, "a.csv", in), Options{Types: true})
		if err != nil || tab.Data.Rows != want || (in == body) != (tab.Schema.Sources() == nil) {
			t.Errorf("%.20q: %d rows, names %q, %v", in, tab.Data.Rows, tab.Schema.Sources(), err)
			continue
		}
		again, err := Read(file(t, "b.csv", in), Options{Schema: tab.Schema})
		if err != nil || again.Data.Rows != want {
			t.Errorf("%.20q, by its schema: %v", in, err)
		}
	}
}

// A warning is one line, whatever the words hold.
func TestLevelsOnOneLine(t *testing.T) {
	tab, err := Read(file(t, "a.csv", "k,y\n\"a\nx\",1\nb,2\n\"a\nx\",3\n"), Options{Types: true})
	if err != nil {
		t.Fatal(err)
	}
	if notes := tab.Schema.Notes(); len(notes) != 1 || strings.Contains(notes[0], "\n") {
		t.Errorf("%q", notes)
	}
}

// Columns are counted as they stand in the file, also where some of it are left out.
func TestNotesCountColumnsOfTheFile(t *testing.T) {
	some := func([]string, int) ([]int, error) { return []int{3, 1}, nil }
	for in, want := range map[string]string{
		"a,b,c,d\n1,red,2,$3\n4,blue,5,$6\n": `categories: column 2 "b" of 2 levels: blue, red; ` +
			`numbers with marks: column 4 "d" with the sign $`,
		"1,red,2,$3\n4,blue,5,$6\n": `categories: column 2 of 2 levels: blue, red; ` +
			`numbers with marks: column 4 with the sign $`,
	} {
		path := file(t, "a.csv", in)
		tab, err := Read(path, Options{Types: true, Columns: some})
		if err != nil || strings.Join(tab.Schema.Notes(), "; ") != want {
			t.Errorf("%q, %v, want %q", tab.Schema.Notes(), err, want)
		}
		if s, err := Learn(path, Options{Types: true, Columns: some}); err != nil ||
			strings.Join(s.Notes(), "; ") != want {
			t.Errorf("learned: %q, %v, want %q", s.Notes(), err, want)
		}
		r, err := Open(file(t, "b.csv", strings.Replace(in, "red", "pink", 1)), Options{
			Schema: tab.Schema, Columns: some,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if unseen := Unseen(r); len(unseen) != 1 || !strings.Contains(unseen[0], "1 cells of column 2") {
			t.Errorf("%q", unseen)
		}
	}
}
