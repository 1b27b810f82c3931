// Package xlsx reads sheets of Office Open XML workbooks as tables. Importing it registers the endings .xlsx and .xlsm
// with package table: FILE.xlsx is the first sheet of a workbook, FILE.xlsx:SHEET the one of that name.
package xlsx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/internal/files/zipfile"
)

func init() {
	for _, ext := range []string{".xlsx", ".xlsm"} {
		table.RegisterSheet(ext, Read)
	}
}

// maxBytes bounds what a workbook unpacks to.
const maxBytes = 4 << 30

// Read reads a sheet, the first one where name is "", as rows of text: numbers in full precision, whatever the format
// shows of them, and cells that are formatted as dates as 2006-01-02, with the time of day where it is not midnight.
func Read(r io.Reader, name string) (rows [][]string, err error) {
	defer func() {
		if recover() != nil { // as the parser answers some parts that do not fit together
			rows, err = nil, errors.New("not a whole workbook: its structure is broken")
		}
	}()
	held := memory.Grow("a workbook", "save the sheet as CSV, or allow more (--memory)")
	defer held.Free()
	data, err := memory.ReadAll(r, "a workbook")
	if err != nil {
		return nil, err
	}
	if err := held.Add(3 * float64(len(data))); err != nil {
		return nil, err
	}
	switch err := zipfile.Verify(measure{held}, bytes.NewReader(data), int64(len(data))); {
	case errors.Is(err, memory.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("not a whole workbook: %w", err)
	}
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: maxBytes, RawCellValue: true})
	if err != nil {
		return nil, fmt.Errorf("not a whole workbook: %w", err)
	}
	defer f.Close()
	names := f.GetSheetList()
	switch {
	case len(names) == 0:
		return nil, errors.New("has no sheets")
	case name == "":
		name = names[0]
	}
	if k, err := f.GetSheetIndex(name); err != nil || k < 0 {
		return nil, fmt.Errorf("has no sheet %q: it has %s", name, strings.Join(names, ", "))
	}
	rows, err = rowsOf(f, name, held)
	if err != nil {
		return nil, fmt.Errorf("sheet %s: %w", name, err)
	}
	d := dates{file: f, sheet: name, known: map[int]string{}}
	if props, err := f.GetWorkbookProps(); err == nil && props.Date1904 != nil {
		d.from1904 = *props.Date1904
	}
	for i, row := range rows {
		for j, text := range row {
			row[j] = d.text(text, i, j)
		}
	}
	return rows, nil
}

// measure accounts for the XML of a workbook: twice its bytes, and a structure for each of its elements.
type measure struct{ held *memory.Growing }

func (m measure) Write(b []byte) (int, error) {
	const perElement = 250
	elements := bytes.Count(b, []byte("<")) - bytes.Count(b, []byte("</"))
	return len(b), m.held.Add(float64(2*len(b) + perElement*elements))
}

// rowsOf are the rows of a sheet up to the last one that holds something, those between that hold nothing being nil.
func rowsOf(f *excelize.File, name string, held *memory.Growing) (all [][]string, err error) {
	rows, err := f.Rows(name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for k := 1; rows.Next(); k++ {
		row, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		if len(row) == 0 {
			continue
		}
		cells := 3*(k-len(all)) + len(row)
		if err := held.Add(16 * float64(cells)); err != nil {
			return nil, err
		}
		all = append(append(all, make([][]string, k-1-len(all))...), slices.Clip(row))
	}
	return all, rows.Error()
}

// dates finds the cells whose numbers are dates.
type dates struct {
	file     *excelize.File
	sheet    string
	from1904 bool
	known    map[int]string // what the numbers of a style are: see kindOf
}

// text is what the cell in row i and column j, from 0, says.
func (d *dates) text(raw string, i, j int) string {
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	at, err := excelize.CoordinatesToCellName(j+1, i+1)
	if err != nil {
		return raw
	}
	style, err := d.file.GetCellStyle(d.sheet, at)
	if err != nil || style == 0 {
		return raw
	}
	if _, known := d.known[style]; !known {
		d.known[style] = d.kindOf(style)
	}
	switch d.known[style] {
	case "date":
		t, err := excelize.ExcelDateToTime(v, d.from1904)
		if err != nil {
			return raw
		}
		if t = t.Round(time.Second); v == math.Trunc(v) {
			return t.Format(time.DateOnly)
		}
		return t.Format(time.DateTime)
	case "time":
		return time.Unix(int64(math.Round(v*86400)), 0).UTC().Format(time.TimeOnly)
	}
	return raw
}

// noLetters is what is no code in a number format: quoted text, and colours and conditions in brackets.
var noLetters = regexp.MustCompile(`"[^"]*"?|\[[^\]]*\]?`)

// kindOf is date, time or "" by the number format of a style: one of those that ECMA-376, 18.8.30 numbers, or one of
// its own with the letters of days and years, or of hours.
func (d *dates) kindOf(style int) string {
	s, err := d.file.GetStyle(style)
	if err != nil {
		return ""
	}
	if s.CustomNumFmt != nil {
		switch code := strings.ToLower(noLetters.ReplaceAllString(*s.CustomNumFmt, "")); {
		case strings.ContainsAny(code, "dy"):
			return "date"
		case strings.Contains(code, "h"):
			return "time"
		}
		return ""
	}
	switch n := s.NumFmt; {
	case n >= 14 && n <= 17, n == 22, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 54, n == 57 || n == 58:
		return "date"
	case n >= 18 && n <= 21:
		return "time"
	}
	return ""
}
