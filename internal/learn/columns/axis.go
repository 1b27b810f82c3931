// Outputs that are points of an axis: kernels between them, and predictions at other points.

package columns

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// Axis says where outputs lie: a point t_i for each.
type Axis struct {
	Names  []string    `json:"names"`            // of the coordinates
	Points [][]float64 `json:"points"`           // of the outputs
	Kernel string      `json:"kernel,omitempty"` // SPEC of which L is the matrix; "" where it is none

	Backend blas.Backend `json:"-"` // multiplies; nil means blas.Active()

	part []int // the outputs at hand, of those of Points; nil: all
}

// NewAxis is the axis of n outputs at these points, a row each. Names are those of the coordinates; nil means t1, t2, …
func NewAxis(points blas.General, names []string, n int) (*Axis, error) {
	names, err := named(names, points.Cols, "t", "axis")
	if err != nil {
		return nil, err
	}
	a := &Axis{Names: names}
	for i := range points.Rows {
		a.Points = append(a.Points, slices.Clone(blas.Row(points, i)))
	}
	return a, a.Check(n)
}

// Check refuses an axis on which no n outputs can lie.
func (a *Axis) Check(n int) error {
	if len(a.Points) != n {
		return fault.Input("the axis of the outputs has %d points, and there are %d outputs", len(a.Points), n)
	}
	if err := a.checkPoints(a.Points); err != nil {
		return err
	}
	if !slices.ContainsFunc(a.Points, func(t []float64) bool { return !slices.Equal(t, a.Points[0]) }) {
		return fault.Input("the outputs are one point of the axis: at least 2 are needed")
	}
	if a.Kernel != "" {
		_, err := a.kernels(a.Kernel)
		return err
	}
	return nil
}

func (a *Axis) checkPoints(points [][]float64) error {
	for i, t := range points {
		if len(t) != len(a.Names) {
			return fault.Input("point %d of the axis of the outputs has %d coordinates, not %d", i+1, len(t),
				len(a.Names))
		}
		for c, v := range t {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fault.Input("point %d of the axis of the outputs: coordinate %s is %s", i+1, a.Names[c], cell(v))
			}
		}
	}
	return nil
}

// Part is the axis of these outputs alone; nil stands for all. Kernels between them are as on the whole axis.
func (a *Axis) Part(outputs []int) *Axis {
	if a == nil || outputs == nil {
		return a
	}
	part := *a
	part.part = a.places(outputs)
	return &part
}

// places are the numbers in Points of outputs at hand.
func (a *Axis) places(outputs []int) []int {
	if a.part == nil {
		return slices.Clone(outputs)
	}
	return Pick(a.part, outputs)
}

// scaled brings the coordinates of points to the variances that 1 is on the axis.
func (a *Axis) scaled(points [][]float64) blas.General {
	matrix := func(points [][]float64) blas.General {
		d := len(a.Names)
		return blas.General{Rows: len(points), Cols: d, Stride: d, Data: slices.Concat(points...)}
	}
	T := matrix(points)
	Measure(matrix(a.Points)).Apply(T)
	return T
}

// kernels are those of the SPEC, whose widths are relative to the axis.
func (a *Axis) kernels(spec string) (kernel.Dictionary, error) {
	s, err := kernel.Parse(spec)
	if err != nil {
		return nil, fault.Mark(err)
	}
	if s.Kind == kernel.Precomputed || s.Approx != nil || s.Center {
		return nil, fault.Input("kernel %s between outputs: want one as matern32:all:median", spec)
	}
	d, err := s.Resolve(a.scaled(a.Points), nil, 0)
	if err != nil {
		return nil, fault.Mark(err)
	}
	return d, nil
}

// between is the mean of the kernels of the SPEC between points, a row each, and others.
func (a *Axis) between(spec string, points, others [][]float64) (blas.General, error) {
	T := blas.NewGeneral(len(points), len(others))
	d, err := a.kernels(spec)
	if err != nil {
		return T, err
	}
	weights := slices.Repeat([]float64{1 / float64(len(d))}, len(d))
	c, err := d.Crossing(weights, a.scaled(others), a.Backend)
	if err != nil {
		return T, fault.From(err)
	}
	return T, fault.From(c.Sum(T, a.scaled(points)))
}

// pointsOf are those of some outputs at hand.
func (a *Axis) pointsOf(outputs []int) [][]float64 { return Pick(a.Points, a.places(outputs)) }

// spectrum is the matrix of the SPEC between outputs at hand, without eigenvalues that are lost in rounding.
func (a *Axis) spectrum(spec string, outputs []int) (*linop.Spectral, error) {
	points := a.pointsOf(outputs)
	T, err := a.between(spec, points, points)
	if err != nil {
		return nil, err
	}
	s, err := linop.NewSpectral(blas.Or(a.Backend), T, float64(len(points))*0x1p-52)
	if err == nil && s.Rank() == 0 {
		err = fault.Input("kernel %s is zero on the axis of the outputs", spec)
	}
	return s, err
}

// OutputKernel is L = τ·T/tr T with the matrix T of the SPEC between outputs at hand.
func (a *Axis) OutputKernel(spec string, outputs []int, tau float64) (*linop.Spectral, error) {
	L, err := a.spectrum(spec, outputs)
	if err == nil {
		blas.Scal(tau/L.Trace(), L.S)
	}
	return L, err
}

