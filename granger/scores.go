package granger

import (
	"fmt"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// Scores compares a graph with the truth. In AUROC, ties among strengths count half. In AUPR, the average precision,
// tied entries are taken together.
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
	var off, all rated
	for i := range graph.Rows {
		for j, v := range blas.Row(graph, i) {
			edge := blas.Row(truth, i)[j] != 0
			all.add(v, edge)
			if i != j {
				off.add(v, edge)
			}
		}
	}
	var s Scores
	s.AUROC, s.AUPR = off.areas()
	s.AUROCAll, s.AUPRAll = all.areas()
	return s
}

// rated are entries of the graph: their numbers, and whether they are edges.
type rated struct {
	value []float64
	edge  []bool
	edges float64 // how many
}

func (r *rated) add(value float64, edge bool) {
	r.value, r.edge = append(r.value, value), append(r.edge, edge)
	if edge {
		r.edges++
	}
}

// areas takes ties together.
func (r *rated) areas() (auroc, aupr float64) {
	stat.SortWeightedLabeled(r.value, r.edge, nil)
	tpr, fpr, _ := stat.ROC(nil, r.value, r.edge, nil)
	others := float64(len(r.edge)) - r.edges
	for k := range tpr[1:] {
		tp, fp := r.edges*tpr[k+1], 0.0
		if others > 0 {
			fp = others * fpr[k+1]
		}
		aupr += (tpr[k+1] - tpr[k]) * tp / (tp + fp)
	}
	return integrate.Trapezoidal(fpr, tpr), aupr
}
