package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iokl/iokl/internal/files/npy"
)

// hostileTables writes small files that claim to be, or unpack to, much more than 200 MiB, and a file of targets.
func hostileTables(t *testing.T, dir string) (names []string) {
	t.Helper()
	create := func(name string) io.WriteCloser {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		return f
	}
	text := func(name, begin, middle string, times int, end string) {
		f := create(name)
		w := io.Writer(f)
		var z *gzip.Writer
		if strings.HasSuffix(name, ".gz") {
			z, _ = gzip.NewWriterLevel(f, gzip.BestSpeed)
			w = z
		}
		block := []byte(strings.Repeat(middle, 1+(1<<16)/len(middle)))
		fmt.Fprint(w, begin)
		for left := times * len(middle); left > 0; left -= len(block) {
			_, _ = w.Write(block[:min(left, len(block))])
		}
		fmt.Fprint(w, end)
		if z != nil {
			z.Close()
		}
		f.Close()
	}
	text("y.csv", "y\n", "1\n2\n", 10, "")
	names = nil
	text("rows.csv.gz", "a,b\n", "1,2\n", 30e6, "")
	text("line.csv", "a,b\n1,", "7", 60e6, "\n")
	text("line.csv.gz", "a,b\n1,", "7", 200e6, "\n")
	text("quote.csv.gz", "a,b\n1,\"", "x\n", 100e6, "")
	text("separators.csv", "", ",", 4e6, "\n1\n")
	text("nested.json", "[", `{"a":`, 20000, "1"+strings.Repeat("}", 20000)+"]")
	text("lists.json", `[{"b":1,"a":`, "[", 9000, strings.Repeat("]", 9000)+"}]")
	text("word.json", `[{"a":"`, "x", 100e6, `"}]`)

	f := create("wide.csv")
	row := []byte(strings.TrimSuffix(strings.Repeat("7,", 40_000), ",") + "\n")
	for k := range 40_000 {
		fmt.Fprintf(f, "c%d%s", k, map[bool]string{true: "\n", false: ","}[k == 39_999])
	}
	for range 20 {
		_, _ = f.Write(row)
	}
	f.Close()
	f = create("columns.json")
	fmt.Fprint(f, "[{}")
	for k := range 20_000 {
		fmt.Fprintf(f, `,{"a%d":1}`, k)
	}
	fmt.Fprint(f, "]")
	f.Close()
	f = create("words.csv.gz")
	z := gzip.NewWriter(f)
	fmt.Fprintln(z, "a,b")
	for k := range 60_000 {
		fmt.Fprintf(z, "%d%s,1\n", k, strings.Repeat("x", 5000))
	}
	z.Close()
	f.Close()

	var header bytes.Buffer
	if err := npy.WriteHeader(&header, 1<<30, 1<<13); err != nil {
		t.Fatal(err)
	}
	text("shape.npy", header.String(), "0", 1000, "")
	text("shape.npy.gz", header.String(), "0", 1000, "")
	zipped := func(name string, parts ...string) {
		f := create(name)
		z := zip.NewWriter(f)
		for k := 0; k < len(parts); k += 2 {
			w, err := z.Create(parts[k])
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(w, parts[k+1])
		}
		z.Close()
		f.Close()
	}
	zipped("shape.npz", "x.npy", header.String())
	header.Reset()
	if err := npy.WriteHeader(&header, 1, 40e6); err != nil {
		t.Fatal(err)
	}
	zipped("zeros.npz", "x.npy", strings.Replace(header.String(), "<f8", "|i1", 1)+strings.Repeat("\x00", 40e6))
	zipped("rows.zip", "x.csv", "a,b\n"+strings.Repeat("1,2\n", 20e6))
	sheet := func(name, rows, words string) {
		zipped(name, "[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`+
			`<Default Extension="xml" ContentType="application/xml"/></Types>`,
			"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`+
				`<Relationship Id="rId1" Target="xl/workbook.xml" Type="http://schemas.openxmlformats.org/`+
				`officeDocument/2006/relationships/officeDocument"/></Relationships>`,
			"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" `+
				`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>`+
				`<sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/`+
				`relationships"><Relationship Id="rId1" Target="worksheets/sheet1.xml" Type="http://schemas.`+
				`openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>`,
			"xl/sharedStrings.xml", `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`+words+"</sst>",
			"xl/worksheets/sheet1.xml", `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`+
				"<sheetData>"+rows+"</sheetData></worksheet>")
	}
	cell := func(at string) string { return `<c r="` + at + `"><v>1</v></c>` }
	top := `<row r="1">` + cell("A1") + cell("B1") + `</row><row r="2">` + cell("A2") + cell("B2") + "</row>"
	var far strings.Builder
	for k := 3; k < 6000; k++ {
		fmt.Fprintf(&far, `<row r="%d">%s</row>`, k, cell(fmt.Sprint("XFD", k)))
	}
	sheet("corner.xlsx", top+`<row r="1048576">`+cell("XFD1048576")+"</row>", "")
	sheet("far.xlsx", top+far.String(), "")
	sheet("cells.xlsx", top+`<row r="3">`+strings.Repeat("<c/>", 4e6)+"</row>", "")
	sheet("words.xlsx", top, strings.Repeat("<si/>", 4e6))
	return names
}

