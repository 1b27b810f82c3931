package rff

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

// A map comes back from JSON with bitwise the same features, and random ones in few bytes.
func TestJSON(t *testing.T) {
	X := randomX(9, 40, 5)
	for _, spec := range []string{
		"rff:gaussian:all:median:2000", "rff:matern32:1-3:2:100:qmc", "rff:laplacian:all:2:50:mc",
		"rff:cauchy:all:2:33:phases", "rff:gaussian:all:1:21:hadamard:phases", "rff:matern12:0,2:1:40:qmc:phases",
		"rff:gaussian:all:1:64:hadamard", "nystrom:chi2:all:1:10:kmeans", "poly:2:all:center",
	} {
		data := X
		if strings.Contains(spec, "chi2") {
			data = blas.Clone(X)
			for i, v := range data.Data {
				data.Data[i] = math.Abs(v)
			}
		}
		m, err := New(t.Context(), build(t, spec, data)[0], data, 7, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if m.Method == Fourier && len(text) > 400 {
			t.Errorf("%s takes %d bytes", spec, len(text))
		}
		back := new(Map)
		if err := json.Unmarshal(text, back); err != nil {
			t.Fatal(err)
		}
		a, b := blas.NewGeneral(40, m.Dim()), blas.NewGeneral(40, back.Dim())
		if err := errors.Join(m.Transform(a, data), back.Transform(b, data)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Data, b.Data) {
			t.Errorf("%s: features change on their way through JSON", spec)
		}
	}
}

// A map written before there were forms has the features it had then.
func TestSavedMap(t *testing.T) {
	m := new(Map)
	if err := json.Unmarshal([]byte(savedMap), m); err != nil {
		t.Fatal(err)
	}
	z := blas.NewGeneral(1, m.D)
	if err := m.Transform(z, blas.General{Rows: 1, Cols: 2, Stride: 2, Data: []float64{0.5, -2}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range savedFeatures {
		if !(math.Abs(z.Data[i]-want) <= 1e-12) {
			t.Errorf("feature %d is %.17g, was %.17g", i, z.Data[i], want)
		}
	}
}

const savedMap = `{"kernel":{"name":"rff:gaussian:all:1.5:6:orthogonal","kind":"gaussian","inputs":2,"width":1.5,"approx":{"method":"rff","count":6,"sampler":"orthogonal"}},"method":"rff","sampler":"orthogonal","features":6,"seed":7,"stream":3}`

var savedFeatures = []float64{
	0.22278462955463882, -0.22543844623830731, 0.28310007238282453, -0.53263528062599808, 0.53151748822686096,
	-0.50317758530182255,
}
