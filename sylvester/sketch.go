package sylvester

import (
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// sketch is a randomized Nyström approximation of K that can grow: with a
// Gaussian test matrix Ω of q columns and Z = K·Ω,
//
//	K ≈ Z·(ΩᵀZ)⁻¹·Zᵀ = U·diag(s)·Uᵀ
//
// (Frangella, Tropp, Udell, arXiv:2110.02820, algorithm 2.1). It costs q columns
// of K and O(l·q²); memory 3·l·q.
type sketch struct {
	be       blas.Backend
	seed     uint64
	Omega, Z blas.General
	low      lowRank
}

// reset forgets the sketch.
func (k *sketch) reset() {
	k.Omega, k.Z = blas.General{}, blas.General{}
	k.low = lowRank{}
}

// grow extends the sketch to q columns, multiplying K by the new ones only, and
// factors it. It reports false when K is too far from positive semidefinite.
func (k *sketch) grow(K linop.Operator, q int) bool {
	l, old := K.Dim(), k.Omega.Cols
	fresh, product := blas.NewGeneral(l, q-old), blas.NewGeneral(l, q-old)
	rng := rand.New(rand.NewPCG(k.seed, uint64(old)))
	for i := range fresh.Data {
		fresh.Data[i] = rng.NormFloat64()
	}
	K.Apply(product, fresh)
	k.Omega, k.Z = beside(k.Omega, fresh), beside(k.Z, product)
	return k.factor()
}

// beside returns [a b].
func beside(a, b blas.General) blas.General {
	if a.Cols == 0 {
		return b
	}
	c := blas.NewGeneral(b.Rows, a.Cols+b.Cols)
	blas.Copy(blas.View(c, 0, 0, a.Rows, a.Cols), a)
	blas.Copy(blas.View(c, 0, a.Cols, b.Rows, b.Cols), b)
	return c
}

// factor computes U and s. The small multiple ν of the identity that keeps the
// Cholesky factorization of Ωᵀ(K + νI)Ω safe is taken off the eigenvalues again.
func (k *sketch) factor() bool {
	q := k.Z.Cols
	norm := blas.Frob(k.Z)
	if !finite(norm) {
		return false
	}
	unit := 0x1p-52 * norm / math.Sqrt(float64(q))
	B, G := blas.NewGeneral(k.Z.Rows, q), blas.NewGeneral(q, q)
	for nu := unit; nu <= 1e6*unit; nu *= 100 {
		blas.Copy(B, k.Z)
		blas.AddScaled(B, nu, k.Omega)
		blas.Mul(k.be, G, true, false, k.Omega, B)
		if !k.be.Potrf(G) {
			continue
		}
		k.be.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, B.Rows, q, 1, G.Data, G.Stride, B.Data, B.Stride)
		return k.eigen(B, G, nu)
	}
	return false
}

// eigen sets U and s from K + νI ≈ B·Bᵀ; G is q×q scratch.
func (k *sketch) eigen(B, G blas.General, nu float64) bool {
	q := B.Cols
	theta := make([]float64, q)
	blas.GramOf(k.be, G, B)
	if err := k.be.Syevd(G, theta); err != nil {
		return false
	}
	floor := nu + 1e-13*theta[q-1]
	first := 0
	for first < q && !(theta[first] > 2*floor) {
		first++
	}
	if first == q {
		return false
	}
	keep := q - first
	T := blas.NewGeneral(q, keep)
	s := make([]float64, keep)
	for c := range keep {
		from := q - 1 - c
		s[c] = theta[from] - nu
		scale := 1 / math.Sqrt(theta[from])
		for i := range q {
			T.Data[i*keep+c] = scale * G.Data[i*G.Stride+from]
		}
	}
	U := blas.NewGeneral(B.Rows, keep)
	blas.Mul(k.be, U, false, false, B, T)
	k.low = lowRank{U: U, s: s}
	return true
}