// TestReadingCountsAsMemory reads tables that claim or unpack to much more than the limit, given or of a control group:
// commands end with one line that says how much memory is needed, or what is wrong, and stay below it.
func TestReadingCountsAsMemory(t *testing.T) {
	dir := t.TempDir()
	names := hostileTables(t, dir)
	const most = 200 << 20
	for _, name := range names {
		for k, c := range []struct{ from, line string }{
			{"--memory", "fit --x %s --y y.csv -q --budget 5s --memory 200MiB"},
			{"group", "fit --x %s --y y.csv -q --budget 5s"},
			{"--memory", "fit --x %s --y-columns 0 -q --budget 5s --stream --kernel linear:all --memory 200MiB"},
			{"group", "granger --series %s -q"},
		} {
			if k > 0 && testing.Short() || k > 1 && name != "wide.csv" && name != "line.csv.gz" {
				continue
			}
			line := fmt.Sprintf(c.line, name)
			t.Run(c.from+" "+line, func(t *testing.T) {
				limit, allowed := "", int64(most)
				if c.from == "group" {
					limit = inGroup(t, most)
				} else {
					allowed += most / 5
				}
				said, status, resident := measured(t, dir, line, limit)
				if lines := strings.Count(said, "\n"); status != exitUsage && status != exitOK || lines > 3 {
					t.Errorf("status %d, %d lines: %.500s", status, lines, said)
				}
				if resident > allowed {
					t.Errorf("%d MiB are resident of %d: %.300s", resident>>20, most>>20, said)
				}
				t.Logf("status %d, %d MiB: %.200s", status, resident>>20, said)
			})
		}
	}
}

// TestInfoTakesLittle holds what info takes to load a model against 4 times the file and 64 MiB, beside what the
// command takes without a model.
func TestInfoTakesLittle(t *testing.T) {
	dir := t.TempDir()
	tableOf(t, dir, 1500, 3, 2)
	t.Chdir(dir)
	var out, said bytes.Buffer
	if status := run(t.Context(), strings.Fields("fit --x x.npy --y y.npy -q --kernel gaussian:all:median --lambda "+
		"1e-2 --out m.iokl"), nil, &out, &said); status != exitOK {
		t.Fatal(said.String())
	}
	whole := mustRead(t, "m.iokl")
	_, _, base := measured(t, dir, "info none.iokl", "")
	for name, change := range map[string]func(head map[string]any){
		"whole":                 func(map[string]any) {},
		"fewer samples claimed": func(head map[string]any) { head["certificate"].(map[string]any)["samples"] = 3 },
		"many folds":            func(head map[string]any) { head["folds"] = repeatedNulls(300_000) },
		"many kernels":          func(head map[string]any) { head["dictionary"] = repeatedNulls(300_000) },
	} {
		t.Run(name, func(t *testing.T) {
			file := remade(t, []byte(whole), change)
			write(t, dir, "c.iokl", string(file))
			said, status, resident := measured(t, dir, "info c.iokl --json", "")
			if (status == exitOK) != (name == "whole") || status == 1 {
				t.Errorf("status %d: %.300s", status, said)
			}
			if took, most := resident-base, int64(4*len(file)+64<<20); took > most {
				t.Errorf("%d MiB beside %d of the command, for a file of %d bytes", took>>20, base>>20, len(file))
			}
		})
	}
}

func repeatedNulls(n int) json.RawMessage {
	return json.RawMessage("[" + strings.Repeat("null,", n-1) + "null]")
}

// remade is a model file with another meta.json.
func remade(t *testing.T, file []byte, change func(head map[string]any)) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to := npy.NewArchiveWriter(&out)
	for _, f := range from.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "meta.json" {
			var head map[string]any
			if err := json.Unmarshal(b, &head); err != nil {
				t.Fatal(err)
			}
			change(head)
			b, _ = json.Marshal(head)
		}
		if err := to.Raw(f.Name, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