// WithKernel is out of a model in which L is that of the SPEC.
func (out *Outputs) WithKernel(spec string) *Outputs {
	if out.Axis == nil || out.Axis.Kernel == spec {
		return out
	}
	with, axis := *out, *out.Axis
	axis.Kernel, with.Axis = spec, &axis
	return &with
}

// DefaultKernel is between outputs where none is chosen.
const DefaultKernel = "matern32:all:median"

// At is the map of outputs at new points, a row each, and the n×p matrix A that makes its learned outputs F·A of those
// of out, F. With the matrix T of the kernel of the axis between the outputs that are learned, and t its columns for
// the new points, A = T⁺t: the functions of a model in which L is that kernel, K·C·t, are F·A. A point of the axis is
// predicted as its output is. Outputs of silent are predicted by their mean, and tell nothing about others.
//
// Means and the logarithms of deviations at a new point are averages of those of the outputs, by weights E⁺e that are
// scaled to add up to 1, where E is the kernel e^{−r/ρ} with the distance ρ of the farthest points: nearly linear
// interpolation between points, and the value of the last one beyond the ends of a line.
func (out *Outputs) At(points blas.General, silent []int) (at *Outputs, A blas.General, err error) {
	a := out.Axis
	if a == nil {
		return nil, A, fault.Input("the model was fitted without an axis of the outputs: it has no others to predict")
	}
	if points.Rows == 0 || points.Cols != len(a.Names) {
		return nil, A, fault.Input("points of the axis have %d coordinates, %s: these are %d×%d", len(a.Names),
			strings.Join(a.Names, ", "), points.Rows, points.Cols)
	}
	at = &Outputs{Loss: out.Loss}
	var next [][]float64
	for j := range points.Rows {
		next = append(next, slices.Clone(blas.Row(points, j)))
		at.Names, at.Live = append(at.Names, coordinates(next[j])), append(at.Live, j)
	}
	if err := a.checkPoints(next); err != nil {
		return nil, A, err
	}
	var from []int // places in Live of the outputs that tell
	for k, j := range out.Live {
		if !slices.Contains(silent, j) {
			from = append(from, k)
		}
	}
	some, err := a.weights(cmp.Or(a.Kernel, DefaultKernel), Pick(out.Live, from), next)
	if err != nil {
		return nil, A, err
	}
	A = blas.NewGeneral(len(out.Live), points.Rows)
	for k, i := range from {
		copy(blas.Row(A, i), blas.Row(some, k))
	}
	if out.Scaler != nil {
		at.Scaler, err = out.moments(next)
	}
	return at, A, err
}

// moments are means and deviations at points.
func (out *Outputs) moments(points [][]float64) (*Scaler, error) {
	a, s := out.Axis, out.Scaler
	Z, far := a.scaled(a.Points), 0.
	for i := range Z.Rows {
		for j := range i {
			far = max(far, floats.Distance(blas.Row(Z, i), blas.Row(Z, j), 2))
		}
	}
	W, err := a.weights("matern12:all:"+strconv.FormatFloat(far, 'g', -1, 64), out.Live, points)
	if err != nil {
		return nil, err
	}
	p := len(points)
	at := &Scaler{Mean: make([]float64, p), Scale: make([]float64, p), Constant: make([]bool, p)}
	for j := range p {
		var sum, mean, logScale float64
		for k, i := range out.Live {
			w := W.Data[k*W.Stride+j]
			sum, mean, logScale = sum+w, mean+w*s.Mean[i], logScale+w*math.Log(s.Scale[i])
		}
		at.Mean[j], at.Scale[j] = mean/sum, math.Exp(logScale/sum)
	}
	return at, nil
}

// weights are T⁺t, with a column for each point: those of the outputs in its prediction. An output at the point has all
// of the weight; several share it.
func (a *Axis) weights(spec string, outputs []int, points [][]float64) (W blas.General, err error) {
	own := a.pointsOf(outputs)
	W = blas.NewGeneral(len(own), len(points))
	if len(own) == 0 {
		return W, nil
	}
	T, err := a.spectrum(spec, outputs)
	if err != nil {
		return W, err
	}
	t, err := a.between(spec, own, points)
	if err != nil {
		return W, err
	}
	be := blas.Or(a.Backend)
	Vt := blas.Product(be, true, false, T.V, t)
	for b, s := range T.S {
		blas.Scal(1/s, blas.Row(Vt, b))
	}
	blas.Mul(be, W, false, false, T.V, Vt)
	for j, point := range points {
		same := make([]float64, len(own))
		for i, t := range own {
			if slices.Equal(t, point) {
				same[i] = 1
			}
		}
		if count := floats.Sum(same); count > 0 { // T⁺t but for rounding
			for i, one := range same {
				W.Data[i*W.Stride+j] = one / count
			}
		}
	}
	return W, nil
}

// Pick are the values at the places; nil where there are no values.
func Pick[T any](values []T, places []int) (some []T) {
	for k := 0; values != nil && k < len(places); k++ {
		some = append(some, values[places[k]])
	}
	return some
}

// coordinates is the name of a point.
func coordinates(t []float64) string {
	var words []string
	for _, v := range t {
		words = append(words, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strings.Join(words, ":")
}
