//go:build cgo

package main

/*
#define IOKL_TYPES_ONLY
#include "iokl.h"

static inline int iokl_call(iokl_apply apply, void *context, int64_t n, int64_t k, double *x, int64_t xs, double *y,
	int64_t ys) {
	const iokl_matrix X = {x, n, k, xs, 1}, Y = {y, n, k, ys, 1};
	return apply(context, &X, &Y);
}
*/
import "C"

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/internal/files/build"
	"github.com/iokl/iokl/internal/host"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

//export iokl_abi_version
func iokl_abi_version() C.uint32_t { return C.IOKL_ABI_VERSION }

//export iokl_library
func iokl_library(buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.iokl_error) C.iokl_status {
	return call(e, func() error {
		var b bytes.Buffer
		if err := build.Write(&b, "iokl", true); err != nil {
			return err
		}
		return copyOut(unsafe.Pointer(buffer), capacity, needed, b.Bytes(), true)
	})
}

//export iokl_set_threads
func iokl_set_threads(threads C.int32_t, e *C.iokl_error) C.iokl_status {
	return call(e, func() error {
		if threads < 0 {
			return host.Input("%d threads", threads)
		}
		blas.SetThreads(int(threads))
		return nil
	})
}

// equation reads A (l×l), B (n×n) and Q (l×n).
func equation(A, B, Q *C.iokl_matrix, names [3]string) (list [3]blas.General, err error) {
	var dims [3][2]int
	for i, m := range []*C.iokl_matrix{A, B, Q} {
		from, err := matrix(m, names[i])
		if err != nil {
			return list, err
		}
		if dims[i][0], dims[i][1] = from.Dims(); dims[i][0] == 0 || dims[i][1] == 0 || i < 2 &&
			dims[i][0] != dims[i][1] {
			return list, host.Input("%s is %d×%d", names[i], dims[i][0], dims[i][1])
		}
		list[i] = blas.Raw(from)
	}
	if dims[2] != [2]int{dims[0][0], dims[1][0]} {
		return list, host.Input("%s is %d×%d, not %d×%d", names[2], dims[2][0], dims[2][1], dims[0][0], dims[1][0])
	}
	return list, nil
}

// solve runs f as call does. f reports its residual and iterations by tell, which stores them at at unless that is
// NULL.
func solve(
	at *C.iokl_solved, e *C.iokl_error, f func(tell func(residual float64, iterations int)) error,
) C.iokl_status {
	return call(e, func() error {
		if at == nil {
			return f(func(float64, int) {})
		}
		if err := sized(unsafe.Pointer(at), C.sizeof_iokl_solved, "result"); err != nil {
			return err
		}
		return f(func(residual float64, iterations int) {
			at.residual, at.iterations = C.double(residual), C.int64_t(iterations)
		})
	})
}

//export iokl_solve_sylvester
func iokl_solve_sylvester(
	K, L *C.iokl_matrix, mu C.double, Y, X *C.iokl_matrix, method *C.char, tol C.double, at *C.iokl_solved,
	e *C.iokl_error,
) C.iokl_status {
	return solve(at, e, func(tell func(float64, int)) error {
		m, err := equation(K, L, Y, [3]string{"K", "L", "Y"})
		if err != nil {
			return err
		}
		if !(mu > 0) || math.IsInf(float64(mu), 0) {
			return host.Input("mu is %g: it must be positive", float64(mu))
		}
		if err := symmetric(m[0], "K"); err != nil {
			return err
		}
		if err := symmetric(m[1], "L"); err != nil {
			return err
		}
		S, err := linop.NewSpectral(blas.Active(), m[1], 0)
		if err != nil {
			return err
		}
		name := cmp.Or(text(method), "auto")
		return fill(X, "C", m[2].Rows, m[2].Cols, func(dst *mat.Dense) error {
			dst.Zero()
			s, err := sylvester.New(name, sylvester.Config{})
			if err != nil {
				return host.Input("%v", err)
			}
			sys := sylvester.System{
				K: linop.NewDense(m[0], nil), L: S, Mu: float64(mu), Cells: linop.ObservedCells(m[2]),
			}
			r, err := s.Solve(context.Background(), dst.RawMatrix(), sys, m[2], sylvester.Options{Tol: float64(tol)})
			tell(r.Residual, r.Iter)
			return err
		})
	})
}

