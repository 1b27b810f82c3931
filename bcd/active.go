// This file chooses the kernels that take part in the current steps of a fit.

package bcd

import (
	"slices"

	"github.com/iokl/iokl/quasinewton"
	"github.com/iokl/iokl/regularizer"
)

// activeSet is the kernels that take part in the current steps. A kernel leaves
// when its weight has reached 0 and the gradient keeps it there; every checkEvery
// iterations, and before convergence is claimed, all kernels are measured and
// those that a projected gradient step would raise come back.
type activeSet struct {
	reg   regularizer.Regularizer
	idx   []int
	on    []bool
	fixed bool // all kernels stay
}

func newActiveSet(t *task) activeSet {
	a := activeSet{reg: t.reg, idx: t.all, on: make([]bool, t.m), fixed: t.fixEta || !regularizer.Restricts(t.reg)}
	for j := range a.on {
		a.on[j] = true
	}
	return a
}

// mask clears the entries of kernels that are not active.
func (a *activeSet) mask(y []float64) {
	for j := range y {
		if !a.on[j] {
			y[j] = 0
		}
	}
}

// choose sets the active kernels at it: those of positive weight, and, when all
// were measured, those that a projected gradient step would raise. Without a
// complete measurement nothing enters.
func (a *activeSet) choose(it *iterate, q *quasinewton.Model) {
	if a.fixed {
		return
	}
	probe := slices.Clone(it.z[:q.Weights])
	for j := range probe {
		probe[j] -= it.g[j] / q.Sigma
	}
	a.reg.Project(probe)
	var idx []int
	for j, e := range it.pt.eta {
		a.on[j] = e > 0 || probe[j] > 0 && (it.pt.complete || a.on[j])
		if a.on[j] {
			idx = append(idx, j)
		}
	}
	a.idx = idx
}

// project applies the regularizer's projection to the active weights.
func (a *activeSet) project(eta []float64) {
	if len(a.idx) == len(eta) {
		a.reg.Project(eta)
		return
	}
	part := make([]float64, len(a.idx))
	for k, j := range a.idx {
		part[k] = eta[j]
	}
	a.reg.Project(part)
	clear(eta)
	for k, j := range a.idx {
		eta[j] = part[k]
	}
}
