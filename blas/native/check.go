package native

import gblas "gonum.org/v1/gonum/blas"

// The checks panic as gonum's BLAS does, on what a caller could have seen.

func checkTranspose(t gblas.Transpose) {
	if t != gblas.NoTrans && t != gblas.Trans && t != gblas.ConjTrans {
		panic("native: illegal transpose")
	}
}

func checkUplo(ul gblas.Uplo) {
	if ul != gblas.Upper && ul != gblas.Lower {
		panic("native: illegal triangle")
	}
}

func checkSide(s gblas.Side) {
	if s != gblas.Left && s != gblas.Right {
		panic("native: illegal side")
	}
}

func checkDiag(d gblas.Diag) {
	if d != gblas.Unit && d != gblas.NonUnit {
		panic("native: illegal diagonal")
	}
}

func checkSizes(sizes ...int) {
	for _, n := range sizes {
		if n < 0 {
			panic("native: negative size")
		}
	}
}

// checkStride checks the stride of a matrix of cols columns.
func checkStride(ld, cols int) {
	if ld < max(1, cols) {
		panic("native: bad leading dimension")
	}
}

// checkLen checks that a rows×cols matrix of stride ld fits in n elements.
func checkLen(n, rows, cols, ld int) {
	if rows > 0 && cols > 0 && n < (rows-1)*ld+cols {
		panic("native: matrix does not fit its slice")
	}
}

// checkVector checks a vector of n elements inc apart in a slice of length have.
func checkVector(have, n, inc int) {
	if inc == 0 {
		panic("native: zero increment")
	}
	if inc < 0 {
		inc = -inc
	}
	if n > 0 && have < (n-1)*inc+1 {
		panic("native: vector does not fit its slice")
	}
}
