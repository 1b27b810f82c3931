// This file passes columns of the inputs through to predictions, as identifiers of rows.

package main

import (
	"path/filepath"
	"strings"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/table"
)

// openKept opens the columns of --keep, or those that the fit kept where the file has them; nil where there are none.
func (p *predictFlags) openKept(model *iokl.Model, opt table.Options) (*table.Texts, error) {
	list := p.keep
	if list == "" {
		o, err := results.OriginOf(model)
		if err != nil || o.Keep == "" {
			return nil, nil // notes of another program keep nothing
		}
		list = o.Keep
	}
	switch {
	case p.x == "" || once(p.x):
		return nil, p.unlessNoted(status.Input("--keep: identifiers come from a file of inputs, which is read " +
			"once more"))
	case strings.EqualFold(filepath.Ext(p.out), ".npy"), p.json && p.out == "":
		return nil, p.unlessNoted(status.Input("--keep: identifiers are written to CSV"))
	}
	opt.Types = true
	opt.Columns = func(names []string, cols int) ([]int, error) { return selectColumns(list, "--keep", names, cols) }
	kept, err := table.OpenText(p.x, opt)
	if err != nil {
		return nil, p.unlessNoted(err)
	}
	return kept, nil
}

// unlessNoted is the error where --keep was given, nil where the model alone asks for identifiers.
func (p *predictFlags) unlessNoted(err error) error {
	if p.keep == "" {
		return nil
	}
	return err
}
