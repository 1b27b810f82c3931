// This file reads options from JSON.

package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/learn/fault"
)

// decode reads one JSON object into v, which keeps its values where the object has none; ""
// has none. An unknown name is an error.
func decode(text string, v any) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return Input("options: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Input("options: more follows the JSON object")
	}
	return nil
}

// backend returns the backend of that name, nil for "".
func backend(name string) (blas.Backend, error) {
	if name == "" {
		return nil, nil
	}
	be, err := blas.ByName(name)
	if err != nil {
		return nil, fault.Mark(err)
	}
	return be, nil
}

// FitOptions reads the JSON form of [iokl.Options], with the name of a backend as backend, and weights, noise and
// points of the axis of the outputs as lists of rows.
func FitOptions(text string) (iokl.Options, error) {
	var o struct {
		iokl.Options
		Backend string      `json:"backend"`
		Weights [][]float64 `json:"weights"` // by rows
		Noise   [][]float64 `json:"noise"`
		Axis    [][]float64 `json:"output_axis"`
	}
	err := decode(text, &o)
	if err != nil {
		return o.Options, err
	}
	if o.Options.Weights, err = table(o.Weights, "weights"); err != nil {
		return o.Options, err
	}
	if o.Options.Noise, err = table(o.Noise, "noise"); err != nil {
		return o.Options, err
	}
	if o.Options.OutputAxis, err = table(o.Axis, "output_axis"); err != nil {
		return o.Options, err
	}
	be, err := backend(o.Backend)
	o.Options.Backend = be
	return o.Options, err
}

// table is the rows as a matrix; nil for none.
func table(rows [][]float64, what string) (mat.Matrix, error) {
	if rows == nil {
		return nil, nil
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil, Input("%s: it is empty", what)
	}
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, Input("%s: row %d has %d numbers where the first has %d", what, i+1, len(row), len(rows[0]))
		}
		m.SetRow(i, row)
	}
	return m, nil
}

// UpdateOptions reads the JSON form of [iokl.UpdateOptions], weights as a list of rows, and a backend.
func UpdateOptions(text string) (iokl.UpdateOptions, error) {
	var o struct {
		iokl.UpdateOptions
		Backend string      `json:"backend"`
		Weights [][]float64 `json:"weights"` // by rows
	}
	err := decode(text, &o)
	if err != nil {
		return o.UpdateOptions, err
	}
	if o.UpdateOptions.Weights, err = table(o.Weights, "weights"); err != nil {
		return o.UpdateOptions, err
	}
	be, err := backend(o.Backend)
	o.UpdateOptions.Backend = be
	return o.UpdateOptions, err
}

// IntervalOptions reads the JSON form of [iokl.IntervalOptions].
func IntervalOptions(text string) (opt iokl.IntervalOptions, err error) {
	err = decode(text, &opt)
	return opt, err
}

// GrangerOptions reads the JSON form of [granger.Options] and, beside it, the names of the
// series, the node of each and the replicate of each row. Nodes are in the order in which they first appear.
func GrangerOptions(text string, X blas.General) (*granger.Data, granger.Options, error) {
	var o struct {
		granger.Options
		Names     []string `json:"names"`
		Groups    []string `json:"groups"`
		Replicate []int    `json:"replicate"`
		Backend   string   `json:"backend"`
	}
	err := decode(text, &o)
	if err != nil {
		return nil, granger.Options{}, err
	}
	if o.Options.Backend, err = backend(o.Backend); err != nil {
		return nil, granger.Options{}, err
	}
	d := &granger.Data{Names: o.Names, X: X, Replicate: o.Replicate}
	if o.Names == nil {
		for j := range X.Cols {
			d.Names = append(d.Names, fmt.Sprintf("s%d", j+1))
		}
	}
	if len(d.Names) != X.Cols {
		return nil, granger.Options{}, Input("%d names of %d series", len(d.Names), X.Cols)
	}
	if o.Groups != nil {
		if len(o.Groups) != X.Cols {
			return nil, granger.Options{}, Input("groups of %d series: there are %d", len(o.Groups), X.Cols)
		}
		pairs := make([][2]string, X.Cols)
		for j, g := range o.Groups {
			pairs[j] = [2]string{d.Names[j], g}
		}
		if d.Nodes, err = granger.Group(d.Names, pairs); err != nil {
			return nil, granger.Options{}, err
		}
	}
	return d, o.Options, nil
}
