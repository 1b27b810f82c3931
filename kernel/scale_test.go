package kernel

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
)

// TestScaledGroup compares kernels on a group with factors, of ranks, and with directions, with
// the same kernels on data that were so transformed, beside a group of the same
// columns without.
func TestScaledGroup(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	columns, scale := []int{4, 0, 2, 5, 1, 7}, []float64{2, 0.5, 0, 1.5, 3, 0.1}
	X, New := positiveX(rng, 70, 8), positiveX(rng, 9, 8)
	directions := [][]float64{
		{1, 2, 0, -1, 0.3, 1},
		{0, 1, 1, 0.5, 2, -3},
		{-2, 0, 0.1, 0.2, 1, 1},
		{0.7, 0, 0, 1, 0, 0},
		{1, 1, 1, 1, 1, 1},
	}
	groups := []Group{
		{Name: "plain", Columns: columns},
		{Name: "scaled", Columns: columns, Scale: scale},
		{Name: "turned"},
		{Name: "ranked"},
	}
	knots := [][]float64{{0.1, 0.5, 0.9}, {0.2, 0.2, 0.3}, nil, {0.4, 0.45, 0.5, 0.8}, {0.1, 2}, {0.3, 0.6}}
	for _, spec := range []string{
		"gaussian:%:median", "gaussian:%:0.7:center", "laplacian:%:median", "matern32:%:median", "cauchy:%:1",
		"linear:%:unit", "poly:2:%:1", "cosine:%", "chi2:%:median",
	} {
		for _, d := range []int{3, 6} { // distances summed directly, and from products
			groups[0].Columns, groups[1].Columns, groups[1].Scale = columns[:d], columns[:d], scale[:d]
			groups[2] = Group{Name: "turned", Columns: columns[:d], Scale: scale[:d]}
			for _, row := range directions {
				groups[2].Directions = append(groups[2].Directions, row[:d])
			}
			groups[3] = Group{Name: "ranked", Columns: columns[:d], Knots: knots[:d], Scale: scale[:d]}
			times := func(x blas.General) blas.General {
				z := blas.NewGeneral(x.Rows, d)
				for i := range x.Rows {
					for c, col := range columns[:d] {
						blas.Row(z, i)[c] = blas.Row(x, i)[col] * scale[c]
					}
				}
				return z
			}
			order := func(x blas.General) blas.General {
				z := blas.NewGeneral(x.Rows, d)
				for i := range z.Data {
					v := blas.Row(x, i/d)[columns[i%d]]
					if knots[i%d] != nil {
						v = formula.Rank(knots[i%d], v)
					}
					z.Data[i] = scale[i%d] * v
				}
				return z
			}
			turn := func(x blas.General) blas.General {
				z, s := blas.NewGeneral(x.Rows, len(directions)), times(x)
				for i := range z.Data {
					z.Data[i] = blas.Dot(blas.Row(s, i/z.Cols), directions[i%z.Cols][:d])
				}
				return z
			}
			one := func(text, group string, x, new blas.General) (*blas.Sym, blas.General) {
				dict, err := Build([]string{strings.Replace(text, "%", "plain", 1), strings.Replace(text, "%", group,
					1)}, x, groups, 1)
				if group == "all" {
					dict, err = Build([]string{strings.Replace(text, "%", "all", 1)}, x, nil, 1)
				}
				if err != nil {
					t.Fatal(text, err)
				}
				grams, err := dict.Grams(t.Context(), x, GramOptions{})
				if err != nil {
					t.Fatal(text, err)
				}
				k := dict[len(dict)-1]
				cross := blas.NewGeneral(new.Rows, x.Rows)
				if err := k.Cross(cross, new, x); err != nil {
					t.Fatal(text, err)
				}
				return grams[len(grams)-1], cross
			}
			for group, of := range map[string]func(x blas.General) blas.General{
				"scaled": times, "turned": turn, "ranked": order,
			} {
				if group != "scaled" && strings.HasPrefix(spec, "chi2") {
					continue
				}
				got, gotCross := one(spec, group, X, New)
				want, wantCross := one(spec, "all", of(X), of(New))
				var miss, size float64
				for i := range X.Rows {
					for j := range i + 1 {
						miss, size = max(miss, math.Abs(got.At(i, j)-want.At(i, j))), max(size, math.Abs(want.At(i, j)))
					}
				}
				if miss = max(miss, maxDiff(gotCross, wantCross)); !(miss <= 1e-12*size) {
					t.Errorf("%s, %s, on %d columns: off by %g of %g", spec, group, d, miss, size)
				}
			}
		}
	}
}

