// This file turns JSON, and formats that a program registers, into separated text.

package table

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sheet reads one sheet of a workbook, the first one where name is "", as rows of text; dates are written as
// 2006-01-02 or 2006-01-02 15:04:05. An error says what is wrong with the file.
type Sheet func(r io.Reader, name string) ([][]string, error)

var sheets = map[string]Sheet{}

// RegisterSheet makes files with the ending ext, as .xlsx, readable. It is for init functions.
func RegisterSheet(ext string, read Sheet) { sheets[ext] = read }

// replace puts separated text in the place of what s holds.
func (s *source) replace(rows [][]string) error {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for _, row := range rows {
		for j, cell := range row {
			row[j] = strings.Join(strings.Fields(cell), " ")
		}
		if strings.Join(row, "") == "" {
			continue
		}
		if width == 1 {
			text.WriteString(`"` + strings.ReplaceAll(row[0], `"`, `""`) + "\"\n")
			continue
		}
		_ = w.Write(append(row, make([]string, width-len(row))...))
		w.Flush()
	}
	s.r, s.at, s.size, s.rowsOnly = buffered(&text), nil, -1, true
	return w.Error()
}

// workbook puts the cells of a sheet in the place of the file.
func (s *source) workbook(read Sheet) error {
	rows, err := read(s.r, s.part)
	if err != nil {
		return bad("%s: %v", s.name, err)
	}
	return s.replace(rows)
}

// records puts the rows of JSON records in the place of the file: an array of objects, or one object after another.
func (s *source) jsonRecords() error {
	d := json.NewDecoder(s.r)
	rec := jsonRows{at: map[string]int{}}
	err := rec.read(d)
	if err == nil && rec.lists && len(rec.rows) == 1 {
		err = errors.New("it is one object of lists")
	}
	if err != nil {
		return bad("%s: %v: JSON is read as records, [{\"a\": 1, \"b\": 2}, …], or one such object on each line",
			s.name, err)
	}
	if len(rec.rows) == 0 {
		return bad("%s: is empty", s.name)
	}
	return s.replace(append([][]string{rec.names}, rec.rows...))
}

// jsonRows are the records read so far. Names are in the order in which they come.
type jsonRows struct {
	names []string
	at    map[string]int
	rows  [][]string
	lists bool // some cell holds a list
}

func (t *jsonRows) read(d *json.Decoder) error {
	array := false
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && !array:
			return nil
		case err != nil:
			return fmt.Errorf("row %d: %w", len(t.rows)+1, cutShort(err))
		case token == json.Delim('[') && !array && t.rows == nil:
			array = true
		case token == json.Delim(']') && array:
			if _, err := d.Token(); !errors.Is(err, io.EOF) {
				return cmp.Or(err, errors.New("more follows the array"))
			}
			return nil
		case token == json.Delim('{'):
			row, err := t.fields(d, make([]string, len(t.names)), "")
			if err != nil {
				return fmt.Errorf("row %d: %w", len(t.rows)+1, cutShort(err))
			}
			t.rows = append(t.rows, row)
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

// fields puts the values of an object, whose names begin with prefix, in their columns of the row: those of an object
// inside it as columns NAME.FIELD, a list as its JSON text.
func (t *jsonRows) fields(d *json.Decoder, row []string, prefix string) ([]string, error) {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := prefix + key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if value[0] == '{' {
			inner := json.NewDecoder(bytes.NewReader(value))
			_, _ = inner.Token()
			if row, err = t.fields(inner, row, name+"."); err != nil {
				return nil, err
			}
			continue
		}
		t.lists = t.lists || value[0] == '['
		j, known := t.at[name]
		if !known {
			j = len(t.names)
			t.at[name] = j
			t.names, row = append(t.names, name), append(row, "")
		}
		switch row[j] = string(value); {
		case value[0] == '"':
			err = json.Unmarshal(value, &row[j])
		case value[0] == '[':
			var list bytes.Buffer // without the spaces that one writer puts in and another leaves out
			err = json.Compact(&list, value)
			row[j] = list.String()
		case row[j] == "null":
			row[j] = ""
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return row, err
}
