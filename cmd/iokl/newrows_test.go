package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A cell of new rows is read as the training rows were, or refused with its row and column, by every command that reads
// rows for a model. No cell that is not understood counts as a missing one.
func TestNewRowsAreReadAsTraining(t *testing.T) {
	dir := folder(t)
	const fit = "fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-3 --out m.iokl"
	succeed(t, dir, fit)
	write(t, dir, "plain.csv", "a,b\n.5,.25\n.75,-1.5\n")
	write(t, dir, "y2.csv", "u,v\n1,2\n3,\n")
	workbook(t, filepath.Join(dir, "marks.xlsx"), [][]any{{"a", "b"}, {.5, .25}, {"0,75", "-1,5"}})
	workbook(t, filepath.Join(dir, "same.xlsx"), [][]any{{"a", "b"}, {.5, .25}, {.75, -1.5}})
	const predict = "predict --model m.iokl --x "
	commands := []string{
		predict, "predict --model m.iokl --std --x ", "predict --model m.iokl --why 2 --x ",
		"predict --model m.iokl --y y2.csv --fill --x ", "predict --model m.iokl --y y2.csv --x ",
		"update --model m.iokl --y y2.csv --out n.iokl --x ", "info m.iokl --y y2.csv --plot pictures --x ",
	}
	for name, c := range map[string]struct{ file, text, cell string }{
		"decimal commas":     {"n.csv", "a;b\n.5;.25\n0,75;-1,5\n", "0,75"},
		"commas in quotes":   {"n.csv", "a,b\n.5,.25\n\"0,75\",\"-1,5\"\n", "0,75"},
		"all decimal commas": {"n.csv", "a;b\n0,75;0,25\n0,75;-1,5\n", "0,75"},
		"tabs":               {"n.tsv", "a\tb\n.5\t.25\n0,75\t-1,5\n", "0,75"},
		"units":              {"n.csv", "a,b\n.5,.25\n0.75 kg,-1.5 kg\n", "0.75 kg"},
		"signs":              {"n.csv", "a,b\n.5,.25\n$0.75,$-1.5\n", "$0.75"},
		"percents":           {"n.csv", "a,b\n.5,.25\n75 %,-150 %\n", "75 %"},
		"thousands":          {"n.csv", "a,b\n.5,.25\n\"1,075\",2\n", "1,075"},
		"parentheses":        {"n.csv", "a,b\n.5,.25\n(0.75),2\n", "(0.75)"},
		"error of a sheet":   {"n.csv", "a,b\n.5,.25\n#VALUE!,2\n", "#VALUE!"},
		"word":               {"n.csv", "a,b\n.5,.25\nhigh,2\n", "high"},
		"date":               {"n.csv", "a,b\n.5,.25\n2024-01-05,2\n", "2024-01-05"},
		"infinity":           {"n.csv", "a,b\n.5,.25\ninf,2\n", "inf"},
		"no header":          {"n.csv", ".5,.25\n\"0,75\",2\n", "0,75"},
		"byte order mark":    {"n.csv", "\xef\xbb\xbfa;b\n.5;.25\n0,75;-1,5\n", "0,75"},
		"JSON":               {"n.json", `[{"a": 0.5, "b": 0.25}, {"a": "0,75", "b": "-1,5"}]`, "0,75"},
		"workbook":           {"marks.xlsx", "", "0,75"},
	} {
		if c.text != "" {
			write(t, dir, c.file, c.text)
		}
		for _, line := range commands {
			row := map[bool]string{true: "row 1", false: "row 2"}[strings.Contains(name, "all")]
			command(t, dir, line+c.file).ended(exitUsage).err(row, "column 1", `"`+c.cell+`"`).noErr("filled")
		}
	}
	want := succeed(t, dir, predict+"plain.csv").stdout
	for _, c := range map[string]struct{ file, text string }{
		"minus sign":      {"n.csv", "a,b\n.5,.25\n.75,−1.5\n"},
		"quotes":          {"n.csv", "\"b\",\"a\"\n\".25\",\".5\"\n\"-1.5\",\"0.75\"\n"},
		"semicolons":      {"n.csv", "\xef\xbb\xbfa;b\r\n.5;.25\r\n7.5e-1;-1.5\r\n"},
		"spaces":          {"n.txt", "a b\n .5   .25\n.75 -1.5\n"},
		"no header":       {"n.csv", ".5,.25\n.75,-1.5\n"},
		"a text column":   {"n.csv", "b,remark,a\n.25,none,.5\n-1.5,so so,.75\n"},
		"JSON with words": {"n.json", `{"a": "0.5", "b": 0.25}` + "\n" + `{"b": "-1.5", "a": 0.75}`},
		"workbook":        {"same.xlsx", ""},
	} {
		if c.text != "" {
			write(t, dir, c.file, c.text)
		}
		succeed(t, dir, predict+c.file).prints(want)
	}
}

