package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

func TestDataErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	good := randomX(rng, 5, 3)
	bad := blas.Clone(good)
	bad.Data[3*3+1] = math.Inf(1)
	one, huge := randomX(rng, 1, 3), blas.Clone(good)
	for i := range huge.Data {
		huge.Data[i] *= 1e200
	}
	for _, c := range []struct {
		name, spec string
		X          blas.General
		want       error
		say        string
	}{
		{"infinite cell", "gaussian:all:1", bad, ErrNotFinite, "row 3, column 1"},
		{"infinite cell not looked at", "gaussian:0,2:1", bad, nil, ""},
		{"infinite cell in a group", "linear:2,1", bad, ErrNotFinite, "row 3, column 1"},
		{"negative chi2", "chi2:2:1", good, ErrNegative, "column 2"},
		{"out of range", "linear:0-3", good, nil, "feature 3"},
		{"unknown group", "linear:pixels", good, nil, "unknown group \"pixels\""},
		{"no groups", "linear:groups", good, nil, "no groups"},
		{"one sample", "gaussian", one, ErrConstant, ""},
		{"distances overflow", "gaussian", huge, ErrNotFinite, "overflows"},
		{"empty", "linear", blas.General{}, nil, "empty"},
	} {
		s, err := Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Resolve(c.X, nil, 0)
		switch {
		case c.want == nil && c.say == "":
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestGramErrors(t *testing.T) {
	X := randomX(rand.New(rand.NewPCG(9, 2)), 70, 3)
	huge := blas.Clone(X)
	huge.Data[7] = 1e200
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		k    Kernel
		X    blas.General
		opt  GramOptions
		want error
		say  string
	}{
		{
			"memory", context.Background(),
			Kernel{Kind: Linear, Inputs: 3},
			X,
			GramOptions{MaxBytes: 1000},
			ErrMemory,
			fmt.Sprint(blas.SymBytes(70, blas.Float64)),
		},
		{"cancelled", ctx, Kernel{Kind: Linear, Inputs: 3}, X, GramOptions{}, context.Canceled, ""},
		{"columns", context.Background(), Kernel{Kind: Linear, Inputs: 4}, X, GramOptions{}, nil, "4 columns"},
		{"kind", context.Background(), Kernel{Kind: "no", Inputs: 3}, X, GramOptions{}, nil, "unknown kernel"},
		{
			"width", context.Background(),
			Kernel{Kind: Gaussian, Inputs: 3, Width: math.NaN()},
			X,
			GramOptions{},
			nil,
			"width",
		},
		{
			"poly", context.Background(),
			Kernel{Kind: Poly, Inputs: 3, Params: []float64{2, 0, 0}},
			X,
			GramOptions{},
			nil, "gamma",
		},
		{
			"no parameters", context.Background(),
			Kernel{Kind: Poly, Inputs: 3},
			X,
			GramOptions{},
			nil,
			"0 parameters, want 3",
		},
		{
			"column", context.Background(),
			Kernel{Kind: Linear, Inputs: 3, Columns: []int{3}},
			X,
			GramOptions{},
			nil,
			"out of range",
		},
		{"precomputed", context.Background(), Kernel{Kind: Precomputed}, X, GramOptions{}, nil, "precomputed"},
		{
			"overflow", context.Background(),
			Kernel{Kind: Poly, Inputs: 3, Params: []float64{1, 0, 1}},
			huge,
			GramOptions{},
			ErrNotFinite, "overflows",
		},
	} {
		_, err := Dictionary{c.k}.Grams(c.ctx, c.X, c.opt)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	k := Kernel{Kind: Linear, Inputs: 3, Center: true}
	if err := k.Cross(blas.NewGeneral(70, 70), X, X); !errors.Is(err, ErrMeans) {
		t.Errorf("centred kernel without means: %v", err)
	}
}

func TestFromGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 2))
	X := randomX(rng, 20, 3)
	good := blas.NewGeneral(20, 20)
	blas.Mul(blas.Active(), good, false, true, X, X)
	blas.MirrorLower(good)
	edit := func(f func(K *blas.General)) blas.General {
		K := blas.Clone(good)
		f(&K)
		return K
	}
	for _, c := range []struct {
		name string
		K    blas.General
		say  string
	}{
		{"rank 3 of 20", good, ""},
		{"zero", blas.NewGeneral(4, 4), ""},
		{"rounded to 9 digits", edit(func(K *blas.General) {
			for i, v := range K.Data {
				K.Data[i] = math.Round(v*1e9) / 1e9
			}
		}), ""},
		{"scaled by 1e-12", edit(func(K *blas.General) { blas.Scal(1e-12, K.Data) }), ""},
		{"not square", blas.NewGeneral(3, 4), "not square"},
		{"empty", blas.General{}, "no rows"},
		{"NaN", edit(func(K *blas.General) { K.Data[23] = math.NaN() }), "row 1, column 3"},
		{"not symmetric", edit(func(K *blas.General) { K.Data[2*20+1] += 1e-3 }), "(2,1)"},
		{"tiny and not symmetric", edit(func(K *blas.General) {
			K.Data[2*20+1] += 1e-3
			blas.Scal(1e-12, K.Data)
		}), "(2,1)"},
		{"negative diagonal", edit(func(K *blas.General) { K.Data[21] = -1 }), "diagonal element 1"},
		{"indefinite", edit(func(K *blas.General) { K.Data[21] -= 0.5 }), "smallest eigenvalue is -"},
		{"tiny and indefinite", edit(func(K *blas.General) {
			K.Data[21] -= 0.5
			blas.Scal(1e-12, K.Data)
		}), "smallest eigenvalue is -"},
		{"zero diagonal", blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0, 1, 1, 0}}, "diagonal is zero"},
	} {
		s, err := FromGram(c.K, blas.Float64, nil)
		if c.say == "" {
			if err != nil || s.At(c.K.Rows-1, 0) != c.K.Data[(c.K.Rows-1)*c.K.Stride] {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrGram) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
