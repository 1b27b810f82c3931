// JSON, and formats that a program registers, as separated text.

package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iokl/iokl/internal/base/memory"
)

// Sheet reads one sheet of a workbook, the first one where name is "", as rows of text; dates are written as
// 2006-01-02 or 2006-01-02 15:04:05. An error says what is wrong with the file.
type Sheet func(r io.Reader, name string) ([][]string, error)

var sheets = map[string]Sheet{}

// RegisterSheet makes files with the ending ext, as .xlsx, readable. It is for init functions.
func RegisterSheet(ext string, read Sheet) { sheets[ext] = read }

// replace puts separated text in the place of what s holds, with the blank rows where those are rows too.
func (s *source) replace(rows [][]string, blank bool) error {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	full := make([]string, width)
	for _, row := range rows {
		letters := 0
		for j, cell := range row {
			full[j] = strings.Join(strings.Fields(cell), " ")
			letters += len(full[j])
		}
		if !blank && letters == 0 {
			continue
		}
		clear(full[len(row):])
		size := width + letters
		if err := s.held.Add(3 * float64(size)); err != nil { // its buffer doubles
			return err
		}
		if width == 1 {
			text.WriteString(`"` + strings.ReplaceAll(full[0], `"`, `""`) + "\"\n")
			continue
		}
		_ = w.Write(full)
		w.Flush()
	}
	s.r, s.at, s.size, s.rowsOnly = buffered(&text), nil, -1, true
	return w.Error()
}

// workbook puts the cells of a sheet in the place of the file.
func (s *source) workbook(read Sheet) error {
	rows, err := read(s.r, s.part)
	if err != nil {
		return bad("%s: %w", s.name, err)
	}
	for _, row := range rows {
		bytes := 24
		for _, cell := range row {
			bytes += 16 + len(cell)
		}
		if err := s.held.Add(float64(bytes)); err != nil {
			return err
		}
	}
	return s.replace(rows, false)
}

// records puts the rows of JSON records in the place of the file: an array of objects, or one object after another.
func (s *source) jsonRecords() error {
	guard := s.guard(memory.Guard{PerByte: 4})
	d := json.NewDecoder(&withoutNaN{r: bufio.NewReader(guard)})
	d.UseNumber()
	rec := jsonRows{d: d, guard: guard, held: &s.held, at: map[string]int{}}
	err := rec.read()
	if err == nil && rec.lists && len(rec.rows) == 1 {
		err = errors.New("it is one object of lists")
	}
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		return bad("%s: %w", s.name, err)
	case err != nil:
		return bad("%s: %v: JSON is read as records, [{\"a\": 1, \"b\": 2}, …], or one such object on each line",
			s.name, err)
	}
	if len(rec.rows) == 0 {
		return bad("%s: is empty", s.name)
	}
	return s.replace(append([][]string{rec.names}, rec.rows...), true)
}

// withoutNaN is JSON with null in place of NaN, which some programs write though JSON has no such number.
type withoutNaN struct {
	r               *bufio.Reader
	quoted, escaped bool
	null            string // that is not handed out
}

func (w *withoutNaN) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if w.null != "" {
			k := copy(b[n:], w.null)
			n, w.null = n+k, w.null[k:]
			continue
		}
		c, err := w.r.ReadByte()
		if err != nil {
			return n, err
		}
		if c == 'N' && !w.quoted {
			if rest, _ := w.r.Peek(2); string(rest) == "aN" {
				_, _ = w.r.Discard(2)
				w.null = "null"
				continue
			}
		}
		w.quoted = w.quoted != (c == '"' && !w.escaped)
		w.escaped = c == '\\' && !w.escaped
		b[n] = c
		n++
	}
	return n, nil
}

// jsonRows are the records read so far. Names are in the order in which they come.
type jsonRows struct {
	d     *json.Decoder
	guard *memory.Guard // of the row at hand
	held  *memory.Growing
	names []string
	at    map[string]int
	rows  [][]string
	row   []string
	bytes int  // of the cells of the row
	lists bool // some cell holds a list
}

