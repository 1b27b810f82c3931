package main

import (
	"fmt"
	"path/filepath"
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
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-3 --out good.iokl")
	good := mustRead(t, "good.iokl")
	write(t, dir, "half.iokl", good[:len(good)/2])
	refuseAll(t, dir, `
		fit --x inf.csv --y y.csv --out new.iokl => row 3 (line 4), column 1 "a": "inf" is not a finite number
		fit --x text.csv --y y.csv --out new.iokl => row 3 (line 4), column 2 "b": "red" is not a number
		fit --x ragged.csv --y y.csv --out new.iokl => row 3 (line 4) has 1 cells where the first row has 2
		fit --x gap.csv --y y.csv --missing error --out new.iokl => row 3, column 2 (b) of the inputs is missing
		predict --model good.iokl --x gap.csv --missing error --out p.csv => gap.csv: row 3, column 2 "b" is missing
		fit --x x.csv --y text.csv --out new.iokl => "red" is not a number (an empty cell means missing; --na names words that do too, --drop columns to leave out); class labels need --classes
		predict --model good.iokl --x - --y-columns 2 => --y -
		predict --model good.iokl --x less.csv --out p.csv => less.csv: has no column "a", which the model needs: add it, with empty cells where it is not known
		predict --model good.iokl --x short.csv --x-columns u --out p.csv --json => the data have 1 columns, the model was fitted on 2
		predict --model good.iokl --x three.csv --out p.csv => three.csv: has no columns "a" and "b", which the model needs: add them, with empty cells
		info good.iokl --plot pics --x less.csv --y yt.csv => less.csv: has no column "a", which the model needs
		fit --x x.csv --x-columns "a --y y.csv --out new.iokl => --x-columns: "a: a quote is not closed
		fit --x twice.csv --x-columns a,b --y y.csv --out new.iokl => --x-columns: the file has several columns "a": choose by numbers from 0
		fit --x x.csv --x-columns a,b --y-columns b --out new.iokl => --x-columns: column 2 "b" is a target too
		fit --x y.csv --y-columns u,v --out new.iokl => no columns
		fit --x x.csv --y gap.csv --missing-targets error --out new.iokl => row 3, column 2 "b" is empty
		fit --x empty.csv --y y.csv --out new.iokl => empty.csv: is empty
		fit --x one.csv --y one.csv --out new.iokl => one row
		fit --x x.csv --y short.csv --out new.iokl => X has 40 rows and Y has 3
		fit --x x.csv --y const.csv --out new.iokl => iokl: every target column is constant
		fit --x x.csv --y y.csv --out new.iokl --lambda 0 => --lambda 0: it must be positive
		fit --x x.csv --y y.csv --out new.iokl --lambda -1 => --lambda -1: it must be positive
		fit --x x.csv --y y.csv --out new.iokl --lambda nan => --lambda NaN
		fit --x x.csv --y y.csv --out new.iokl --tau 0 => --tau 0: it must be positive
		fit --x names.csv --x-columns name --y y.csv --out new.iokl => names.csv: no column is left to learn from: left out, since their words hardly repeat or they count the rows (identifiers or free text): column 1 "name"
		fit --x x.csv --drop aa --y y.csv --out new.iokl => --drop: there is no column "aa": is it "a"
		fit --x x.csv --drop z* --y y.csv --out new.iokl => --drop: no column is called as "z*" says: the file has a and b
		fit --x merge.csv --y y.csv --out new.iokl => line 3 is the mark of a merge conflict
		fit --x odd.csv --y y.csv --out new.iokl => column 1 "when": "13/25/2024" is not a date written as the others in its column
		fit --x book.xlsx:other --y y.csv --out new.iokl => book.xlsx: has no sheet "other": it has Sheet1
		fit --x fake.xlsx --y y.csv --out new.iokl => fake.xlsx: not a whole workbook
		predict --model good.iokl --x xt.csv --out p.xlsx => written as .csv, .csv.gz or .npy
		fit --x hollow.csv --y-columns y --categories error --out new.iokl => the input columns are empty
		fit --x hollow.csv --y-columns y --out new.iokl => no column is left to learn from: left out, since they are empty: column 1 "a"
		fit --x title.csv --y-columns r --out new.iokl => delete the rows above the names of the columns
		fit --x colons.txt --y-columns r --out new.iokl => the file has one column, "p:q:r": commas, semicolons, tabs or |, or spaces between numbers, separate columns
		fit --x lists.json --y y.csv --out new.iokl => JSON is read as records
		fit --x names.csv --y y.csv --categories error --out new.iokl => row 1 (line 2), column 1 "name": "w0" is not a number
		fit --x x.csv --y y.csv --out new.iokl --categories maybe => --categories "maybe": want auto or error
		fit --x x.csv --y y.csv --out new.iokl --max-levels 0 => --max-levels 0
		fit --x dates.csv --y y.csv --out new.iokl => row 2 (line 3), column 1 "when": "soon" is not a date
		fit --x x.csv --y y.csv --out new.iokl --kernel rbf => unknown kernel "rbf"
		fit --x x.csv --y y.csv --out new.iokl --kernel gaussian:7 --lambda 1 => columns 0 to 1
		fit --x x.csv --y y.csv --out new.iokl --kernel chi2:ranks:1 --standardize none --lambda 1 => ranks and directions are of any sign
		fit --x x.csv --y y.csv --out new.iokl --kernel chi2:directions:1 --standardize none --lambda 1 => kernel chi2: lengths of columns are learned for gaussian, laplacian, matern12, matern32, matern52
		fit --x flat.csv --y y.csv --kernel linear:0 --out new.iokl => kernels linear:0 are zero on all samples
		fit --x x.csv --y y.csv --out new.iokl --norm l2 => unknown norm "l2"
		fit --x x.csv --y y.csv --out new.iokl --norm lp:3 => norm "lp:3"
		fit --x x.csv --y y.csv --out new.iokl --model sum --norm elastic:.5 => iokl: a sum of separable kernels takes norms lp:P, not elastic:0.5
		fit --x x.csv --y y.csv --out new.iokl --model sum --learn eta => iokl: a sum of separable kernels learns all its output kernels
		cv --x x.csv --y y.csv --models product,sum --norms lp:1 --norms wedge => iokl: a sum of separable kernels takes norms lp:P, not wedge
		cv --x x.csv --y y.csv --models sum --learn l => iokl: a sum of separable kernels learns all its output kernels
		fit --x x.csv --y y.csv --out new.iokl --folds-by time --interval-folds 3 => iokl: interval folds are for rows in no order
		fit --x x.csv --y y.csv --out new.iokl --solver magic => unknown solver "magic"
		fit --x x.csv --y y.csv --out new.iokl --sylvester magic --lambda 1 => "magic"
		fit --x x.csv --y y.csv --out new.iokl --backend magic => unknown backend "magic"
		fit --x x.csv --y y.csv --out new.iokl --learn nothing => what to learn
		fit --x x.csv --y y.csv --out new.iokl --standardize z => what to standardize
		fit --x x.csv --y y.csv --out new.iokl --threads -1 => --threads -1
		fit --x x.csv --y y.csv --out new.iokl --tol 0 => --tol 0
		fit --x x.csv --y y.csv --out new.iokl --max-outer 0 => --max-outer 0
		fit --x x.csv --y y.csv --out new.iokl --memory lots => --memory "lots"
		fit --x x.csv --y y.csv --out new.iokl --lambda 1 --memory 10KB => the limit is 10000
		fit --x x.csv --y y.csv --out new.iokl --memory 10KB => the limit is 10000
		fit --x x.csv --y same.csv --classes --out new.iokl => same.csv: every label is "red"
		cv --x x.csv --y y.csv --fold-groups same.csv --time-ordered => not both
		fit --x x.csv --y y.csv --out new.iokl --lamda 1 => unknown flag: --lamda: is it --lambda?
		info --model any.iokl => (for example: iokl info model.iokl; see iokl info --help)
		fit --x x.csv --y y.csv --out new.iokl stray => stray
		fit --y y.csv => --x
		fit --x x.csv => --y
		fit --x x.csv --gram k3.csv --y y.csv => --gram
		fit --gram k3.csv --y y2.csv --lambda 1 --out new.iokl => not square
		fit --gram asym.csv --y y2.csv --lambda 1 --out new.iokl => not symmetric
		fit --gram indef.csv --y y2.csv --lambda 1 --out new.iokl => not positive semidefinite
		fit --gram g.npz:Ks --y y2.csv --lambda 1 --out new.iokl => Y has 2 rows
		fit --gram g.npz:Ks --y g.npz:Y --kernel linear --lambda 1 => --kernel
		fit --x none.csv --y y.csv --out new.iokl => none.csv: no such file
		fit --gram g.npz:nope --y g.npz:Y --lambda 1 => no array "nope"
		fit --x x.csv --y y.csv --out none/new.iokl => none/new.iokl: no such file
		fit --x x.csv --y y.csv --lambda 1 --out ./y.csv => --y names the same file, which would be replaced
		fit --gram g.npz:Ks --y g.npz:Y --lambda 1 --report g.npz => the same file
		report good.iokl --out good.iokl => an argument names the same file
		granger --series x.csv --out x.csv => --series names the same file
		fit --x x.csv --y y.csv --out . => is a folder
		predict --model half.iokl --x xt.csv --out p.csv => truncated
		predict --model x.csv --x xt.csv --out p.csv => no model file
		info none.iokl => none.iokl: no such file
		predict --model good.iokl --x xt.csv --out p.parquet => written as .csv, .csv.gz or .npy
		predict --model good.iokl --x wide.csv --out p.csv => the data have 3 columns, the model was fitted on 2
		predict --model good.iokl --gram g.npz:Kx --out p.csv => fitted on inputs
		fit --x - --y - => only once
		cv --x x.csv --y y.csv --folds 1 => --folds 1
		cv --x x.csv --y y.csv --folds 50 --lambdas 1 => 50 folds of 40
		cv --x x.csv --y y.csv --metric luck => unknown metric "luck"
		cv --x x.csv --y y.csv --lambdas 1,zwei => "zwei"
		cv --x x.csv --y y.csv --lambdas 1,-1 => λ = -1
		 => a command is missing
		fitt => unknown command "fitt"
	`)
}
