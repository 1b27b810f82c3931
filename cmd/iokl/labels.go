// This file reads class labels.

package main

import (
	"errors"
	"math"
	"strconv"

	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/table"
)

// readLabels reads one column of class labels, as text where the file has text.
func (d *dataFlags) readLabels(opt table.Options, in *stdin) ([]string, error) {
	var err error
	if opt.Stdin, err = in.take(d.y); err != nil {
		return nil, err
	}
	opt.Columns, opt.Types = d.labelColumn, d.oneFile()
	_, records, err := table.ReadText(d.y, opt)
	if errors.Is(err, table.ErrNotText) {
		return d.numericLabels(opt, in)
	}
	labels := make([]string, len(records))
	for i, rec := range records {
		labels[i] = rec[0]
	}
	return labels, err
}

// labelColumn is the one column of labels.
func (d *dataFlags) labelColumn(names []string, cols int) ([]int, error) {
	idx, err := d.targetColumns().index(names, cols)
	if err == nil && len(idx) != 1 {
		return nil, d.manyLabels(len(idx))
	}
	return idx, err
}

// withoutHeader leaves out a first label that must be the name of the column, since
// there is one label more than rows: where all is text it looks like the others.
func (d *dataFlags) withoutHeader(labels []string, rows int) []string {
	if d.header == "auto" && len(labels) == rows+1 {
		return labels[1:]
	}
	return labels
}

// manyLabels refuses that many columns of labels.
func (d *dataFlags) manyLabels(columns int) error {
	if d.yColumns != "" {
		return status.Input("--y-columns %s: class labels are one column", d.yColumns)
	}
	return status.Input("%s has %d columns, and class labels are one: choose it by --y-columns", d.y, columns)
}

// numericLabels makes labels of the numbers in files that hold numbers only.
func (d *dataFlags) numericLabels(opt table.Options, in *stdin) ([]string, error) {
	opt.Types = false
	t, err := readTable(d.y, d.labelColumn, opt, in)
	if err != nil {
		return nil, err
	}
	labels := make([]string, t.Data.Rows)
	for i, v := range t.Data.Data {
		if math.IsNaN(v) {
			continue // no label
		}
		labels[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return labels, nil
}
