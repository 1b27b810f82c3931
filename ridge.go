package iokl

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// ridge is one split of the samples as it is for models of which neither the
// weights nor L are learned: the solution for a value of λ is then one Cholesky
// factorisation away.
type ridge struct {
	opt    *Options
	inputs blas.General // scaled: the rows to train on, then those to test on
	Y      blas.General // targets to learn, scaled
	test   blas.General // targets of the rows to test on, as they are
	out    *outputs
	sums   map[string]blas.General // what has been computed, by SPEC; nil: nothing is kept
}

func (s *study) ridge(split Split, opt *Options) (*ridge, error) {
	with := *opt
	r := &ridge{opt: &with, test: rows(s.Y, split.Test)}
	X := rows(s.X, split.Train)
	in, _, err := newInputs(X, opt)
	if err != nil {
		return nil, err
	}
	if r.out, r.Y, _, err = newOutputs(rows(s.Y, split.Train), opt); err != nil {
		return nil, err
	}
	both := append(append([]int(nil), split.Train...), split.Test...)
	r.inputs, _, err = in.apply(rows(s.X, both), 0)
	return r, err
}

// train are the rows to train on.
func (r *ridge) train() blas.General {
	return blas.View(r.inputs, 0, 0, r.Y.Rows, r.inputs.Cols)
}

// cross is K between all samples of the split and those to train on, at the
// weights that fixed weights have.
func (r *ridge) cross(specs []string) (blas.General, error) {
	if r.sums == nil || len(specs) == 1 {
		return r.sum(specs)
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	for _, spec := range specs {
		k, err := r.sum([]string{spec})
		if err != nil {
			return K, err
		}
		blas.AddScaled(K, 1/float64(len(specs)), k)
	}
	return K, nil
}

// sum is cross without keeping the parts.
func (r *ridge) sum(specs []string) (blas.General, error) {
	if K, ok := r.sums[specs[0]]; ok && len(specs) == 1 {
		return K, nil
	}
	with := *r.opt
	with.Kernels = specs
	groups, err := withRelevance(specs, r.train(), r.Y, &with)
	if err != nil {
		return blas.General{}, err
	}
	r.opt.Groups = groups // for the SPECs to come
	with.Groups = groups
	d, weights, err := dictionary(r.train(), r.Y, &with)
	if err != nil {
		return blas.General{}, err
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	if err := d.CrossSum(K, weights, r.inputs, r.train()); err != nil {
		return K, asInput(err)
	}
	if r.sums != nil && len(specs) == 1 {
		r.sums[specs[0]] = K
	}
	return K, nil
}

// size is the mean of the diagonal of K_η.
func (r *ridge) size(K blas.General) float64 {
	var s float64
	for i := range K.Cols {
		s += K.Data[i*K.Stride+i]
	}
	return s / float64(K.Cols)
}

// errors writes the error on the rows to test on for each λ, NaN where the
// system is singular to working accuracy: with L = ρI the coefficients are
// C = (ρK + μI)⁻¹Y, and the prediction is ρ·K*·C.
func (r *ridge) errors(e []float64, K blas.General, lambdas []float64, metricName string) {
	l, n := r.Y.Rows, r.Y.Cols
	be := blas.Or(r.opt.Backend)
	rho := 1.0
	if r.opt.Tau > 0 {
		rho = r.opt.Tau / float64(n)
	}
	A, C := blas.NewGeneral(l, l), blas.NewGeneral(l, n)
	F := blas.NewGeneral(r.test.Rows, n)
	P := blas.NewGeneral(r.test.Rows, r.test.Cols)
	for i, lambda := range lambdas {
		e[i] = math.NaN()
		mu := lambda * float64(l) / rho
		for k := range l {
			copy(blas.Row(A, k)[:k+1], blas.Row(K, k)[:k+1])
			A.Data[k*A.Stride+k] += mu
		}
		if !be.Potrf(A) {
			continue
		}
		blas.Copy(C, r.Y)
		be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, l, n, 1, A.Data, A.Stride, C.Data, C.Stride)
		be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, l, n, 1, A.Data, A.Stride, C.Data, C.Stride)
		blas.Mul(be, F, false, false, blas.View(K, l, 0, r.test.Rows, l), C)
		r.out.restore(P, F)
		e[i] = metric(metricName, relativeMSE(P, r.test, r.Y, r.out), P, r.test)
	}
}

// exact reports whether the SPECs make Gram matrices, and no explicit features.
func exact(specs []string) bool {
	for _, text := range specs {
		if s, err := kernel.Parse(text); err != nil || s.Approx != nil {
			return false
		}
	}
	return true
}
