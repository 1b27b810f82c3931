// This file has the pages of help about SPECs of kernels and about tables.

package main

import (
	"github.com/spf13/cobra"

	"github.com/iokl/iokl/kernel"
)

// newKernelsTopic is the page of help about SPECs, with every kernel of the library.
func newKernelsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "kernels",
		Short: "Kernels and how --kernel names them",
		Long: `--kernel takes a SPEC, with r = ‖x−z‖:

` + kernel.Usage() + `
FEATURES are what the kernel sees of the inputs:
  all         all columns (default)
  each        one column: a kernel for every column
  0-3,7       these columns, by numbers from 0
  NAME        the columns of a group in the file of --groups; groups: a kernel for every group
  ranks       all columns, each value replaced by its rank among those of the training data: for long tails
  relevant    all columns, each multiplied by how much the targets vary with it, which is learned before the
              fit: for many columns of which few matter
  directions  linear combinations of the columns along which the targets vary most, learned likewise
  ard         all columns, and the ranks of those with long tails, each divided by a length that is learned, for
              gaussian, laplacian, matern12, matern32 and matern52; with widths median*0.5,1,2 there is a kernel
              for each of the lengths times 0.5, 1 and 2. gaussian+matern12+linear:ard is three kernels: lengths
              of the first two, and the weights of all, are learned together

WIDTHS of σ: median (default), the median distance between rows; median*0.5,1,2, that times each number;
numbers as 0.5,1; or powers as 2^-6..2^6. Every width is a kernel of its own.

:unit     after a SPEC: k(x,z)/√(k(x,x)·k(z,z))
:center   after a SPEC: inner products of centred features

rff:SPEC:COUNT approximates a kernel of x−z by COUNT random Fourier features, nystrom:SPEC:COUNT any by COUNT landmarks.`,
	}
}

// newTablesTopic is the page of help about what cells of tables mean.
func newTablesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "tables",
		Short: "Tables and how their cells are read",
		Long: `What a column holds is decided by most of its cells. Whatever is not a plain number is said when a
model is fitted, a line for each kind. The model keeps it and predict reads new files in the same
way; it finds columns by name, in any order, among others.

A column of        becomes
numbers            themselves. 1,200  1.200,50  $5  (3)  12 %  are numbers where the column writes all alike
words              a category: a column of 0 and 1 for each of the 50 most frequent words (--max-levels); the
                   other words share 100 columns
identifiers and    nothing, it is left out: words of which hardly any comes twice, and whole numbers that count
  free text        the rows in a column without a name or called index, id, …_id or …Id
codes              words, where a tenth of the cells or more have letters and digits, as 17599 and PC 17599
dates, quarters    days since the first, also where all are written as 20240131. Where they span two days, weeks or years or more, also the part of the
                   day, week or year, as a cosine and a sine. Whether 3/4/2021 is in March or April, and the
                   century of years of two digits, is what suits the whole column
times, months,     the part of the day, year or week, as a cosine and a sine
  weekdays
no values          nothing, it is left out

Missing cells: empty ones, and NA, N/A, #N/A, null, None, ? and - among numbers, dates and times; --na adds words.
A word among numbers is an error that names row and column: make the word a missing cell by --na, or
leave the column out by --drop.

The first row names the columns where it has words and no number; in a table of words alone, where its
words do not come again below. --header yes and --header no say so. Delete rows above the names, and a
last row of totals. In JSON, a field of an object inside a record is the column NAME.FIELD, a list is a word.

--x-columns, --y-columns and --drop take lists of names, patterns as temp*, numbers from 0, and ranges as 0-63.`,
	}
}
