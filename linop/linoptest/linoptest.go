// Package linoptest checks that an implementation of [linop.Operator] or
// [linop.Sum] keeps the contract: a symmetric linear map, equal to a dense
// matrix, that neither reads its destination nor writes outside it, and
// allocates nothing after the first call of a size.
package linoptest

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/race"
	"github.com/iokl/iokl/linop"
)

// Options of a check. The zero value asks for everything in double precision.
type Options struct {
	// Unit is the rounding unit of the operator's arithmetic; 0 means 2⁻⁵³. Bounds
	// are multiples of it that grow with the size and the magnitudes involved.
	Unit float64
	// Allocates says that the operator may allocate at every call.
	Allocates bool
}

func (o Options) unit() float64 { return cmp.Or(o.Unit, 0x1p-53) }

// widths are the numbers of columns that blocks are tried with.
var widths = []int{1, 2, 3, 7, 17}

// Run checks A against the dense matrix want of the same order.
func Run(t *testing.T, A linop.Operator, want blas.General, opt Options) {
	t.Helper()
	if A.Dim() != want.Rows || A.Dim() != want.Cols {
		t.Fatalf("Dim() = %d, want %d", A.Dim(), want.Rows)
	}
	rng := rand.New(rand.NewPCG(1, uint64(A.Dim())))
	ref := newMatrix(want)
	for _, k := range widths {
		product(t, A, ref, k, opt, rng)
	}
	dense(t, A, want, opt)
	symmetric(t, A, ref, opt, rng)
	linear(t, A, ref, opt, rng)
	if !opt.Allocates {
		allocations(t, A, rng)
	}
}

// product compares A·x with the dense product, for a dst full of NaN and
// wider than its columns, whose surplus must come back as it was.
func product(t *testing.T, A linop.Operator, want matrix, k int, opt Options, rng *rand.Rand) {
	t.Helper()
	n := A.Dim()
	const pad = 3
	for _, extra := range []int{0, pad} {
		x, dst := random(rng, n, k, extra), random(rng, n, k, extra)
		for i := range dst.Data {
			dst.Data[i] = math.NaN()
		}
		before := slices.Clone(x.Data)
		A.Apply(dst, x)
		if !slices.Equal(before, x.Data) {
			t.Fatalf("Apply with %d columns changed x", k)
		}
		for i := range n {
			for j := range dst.Stride {
				got := dst.Data[i*dst.Stride+j]
				if j >= k {
					if !math.IsNaN(got) {
						t.Fatalf("Apply with %d columns wrote column %d of row %d", k, j, i)
					}
					continue
				}
				exact, scale := want.rowTimes(i, x, j)
				if !(math.Abs(got-exact) <= bound(opt, n)*scale) {
					t.Fatalf("Apply with %d columns: element (%d,%d) is %g, want %g (difference %.3g, bound %.3g)",
						k, i, j, got, exact, got-exact, bound(opt, n)*scale)
				}
			}
		}
	}
}

// dense compares linop.Dense with the matrix, which tests the method where there is one.
func dense(t *testing.T, A linop.Operator, want blas.General, opt Options) {
	t.Helper()
	n := A.Dim()
	got := blas.NewGeneral(n, n)
	if err := linop.Dense(context.Background(), got, A); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			d := math.Abs(got.Data[i*n+j] - want.Data[i*want.Stride+j])
			// The matrix may itself be a sum of products: bound by the whole row and column.
			if !(d <= bound(opt, n)*(floats.Norm(blas.Row(want, i), 1)+floats.Norm(blas.Row(want, j), 1))) {
				t.Fatalf("element (%d,%d) is off by %g from %g", i, j, d, want.Data[i*want.Stride+j])
			}
		}
	}
}

