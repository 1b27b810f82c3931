package sums

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/stream"
)

// TestErrorsOfSums compares the errors that the sums of a fold tell with those of the
// predictions for its rows, for coefficients that fit nothing.
func TestErrorsOfSums(t *testing.T) {
	const l = 900
	X, Y := learntest.Wave(l, 36)
	groups := make([]int, l)
	for i := range groups {
		groups[i] = i * i % 17 % 7
	}
	for _, scaled := range []bool{true, false} {
		d, err := New(t.Context(), stream.Rows{Inputs: 4, Outputs: 3, Name: "rows", Open: func() (stream.Source,
			error,
		) {
			return stream.FromMatrices("rows", blas.Raw(X), blas.Raw(Y)), nil
		}}, Options{
			Columns: columns.Options{ScaleInputs: true, ScaleOutputs: scaled},
			Kernels: []string{"rff:gaussian:all:median*0.5,1:30", "linear:all"}, Folds: 3, FoldGroups: groups,
		})
		if err != nil {
			t.Fatal(err)
		}
		training, err := d.Train(t.Context(), nil, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		solution := func() *bcd.Result {
			eye := blas.NewGeneral(3, 3)
			for j := range 3 {
				eye.Data[4*j] = 1
			}
			res := &bcd.Result{
				C: blas.NewGeneral(d.maps.Dim(), 3), Eta: []float64{0.5, 0, 2},
				L: &linop.Spectral{V: eye, S: []float64{1, 1, 1}},
			}
			for i := range res.C.Data {
				res.C.Data[i] = math.Sin(float64(i))
			}
			return res
		}
		got, err := training.Errors(t.Context(), solution())
		if err != nil {
			t.Fatal(err)
		}
		P := mat.NewDense(l, 3, nil)
		if err := training.Model(solution()).Predict(t.Context(), P.RawMatrix(), blas.Raw(X)); err != nil {
			t.Fatal(err)
		}
		out := map[int]bool{} // groups of the fold
		for i := range l {
			if d.so.Fold("", int64(i)) == 1 {
				out[groups[i]] = true
			}
		}
		var train []int
		want, count := make([]float64, 3), 0.0
		for i := range l {
			if !out[groups[i]] {
				train = append(train, i)
				continue
			}
			count++
			for j := range want {
				want[j] += (P.At(i, j) - Y.At(i, j)) * (P.At(i, j) - Y.At(i, j))
			}
		}
		var nmse float64
		for j, scale := range columns.Measure(blas.TakeRows(blas.Raw(Y), train)).Scale {
			want[j] /= count
			nmse += want[j] / scale / scale / 3
			if !(math.Abs(got.MSE[j]-want[j]) <= 1e-9*want[j]) {
				t.Errorf("scaled %t: target %d has error %.12g by sums, %.12g by predictions", scaled, j, got.MSE[j],
					want[j])
			}
		}
		if !(math.Abs(got.NMSE-nmse) <= 1e-9*nmse) {
			t.Errorf("scaled %t: relative error %.12g by sums, %.12g by predictions", scaled, got.NMSE, nmse)
		}
	}
}

// broken is a job whose ranks cannot reach each other.
type broken struct{ err error }

func (broken) Rank() int                   { return 0 }
func (broken) Size() int                   { return 2 }
func (b broken) Allreduce([]float64) error { return b.err }

// A product that the ranks cannot add up is NaN, which ends a solver, and the error says why.
func TestJointGramFails(t *testing.T) {
	X, Y := learntest.Wave(40, 3)
	open := func() (stream.Source, error) { return stream.FromMatrices("rows", blas.Raw(X), blas.Raw(Y)), nil }
	d, err := New(t.Context(), stream.Rows{Inputs: 4, Outputs: 3, Name: "rows", Open: open},
		Options{Kernels: []string{"linear:all"}, Folds: 3})
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("rank 1 is gone")
	for _, ranks := range []stream.Ranks{nil, broken{lost}} {
		g := stream.NewGram(d.maps, open, d.so, ranks)
		dst, x := blas.NewGeneral(d.maps.Dim(), 1), blas.NewGeneral(d.maps.Dim(), 1)
		x.Data[0] = 1
		g.Apply(dst, x)
		if err := rowError(g.Err()); errors.Is(err, lost) != (ranks != nil) ||
			math.IsNaN(dst.Data[0]) != (ranks != nil) {
			t.Errorf("ranks %v: product %v, error %v", ranks, dst.Data, err)
		}
	}
}
