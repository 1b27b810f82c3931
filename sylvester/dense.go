package sylvester

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// denseOf writes K as a dense matrix to dst, through its own Dense method or by
// multiplying the identity.
func denseOf(dst blas.General, K linop.Operator) {
	if d, ok := K.(linop.Denser); ok {
		d.Dense(dst)
		return
	}
	l := K.Dim()
	eye := blas.NewGeneral(l, l)
	for i := range l {
		eye.Data[i*l+i] = 1
	}
	K.Apply(dst, eye)
}
