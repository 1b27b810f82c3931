package iokl

import (
	"context"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
)

// alive panics on a nil context, which nothing below looks for.
func alive(ctx context.Context) {
	if ctx == nil {
		panic("iokl: a nil context")
	}
}

// dims are those of m, 0×0 for nil and nil pointers.
func dims(m mat.Matrix) (r, c int) {
	if v := reflect.ValueOf(m); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return 0, 0
	}
	return m.Dims()
}

// raw is m as a row-major matrix, empty for nil; it may share m's memory.
func raw(m mat.Matrix) blas.General {
	r, c := dims(m)
	if r == 0 || c == 0 {
		return blas.General{}
	}
	return blas.Raw(m)
}

func raws(ms []mat.Matrix) []blas.General {
	list := make([]blas.General, len(ms))
	for j, m := range ms {
		list[j] = raw(m)
	}
	return list
}

// size is the number of samples of d.
func size(d learn.Data) int {
	l, _ := d.Size()
	return l
}
