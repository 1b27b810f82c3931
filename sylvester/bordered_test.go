package sylvester

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// points is kernel values of random points of the plane.
type points []struct{ x, y float64 }

func (p points) k(i, j int) float64 {
	dx, dy := p[i].x-p[j].x, p[i].y-p[j].y
	return math.Exp(-(dx*dx + dy*dy) / 2)
}

// Rows that arrive and leave in any order give the solution of the system of the rows that stay, by a direct method.
func TestBordered(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const l, n, steps, most = 30, 4, 60, 3
	p := make(points, l+most*steps)
	Yall := blas.NewGeneral(l+most*steps, n)
	for i := range p {
		p[i].x, p[i].y = 2*rng.NormFloat64(), 2*rng.NormFloat64()
		for j := range n {
			Yall.Data[i*n+j] = math.Sin(p[i].x+float64(j)) + 0.1*rng.NormFloat64()
		}
	}
	gram := func(rows []int) blas.General {
		K := blas.NewGeneral(len(rows), len(rows))
		for a, i := range rows {
			for c, j := range rows {
				K.Data[a*len(rows)+c] = p.k(i, j)
			}
		}
		return K
	}
	pick := func(rows []int) blas.General {
		Y := blas.NewGeneral(len(rows), n)
		for a, i := range rows {
			copy(blas.Row(Y, a), blas.Row(Yall, i))
		}
		return Y
	}
	for _, rank := range []int{n, 2, 0} {
		V, S := blas.NewGeneral(n, rank), make([]float64, rank)
		for c := range rank {
			V.Data[c*rank+c], V.Data[(c+1)%n*rank+c] = 0.6, 0.8 // nearly any L will do
			S[c] = 1 / float64(1+c)
		}
		L := orthonormal(t, V, S)
		const mu = 0.05
		first := upTo(l)
		dec, err := Decompose(t.Context(), linop.NewDense(gram(first), blas.Active()), blas.Active())
		if err != nil {
			t.Fatal(err)
		}
		b := NewBordered(dec, pick(first), nil)
		elements := 0
		present, arrived, next := slices.Clone(first), []int(nil), l
		for step := range steps {
			before := b
			if len(present) > 20 && rng.IntN(2) == 0 {
				i := rng.IntN(len(present))
				b, present = b.Remove(i), slices.Delete(present, i, i+1)
			} else {
				more := upTo(1 + rng.IntN(most))
				for i := range more {
					more[i] += next
				}
				next += len(more)
				arrived, present = append(arrived, more...), append(present, more...)
				kf, ka := blas.NewGeneral(len(more), l), blas.NewGeneral(len(more), len(arrived))
				for i, row := range more {
					for c := range l {
						kf.Data[i*l+c] = p.k(c, row)
					}
					for c, j := range arrived {
						ka.Data[i*len(arrived)+c] = p.k(j, row)
					}
				}
				b = b.Add(kf, ka, pick(more))
				elements += len(more) - 1
			}
			elements++
			if step%7 > 0 && step != steps-1 {
				continue
			}
			K, Y := linop.NewDense(gram(present), blas.Active()), pick(present)
			sys := System{K: K, L: L, Mu: mu}
			C, want := blas.Like(Y), blas.Like(Y)
			res, err := b.Solve(t.Context(), C, sys, Y, Options{Tol: 1e-11})
			if err != nil {
				t.Fatal(err)
			}
			direct, err := New("cholesky", Config{})
			if err != nil {
				t.Fatal(err)
			}
			exact, err := direct.Solve(t.Context(), want, sys, Y, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range want.Data {
				if !(math.Abs(C.Data[i]-v) <= 1e-9*(1+math.Abs(v))) {
					t.Fatalf("rank %d, step %d: C is %g at %d, want %g", rank, step, C.Data[i], i, v)
				}
				if kc := exact.KC.Data[i]; !(math.Abs(res.KC.Data[i]-kc) <= 1e-9*(1+math.Abs(kc))) {
					t.Fatalf("rank %d, step %d: K·C is %g at %d, want %g", rank, step, res.KC.Data[i], i, kc)
				}
			}
			if b.Elements() != elements || before.Elements() >= elements {
				t.Errorf("%d and %d elements at step %d, want %d", b.Elements(), before.Elements(), step, elements)
			}
		}
	}
}

// orthonormal is V·diag(S)·Vᵀ for any columns of V.
func orthonormal(t *testing.T, V blas.General, S []float64) *linop.Spectral {
	t.Helper()
	n := V.Rows
	if len(S) == 0 {
		return &linop.Spectral{V: blas.NewGeneral(n, 0)}
	}
	half, A := blas.Clone(V), blas.NewGeneral(n, n)
	blas.ScaleColumns(half, S)
	blas.Mul(blas.Active(), A, false, true, half, V)
	L, err := linop.NewSpectral(blas.Active(), A, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	return L
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// one is a matrix of one row.
func one(row ...float64) blas.General {
	return blas.General{Rows: 1, Cols: len(row), Stride: len(row), Data: row}
}

// A row that leaves twice, or one equal to another without noise, makes no system.
func TestBorderedNotSPD(t *testing.T) {
	K := blas.NewGeneral(2, 2)
	K.Data[0], K.Data[3] = 1, 1
	dec, err := Decompose(t.Context(), linop.NewDense(K, blas.Active()), blas.Active())
	if err != nil {
		t.Fatal(err)
	}
	Y := blas.NewGeneral(2, 1)
	b := NewBordered(dec, Y, nil).Add(one(3, 0), one(1), one(0)) // K with eigenvalue −2
	sys := System{L: linop.ScaledIdentity(1, 1), Mu: 1e-3}
	if _, err := b.Solve(t.Context(), blas.NewGeneral(3, 1), sys, Y, Options{}); !errors.Is(err, ErrNotSPD) {
		t.Errorf("an indefinite matrix: %v", err)
	}
}
