package granger

import (
	"cmp"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/stream"
)

// DefaultKernels is the dictionary of studies that name no kernels: for every node a linear kernel on its past, and a
// Gaussian one whose width is the median distance. If every node is one series there is also a kernel on all nodes, see
// [Result.Joint].
var DefaultKernels = []string{"linear:groups", "gaussian:groups:median"}

// KernelsFor returns the dictionary of a study of so many nodes and rows that names no kernels. Up to 2000 rows it is
// [DefaultKernels]. Above, it is random features of the Gaussian kernels, because the cost of kernel matrices grows
// with the cube of the rows: 1000 features in all, but at least 10 and at most 100 for each node.
func KernelsFor(nodes, rows int) []string {
	const long, all, least, most = 2000, 1000, 10, 100
	if rows <= long {
		return DefaultKernels
	}
	return []string{fmt.Sprintf("rff:%s:%d", DefaultKernels[1], min(most, max(least, all/nodes)))}
}

// Options of [Infer]. The zero value is useful: it is the one setting that all
// published figures of this package come from.
type Options struct {
	Lag int `json:"lag"` // how many past values of each series are used; 0 means 1
	// SPEC strings of package kernel, "groups" for each node's past; nil means those of KernelsFor
	Kernels []string `json:"kernels"`
	// the value k steps back counts Decay^(k-1) in distances; 0 means 0.5, 1 weighs all alike
	Decay float64 `json:"decay"`

	Lambda float64 `json:"lambda"` // λ of every node; 0 means 0.1 unless Lambdas is given
	// Lambdas, when not empty, are the candidates of a time-ordered cross-validation:
	// fits to the first parts of the series are judged on the parts that follow.
	Lambdas []float64 `json:"lambdas"`
	PerNode bool      `json:"per_node"` // choose λ for each node, not one for all
	Folds   int       `json:"folds"`    // of the cross-validation; 0 means 4

	Norm string `json:"norm"` // regularizer as in regularizer.Parse; "" means lp:1
	// Nonlinear leaves the linear past of all nodes unpenalized, not only that of the
	// node itself: the kernels, and so the graph, are left with what is not linear.
	// It takes ten samples for each of the nodes' past values.
	Nonlinear bool    `json:"nonlinear"`
	FixL      bool    `json:"fix_l"`    // keep L^i = I for nodes of several series, instead of learning it
	Tol       float64 `json:"tol"`      // relative gap at which a fit ends; 0 means 0.005
	MaxIter   int     `json:"max_iter"` // outer iterations of a fit; 0 means 50
	// part of each replicate, at its end, that RMSE is computed on after fitting to the rest; 0
	// means 0.2, negative means none
	HoldOut float64 `json:"hold_out"`

	Seed     uint64       `json:"seed"`      // of everything random
	MaxBytes int64        `json:"max_bytes"` // refuse to allocate more for kernels; 0 means no limit
	Backend  blas.Backend `json:"-"`         // nil means the active one

	// Ranks share the nodes of every fit and the rounds of a resampling; nil means this process alone.
	// Each of them builds all kernels and has all results. They must call the same methods in the same
	// order. When a call fails on one of them, end the job: the others wait for it.
	Ranks stream.Ranks `json:"-"`
}

func (o Options) withDefaults() (Options, error) {
	o.Lag, o.Decay, o.Folds, o.Norm = cmp.Or(o.Lag, 1), cmp.Or(o.Decay, 0.5), cmp.Or(o.Folds, 4), cmp.Or(o.Norm, "lp:1")
	o.Tol, o.MaxIter, o.HoldOut = cmp.Or(o.Tol, 0.005), cmp.Or(o.MaxIter, 50), cmp.Or(o.HoldOut, 0.2)
	if len(o.Lambdas) == 0 {
		o.Lambda = cmp.Or(o.Lambda, 0.1)
		o.Lambdas = []float64{o.Lambda}
	}
	o.Backend = blas.Or(o.Backend)
	if o.Ranks == nil {
		o.Ranks = alone{}
	}
	return o, o.check()
}

func (o Options) check() error {
	for _, l := range o.Lambdas {
		if !(l > 0) || math.IsInf(l, 0) {
			return fmt.Errorf("%w: λ = %g is not positive", ErrOption, l)
		}
	}
	if !(o.Decay > 0 && o.Decay <= 1) {
		return fmt.Errorf("%w: decay %g is outside (0,1]", ErrOption, o.Decay)
	}
	if !(o.HoldOut < 0.9) {
		return fmt.Errorf("%w: %g of the data held out", ErrOption, o.HoldOut)
	}
	if !(o.Tol > 0) || o.MaxIter < 1 || o.Folds < 1 {
		return fmt.Errorf("%w: tolerance %g, %d iterations, %d folds", ErrOption, o.Tol, o.MaxIter, o.Folds)
	}
	if _, err := regularizer.Parse(o.Norm); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return nil
}
