package sylvester

import (
	"context"
	"errors"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// ending is a diagonal operator that ends a context at a product.
type ending struct {
	n, at, applied, widest int
	cancel                 context.CancelFunc
}

func (e *ending) Dim() int { return e.n }

func (e *ending) Apply(dst, x blas.General) {
	e.applied++
	e.widest = max(e.widest, x.Cols)
	for i := range x.Rows {
		for j, v := range blas.Row(x, i) {
			dst.Data[i*dst.Stride+j] = v / float64(1+i)
		}
	}
	if e.applied == e.at {
		e.cancel()
	}
}

// TestSketchEnds ends a context while a large operator is sketched: no product follows, and none is of many columns.
func TestSketchEnds(t *testing.T) {
	const q = 3*productColumns + 5
	for _, at := range []int{1, 3, 5, 7} {
		ctx, cancel := context.WithCancel(t.Context())
		K := &ending{n: linop.KeepBoth + 1, at: at, cancel: cancel}
		k := sketch{be: blas.Active(), seed: 1}
		if _, err := k.grow(ctx, K, q); !errors.Is(err, context.Canceled) {
			t.Errorf("ended at product %d: error %v", at, err)
		}
		if K.applied != at || K.widest > productColumns {
			t.Errorf("ended at product %d: %d products, of up to %d columns", at, K.applied, K.widest)
		}
		cancel()
	}
	// What is multiplied in parts is what is multiplied at once.
	K := &ending{n: linop.KeepBoth + 1}
	k := sketch{be: blas.Active(), seed: 1}
	if ok, err := k.grow(t.Context(), K, q); !ok || err != nil || k.Q.Cols != q {
		t.Fatalf("%v, %v: %d columns", ok, err, k.Q.Cols)
	}
	for i := range k.Q.Rows {
		for j, v := range blas.Row(k.Q, i) {
			if want := v / float64(1+i); k.Z.Data[i*k.Z.Stride+j] != want {
				t.Fatalf("element (%d,%d) of the product is %g, want %g", i, j, k.Z.Data[i*k.Z.Stride+j], want)
			}
		}
	}
}
