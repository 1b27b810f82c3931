// Package regularizer holds penalties Ω of a function f = Σ_j f_j over several kernels, as functions ω of the weights η
// of the kernels: the l_p norms, block norms, the elastic net, and norms that tie the weights of groups or of a
// sequence of kernels to each other (mathematics.md §7).
package regularizer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Regularizer is a penalty Ω with the variational form
//
//	Ω(f) = min over η ≥ 0 of  Σ_j ‖f_j‖²/η_j + ω(η)
//
// (mathematics.md §2, §7). ω is convex and +∞ outside its domain. Callers may
// bring their own; the package has [Lp], [BlockR], [ElasticNet], [Groups] and [Wedge].
type Regularizer interface {
	// String is the value of the commands' --norm flag that [Parse] reads back.
	String() string
	// Check reports an error when the regularizer cannot serve m kernels.
	Check(m int) error
	// Start writes weights from which every kernel can take part: positive and in the domain of ω.
	Start(eta []float64)
	// Update writes the η that minimises Σ_j alpha2_j/η_j + ω(η) for alpha2 ≥ 0.
	// Where alpha2_j = 0 it may write 0. eta and alpha2 do not overlap.
	Update(eta, alpha2 []float64)
	// Omega is ω(η), +∞ outside the domain.
	Omega(eta []float64) float64
	// Conjugate is ω*(c) = sup over η ≥ 0 of ⟨η,c⟩ − ω(η) for c ≥ 0, or an upper
	// bound of it; +∞ is allowed. Certificates are as tight as this is.
	Conjugate(c []float64) float64
	// Gradient writes ∇ω(η) for η in the domain; 0 where ω is an indicator.
	Gradient(dst, eta []float64)
	// Project overwrites v by the nearest point, in the Euclidean norm, of the domain of ω.
	Project(v []float64)
}

// Parse reads the commands' --norm flag: lp:P with 1 ≤ P ≤ 2, block1,
// blockr:R with 1 ≤ R < 2, elastic:M with 0 < M < 1, wedge, or groups:A,B,… with
// the sizes of groups of consecutive kernels.
func Parse(s string) (Regularizer, error) {
	name, arg, has := strings.Cut(s, ":")
	switch name {
	case "block1", "wedge":
		if has {
			return nil, fmt.Errorf("regularizer: norm %q: %s takes no parameter", s, name)
		}
		if name == "wedge" {
			return Wedge{}, nil
		}
		return BlockR{R: 1}, nil
	case "groups":
		return parseGroups(s, arg)
	case "lp", "blockr", "elastic":
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, fmt.Errorf("regularizer: norm %q: %q is not a number", s, arg)
		}
		r := map[string]Regularizer{"lp": Lp{P: v}, "blockr": BlockR{R: v}, "elastic": ElasticNet{Mix: v}}[name]
		if err := r.Check(1); err != nil {
			return nil, fmt.Errorf("regularizer: norm %q: %w", s, err)
		}
		return r, nil
	}
	return nil, fmt.Errorf("regularizer: unknown norm %q (have lp:P, block1, blockr:R, elastic:M, groups:A,B,…, wedge)",
		s)
}

func parseGroups(s, arg string) (Regularizer, error) {
	var g Groups
	for f := range strings.SplitSeq(arg, ",") {
		k, err := strconv.Atoi(f)
		if err != nil || k < 1 {
			return nil, fmt.Errorf("regularizer: norm %q: group size %q is not a positive integer", s, f)
		}
		g.Sizes = append(g.Sizes, k)
	}
	return g, nil
}

func fill(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

func maxOf(x []float64) float64 {
	var m float64
	for _, v := range x {
		if !(v <= m) { // also NaN
			m = v
		}
	}
	return m
}

// nonnegative reports whether no entry is negative or NaN.
func nonnegative(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v >= 0) })
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func clipBelow(v []float64) {
	for i, x := range v {
		v[i] = math.Max(x, 0) // keeps NaN
	}
}
