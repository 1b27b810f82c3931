// Package fittest fits models, and hands out rows and files, for tests of packages below the root.
package fittest

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/stream"
)

// Fit is a fit without error.
func Fit(t testing.TB, X, Y mat.Matrix, opt iokl.Options) *iokl.Model {
	t.Helper()
	m, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Predict is what m predicts for the rows of X.
func Predict(t testing.TB, m *iokl.Model, X mat.Matrix) *mat.Dense {
	t.Helper()
	P, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	return P
}

// Far is ‖A − B‖/‖B‖.
func Far(A, B mat.Matrix) float64 {
	var D mat.Dense
	D.Sub(A, B)
	return mat.Norm(&D, 2) / mat.Norm(B, 2)
}

// SameBits reports whether a and b hold the same numbers, NaN apart.
func SameBits(a, b *mat.Dense) bool { return slices.Equal(a.RawMatrix().Data, b.RawMatrix().Data) }

// Encode is the model file of m.
func Encode(t testing.TB, m *iokl.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Decode reads a model file.
func Decode(b []byte) (*iokl.Model, error) { return iokl.Decode(bytes.NewReader(b), int64(len(b))) }

// Loaded is what the model file of m holds.
func Loaded(t testing.TB, m *iokl.Model) *iokl.Model {
	t.Helper()
	again, err := Decode(Encode(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// Rows are a copy of rows [from, to) of A.
func Rows(A *mat.Dense, from, to int) *mat.Dense {
	_, c := A.Dims()
	return mat.DenseCopyOf(A.Slice(from, to, 0, c))
}

// Stream hands out X and Y in blocks of 97 rows.
func Stream(X, Y *mat.Dense) stream.Rows {
	_, d := X.Dims()
	l, n := Y.Dims()
	return stream.Rows{Inputs: d, Outputs: n, Count: int64(l), Name: "rows", Open: func() (stream.Source, error) {
		var parts inTurn
		for at := 0; at < l; at += 97 {
			to := min(at+97, l)
			parts = append(parts, stream.FromMatrices("rows", Rows(X, at, to).RawMatrix(), Rows(Y, at, to).RawMatrix()))
		}
		return &parts, nil
	}}
}

// inTurn is sources one after the other.
type inTurn []stream.Source

func (s *inTurn) Next() (stream.Block, error) {
	for len(*s) > 0 {
		if b, err := (*s)[0].Next(); err != io.EOF {
			return b, err
		}
		*s = (*s)[1:]
	}
	return stream.Block{}, io.EOF
}

// Crew is two goroutines that each play a rank.
type Crew struct {
	Number int
	Links  *[2]chan []float64
}

// NewLinks is what two of a Crew exchange numbers by.
func NewLinks() *[2]chan []float64 {
	return &[2]chan []float64{make(chan []float64, 1), make(chan []float64, 1)}
}

// Rank is Number.
func (c Crew) Rank() int { return c.Number }

// Size is 2.
func (c Crew) Size() int { return 2 }

// Allreduce adds up the numbers of both.
func (c Crew) Allreduce(x []float64) error {
	own := slices.Clone(x)
	c.Links[1-c.Number] <- own
	other := <-c.Links[c.Number]
	if c.Number == 1 {
		own, other = other, own
	}
	for i := range x { // in the order of the ranks, so that both have the same sum
		x[i] = own[i] + other[i]
	}
	return nil
}