// symmetric refuses a matrix whose triangles differ beyond rounding, or that is not finite.
func symmetric(a blas.General, name string) error {
	var largest, worst float64
	at := [2]int{}
	for i := range a.Rows {
		for j := range i + 1 {
			v, w := a.Data[i*a.Stride+j], a.Data[j*a.Stride+i]
			if math.IsNaN(v+w) || math.IsInf(v+w, 0) {
				return host.Input("%s is %g and %g at (%d, %d)", name, v, w, i, j)
			}
			largest = max(largest, math.Abs(v), math.Abs(w))
			if d := math.Abs(v - w); d > worst {
				worst, at = d, [2]int{i, j}
			}
		}
	}
	if worst > 1e-8*largest {
		return host.Input("%s is not symmetric at (%d, %d)", name, at[0], at[1])
	}
	return nil
}

//export iokl_solve_general
func iokl_solve_general(
	A, B *C.iokl_matrix, mu C.double, Q, X *C.iokl_matrix, at *C.iokl_solved, e *C.iokl_error,
) C.iokl_status {
	return solve(at, e, func(tell func(float64, int)) error {
		m, err := equation(A, B, Q, [3]string{"A", "B", "Q"})
		if err != nil {
			return err
		}
		return fill(X, "X", m[2].Rows, m[2].Cols, func(dst *mat.Dense) error {
			var s sylvester.BartelsStewart
			if err := s.Factor(m[0], m[1]); err != nil {
				return err
			}
			r, err := s.Solve(dst.RawMatrix(), float64(mu), m[2])
			tell(r.Residual, 1)
			return err
		})
	})
}

// apply runs solve with the caller's operator, and returns the reason with which that has ended it.
func apply(
	f C.iokl_apply, arg unsafe.Pointer, n C.int64_t, solve func(ctx context.Context, A linop.Operator) error,
) error {
	if f == nil || n < 1 || n > math.MaxInt32 {
		return host.Input("an operator of order %d, or NULL", n)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	err := solve(ctx, linop.Func{N: int(n), F: func(dst, x blas.General) {
		if code := C.iokl_call(f, arg, n, C.int64_t(x.Cols), (*C.double)(&x.Data[0]), C.int64_t(x.Stride),
			(*C.double)(&dst.Data[0]), C.int64_t(dst.Stride)); code != 0 {
			stop(fmt.Errorf("%w: the operator returned %d", context.Canceled, int(code)))
		}
	}})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

//export iokl_solve_operator
func iokl_solve_operator(
	f C.iokl_apply, arg unsafe.Pointer, n C.int64_t, x, b *C.double, tol C.double, maxIter C.int64_t, at *C.iokl_solved,
	e *C.iokl_error,
) C.iokl_status {
	return solve(at, e, func(tell func(float64, int)) error {
		if x == nil || b == nil || !(tol >= 0) || maxIter < 0 {
			return host.Input("x or b is NULL, or tol or max_iterations negative")
		}
		return apply(f, arg, n, func(ctx context.Context, A linop.Operator) error {
			r, err := cg.Solve(ctx, unsafe.Slice((*float64)(x), n), A, unsafe.Slice((*float64)(b), n),
				cg.Options{Tol: float64(tol), MaxIter: int(maxIter)})
			tell(r.Residual, r.Iter)
			return err
		})
	})
}

//export iokl_eigenpairs
func iokl_eigenpairs(
	f C.iokl_apply, arg unsafe.Pointer, n, k C.int64_t, smallest C.int32_t, tol C.double, values *C.double,
	vectors *C.iokl_matrix, at *C.iokl_solved, e *C.iokl_error,
) C.iokl_status {
	return solve(at, e, func(tell func(float64, int)) error {
		if values == nil || k < 1 || k > n || !(tol >= 0) {
			return host.Input("%d eigenvalues of %d to NULL or a tolerance of %g", k, n, float64(tol))
		}
		opt := lanczos.Options{K: int(k), Tol: float64(tol)}
		if smallest != 0 {
			opt.Which = lanczos.Smallest
		}
		return fill(vectors, "vectors", int(n), int(k), func(dst *mat.Dense) error {
			return apply(f, arg, n, func(ctx context.Context, A linop.Operator) error {
				r, err := lanczos.Eigs(ctx, A, opt)
				tell(slices.Max(append([]float64{0}, r.Residuals...)), r.Iter)
				if err == nil {
					copy(unsafe.Slice((*float64)(values), k), r.Values)
					blas.Copy(dst.RawMatrix(), r.Vectors)
				}
				return err
			})
		})
	})
}
