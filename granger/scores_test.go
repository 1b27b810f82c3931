package granger_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// pairwise is AUROC by its definition, over pairs of an edge and a non-edge.
func pairwise(G, A blas.General, diagonal bool) float64 {
	var wins, pairs float64
	for a := range G.Data {
		for b := range G.Data {
			if !diagonal && (a%(G.Cols+1) == 0 || b%(G.Cols+1) == 0) || A.Data[a] == 0 || A.Data[b] != 0 {
				continue
			}
			pairs++
			if G.Data[a] > G.Data[b] {
				wins++
			} else if G.Data[a] == G.Data[b] {
				wins += 0.5
			}
		}
	}
	return wins / pairs
}

func TestScore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		n := 3 + rng.IntN(8)
		G, A := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
		for k := range G.Data {
			G.Data[k] = float64(rng.IntN(5)) // with ties
			A.Data[k] = float64(rng.IntN(2))
		}
		A.Data[1], A.Data[2] = 0, 1
		s := granger.Score(G, A)
		if w := pairwise(G, A, false); math.Abs(s.AUROC-w) > 1e-12 {
			t.Fatalf("AUROC %g, want %g", s.AUROC, w)
		}
		if w := pairwise(G, A, true); math.Abs(s.AUROCAll-w) > 1e-12 {
			t.Fatalf("AUROC over all entries %g, want %g", s.AUROCAll, w)
		}
	}
	// By hand: strengths 4 3 2 1 with edges at 4 and 2 have average precision (1 + 2/3)/2.
	G := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{4, 3, 2, 1}}
	A := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0, 1, 0}}
	if s := granger.Score(G, A); math.Abs(s.AUPRAll-5.0/6) > 1e-15 || s.AUROC != 0 || s.AUPR != 0.5 {
		t.Errorf("%+v", s)
	}
	if s := granger.Score(G, blas.NewGeneral(2, 2)); !math.IsNaN(s.AUROC) || !math.IsNaN(s.AUPR) {
		t.Errorf("scores without edges: %+v", s)
	}
}

func TestTruth(t *testing.T) {
	A, err := granger.Truth([]string{"a", "b"}, []granger.Edge{{From: "a", To: "b"}})
	if err != nil || A.Data[2] != 1 || A.Data[1] != 0 {
		t.Errorf("a → b is %v, %v: rows are targets", A.Data, err)
	}
	if _, err := granger.Truth([]string{"a"}, []granger.Edge{{From: "a", To: "c"}}); !errors.Is(err,
		granger.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}
