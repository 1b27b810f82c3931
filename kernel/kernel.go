// Kernels and dictionaries as types, and checks of their parameters and data.

package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
)

// Errors that data can cause; messages carry the row, column or kernel.
var (
	ErrNotFinite = errors.New("not a finite number")
	ErrConstant  = errors.New("constant data")
	ErrNegative  = errors.New("negative data")
	ErrMemory    = memory.ErrTooLarge
	ErrGram      = errors.New("not a Gram matrix")
)

// Kernel is one scalar kernel with all its parameters: what a model stores.
// It is filled by Spec.Resolve, or by hand.
type Kernel struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Inputs  int    `json:"inputs"`            // columns of X
	Columns []int  `json:"columns,omitempty"` // columns the kernel looks at; empty means all
	// Knots are ascending values of each of them, whose ranks the kernel looks at; empty, for one or all,
	// means the values.
	Knots [][]float64 `json:"knots,omitempty"`
	Scale []float64   `json:"scale,omitempty"` // factor of each of them; empty means 1
	// Directions are the linear combinations of the columns, so scaled, that the
	// kernel looks at; empty means the columns themselves.
	Directions [][]float64 `json:"directions,omitempty"`
	Width      float64     `json:"width,omitempty"`  // σ
	Params     []float64   `json:"params,omitempty"` // the other parameters, in the order of the definition of the kind
	Unit       bool        `json:"unit,omitempty"`   // normalised to unit diagonal
	Center     bool        `json:"center,omitempty"` // centred by the training means
	// Means holds mean_j k(x_i,x_j) over the training samples for each i, and
	// Mean their mean. Gram sets them when Center is set; Cross needs them.
	Means []float64 `json:"means,omitempty"`
	Mean  float64   `json:"mean,omitempty"`
	// Approx asks for explicit features (package rff); Gram and Cross evaluate
	// the exact kernel whether it is set or not.
	Approx *Approximation `json:"approx,omitempty"`
}

var errChi2Signs = fmt.Errorf("%w: chi2 wants values ≥ 0, and ranks and directions are of any sign", ErrSpec)

// Dictionary is an ordered list of kernels; η_j weighs element j.
type Dictionary []Kernel

// Names lists the kernels' names.
func (d Dictionary) Names() []string {
	names := make([]string, len(d))
	for j, k := range d {
		names[j] = k.Name
	}
	return names
}

// Bytes is the memory of the Gram matrices of l samples, in bytes.
func (d Dictionary) Bytes(l int, prec blas.Precision) int64 {
	one := blas.SymBytes(l, prec)
	if len(d) > 0 && one > math.MaxInt64/int64(len(d)) {
		return math.MaxInt64
	}
	return one * int64(len(d))
}

// Validate checks the parameters of a kernel made by hand or read from a file.
func (k *Kernel) Validate() error {
	if err := k.valid(); err != nil {
		return fmt.Errorf("kernel %q: %w", k.Name, err)
	}
	return nil
}

func (k *Kernel) valid() error {
	switch {
	case !known(k.Kind):
		return fmt.Errorf("unknown kernel %q (have %s)", k.Kind, kindList())
	case k.Kind == Precomputed:
		return nil
	case k.Inputs < 1:
		return errors.New("no input columns")
	case k.Kind.HasWidth() && (!(k.Width > 0) || math.IsInf(k.Width, 0)):
		return fmt.Errorf("width %g is not a positive finite number", k.Width)
	case k.Kind.def().metric == chiSquare && len(k.Directions)+len(k.Knots) > 0:
		return errChi2Signs
	}
	if err := k.Kind.def().checkParams(k.Params, false); err != nil {
		return err
	}
	if len(k.Columns) > 0 {
		return inRange([]Group{k.group()}, k.Inputs)
	}
	return k.view().check(k.Inputs)
}

// UnmarshalJSON also reads models of format 1, which have a field for each parameter in place of "params".
func (k *Kernel) UnmarshalJSON(text []byte) error {
	type plain Kernel
	read := struct {
		*plain
		Nu, Degree, Offset, Gamma float64
	}{plain: (*plain)(k)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if k.Params == nil && k.Kind == Matern {
		k.Params = []float64{read.Nu}
	}
	if k.Params == nil && k.Kind == Poly {
		k.Params = []float64{read.Degree, read.Offset, read.Gamma}
	}
	return nil
}

// FiniteData reports the first cell of x that is NaN or infinite, in the given columns, or in all where there are none
// given. The error wraps [ErrNotFinite] and has the row and column.
func FiniteData(x blas.General, columns []int) error {
	count := len(columns)
	if count == 0 {
		count = x.Cols
	}
	for i := range x.Rows {
		row := blas.Row(x, i)
		for k := range count {
			c := k
			if len(columns) > 0 {
				c = columns[k]
			}
			if v := row[c]; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("row %d, column %d holds %g: %w", i, c, v, ErrNotFinite)
			}
		}
	}
	return nil
}
