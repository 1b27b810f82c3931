// Sums of kernel values that a certificate needs of kernels that are not stored.

package update

import (
	"context"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/sylvester"
)

// kernels is the sum of all kernels on the rows Z, of which no values are kept: what the certificate asks for.
type kernels struct {
	*kernel.Sum
	dict  kernel.Dictionary
	Z     blas.General
	be    blas.Backend
	eta   []float64
	total float64 // ⟨U, K_ηU⟩ of the U that Forms gets; 0 where it is not known
}

// newKernels is the sum of the kernels of m on the rows Z.
func newKernels(ctx context.Context, m *model.Model, Z blas.General, be blas.Backend) (*kernels, error) {
	s := &kernels{dict: m.Dictionary(), Z: Z, be: be}
	var err error
	s.Sum, err = s.dict.Sum(ctx, Z, kernel.GramOptions{Backend: be})
	return s, fault.From(err)
}

// totalled is a system that tells the kernels the total of its solution.
type totalled struct {
	*sylvester.Bordered
	sum *kernels
}

func (s totalled) Solve(
	ctx context.Context, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options,
) (sylvester.Result, error) {
	res, err := s.Bordered.Solve(ctx, C, sys, Y, opt)
	if err == nil {
		KCL := blas.Like(C)
		sys.L.MulRight(blas.Or(s.sum.be), KCL, res.KC)
		s.sum.total = blas.Inner(C, KCL)
	}
	return res, err
}

// SetWeights sets the weights that Forms counts by, too.
func (s *kernels) SetWeights(eta []float64) {
	s.eta = slices.Clone(eta)
	s.Sum.SetWeights(eta)
}

// Forms computes ⟨U, K_jV⟩ from the values on one side of the diagonal, where U is V. That of the kernel of most weight
// follows from the total, where it is most of that and so loses no digits.
func (s *kernels) Forms(dst []float64, U, V blas.General, idx []int) {
	if !(s.total > 0) || len(idx) != len(s.dict) {
		s.forms(dst, U, V, idx)
		return
	}
	heaviest := slices.Index(s.eta, slices.Max(s.eta))
	at := slices.Index(idx, heaviest)
	s.forms(dst[:at], U, V, idx[:at])
	s.forms(dst[at+1:], U, V, idx[at+1:])
	left := s.total
	for i, j := range idx {
		if i != at {
			left -= s.eta[j] * dst[i]
		}
	}
	if dst[at] = left / s.eta[heaviest]; !(left > s.total/2) {
		s.forms(dst[at:at+1], U, V, idx[at:at+1])
	}
}

// forms is Forms by the exact features of kernels that have few, and by the values of the others.
func (s *kernels) forms(dst []float64, U, V blas.General, idx []int) {
	var at, others []int
	for i, j := range idx {
		v, ok := s.factored(j, U, V)
		if dst[i] = v; !ok {
			at, others = append(at, i), append(others, j)
		}
	}
	values := make([]float64, len(others))
	s.Sum.Forms(values, U, V, others)
	for k, i := range at {
		dst[i] = values[k]
	}
}

// featureShare keeps features to an eighth of the memory of a Gram matrix, and their products to a quarter of the
// operations of one with values on one side of the diagonal.
const featureShare = 8

// factored is ⟨U, K_jV⟩ = ⟨FᵀU, FᵀV⟩ by the exact features F of a kernel that has few of them; otherwise not ok.
func (s *kernels) factored(j int, U, V blas.General) (form float64, ok bool) {
	D := rff.ExactCount(&s.dict[j])
	if D < 0 || featureShare*D > s.Z.Rows {
		return 0, false
	}
	F := blas.NewGeneral(s.Z.Rows, D)
	m, err := rff.New(context.Background(), s.dict[j], s.Z, 0, 0, s.be)
	must(err)
	must(m.Transform(F, s.Z))
	be := blas.Or(s.be)
	return blas.Inner(blas.Product(be, true, false, F, U), blas.Product(be, true, false, F, V)), true
}

// must panics with an error of inputs, which have been checked.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("update: inputs that were checked before: %v", err))
	}
}

// formed is kernels of which the sum K_η is kept at the weights that a model has, in any unit.
type formed struct {
	*linop.Gram
	all *kernels
	top float64 // the greatest of these weights
}

func (s *formed) Len() int                  { return s.all.Len() }
func (s *formed) Diag(dst []float64, j int) { s.all.Diag(dst, j) }

// SetWeights sets weights in the ratios of those of the model.
func (s *formed) SetWeights(eta []float64) {
	s.all.SetWeights(eta)
	s.Gram.SetWeights([]float64{slices.Max(eta) / s.top})
}

// Forms computes ⟨U, K_jV⟩ as [kernels.Forms] does, of a product with K_η.
func (s *formed) Forms(dst []float64, U, V blas.General, idx []int) {
	P := blas.Like(V)
	s.Apply(P, V)
	s.all.total = blas.Inner(U, P)
	s.all.Forms(dst, U, V, idx)
}
