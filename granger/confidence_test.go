package granger_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

func stability(d *granger.Data, opt granger.Options, top int, r granger.Rounds) (granger.Counts, error) {
	s, err := granger.NewStudy(bg, d, opt)
	if err != nil {
		return granger.Counts{}, err
	}
	return s.Stability(bg, top, r)
}

func null(d *granger.Data, opt granger.Options, r granger.Rounds) (granger.Counts, error) {
	s, err := granger.NewStudy(bg, d, opt)
	if err != nil {
		return granger.Counts{}, err
	}
	return s.Null(bg, r)
}

func improvement(d *granger.Data, opt granger.Options) ([]granger.Gain, error) {
	s, err := granger.NewStudy(bg, d, opt)
	if err != nil {
		return nil, err
	}
	return s.Improvement(bg)
}

func TestStability(t *testing.T) {
	g := granger.LinearVAR(5, 250, 1, 1, 1, 4)
	opt := granger.Options{Seed: 9, HoldOut: -1}
	all, err := stability(&g.Data, opt, 1, granger.Rounds{To: 12})
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
		part, err := stability(&g.Data, opt, 1, r)
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

// A resampling that is stopped goes on from the counts it handed out.
func TestGoOn(t *testing.T) {
	g := granger.LinearVAR(3, 80, 1, 1, 1, 4)
	opt := granger.Options{Seed: 9, HoldOut: -1}
	const all = 40
	want, err := null(&g.Data, opt, granger.Rounds{To: all})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var kept []byte
	first, err := null(&g.Data, opt, granger.Rounds{To: all, Trace: func(c granger.Counts) error {
		kept, _ = json.Marshal(c)
		return enough
	}})
	if !errors.Is(err, enough) || first.Rounds < 1 || first.Rounds >= all {
		t.Fatalf("error %v after %d rounds", err, first.Rounds)
	}
	var done granger.Counts
	if err := json.Unmarshal(kept, &done); err != nil || done.Rounds != first.Rounds {
		t.Fatalf("%v: %d rounds kept", err, done.Rounds)
	}
	got, err := null(&g.Data, opt, granger.Rounds{To: all, Done: done})
	if err != nil || got.Rounds != all || !slices.Equal(got.Count.Data, want.Count.Data) {
		t.Errorf("%v: %d rounds, counts %v, want %v", err, got.Rounds, got.Count.Data, want.Count.Data)
	}
	other := g.Data
	other.X = blas.Clone(g.Data.X)
	other.X.Data[0] += 1e-9
	for name, run := range map[string]func() error{
		"another seed": func() error {
			_, err := null(&g.Data, granger.Options{Seed: 8, HoldOut: -1}, granger.Rounds{To: all, Done: done})
			return err
		},
		"other data": func() error {
			_, err := null(&other, opt, granger.Rounds{To: all, Done: done})
			return err
		},
		"another resampling": func() error {
			_, err := stability(&g.Data, opt, 0, granger.Rounds{To: all, Done: done})
			return err
		},
	} {
		if err := run(); !errors.Is(err, granger.ErrForeign) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, text := range []string{
		`{"rounds":2,"count":[[3]]}`, `{"rounds":2,"count":[[1,1]]}`, `{"rounds":2,"count":[[-1]]}`, `[]`,
	} {
		if err := json.Unmarshal([]byte(text), &done); err == nil {
			t.Errorf("%s is taken for counts", text)
		}
	}
}

// No more edges than the level allows are significant where there are none: among
// independent series, beside the true edges of a linear system, and, of edges beyond
// the linear ones, anywhere in it.
func TestNull(t *testing.T) {
	const rounds, level = 19, 0.1
	runs := 12
	if testing.Short() {
		runs = 4
	}
	for _, c := range []struct {
		name      string
		drivers   int
		nonlinear bool
	}{{"independent", 0, false}, {"linear", 1, false}, {"linear, nonlinear edges", 1, true}} {
		t.Run(c.name, func(t *testing.T) {
			opt := granger.Options{Seed: 3, HoldOut: -1, Nonlinear: c.nonlinear}
			var low, entries float64
			for seed := range uint64(runs) {
				g := granger.LinearVAR(4, 80, 1, c.drivers, 1, seed)
				counts, err := null(&g.Data, opt, granger.Rounds{To: rounds})
				if err != nil {
					t.Fatal(err)
				}
				for k, p := range counts.PValues().Data {
					if k%5 != 0 && (c.nonlinear || g.Truth.Data[k] == 0) {
						entries++
						if p <= level {
							low++
						}
					}
				}
			}
			// Three standard deviations of a binomial above the level.
			if rate := low / entries; !(rate <= level+3*math.Sqrt(level*(1-level)/entries)) {
				t.Errorf("false positives: %.3f of %g entries at level %g", rate, entries, level)
			} else {
				t.Logf("false positives: %.3f of %g entries at level %g", rate, entries, level)
			}
		})
	}
}

// A shift that changes nothing is no evidence: with one sample in each replicate all
// norms are met again, and every p-value is 1.
func TestNullTies(t *testing.T) {
	g := granger.LinearVAR(3, 40, 1, 1, 1, 1)
	for i := range 40 {
		g.Data.Replicate = append(g.Data.Replicate, i/2)
	}
	c, err := null(&g.Data, granger.Options{HoldOut: -1}, granger.Rounds{To: 5})
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range c.PValues().Data {
		if p != 1 {
			t.Errorf("entry %d has p = %g", k, p)
		}
	}
}

func TestDefaultTop(t *testing.T) {
	for nodes, want := range map[int]int{1: 1, 2: 1, 6: 2, 10: 2, 13: 3, 101: 8} {
		if got := granger.DefaultTop(nodes); got != want {
			t.Errorf("%d nodes: the top %d, want %d", nodes, got, want)
		}
	}
}

// True edges are significant: linear ones, and with Nonlinear the one that is not linear.
func TestNullPower(t *testing.T) {
	const rounds = 19
	opt := granger.Options{Seed: 3, HoldOut: -1}
	g := granger.LinearVAR(4, 250, 1, 1, 1, 1)
	c, err := null(&g.Data, opt, granger.Rounds{To: rounds})
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range c.PValues().Data {
		if g.Truth.Data[k] != 0 && k%5 != 0 && p > 1.0/(rounds+1) {
			t.Errorf("entry %d is an edge with p = %g", k, p)
		}
	}
	// a drives b linearly and c by its square.
	rng := rand.New(rand.NewPCG(1, 2))
	d := granger.Data{Names: []string{"a", "b", "c"}, X: blas.NewGeneral(200, 3)}
	for i := 1; i < d.X.Rows; i++ {
		a := d.X.Data[3*i-3]
		copy(d.X.Data[3*i:], []float64{rng.NormFloat64(), a + 0.5*rng.NormFloat64(), a*a + 0.5*rng.NormFloat64()})
	}
	opt.Nonlinear = true
	if c, err = null(&d, opt, granger.Rounds{To: rounds}); err != nil {
		t.Fatal(err)
	}
	if p := c.PValues().Data; p[6] != 1.0/(rounds+1) || !(p[3] > 0.05) {
		t.Errorf("p-values of nonlinear edges %v: want a → c only", p)
	}
}

func TestImprovement(t *testing.T) {
	for _, c := range []struct {
		drivers int
		gain    bool
	}{{0, false}, {2, true}} {
		g := granger.LinearVAR(4, 400, 1, c.drivers, 1, 6)
		gains, err := improvement(&g.Data, granger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range gains {
			if better := n.RMSE < 0.98*n.Own; better != c.gain {
				t.Errorf("%d drivers, node %s: RMSE %.3f, with its own past only %.3f", c.drivers, n.Node, n.RMSE,
					n.Own)
			}
		}
	}
}

func TestConfidenceErrors(t *testing.T) {
	g := granger.LinearVAR(2, 40, 1, 1, 1, 1)
	if _, err := null(&g.Data, granger.Options{}, granger.Rounds{From: 3, To: 3}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("no rounds: %v", err)
	}
	if _, err := stability(&g.Data, granger.Options{}, -1, granger.Rounds{To: 1}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("top -1: %v", err)
	}
	if _, err := improvement(&g.Data, granger.Options{HoldOut: -1}); !errors.Is(err, granger.ErrOption) {
		t.Errorf("nothing held out: %v", err)
	}
	if _, err := null(&g.Data, granger.Options{Lag: 5, Nonlinear: true}, granger.Rounds{To: 1}); !errors.Is(err,
		granger.ErrShort) {
		t.Errorf("Nonlinear with too few samples: %v", err)
	}
	if _, err := null(&g.Data, granger.Options{Lag: 50}, granger.Rounds{To: 1}); !errors.Is(err, granger.ErrShort) {
		t.Errorf("long lag: %v", err)
	}
}
