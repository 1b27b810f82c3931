// Exact features of polynomial kernels: monomials.

package rff

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// maxMonomials bounds the exact features of a polynomial kernel of degree 2 and more.
const maxMonomials = 1 << 16

// ExactCount is the number of features of a kernel that has finitely many exact ones,
// and −1 for other kernels and for more than 2¹⁶.
func ExactCount(k *kernel.Kernel) int {
	q, _, offset, ok := k.Polynomial()
	if !ok {
		return -1
	}
	return monomialCount(k.Dim(), q, offset == 0)
}

// chooseExact describes the exact map of a kernel that has one.
func (m *Map) chooseExact(X blas.General) error {
	m.Method = Exact
	k := &m.Kernel
	q, _, offset, ok := k.Polynomial()
	if !ok {
		return fmt.Errorf("%w: %s has no exact finite features: write rff or nystrom before it, and a number of "+
			"features after it", ErrNoFeatures, k.Kind)
	}
	d := k.Dim()
	if m.D = monomialCount(d, q, offset == 0); m.D < 0 {
		return fmt.Errorf("%w: degree %d on %d columns has more than %d monomials; write nystrom before it",
			ErrNoFeatures, q, d, maxMonomials)
	}
	if !k.Center {
		return nil
	}
	return m.chooseMeans(X)
}

// chooseMeans sets the training means of a centred map.
func (m *Map) chooseMeans(X blas.General) error {
	if X.Rows == 0 {
		return fmt.Errorf("%w: centring needs the training data", ErrNoFeatures)
	}
	plain := &Map{Kernel: m.Kernel, Method: Exact, D: m.D}
	plain.Kernel.Center = false
	means := make([]float64, m.D)
	z := blas.NewGeneral(min(X.Rows, 4*blockRows), m.D)
	for lo := 0; lo < X.Rows; lo += z.Rows {
		rows := min(z.Rows, X.Rows-lo)
		part := blas.View(z, 0, 0, rows, m.D)
		if err := plain.Transform(part, blas.View(X, lo, 0, rows, X.Cols)); err != nil {
			return err
		}
		for i := range rows {
			blas.Axpy(1/float64(X.Rows), blas.Row(part, i), means)
		}
	}
	m.Means = means
	return nil
}

// monomialCount is the number of monomials of degree at most q, or exactly q, in d variables;
// −1 for more than maxMonomials of several variables.
func monomialCount(d, q int, homogeneous bool) int {
	if homogeneous {
		d--
	}
	count := 1.0
	for i := 1; i <= q; i++ {
		count = math.Round(count * float64(d+i) / float64(i))
		if i > 1 && count > maxMonomials {
			return -1
		}
	}
	return int(count)
}

// exact evaluates monomials; without any, those of a linear kernel, it copies the columns.
type exact struct {
	terms []monomial
	unit  bool
	means []float64
}

// monomial is a coefficient times the product of the listed variables, each as
// often as its power says.
type monomial struct {
	coef float64
	vars []int
}

func checkExact(m *Map) error {
	k := &m.Kernel
	q, _, offset, ok := k.Polynomial()
	switch {
	case !ok:
		return fmt.Errorf("%w: %s has no exact features", ErrNoFeatures, k.Kind)
	case m.D < 0 || m.D != monomialCount(k.Dim(), q, offset == 0):
		return fmt.Errorf("%w: %d exact features do not fit the kernel", ErrNoFeatures, m.D)
	case k.Center && len(m.Means) != m.D:
		return fmt.Errorf("%w: a centred map without its %d training means", ErrNoFeatures, m.D)
	}
	return nil
}

func newExact(m *Map) *exact {
	k := &m.Kernel
	q, gamma, offset, _ := k.Polynomial()
	e := &exact{unit: k.UnitDiagonal()}
	if q != 1 || gamma != 1 || offset != 0 {
		e.terms = monomials(k.Dim(), q, gamma, offset)
	}
	if k.Center {
		e.means = m.Means
	}
	return e
}

// monomials expands (γ·xᵀz + c)^q by the multinomial theorem: the monomial of
// exponents a, |a| = s, has coefficient √(q!/(Π a_f!·(q−s)!)·γ^s·c^{q−s}).
func monomials(d, q int, gamma, c float64) []monomial {
	var terms []monomial
	logFactorial := func(n int) float64 {
		v, _ := math.Lgamma(float64(n) + 1)
		return v
	}
	var visit func(first, degree int, vars []int)
	visit = func(first, degree int, vars []int) {
		if rest := q - degree; rest == 0 || c > 0 {
			log := logFactorial(q) - logFactorial(rest) + float64(degree)*math.Log(gamma)
			if rest > 0 {
				log += float64(rest) * math.Log(c)
			}
			for i, run := 0, 0; i < len(vars); i++ {
				if run++; i+1 == len(vars) || vars[i+1] != vars[i] {
					log -= logFactorial(run)
					run = 0
				}
			}
			terms = append(terms, monomial{math.Exp(log / 2), append([]int(nil), vars...)})
		}
		if degree == q {
			return
		}
		for f := first; f < d; f++ {
			visit(f, degree+1, append(vars, f))
		}
	}
	visit(0, 0, nil)
	return terms
}

func (e *exact) transform(dst, x blas.General) error {
	for i := range dst.Rows {
		row, in := blas.Row(dst, i), blas.Row(x, i)
		if e.terms == nil {
			copy(row, in)
		}
		for t, term := range e.terms {
			v := term.coef
			for _, f := range term.vars {
				v *= in[f]
			}
			row[t] = v
		}
		if norm := blas.Nrm2(row); e.unit && norm > 0 {
			blas.Scal(1/norm, row)
		}
		for j, mean := range e.means {
			row[j] -= mean
		}
	}
	return nil
}
