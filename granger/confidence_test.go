package granger_test

import (
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/granger"
)

func TestStability(t *testing.T) {
	g := granger.LinearVAR(5, 250, 1, 1, 1, 4)
	opt := granger.Options{Seed: 9, HoldOut: -1}
	all, err := granger.Stability(bg, &g.Data, opt, 1, granger.Rounds{To: 12})
	if err != nil {
		t.Fatal(err)
	}
	f := all.Frequency()
	for i := range 5 {
		for j := range 5 {
			v := f.Data[i*5+j]
			if edge := g.Truth.Data[i*5+j] != 0; i != j && (edge && v < 0.7 || !edge && v > 0.3) {
				t.Errorf("%d → %d (edge: %v) is selected in %.2f of the resamples", j, i, edge, v)
			}
		}
	}
	// Rounds run in two parts add up to the whole.
	var sum granger.Counts
	for _, r := range []granger.Rounds{{From: 0, To: 5}, {From: 5, To: 12}} {
		part, err := granger.Stability(bg, &g.Data, opt, 1, r)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(part)
	}
	for k, v := range sum.Count.Data {
		if v != all.Count.Data[k] || sum.Rounds != 12 {
			t.Fatalf("in parts %v, at once %v", sum.Count.Data, all.Count.Data)
		}
	}
}

// Among independent series no more edges than the level allows are significant;
// true ones are.
func TestNull(t *testing.T) {
	opt := granger.Options{Seed: 3, HoldOut: -1}
	const rounds, level = 19, 0.1
	var low, entries float64
	for seed := range uint64(12) {
		g := granger.LinearVAR(4, 80, 1, 0, 1, seed)
		c, err := granger.Null(bg, &g.Data, opt, granger.Rounds{To: rounds})
		if err != nil {
			t.Fatal(err)
		}
		for k, p := range c.PValues().Data {
			if k%5 != 0 {
				entries++
				if p <= level {
					low++
				}
			}
		}
	}
	// Three standard deviations of a binomial above the level.
	if rate := low / entries; rate > level+3*math.Sqrt(level*(1-level)/entries) {
		t.Errorf("false positives: %.3f of %g entries at level %g", rate, entries, level)
	}
	g := granger.LinearVAR(4, 250, 1, 1, 1, 1)
	c, err := granger.Null(bg, &g.Data, opt, granger.Rounds{To: rounds})
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range c.PValues().Data {
		if g.Truth.Data[k] != 0 && k%5 != 0 && p > 1.0/(rounds+1) {
			t.Errorf("entry %d is an edge with p = %g", k, p)
		}
	}
}

func TestImprovement(t *testing.T) {
	for _, c := range []struct {
		drivers int
		gain    bool
	}{{0, false}, {2, true}} {
		g := granger.LinearVAR(4, 400, 1, c.drivers, 1, 6)
		gains, err := granger.Improvement(bg, &g.Data, granger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range gains {
			if better := n.RMSE < 0.985*n.Own; better != c.gain {
				t.Errorf("%d drivers, node %s: RMSE %.3f, with its own past only %.3f", c.drivers, n.Node, n.RMSE, n.Own)
			}
		}
	}
}

func TestConfidenceErrors(t *testing.T) {
	g := granger.LinearVAR(2, 40, 1, 1, 1, 1)
	if _, err := granger.Null(bg, &g.Data, granger.Options{}, granger.Rounds{From: 3, To: 3}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("no rounds: %v", err)
	}
	if _, err := granger.Stability(bg, &g.Data, granger.Options{}, 0, granger.Rounds{To: 1}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("top 0: %v", err)
	}
	if _, err := granger.Improvement(bg, &g.Data, granger.Options{HoldOut: -1}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("nothing held out: %v", err)
	}
	if _, err := granger.Null(bg, &g.Data, granger.Options{Lag: 50}, granger.Rounds{To: 1}); !errors.Is(err, granger.ErrShort) {
		t.Errorf("long lag: %v", err)
	}
}
