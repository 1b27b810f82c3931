package lanczos_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

func Example() {
	// The second difference on a path of 100 nodes: its largest eigenvalue is 2 + 2cos(π/101).
	path := linop.Func{N: 100, F: func(dst, x blas.General) {
		for j := range x.Cols {
			for i := range x.Rows {
				v := 2 * x.Data[i*x.Stride+j]
				if i > 0 {
					v -= x.Data[(i-1)*x.Stride+j]
				}
				if i+1 < x.Rows {
					v -= x.Data[(i+1)*x.Stride+j]
				}
				dst.Data[i*dst.Stride+j] = v
			}
		}
	}}
	res, err := lanczos.Eigs(context.Background(), path, lanczos.Options{Tol: 1e-10})
	fmt.Printf("%.6f %v\n", res.Values[0], err)
	// Output: 3.999033 <nil>
}
