package rff

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// maxMonomials bounds the exact features of a polynomial kernel.
const maxMonomials = 1 << 16

// chooseExact describes the exact map of a linear, cosine or polynomial kernel.
func (m *Map) chooseExact(X blas.General) error {
	m.Method = Exact
	k := &m.Kernel
	d := k.Dim()
	switch k.Kind {
	case kernel.Linear, kernel.Cosine:
		m.D = d
	case kernel.Poly:
		count := monomialCount(d, k.Degree, k.Offset == 0)
		if count > maxMonomials {
			return fmt.Errorf("%w: degree %d on %d columns has more than %d monomials; write nystrom before it", ErrNoFeatures, k.Degree, d, maxMonomials)
		}
		m.D = count
	default:
		return fmt.Errorf("%w: %s has no exact finite features: write rff or nystrom before it, and a number of features after it", ErrNoFeatures, k.Kind)
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

// monomialCount is the number of monomials of degree at most q, or exactly q, in d variables,
// cut above maxMonomials.
func monomialCount(d, q int, homogeneous bool) int {
	if homogeneous {
		d--
	}
	count := 1.0
	for i := 1; i <= q; i++ {
		count = math.Round(count * float64(d+i) / float64(i))
		if count > maxMonomials {
			return maxMonomials + 1
		}
	}
	return int(count)
}

// exact evaluates monomials c·Π x_f^{a_f}; a linear kernel has none and copies its columns.
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

func newExact(m *Map) (transformer, error) {
	k := &m.Kernel
	e := &exact{unit: k.Unit || k.Kind == kernel.Cosine}
	if k.Center {
		if len(m.Means) != m.D {
			return nil, fmt.Errorf("%w: a centred map without its %d training means", ErrNoFeatures, m.D)
		}
		e.means = m.Means
	}
	d := k.Dim()
	switch {
	case k.Kind == kernel.Poly:
		e.terms = monomials(d, k)
	case k.Kind != kernel.Linear && k.Kind != kernel.Cosine:
		return nil, fmt.Errorf("%w: %s has no exact features", ErrNoFeatures, k.Kind)
	}
	if k.Kind != kernel.Poly && m.D != d || k.Kind == kernel.Poly && m.D != len(e.terms) {
		return nil, fmt.Errorf("%w: %d exact features do not fit the kernel", ErrNoFeatures, m.D)
	}
	return e, nil
}

// monomials expands (γ·xᵀz + c)^q by the multinomial theorem: the monomial of
// exponents a, |a| = s, has coefficient √(q!/(Π a_f!·(q−s)!)·γ^s·c^{q−s}).
func monomials(d int, k *kernel.Kernel) []monomial {
	var terms []monomial
	logFactorial := func(n int) float64 {
		v, _ := math.Lgamma(float64(n) + 1)
		return v
	}
	var visit func(first, degree int, vars []int)
	visit = func(first, degree int, vars []int) {
		if rest := k.Degree - degree; rest == 0 || k.Offset > 0 {
			log := logFactorial(k.Degree) - logFactorial(rest) + float64(degree)*math.Log(k.Gamma)
			if rest > 0 {
				log += float64(rest) * math.Log(k.Offset)
			}
			for i, run := 0, 0; i < len(vars); i++ {
				if run++; i+1 == len(vars) || vars[i+1] != vars[i] {
					log -= logFactorial(run)
					run = 0
				}
			}
			terms = append(terms, monomial{math.Exp(log / 2), append([]int(nil), vars...)})
		}
		if degree == k.Degree {
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