func (t *jsonRows) read() error {
	array := false
	for {
		token, err := t.d.Token()
		switch {
		case errors.Is(err, io.EOF) && !array:
			return nil
		case err != nil:
			return fmt.Errorf("row %d: %w", len(t.rows)+1, cutShort(err))
		case token == json.Delim('[') && !array && t.rows == nil:
			array = true
		case token == json.Delim(']') && array:
			if _, err := t.d.Token(); !errors.Is(err, io.EOF) {
				return cmp.Or(err, errors.New("more follows the array"))
			}
			return nil
		case token == json.Delim('{'):
			t.row, t.bytes = make([]string, len(t.names), len(t.names)+1), 0
			err := t.fields("", 0)
			if err == nil {
				err = t.held.Add(float64(24 + 16*cap(t.row) + t.bytes))
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", len(t.rows)+1, cutShort(err))
			}
			t.rows = append(t.rows, t.row)
			t.guard.Reset()
		default:
			return fmt.Errorf("row %d is no object", len(t.rows)+1)
		}
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is cut short")
	}
	return err
}

// maxDepth is how deep objects and lists may lie in each other.
const maxDepth = 100

// fields puts the values of an object, whose names begin with prefix, in their columns of the row: those of an object
// inside it as columns NAME.FIELD, a list as its JSON text.
func (t *jsonRows) fields(prefix string, depth int) error {
	if depth == maxDepth {
		return fmt.Errorf("objects are nested %d deep", maxDepth)
	}
	for t.d.More() {
		key, err := t.d.Token()
		if err != nil {
			return err
		}
		name := prefix + key.(string)
		value, err := t.d.Token()
		if err != nil {
			return err
		}
		if value == json.Delim('{') {
			if err := t.fields(name+".", depth+1); err != nil {
				return err
			}
			continue
		}
		var list bytes.Buffer // without the spaces that one writer puts in and another leaves out
		cell := ""
		switch v := value.(type) {
		case json.Delim:
			t.lists = true
			if err := t.list(&list, v, depth); err != nil {
				return err
			}
			cell = list.String()
		case string:
			cell = v
		case nil:
		default:
			cell = fmt.Sprint(v)
		}
		if err := t.put(name, cell); err != nil {
			return err
		}
	}
	_, err := t.d.Token()
	return err
}

// put sets the cell of a column.
func (t *jsonRows) put(name, cell string) error {
	j, known := t.at[name]
	if !known {
		if err := t.held.Add(float64(4*cellBytes + len(name))); err != nil {
			return err
		}
		j = len(t.names)
		t.at[name] = j
		t.names, t.row = append(t.names, name), append(t.row, "")
	}
	t.row[j] = cell
	t.bytes += len(cell)
	return nil
}

// list writes the text of a list or of an object in one, which begins with open.
func (t *jsonRows) list(to *bytes.Buffer, open json.Delim, depth int) error {
	if depth == maxDepth {
		return fmt.Errorf("lists are nested %d deep", maxDepth)
	}
	to.WriteString(open.String())
	for k := 0; t.d.More(); k++ {
		if k > 0 && (open == '[' || k%2 == 0) {
			to.WriteByte(',')
		}
		token, err := t.d.Token()
		if err != nil {
			return err
		}
		if inner, ok := token.(json.Delim); ok {
			err = t.list(to, inner, depth+1)
		} else {
			err = writeJSON(to, token)
		}
		if err != nil {
			return err
		}
		if open == '{' && k%2 == 0 {
			to.WriteByte(':')
		}
	}
	end, err := t.d.Token()
	if err != nil {
		return err
	}
	to.WriteString(end.(json.Delim).String())
	return nil
}

// writeJSON writes a value that is no list or object.
func writeJSON(to *bytes.Buffer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	to.Truncate(to.Len() - 1) // the newline
	return err
}
