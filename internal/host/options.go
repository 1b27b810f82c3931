package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// useBackend sets the backend to that of the name, unless that is "" or an error came before.
func useBackend(err *error, to *blas.Backend, name string) {
	if *err != nil || name == "" {
		return
	}
	be, unknown := blas.ByName(name)
	if unknown != nil {
		*err = fault.Mark(unknown)
		return
	}
	*to = be
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
	fillIn(&err, &o.Options.Weights, o.Weights, "weights")
	fillIn(&err, &o.Options.Noise, o.Noise, "noise")
	fillIn(&err, &o.Options.OutputAxis, o.Axis, "output_axis")
	useBackend(&err, &o.Options.Backend, o.Backend)
	return o.Options, err
}

// fillIn sets the matrix to the rows, if there are any, unless an error came before.
func fillIn(err *error, to *mat.Matrix, rows [][]float64, what string) {
	if *err != nil || rows == nil {
		return
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		*err = Input("%s: it is empty", what)
		return
	}
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			*err = Input("%s: row %d has %d numbers where the first has %d", what, i+1, len(row), len(rows[0]))
			return
		}
		m.SetRow(i, row)
	}
	*to = m
}

// UpdateOptions reads the JSON form of [iokl.UpdateOptions], weights as a list of rows, and a backend.
func UpdateOptions(text string) (iokl.UpdateOptions, error) {
	var o struct {
		iokl.UpdateOptions
		Backend string      `json:"backend"`
		Weights [][]float64 `json:"weights"` // by rows
	}
	err := decode(text, &o)
	fillIn(&err, &o.UpdateOptions.Weights, o.Weights, "weights")
	useBackend(&err, &o.UpdateOptions.Backend, o.Backend)
	return o.UpdateOptions, err
}

// IntervalOptions reads the JSON form of [iokl.IntervalOptions], weights as a list of rows.
func IntervalOptions(text string) (iokl.IntervalOptions, error) {
	var o struct {
		iokl.IntervalOptions
		Weights [][]float64 `json:"weights"` // by rows
	}
	err := decode(text, &o)
	fillIn(&err, &o.IntervalOptions.Weights, o.Weights, "weights")
	return o.IntervalOptions, err
}

// GrangerOptions reads the JSON form of [granger.Options] and, beside it, the names of the columns of X, the node of
// each and the replicate of each row. Nodes are in the order in which they first appear. Columns that tell the time
// order the rows and are no series, see [granger.Data.InTime]. Time is the name of one, dates are the numbers, from 0,
// of those that hold dates in days.
func GrangerOptions(text string, X blas.General) (*granger.Data, granger.Options, error) {
	var o struct {
		granger.Options
		Names     []string `json:"names"`
		Groups    []string `json:"groups"`
		Replicate []int    `json:"replicate"`
		Time      string   `json:"time"`
		Dates     []int    `json:"dates"`
		Backend   string   `json:"backend"`
	}
	o.Lag = 1
	err := decode(text, &o)
	useBackend(&err, &o.Options.Backend, o.Backend)
	if err == nil && o.Lag < 1 {
		err = granger.LagError(o.Lag)
	}
	if err != nil {
		return nil, granger.Options{}, err
	}
	d := &granger.Data{Names: o.Names, X: X, Replicate: o.Replicate}
	if o.Names == nil {
		for j := range X.Cols {
			d.Names = append(d.Names, fmt.Sprintf("s%d", j+1))
		}
	}
	names := d.Names
	times := granger.Times{Clock: slices.Index(names, o.Time), Dates: o.Dates}
	switch {
	case len(names) != X.Cols:
		err = Input("%d names of %d series", len(names), X.Cols)
	case o.Groups != nil && len(o.Groups) != X.Cols:
		err = Input("groups of %d series: there are %d", len(o.Groups), X.Cols)
	case o.Replicate != nil && len(o.Replicate) != X.Rows:
		err = Input("replicate of %d rows: there are %d", len(o.Replicate), X.Rows)
	case o.Time != "" && times.Clock < 0:
		err = Input("time %q is no name of a series", o.Time)
	}
	if err != nil {
		return nil, o.Options, err
	}
	if err = d.InTime(times); err == nil && o.Groups != nil {
		var pairs [][2]string
		for j, g := range o.Groups {
			if slices.Contains(d.Names, names[j]) {
				pairs = append(pairs, [2]string{names[j], g})
			}
		}
		d.Nodes, err = granger.Group(d.Names, pairs)
	}
	return d, o.Options, err
}
