// This file turns JSON, and formats that a program registers, into separated text.

package table

import (
	"bytes"
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
	d.UseNumber()
	rec := jsonRows{at: map[string]int{}}
	err := rec.read(d)
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
			return nil
		case token == json.Delim('{'):
			if err := t.object(d); err != nil {
				return fmt.Errorf("row %d: %w", len(t.rows)+1, cutShort(err))
			}
		default:
			return fmt.Errorf("row %d is no object", len(t.rows)+1)
		}
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is cut short")
	}
	return err
}

func (t *jsonRows) object(d *json.Decoder) error {
	row := make([]string, len(t.names))
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		value, err := d.Token()
		if err != nil {
			return err
		}
		j, known := t.at[key.(string)]
		if !known {
			j = len(t.names)
			t.at[key.(string)] = j
			t.names, row = append(t.names, key.(string)), append(row, "")
		}
		switch value := value.(type) {
		case nil:
		case json.Delim:
			return fmt.Errorf("%q holds no single value", key)
		default:
			row[j] = fmt.Sprint(value)
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	t.rows = append(t.rows, row)
	return nil
}