// TestRank has the ranks of values below, at, between and above knots, some of which are equal.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		knots   []float64
		v, want float64 // of √3
	}{
		{[]float64{0, 0, 0, 1, 3}, -1, -1},
		{[]float64{0, 0, 0, 1, 3}, 0, -0.5},
		{[]float64{0, 0, 0, 1, 3}, 0.5, 0.25},
		{[]float64{0, 0, 0, 1, 3}, 1, 0.5},
		{[]float64{0, 0, 0, 1, 3}, 1.5, 0.625},
		{[]float64{0, 0, 0, 1, 3}, 3, 1},
		{[]float64{0, 0, 0, 1, 3}, 9, 1},
		{[]float64{-2, 5, 5}, 5, 0.5},
		{[]float64{2, 2}, 7, 0},
		{[]float64{2}, 2, 0},
	} {
		if got := formula.Rank(c.knots, c.v) / math.Sqrt(3); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%g among %v: %g·√3, want %g·√3", c.v, c.knots, got, c.want)
		}
	}
	if got := formula.Rank([]float64{1, 2}, math.NaN()); !math.IsNaN(got) {
		t.Errorf("the rank of NaN is %g", got)
	}
}

func TestBadKnots(t *testing.T) {
	for want, knots := range map[string][][]float64{
		"knots of 1 columns for 2 columns": {{0, 1}}, "knots of column 2": {{0, 1}, {1, 0}},
		"knots of column 1": {{}, {0, 1}}, "ascending order": {{0, 1}, {0, math.NaN(), 1}},
		"numbers in ascending order": {{math.NaN(), 1}, {0, 1}}, "column 1: numbers": {{0, math.Inf(1)}, {0, 1}},
	} {
		k := Kernel{Name: "k", Kind: Gaussian, Inputs: 2, Width: 1, Knots: knots}
		if err := k.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("knots %v: %v, want %q", knots, err, want)
		}
	}
	k := Kernel{Name: "k", Kind: Chi2, Inputs: 1, Width: 1, Knots: [][]float64{{0, 1}}}
	if err := k.Validate(); err == nil || !strings.Contains(err.Error(), "ranks and directions are of any sign") {
		t.Errorf("chi2 of ranks: %v", err)
	}
}

func TestBadScale(t *testing.T) {
	X := randomX(rand.New(rand.NewPCG(32, 1)), 5, 2)
	for want, scale := range map[string][]float64{
		"1 factors for 2 columns": {1}, "factor 2 is -1": {1, -1}, "factor 1 is NaN": {math.NaN(), 1},
		"factor 2 is +Inf": {1, math.Inf(1)}, "all factors are 0": {0, 0},
	} {
		_, err := Build([]string{"linear:g"}, X, []Group{{Name: "g", Columns: []int{0, 1}, Scale: scale}}, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", scale, err, want)
		}
		k := Kernel{Name: "k", Kind: Linear, Inputs: 2, Scale: scale}
		if err := k.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kernel with %v: %v, want %q", scale, err, want)
		}
	}
}

func TestBadDirections(t *testing.T) {
	X := positiveX(rand.New(rand.NewPCG(33, 1)), 5, 2)
	for _, c := range []struct {
		spec, want string
		directions [][]float64
	}{
		{"linear:g", "direction 2 has 1 coefficients for 2 columns", [][]float64{{1, 2}, {1}}},
		{"linear:g", "direction 1 holds NaN", [][]float64{{1, math.NaN()}}},
		{"chi2:g:1", "directions are of any sign", [][]float64{{1, 2}}},
	} {
		d, err := Build([]string{c.spec}, X, []Group{{Name: "g", Columns: []int{0, 1}, Directions: c.directions}}, 1)
		if err == nil {
			_, err = d[0].Gram(X, blas.Float64)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
		}
	}
}

func TestScaleInJSON(t *testing.T) {
	k := Kernel{Name: "k", Kind: Gaussian, Inputs: 2, Width: 1, Scale: []float64{0.1, 2.0 / 3}}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	var back Kernel
	if err := json.Unmarshal(text, &back); err != nil || len(back.Scale) != 2 || back.Scale[0] != k.Scale[0] ||
		back.Scale[1] != k.Scale[1] {
		t.Errorf("%v, %v", back.Scale, err)
	}
}
