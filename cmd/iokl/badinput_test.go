package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every bad input has its own message of one line, exit status 2, and leaves nothing behind.
func TestBadInput(t *testing.T) {
	dir := folder(t)
	x := mustRead(t, filepath.Join(dir, "x.csv"))
	edit := func(name, old, with string) {
		if !strings.Contains(x, old) {
			t.Fatalf("no %q to replace", old)
		}
		write(t, dir, name, strings.Replace(x, old, with, 1))
	}
	third := strings.Split(x, "\n")[3]
	edit("inf.csv", third, "inf,1")
	edit("text.csv", third, "1,red")
	edit("ragged.csv", third, "1")
	edit("gap.csv", third, "1,")
	write(t, dir, "empty.csv", "")
	write(t, dir, "one.csv", "1,2\n")
	write(t, dir, "short.csv", "u\n1\n2\n3\n")
	write(t, dir, "const.csv", "u\n"+strings.Repeat("5\n", 40))
	write(t, dir, "wide.csv", "1,2,3\n4,5,6\n")
	write(t, dir, "same.csv", strings.Repeat("red\n", 40))
	write(t, dir, "twice.csv", "a,b,a\n1,2,3\n4,5,6\n")
	write(t, dir, "three.csv", "c,d,e\n1,2,3\n")
	write(t, dir, "less.csv", "b\n1\n4\n")
	names, flat := "name,v\n", "a,b\n"
	for i := range 40 {
		flat += fmt.Sprintf("5,%d\n", i)
		names += fmt.Sprintf("w%d,%d\n", i, i*i)
	}
	write(t, dir, "names.csv", names)
	write(t, dir, "merge.csv", "a,b\n1,2\n<<<<<<< HEAD\n3,4\n")
	write(t, dir, "odd.csv", "when,v\n1/2/2024,1\n1/31/2024,2\n13/25/2024,3\n")
	write(t, dir, "fake.xlsx", "a,b\n1,2\n")
	write(t, dir, "lists.json", `{"a": [1, 2]}`)
	workbook(t, filepath.Join(dir, "book.xlsx"), [][]any{{"a"}, {1}})
	write(t, dir, "flat.csv", flat)
	write(t, dir, "hollow.csv", "a,y\n,1\n,2\n,4\n")
	write(t, dir, "title.csv", "Report\n\n"+"p,q,r\n1,2,3\n")
	write(t, dir, "colons.txt", "p:q:r\n1:2:3\n")
	write(t, dir, "dates.csv", "when,v\n2024-01-01,1\nsoon,2\n")
	write(t, dir, "k3.csv", "1,0,0\n0,1,0\n")
	write(t, dir, "asym.csv", "1,2\n0,1\n")
	write(t, dir, "indef.csv", "1,2\n2,1\n")
	write(t, dir, "y2.csv", "1\n2\n")
	if r := command(t, dir,
		"fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-3 --out good.iokl"); r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	good := mustRead(t, "good.iokl")
	write(t, dir, "half.iokl", good[:len(good)/2])
	before := listing(t, dir)
	const fit = "fit --x x.csv --y y.csv --out new.iokl "
	for name, c := range map[string]struct{ line, want string }{
		"infinite cell": {
			"fit --x inf.csv --y y.csv --out new.iokl",
			`row 3 (line 4), column 1 "a": "inf" is not a finite number`,
		},
		"text cell": {
			"fit --x text.csv --y y.csv --out new.iokl",
			`row 3 (line 4), column 2 "b": "red" is not a number`,
		},
		"ragged row": {
			"fit --x ragged.csv --y y.csv --out new.iokl",
			"row 3 (line 4) has 1 cells where the first row has 2",
		},
		"missing cell refused": {
			"fit --x gap.csv --y y.csv --missing error --out new.iokl",
			"row 3, column 2 (b) of the inputs is missing",
		},
		"missing, predict": {
			"predict --model good.iokl --x gap.csv --missing error --out p.csv",
			`gap.csv: row 3, column 2 "b" is missing`,
		},
		"text target": {
			"fit --x x.csv --y text.csv --out new.iokl",
			`"red" is not a number (an empty cell means missing; --na names words that do too, --drop columns to leave out); class labels need --classes`,
		},
		"targets in stdin": {"predict --model good.iokl --x - --y-columns 2", "--y -"},
		"one column less": {
			"predict --model good.iokl --x less.csv --out p.csv",
			`less.csv: has no column "a", which the model needs: add it, with empty cells where it is not known`,
		},
		"no column of the model": {
			"predict --model good.iokl --x short.csv --x-columns u --out p.csv --json",
			"the data have 1 columns, the model was fitted on 2",
		},
		"two columns less": {
			"predict --model good.iokl --x three.csv --out p.csv",
			`three.csv: has no columns "a" and "b", which the model needs: add them, with empty cells`,
		},
		"pictures, one column less": {
			"info good.iokl --plot pics --x less.csv --y yt.csv",
			`less.csv: has no column "a", which the model needs`,
		},
		"open quote": {
			`fit --x x.csv --x-columns "a --y y.csv --out new.iokl`,
			`--x-columns: "a: a quote is not closed`,
		},
		"name of two columns": {
			"fit --x twice.csv --x-columns a,b --y y.csv --out new.iokl",
			`--x-columns: the file has several columns "a": choose by numbers from 0`,
		},
		"target as input": {
			"fit --x x.csv --x-columns a,b --y-columns b --out new.iokl",
			`--x-columns: column 2 "b" is a target too`,
		},
		"nothing but targets": {"fit --x y.csv --y-columns u,v --out new.iokl", "no columns"},
		"missing target": {
			"fit --x x.csv --y gap.csv --missing-targets error --out new.iokl",
			`row 3, column 2 "b" is empty`,
		},
		"empty file":      {"fit --x empty.csv --y y.csv --out new.iokl", "empty.csv: is empty"},
		"one row":         {"fit --x one.csv --y one.csv --out new.iokl", "one row"},
		"lengths differ":  {"fit --x x.csv --y short.csv --out new.iokl", "X has 40 rows and Y has 3"},
		"constant Y":      {"fit --x x.csv --y const.csv --out new.iokl", "iokl: every target column is constant"},
		"zero lambda":     {fit + "--lambda 0", "--lambda 0: it must be positive"},
		"negative lambda": {fit + "--lambda -1", "--lambda -1: it must be positive"},
		"NaN lambda":      {fit + "--lambda nan", "--lambda NaN"},
		"zero tau":        {fit + "--tau 0", "--tau 0: it must be positive"},
		"names alone": {
			"fit --x names.csv --x-columns name --y y.csv --out new.iokl",
			`names.csv: no column is left to learn from: left out, since their words hardly repeat or they count the rows (identifiers or free text): column 1 "name"`,
		},
		"column to drop": {
			"fit --x x.csv --drop aa --y y.csv --out new.iokl",
			`--drop: there is no column "aa": is it "a"`,
		},
		"pattern of none": {
			"fit --x x.csv --drop z* --y y.csv --out new.iokl",
			`--drop: no column is called as "z*" says: the file has a and b`,
		},
		"merge conflict": {
			"fit --x merge.csv --y y.csv --out new.iokl",
			"line 3 is the mark of a merge conflict",
		},
		"date among others": {
			"fit --x odd.csv --y y.csv --out new.iokl",
			`column 1 "when": "13/25/2024" is not a date written as the others in its column`,
		},
		"no such sheet": {
			"fit --x book.xlsx:other --y y.csv --out new.iokl",
			`book.xlsx: has no sheet "other": it has Sheet1`,
		},
		"no workbook": {"fit --x fake.xlsx --y y.csv --out new.iokl", "fake.xlsx: not a whole workbook"},
		"workbook as output": {
			"predict --model good.iokl --x xt.csv --out p.xlsx",
			"written as .csv, .csv.gz or .npy",
		},
		"empty inputs": {
			"fit --x hollow.csv --y-columns y --categories error --out new.iokl", "the input columns are empty",
		},
		"empty inputs, left out": {
			"fit --x hollow.csv --y-columns y --out new.iokl",
			`no column is left to learn from: left out, since they are empty: column 1 "a"`,
		},
		"rows above the names": {
			"fit --x title.csv --y-columns r --out new.iokl",
			"delete the rows above the names of the columns",
		},
		"separated by colons": {
			"fit --x colons.txt --y-columns r --out new.iokl",
			`the file has one column, "p:q:r": commas, semicolons, tabs or |, or spaces between numbers, separate columns`,
		},
		"JSON of lists": {"fit --x lists.json --y y.csv --out new.iokl", "JSON is read as records"},
		"words refused": {
			"fit --x names.csv --y y.csv --categories error --out new.iokl",
			`row 1 (line 2), column 1 "name": "w0" is not a number`,
		},
		"words, unknown way": {fit + "--categories maybe", `--categories "maybe": want auto or error`},
		"no words at all":    {fit + "--max-levels 0", "--max-levels 0"},
		"word among dates": {
			"fit --x dates.csv --y y.csv --out new.iokl",
			`row 2 (line 3), column 1 "when": "soon" is not a date`,
		},
		"unknown kernel":      {fit + "--kernel rbf", `unknown kernel "rbf"`},
		"column out of range": {fit + "--kernel gaussian:7 --lambda 1", "columns 0 to 1"},
		"chi2 of ranks": {
			fit + "--kernel chi2:ranks:1 --standardize none --lambda 1",
			"ranks and directions are of any sign",
		},
		"chi2 of directions": {
			fit + "--kernel chi2:directions:1 --standardize none --lambda 1",
			"kernel chi2: lengths of columns are learned for gaussian, laplacian, matern12, matern32, matern52",
		},
		"kernel of a constant": {
			"fit --x flat.csv --y y.csv --kernel linear:0 --out new.iokl",
			"kernels linear:0 are zero on all samples",
		},
		"unknown norm": {fit + "--norm l2", `unknown norm "l2"`},
		"p = 3":        {fit + "--norm lp:3", `norm "lp:3"`},
		"sum, norm": {
			fit + "--model sum --norm elastic:.5",
			"iokl: a sum of separable kernels takes norms lp:P, not elastic:0.5",
		},
		"sum, fixed L": {
			fit + "--model sum --learn eta",
			"iokl: a sum of separable kernels learns all its output kernels",
		},
		"sum among models": {
			"cv --x x.csv --y y.csv --models product,sum --norms lp:1 --norms wedge",
			"iokl: a sum of separable kernels takes norms lp:P, not wedge",
		},
		"sum of fixed weights": {
			"cv --x x.csv --y y.csv --models sum --learn l",
			"iokl: a sum of separable kernels learns all its output kernels",
		},
		"intervals in time": {
			fit + "--folds-by time --interval-folds 3",
			"iokl: interval folds are for rows in no order",
		},
		"unknown solver":      {fit + "--solver magic", `unknown solver "magic"`},
		"unknown sylvester":   {fit + "--sylvester magic --lambda 1", `"magic"`},
		"unknown backend":     {fit + "--backend magic", `unknown backend "magic"`},
		"unknown learn":       {fit + "--learn nothing", "what to learn"},
		"unknown standardize": {fit + "--standardize z", "what to standardize"},
		"negative threads":    {fit + "--threads -1", "--threads -1"},
		"no tolerance":        {fit + "--tol 0", "--tol 0"},
		"no iterations":       {fit + "--max-outer 0", "--max-outer 0"},
		"unknown memory":      {fit + "--memory lots", `--memory "lots"`},
		"beyond memory":       {fit + "--lambda 1 --memory 10KB", "the limit is 10000"},
		"beyond memory, all":  {fit + "--memory 10KB", "the limit is 10000"},
		"one class": {
			"fit --x x.csv --y same.csv --classes --out new.iokl",
			`same.csv: every label is "red"`,
		},
		"groups and time":    {"cv --x x.csv --y y.csv --fold-groups same.csv --time-ordered", "not both"},
		"unknown flag":       {fit + "--lamda 1", "unknown flag: --lamda: is it --lambda?"},
		"flag of another":    {"info --model any.iokl", "(for example: iokl info model.iokl; see iokl info --help)"},
		"argument":           {fit + "stray", "stray"},
		"no inputs":          {"fit --y y.csv", "--x"},
		"no targets":         {"fit --x x.csv", "--y"},
		"both kinds":         {"fit --x x.csv --gram k3.csv --y y.csv", "--gram"},
		"Gram not square":    {"fit --gram k3.csv --y y2.csv --lambda 1 --out new.iokl", "not square"},
		"Gram not symmetric": {"fit --gram asym.csv --y y2.csv --lambda 1 --out new.iokl", "not symmetric"},
		"Gram indefinite": {
			"fit --gram indef.csv --y y2.csv --lambda 1 --out new.iokl",
			"not positive semidefinite",
		},
		"Gram of other order": {"fit --gram g.npz:Ks --y y2.csv --lambda 1 --out new.iokl", "Y has 2 rows"},
		"kernel with Gram":    {"fit --gram g.npz:Ks --y g.npz:Y --kernel linear --lambda 1", "--kernel"},
		"missing file":        {"fit --x none.csv --y y.csv --out new.iokl", "none.csv: no such file"},
		"missing member":      {"fit --gram g.npz:nope --y g.npz:Y --lambda 1", `no array "nope"`},
		"unwritable output":   {"fit --x x.csv --y y.csv --out none/new.iokl", "none/new.iokl: no such file"},
		"input as output": {
			"fit --x x.csv --y y.csv --lambda 1 --out ./y.csv",
			"--y names the same file, which would be replaced",
		},
		"member as output":    {"fit --gram g.npz:Ks --y g.npz:Y --lambda 1 --report g.npz", "the same file"},
		"page over its model": {"report good.iokl --out good.iokl", "an argument names the same file"},
		"pages over data":     {"granger --series x.csv --out x.csv", "--series names the same file"},
		"folder as output":    {"fit --x x.csv --y y.csv --out .", "is a folder"},
		"half a model":        {"predict --model half.iokl --x xt.csv --out p.csv", "truncated"},
		"no model":            {"predict --model x.csv --x xt.csv --out p.csv", "no model file"},
		"missing model":       {"info none.iokl", "none.iokl: no such file"},
		"Parquet as output": {
			"predict --model good.iokl --x xt.csv --out p.parquet",
			"written as .csv, .csv.gz or .npy",
		},
		"wrong columns": {
			"predict --model good.iokl --x wide.csv --out p.csv",
			"the data have 3 columns, the model was fitted on 2",
		},
		"Gram to other model":  {"predict --model good.iokl --gram g.npz:Kx --out p.csv", "fitted on inputs"},
		"two standard inputs":  {"fit --x - --y -", "only once"},
		"one fold":             {"cv --x x.csv --y y.csv --folds 1", "--folds 1"},
		"more folds than rows": {"cv --x x.csv --y y.csv --folds 50 --lambdas 1", "50 folds of 40"},
		"unknown metric":       {"cv --x x.csv --y y.csv --metric luck", `unknown metric "luck"`},
		"bad lambdas":          {"cv --x x.csv --y y.csv --lambdas 1,zwei", `"zwei"`},
		"negative lambdas":     {"cv --x x.csv --y y.csv --lambdas 1,-1", "λ = -1"},
		"no command":           {"", "a command is missing"},
		"unknown command":      {"fitt", `unknown command "fitt"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := command(t, dir, c.line)
			if r.status != exitUsage || r.stdout != "" {
				t.Errorf("status %d, standard output %q; want 2 and nothing", r.status, r.stdout)
			}
			if !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 ||
				!strings.HasPrefix(r.stderr, "iokl: ") {
				t.Errorf("message %q, want one line with %q", r.stderr, c.want)
			}
			if after := listing(t, dir); !slices.Equal(before, after) {
				t.Errorf("files before %v, after %v", before, after)
			}
		})
	}
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
