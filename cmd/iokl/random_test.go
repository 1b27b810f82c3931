package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/base/deadline"
)

var (
	randomFits     = flag.Int("random-fits", 25, "random tables and settings that TestRandomFits learns from")
	randomFitsSeed = flag.Uint64("random-fits-seed", 1, "seed of the first of them")
)

// randomFit is a table of inputs and targets in files and a line that learns from it.
type randomFit struct {
	dir      string
	l, n     int
	holes    bool // some target cells are empty
	convex   bool // with one block learned: all ways to the minimum meet
	kernels  string
	settings string
	lp       bool
}

// oneOf is one of the words.
func oneOf(rng *rand.Rand, of ...string) string { return of[rng.IntN(len(of))] }

func newRandomFit(t *testing.T, seed uint64) *randomFit {
	rng := rand.New(rand.NewPCG(seed, 7))
	r := &randomFit{dir: t.TempDir(), l: 3 + rng.IntN(40), n: 1 + rng.IntN(5), holes: rng.IntN(3) == 0}
	d, words := 1+rng.IntN(4), rng.IntN(4) == 0
	scale := []float64{1, 1, 1, 1e6, 1e-6}[rng.IntN(5)]
	var x, y strings.Builder
	for i := range r.l {
		sum := 0.0
		for j := range d {
			v := rng.NormFloat64()
			sum += math.Sin(v)
			cell := strconv.FormatFloat(v, 'g', -1, 64)
			switch {
			case words && j == 0:
				cell = string(rune('p' + rng.IntN(3)))
			case i > 1 && rng.IntN(25) == 0:
				cell = ""
			case j == d-1 && rng.IntN(10) == 0:
				cell = "1"
			}
			x.WriteString(cell + ",")
		}
		x.WriteString(strconv.Itoa(i%5) + "\n")
		for j := range r.n {
			cell := strconv.FormatFloat(scale*(sum+float64(j)*rng.NormFloat64()), 'g', -1, 64)
			if r.holes && i > 1 && rng.IntN(4) == 0 {
				cell = ""
			}
			y.WriteString(cell + ",")
		}
		y.WriteString(strconv.FormatFloat(scale*rng.NormFloat64(), 'g', -1, 64) + "\n")
	}
	r.n++
	write(t, r.dir, "x.csv", x.String())
	write(t, r.dir, "y.csv", y.String())
	for range 1 + rng.IntN(3) {
		r.kernels += " --kernel " + oneOf(rng, "linear:all", "poly:2:all", "linear:0")
	}
	norm, learn := oneOf(rng, "lp:1", "lp:1.5", "lp:2", "block1", "blockr:1.3", "elastic:0.5", "wedge"),
		oneOf(rng, "eta,l", "eta", "l")
	r.lp, r.convex = strings.HasPrefix(norm, "lp"), learn != "eta,l"
	r.settings = fmt.Sprintf(" --lambda %.3g --norm %s --learn %s --standardize %s --seed %d --tol 1e-5",
		math.Pow(10, -5+5*rng.Float64()), norm, learn, oneOf(rng, "x,y", "x,y", "x", "y", "none"), rng.IntN(9))
	if rng.IntN(3) == 0 {
		r.settings += fmt.Sprintf(" --tau %.3g", math.Exp(2*rng.NormFloat64()))
	}
	return r
}

// run is the report of the line with more flags, nil where it is refused in one line.
func (r *randomFit) run(t *testing.T, more string) *results.Fit {
	t.Helper()
	line := "fit --x x.csv --y y.csv -q --json" + r.kernels + r.settings + more
	var res result
	deadline.Run(t, 4*time.Minute, func() { res = command(t, r.dir, line) })
	var got results.Fit
	last := strings.TrimSpace(res.stderr)
	last = last[strings.LastIndex(last, "\n")+1:]
	switch {
	case strings.Contains(res.stderr, "goroutine ") || strings.Contains(res.stderr, "internal error"):
		t.Fatalf("%s\n%s", line, res.stderr)
	case res.stdout == "" && res.status != exitOK && strings.HasPrefix(last, "iokl: "):
		return nil
	case json.Unmarshal([]byte(res.stdout), &got) != nil:
		t.Fatalf("%s: status %d\n%s%s", line, res.status, res.stdout, res.stderr)
	}
	if v := got.Objective + got.GapEta + got.GapL; math.IsNaN(v) || math.IsInf(v, 0) || got.GapEta < 0 ||
		got.GapL < 0 ||
		got.Converged != (got.RelativeGap <= got.Tol) || got.Samples > r.l {
		t.Errorf("%s\n%s", line, res.stdout)
	}
	return &got
}

// TestRandomFits learns from random tables with random settings in several ways, and compares what they
// say: with one thread and two, in memory and in blocks of rows, at once and with an interruption,
// with one output kernel and with one for each kernel, saved and loaded.
func TestRandomFits(t *testing.T) {
	if testing.Short() && *randomFits == 25 {
		*randomFits = 5
	}
	refused, streamed := 0, 0
	seeds := []uint64{610} // whose fit in blocks of rows leaves no feature any weight
	for k := range *randomFits {
		seeds = append(seeds, *randomFitsSeed+uint64(k))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRandomFit(t, seed)
			one := r.run(t, " --threads 1 --out m.iokl")
			if one == nil {
				refused++
				return
			}
			if two := r.run(t, " --threads 2"); two == nil || two.Objective != one.Objective || two.GapL != one.GapL {
				t.Errorf("%s%s: objective %v with one thread, %+v with two", r.kernels, r.settings, one.Objective, two)
			}
			near := func(what string, other *results.Fit) {
				if other == nil || !one.Converged || !other.Converged {
					return
				}
				gap := (one.GapEta + one.GapL + other.GapEta + other.GapL) + 1e-9*one.Objective
				if r.convex && !(math.Abs(one.Objective-other.Objective) <= gap) {
					t.Errorf("%s%s: objective %.12g, %s %.12g, gaps together %.3g", r.kernels, r.settings,
						one.Objective, what, other.Objective, gap)
				}
			}
			if blocks := r.run(t, " --stream"); blocks != nil {
				streamed++
				near("in blocks", blocks)
			}
			r.run(t, " --max-outer 2 --checkpoint state")
			near("resumed", r.run(t, " --checkpoint state"))
			near("by another solver", r.run(t, " --sylvester eigen --solver closed"))
			if r.lp && !r.convex && !r.holes {
				if sum := r.run(t, " --model sum"); sum != nil && sum.GlobalBound != nil &&
					!(sum.LowerBound <= one.Objective*(1+1e-9)) {
					t.Errorf("%s%s: objective %.12g, but no sum is below %.12g", r.kernels, r.settings, one.Objective,
						sum.LowerBound)
				}
			}
			if out := command(t, r.dir, "predict --model m.iokl --x x.csv"); out.status != exitOK {
				t.Errorf("predict: %s", out.stderr)
			} else if rows, err := csv.NewReader(strings.NewReader(out.stdout)).ReadAll(); err != nil ||
				len(rows) < r.l || len(rows[0]) != r.n || strings.Contains(out.stdout, "NaN") {
				t.Errorf("predict: %v\n%s", err, out.stdout)
			}
		})
	}
	t.Logf("seeds from %d: %d fits, %d refused, %d in blocks too", *randomFitsSeed, len(seeds), refused, streamed)
}
