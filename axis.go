package iokl

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
)

// DefaultOutputKernel is the kernel between points of OutputAxis where λ is given and no other.
const DefaultOutputKernel = columns.DefaultKernel

// checkAxis refuses what does not go with an axis of the outputs, and closes what L is where λ is given.
func (opt *checked) checkAxis() error {
	switch {
	case opt.OutputAxis == nil && opt.OutputKernel != "":
		return fault.Input("output kernel %s: it is one between points of an axis of the outputs, which is not "+
			"given", opt.OutputKernel)
	case opt.OutputAxis == nil:
		return nil
	case opt.classes != nil:
		return fault.Input("classes are no points of an axis: leave out the axis of the outputs")
	case opt.Loss != "" && opt.Loss != LossSquared:
		return fault.Input("an axis of the outputs goes with the squared loss, not with %s", opt.Loss)
	case opt.Learn.OutputKernel() && opt.Learn != "":
		return fault.Input("learning %s learns L, which is a kernel on the axis of the outputs: learn eta or "+
			"none, or leave the choice open", opt.Learn)
	case opt.Model == ModelSum || opt.Global:
		return fault.Input("the sum of separable kernels learns all output kernels: leave out the axis of the " +
			"outputs")
	}
	if !opt.Open() && opt.OutputKernel == "" {
		opt.OutputKernel = DefaultOutputKernel
	}
	if !opt.Open() && opt.Learn == "" {
		opt.Learn = LearnWeights
	}
	return nil
}

// place makes OutputAxis the axis of n outputs.
func (opt *checked) place(n int) (err error) {
	if opt.OutputAxis == nil {
		return nil
	}
	if opt.axis, err = columns.NewAxis(raw(opt.OutputAxis), opt.AxisNames, n); err != nil {
		return err
	}
	opt.axis.Kernel, opt.axis.Backend = opt.OutputKernel, opt.Backend
	return opt.axis.Check(n)
}

// OutputAxis are the points of the axis that the model's outputs are (n×q), and the names of its coordinates; nil for
// a model without one.
func (m *Model) OutputAxis() (points *mat.Dense, names []string) {
	a := m.fitted().Out.Axis
	if a == nil {
		return nil, nil
	}
	points = mat.NewDense(len(a.Points), len(a.Names), nil)
	for i, t := range a.Points {
		points.SetRow(i, t)
	}
	return points, slices.Clone(a.Names)
}

// AxisKernel is the SPEC of the kernel between points of OutputAxis whose matrix L is; "" where L is none.
func (m *Model) AxisKernel() string {
	if a := m.fitted().Out.Axis; a != nil {
		return a.Kernel
	}
	return ""
}

// At is the model of outputs at points of the axis of m, a row each: with L of a kernel k on the axis, its functions
// are K·C·k(t, ·), which pass through those of m at its own points; where L was learned, those of m are interpolated by
// DefaultOutputKernel. Outputs that m predicts by their mean do not tell. Means and deviations, in which the targets
// were standardised, are interpolated between points, nearly linearly. At has no intervals and takes no updates.
func (m *Model) At(points mat.Matrix) (*Model, error) {
	var silent []int
	if c := m.Chosen(); c != nil {
		silent = c.Means
	}
	at, err := m.fitted().At(raw(points), silent)
	if err != nil {
		return nil, err
	}
	cert := m.cert
	cert.Chosen = nil
	return m.derived(at, cert), nil
}