// Cells that mean a missing one do so in training and in new rows: NaN as any program writes it, and words that --na
// named at the fit.
func TestNewRowsMissAsTraining(t *testing.T) {
	dir := folder(t)
	x := strings.SplitAfter(mustRead(t, filepath.Join(dir, "x.csv")), "\n")
	write(t, dir, "gaps.csv", x[0]+"nan,-999\n-NaN,0.5\ngone,1\n"+strings.Join(x[4:], ""))
	succeed(t, dir, "fit --x gaps.csv --y y.csv --na -999 --na gone --kernel linear:all --lambda 1e-3 --out m.iokl "+
		"--json").err("filled 4 missing cells")
	write(t, dir, "empty.csv", "a,b\n,\n0.5,\n")
	const predict = "predict --model m.iokl --x "
	want := succeed(t, dir, predict+"empty.csv").stdout
	for _, c := range map[string]struct{ file, text string }{
		"spelled":   {"n.csv", "a,b\nNAN,nan\n0.5,Nan\n"},
		"with sign": {"n.csv", "a;b\n+nan;-nan\n0.5;-NaN\n"},
		"by --na":   {"n.csv", "a,b\ngone,-999\n0.5,-999.0\n"},
		"JSON":      {"n.json", `[{"a": NaN, "b": null}, {"a": 0.5, "b": "nan"}]`},
	} {
		write(t, dir, c.file, c.text)
		succeed(t, dir, predict+c.file).prints(want)
	}
	write(t, dir, "n.jsonl", "{\"a\":NaN,\"b\":\"N\\\"aN\"}\n{\"a\":0.5,\"b\":NaN}\n")
	refuse(t, dir, predict+"n.jsonl").err(`row 1, column 2 "b": "N\"aN" is not a number`) // a quoted word is none
	write(t, dir, "labels.csv", "class\nnan\nNaN\ngone\n"+strings.Repeat("up\ndown\n", 18)+"up\n")
	succeed(t, dir, "fit --x x.csv --y labels.csv --classes --na gone --kernel linear:all --lambda 1e-3 --json "+
		"--out c.iokl").out(`"observed_cells": 74`)
}

// Words that training did not have count as none of the levels, and every command that reads them names them with the
// level that is most like each.
func TestUnseenWords(t *testing.T) {
	dir := folder(t)
	writeXY(t, dir, "smoker,a", "y", 40, func(i int) (x, y string) {
		x = []string{"yes", "no", "never"}[i%3] + "," + []string{"1", "2", "4", "7"}[i%4]
		return x, []string{"3", "1", "2"}[i%3]
	})
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-3 --out m.iokl")
	write(t, dir, "new.csv", "smoker,a\nYes,1\nyes,2\nnevr,3\nYes,4\n")
	write(t, dir, "yn.csv", "y\n1\n2\n3\n4\n")
	const want = `3 cells of column 1 "smoker" hold words that the model has not learned, which count as none of its levels: ` +
		`"Yes" (the nearest level is "yes"), "nevr" (the nearest level is "never")`
	for _, line := range []string{
		"predict --model m.iokl --x new.csv", "predict --model m.iokl --x new.csv --why 1",
		"update --model m.iokl --x new.csv --y yn.csv --out n.iokl",
		"info m.iokl --plot pictures --x new.csv --y yn.csv",
	} {
		succeed(t, dir, line).err(want)
	}
}
