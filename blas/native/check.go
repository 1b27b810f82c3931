package native

import gblas "gonum.org/v1/gonum/blas"

// The checks panic as gonum's BLAS does and in its words, on what a caller could have seen.

func checkTranspose(t gblas.Transpose) {
	if t != gblas.NoTrans && t != gblas.Trans && t != gblas.ConjTrans {
		panic("blas: illegal transpose")
	}
}

func checkUplo(ul gblas.Uplo) {
	if ul != gblas.Upper && ul != gblas.Lower {
		panic("blas: illegal triangle")
	}
}

// checkSided checks the m×n b and the triangle of a on one side of it, whose order it returns.
func checkSided(s gblas.Side, ul gblas.Uplo, m, n int, a []float64, lda int, b []float64, ldb int) (order int) {
	if s != gblas.Left && s != gblas.Right {
		panic("blas: illegal side")
	}
	checkUplo(ul)
	checkSizes(m, n)
	order = m
	if s == gblas.Right {
		order = n
	}
	checkStride("A", lda, order)
	checkStride("B", ldb, n)
	if m > 0 && n > 0 {
		checkLen("a", len(a), order, order, lda)
		checkLen("b", len(b), m, n, ldb)
	}
	return order
}

func checkDiag(d gblas.Diag) {
	if d != gblas.Unit && d != gblas.NonUnit {
		panic("blas: illegal diagonal")
	}
}

func checkSizes(sizes ...int) {
	for _, n := range sizes {
		if n < 0 {
			panic("blas: negative size")
		}
	}
}

// checkStride checks the stride of the matrix called name, of cols columns.
func checkStride(name string, ld, cols int) {
	if ld < max(1, cols) {
		panic("blas: bad leading dimension of " + name)
	}
}

// checkLen checks that a rows×cols matrix of stride ld fits in n elements.
func checkLen(name string, n, rows, cols, ld int) {
	if rows > 0 && cols > 0 && n < (rows-1)*ld+cols {
		panic("blas: insufficient length of " + name)
	}
}

// checkVector checks a vector of n elements inc apart in a slice of length have.
func checkVector(name string, have, n, inc int) {
	if inc == 0 {
		panic("blas: zero " + name + " index increment")
	}
	if inc < 0 {
		inc = -inc
	}
	if n > 0 && have < (n-1)*inc+1 {
		panic("blas: insufficient length of " + name)
	}
}
