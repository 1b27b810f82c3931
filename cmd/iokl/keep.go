// This file passes columns of the inputs through to predictions, as identifiers of rows.

package main

import (
	"path/filepath"
	"strings"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/table"
)

// identifiers are columns of --x as they stand there.
type identifiers struct {
	names []string
	rows  [][]string
	next  int // the row of the next prediction
}

// readKept reads the columns of --keep, or those that the fit kept where the file has them; nil where there are none.
func (p *predictFlags) readKept(model *iokl.Model, opt table.Options) (*identifiers, error) {
	list := p.keep
	if list == "" {
		o, err := originOf(model)
		if err != nil || o.Keep == "" {
			return nil, nil // notes of another program keep nothing
		}
		list = o.Keep
	}
	switch {
	case p.x == "" || once(p.x):
		return nil, p.unlessNoted(inputError("--keep: identifiers come from a file of inputs, which is read once more"))
	case strings.EqualFold(filepath.Ext(p.out), ".npy"), p.json && p.out == "":
		return nil, p.unlessNoted(inputError("--keep: identifiers are written to CSV"))
	}
	opt.Columns, opt.Schema = nil, nil
	r, err := table.Open(p.x, opt)
	if err != nil {
		return nil, err
	}
	opt.Header = table.HeaderNo
	if r.Names() != nil {
		opt.Header = table.HeaderYes
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	header, records, err := table.ReadText(p.x, opt)
	if err != nil {
		return nil, p.unlessNoted(err)
	}
	idx, err := selectColumns(list, "--keep", header, len(records[0]))
	if err != nil {
		return nil, p.unlessNoted(err)
	}
	k := &identifiers{names: namesOf(header, idx)}
	for _, rec := range records {
		k.rows = append(k.rows, namesOf(rec, idx))
	}
	return k, nil
}

// unlessNoted is the error where --keep was given, nil where the model alone asks for identifiers.
func (p *predictFlags) unlessNoted(err error) error {
	if p.keep == "" {
		return nil
	}
	return err
}

// namesOf are the cells idx of a record; nil for none.
func namesOf(record []string, idx []int) (cells []string) {
	for _, j := range idx {
		if record != nil {
			cells = append(cells, record[j])
		}
	}
	return cells
}

// head are the names of the columns.
func (k *identifiers) head() []string {
	if k == nil {
		return nil
	}
	return k.names
}

// row are the cells of the next row.
func (k *identifiers) row() []string {
	if k == nil || k.next == len(k.rows) {
		return nil
	}
	k.next++
	return k.rows[k.next-1]
}
