package granger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Scores compare a graph with the truth. Ties among strengths count half in
// AUROC; in AUPR, the average precision, tied entries are taken together.
type Scores struct {
	AUROC    float64 `json:"auroc"` // off-diagonal entries
	AUPR     float64 `json:"aupr"`
	AUROCAll float64 `json:"auroc_all"` // all entries
	AUPRAll  float64 `json:"aupr_all"`
}

// Edge is a true influence, From → To.
type Edge struct{ From, To string }

// Truth is the N×N matrix (row = target, column = source) with 1 for every edge.
func Truth(nodes []string, edges []Edge) (blas.General, error) {
	n := len(nodes)
	index := make(map[string]int, n)
	for i, name := range nodes {
		index[name] = i
	}
	A := blas.NewGeneral(n, n)
	for _, e := range edges {
		i, to := index[e.To]
		j, from := index[e.From]
		if !to || !from {
			return A, fmt.Errorf("%w: the edge %s → %s is between nodes that the data do not have", ErrUnknown, e.From,
				e.To)
		}
		A.Data[i*n+j] = 1
	}
	return A, nil
}

// Score compares the graph with the truth (nonzero = edge), both N×N with rows
// as targets. An area that is not defined, for want of edges or of non-edges, is NaN.
func Score(graph, truth blas.General) Scores {
	if graph.Rows != truth.Rows || graph.Cols != truth.Cols {
		panic("granger: Score: shape mismatch")
	}
	var off, all []rated
	for i := range graph.Rows {
		for j := range graph.Cols {
			r := rated{graph.Data[i*graph.Stride+j], truth.Data[i*truth.Stride+j] != 0}
			all = append(all, r)
			if i != j {
				off = append(off, r)
			}
		}
	}
	var s Scores
	s.AUROC, s.AUPR = areas(off)
	s.AUROCAll, s.AUPRAll = areas(all)
	return s
}

// rated is an entry of the graph: its strength, and whether it is an edge.
type rated struct {
	strength float64
	edge     bool
}

// areas walks through the entries from the strongest to the weakest, ties together.
func areas(x []rated) (auroc, aupr float64) {
	slices.SortStableFunc(x, func(a, b rated) int { return cmp.Compare(b.strength, a.strength) })
	var tp, fp float64
	for lo := 0; lo < len(x); {
		var up, right float64
		hi := lo
		for hi < len(x) && !(x[hi].strength < x[lo].strength) {
			if x[hi].edge {
				up++
			} else {
				right++
			}
			hi++
		}
		auroc += right * (tp + up/2)
		tp, fp = tp+up, fp+right
		aupr += up * tp / (tp + fp)
		lo = hi
	}
	return auroc / (tp * fp), aupr / tp
}
