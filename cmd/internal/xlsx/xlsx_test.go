package xlsx

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// Cells come in full precision, dates and times of day as such by the format of their cell, of both epochs.
func TestRead(t *testing.T) {
	for _, from1904 := range []bool{false, true} {
		f := excelize.NewFile()
		if err := f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &from1904}); err != nil {
			t.Fatal(err)
		}
		styled := func(cell string, v any, style excelize.Style) {
			id, err := f.NewStyle(&style)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.SetCellValue("Sheet1", cell, v); err != nil {
				t.Fatal(err)
			}
			if err := f.SetCellStyle("Sheet1", cell, cell, id); err != nil {
				t.Fatal(err)
			}
		}
		code := func(s string) *string { return &s }
		day := time.Date(2021, 3, 4, 0, 0, 0, 0, time.UTC)
		styled("A1", day, excelize.Style{NumFmt: 14})
		styled("B1", day.Add(18*time.Hour+30*time.Minute), excelize.Style{CustomNumFmt: code("dd/mm/yyyy hh:mm")})
		styled("C1", 0.25, excelize.Style{NumFmt: 20})
		styled("D1", 1234.56789, excelize.Style{NumFmt: 4})
		styled("E1", 0.125, excelize.Style{CustomNumFmt: code(`0.0" days"`)})
		styled("F1", 12.5, excelize.Style{CustomNumFmt: code("[Red]0.00")})
		_ = f.SetCellValue("Sheet1", "A3", "word")
		_ = f.SetCellValue("Sheet1", "B3", true)
		if _, err := f.NewSheet("other"); err != nil {
			t.Fatal(err)
		}
		_ = f.SetCellValue("other", "B2", 7)
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		rows, err := Read(bytes.NewReader(b.Bytes()), "")
		want := [][]string{
			{"2021-03-04", "2021-03-04 18:30:00", "06:00:00", "1234.56789", "0.125", "12.5"},
			nil,
			{"word", "1"},
		}
		if err != nil || len(rows) != 3 || !reflect.DeepEqual(rows[0], want[0]) || len(rows[1]) != 0 ||
			rows[2][0] != "word" {
			t.Errorf("from 1904 %v: %q, %v, want %q", from1904, rows, err, want)
		}
		if rows, err := Read(bytes.NewReader(b.Bytes()), "other"); err != nil || len(rows) != 2 || rows[1][1] != "7" {
			t.Errorf("%q %v", rows, err)
		}
		if _, err := Read(bytes.NewReader(b.Bytes()), "third"); err == nil ||
			!strings.Contains(err.Error(), `has no sheet "third": it has Sheet1, other`) {
			t.Errorf("no such sheet: %v", err)
		}
		if _, err := Read(bytes.NewReader(b.Bytes()[:b.Len()/2]), ""); err == nil {
			t.Error("half a workbook is read")
		}
	}
}
