// This file checks weighted sums of operators.

package linoptest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/race"
	"github.com/iokl/iokl/linop"
)

// RunSum checks S against its terms as dense matrices: as an operator under
// several weights, sparse, zero and repeated ones among them, and its Forms, Diag and
// products with single terms.
func RunSum(t *testing.T, S linop.Sum, terms []blas.General, opt Options) {
	t.Helper()
	if S.Len() != len(terms) {
		t.Fatalf("Len() = %d, want %d", S.Len(), len(terms))
	}
	n, m := S.Dim(), S.Len()
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	eta := make([]float64, m)
	var sum blas.General // at the last weights
	for round := range 4 {
		for j := range eta {
			eta[j] = rng.ExpFloat64()
			if round == 1 && j%2 == 0 || round == 2 {
				eta[j] = 0
			}
		}
		want := blas.NewGeneral(n, n)
		for j, k := range terms {
			blas.AddScaled(want, eta[j], k)
		}
		given := slices.Clone(eta)
		S.SetWeights(given)
		S.SetWeights(given)
		for j := range given {
			given[j] = math.NaN() // the weights are copied
		}
		Run(t, S, want, opt)
		sum = want
	}
	refs := make([]matrix, m)
	for j := range refs {
		refs[j] = newMatrix(terms[j])
	}
	for _, k := range opt.cols() {
		forms(t, S, refs, k, opt, rng)
	}
	for j, k := range terms {
		got := make([]float64, n)
		S.Diag(got, j)
		for i, v := range got {
			if d := k.Data[i*k.Stride+i]; !(math.Abs(v-d) <= bound(opt, n)*math.Abs(d)) {
				t.Fatalf("Diag of term %d: element %d is %g, want %g", j, i, v, d)
			}
		}
	}
	if s, ok := S.(linop.Separate); ok {
		for j, k := range terms {
			Run(t, term{s, j}, k, opt)
		}
	}
	Run(t, S, sum, opt) // Forms, Diag and single terms leave the weights
}

// forms compares Forms with the definition, for U ≠ V, for U = V, and for some of the terms.
func forms(t *testing.T, S linop.Sum, terms []matrix, k int, opt Options, rng *rand.Rand) {
	t.Helper()
	n, m := S.Dim(), S.Len()
	U, V := random(rng, n, k, 1), random(rng, n, k, 0)
	all := make([]int, m)
	for j := range all {
		all[j] = j
	}
	for _, c := range []struct {
		U, V blas.General
		idx  []int
	}{{U, V, all}, {U, U, all}, {V, U, []int{m - 1, 0}}, {U, V, nil}} {
		dst := make([]float64, len(c.idx))
		for i := range dst {
			dst[i] = math.NaN()
		}
		S.Forms(dst, c.U, c.V, c.idx)
		for i, j := range c.idx {
			exact, scale := form(c.U, terms[j], c.V)
			if !(math.Abs(dst[i]-exact) <= 2*bound(opt, n)*scale) {
				t.Fatalf("Forms with %d columns, term %d: %g, want %g (bound %.3g)", k, j, dst[i], exact,
					2*bound(opt, n)*scale)
			}
		}
		if opt.Allocates || race.Enabled {
			continue
		}
		if a := testing.AllocsPerRun(5, func() { S.Forms(dst, c.U, c.V, c.idx) }); a > 0 {
			t.Errorf("Forms with %d columns allocates %g times a call", k, a)
		}
	}
}

// form is ⟨U, K V⟩ and the same sum with magnitudes in place of values.
func form(U blas.General, K matrix, V blas.General) (exact, scale float64) {
	for c := range V.Cols {
		for i := range U.Rows {
			e, s := K.rowTimes(i, V, c)
			u := U.Data[i*U.Stride+c]
			exact += u * e
			scale += math.Abs(u) * s
		}
	}
	return exact, scale
}

// term is A_j alone as an operator.
type term struct {
	linop.Separate
	j int
}

func (t term) Apply(dst, x blas.General) { t.ApplyTerm(dst, x, t.j) }
func (t term) Dense(dst blas.General)    { t.DenseTerm(dst, t.j) }