// symmetric checks ⟨y,Ax⟩ = ⟨Ay,x⟩.
func symmetric(t *testing.T, A linop.Operator, want matrix, opt Options, rng *rand.Rand) {
	t.Helper()
	n := A.Dim()
	for range 4 {
		x, y := random(rng, n, 1, 0), random(rng, n, 1, 0)
		ax, ay := blas.NewGeneral(n, 1), blas.NewGeneral(n, 1)
		A.Apply(ax, x)
		A.Apply(ay, y)
		l, r := blas.Inner(y, ax), blas.Inner(ay, x)
		var scale float64
		for i := range n {
			_, s := want.rowTimes(i, x, 0)
			scale += math.Abs(y.Data[i]) * s
		}
		if !(math.Abs(l-r) <= 2*bound(opt, n)*scale) {
			t.Fatalf("not symmetric: ⟨y,Ax⟩ = %.17g, ⟨Ay,x⟩ = %.17g", l, r)
		}
	}
}

// linear checks A(ax + by) = aAx + bAy for blocks.
func linear(t *testing.T, A linop.Operator, want matrix, opt Options, rng *rand.Rand) {
	t.Helper()
	const a, b = 0.7, -3e5
	n, k := A.Dim(), 2
	x, y, z := random(rng, n, k, 0), random(rng, n, k, 0), blas.NewGeneral(n, k)
	blas.AddScaled(z, a, x)
	blas.AddScaled(z, b, y)
	ax, ay, az := blas.NewGeneral(n, k), blas.NewGeneral(n, k), blas.NewGeneral(n, k)
	A.Apply(ax, x)
	A.Apply(ay, y)
	A.Apply(az, z)
	for i := range n {
		for j := range k {
			_, sx := want.rowTimes(i, x, j)
			_, sy := want.rowTimes(i, y, j)
			exact := a*ax.Data[i*k+j] + b*ay.Data[i*k+j]
			scale := math.Abs(a)*sx + math.Abs(b)*sy
			if !(math.Abs(az.Data[i*k+j]-exact) <= 4*bound(opt, n)*scale) {
				t.Fatalf("not linear at (%d,%d): %g, want %g", i, j, az.Data[i*k+j], exact)
			}
		}
	}
}

// Allocations is testing.AllocsPerRun, or 0 under the race detector, where pools
// lose what is put back and counts mean nothing.
func Allocations(runs int, f func()) float64 {
	if race.Enabled {
		return 0
	}
	return testing.AllocsPerRun(runs, f)
}

func allocations(t *testing.T, A linop.Operator, rng *rand.Rand) {
	t.Helper()
	for _, k := range widths {
		x, dst := random(rng, A.Dim(), k, 0), random(rng, A.Dim(), k, 0)
		if a := Allocations(5, func() { A.Apply(dst, x) }); a > 0 {
			t.Errorf("Apply with %d columns allocates %g times a call", k, a)
		}
	}
}

// bound is the relative error allowed for a sum of n products, with room for an
// operator made of several such sums.
func bound(opt Options, n int) float64 { return 8 * (8 + math.Sqrt(float64(n))) * opt.unit() }

// matrix is a dense matrix and bounds of the magnitudes behind its elements,
// which may be sums of products that cancel: for a positive semidefinite matrix
// |a_ij| ≤ √(a_ii·a_jj), for others whichever of the two is larger.
type matrix struct{ value, size blas.General }

func newMatrix(a blas.General) matrix {
	size := blas.NewGeneral(a.Rows, a.Cols)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			g := math.Sqrt(math.Abs(a.Data[i*a.Stride+i])) * math.Sqrt(math.Abs(a.Data[j*a.Stride+j]))
			size.Data[i*size.Stride+j] = max(g, math.Abs(v))
		}
	}
	return matrix{a, size}
}

// rowTimes is row i times column j of x, and the same with magnitudes in place of values.
func (a matrix) rowTimes(i int, x blas.General, j int) (exact, scale float64) {
	size := blas.Row(a.size, i)
	for c, v := range blas.Row(a.value, i) {
		u := x.Data[c*x.Stride+j]
		exact += v * u
		scale += size[c] * math.Abs(u)
	}
	return exact, scale
}

// random is an n×k matrix of normal numbers with rows extra elements apart.
func random(rng *rand.Rand, n, k, extra int) blas.General {
	g := blas.General{Rows: n, Cols: k, Stride: k + extra, Data: make([]float64, n*(k+extra))}
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	return g
}

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
	for _, k := range widths {
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
		if opt.Allocates {
			continue
		}
		if a := Allocations(5, func() { S.Forms(dst, c.U, c.V, c.idx) }); a > 0 {
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
