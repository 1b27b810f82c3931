package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/blas/native"
)

// call is a routine with valid arguments, for matrices of order 40 or 40×36.
type call struct {
	name string
	args []any
}

// calls lists every routine that LAPACK computes itself, at least once.
func calls() []call {
	const m, n = 40, 36
	rng := rand.New(rand.NewPCG(9, 9))
	floats := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	definite := func() []float64 {
		a := floats(m*m + 3)
		for i := range m {
			a[i*m+i] = 4 * m
		}
		return a
	}
	ints := make([]int, m)
	pivots := make([]int, n)
	for i := range pivots {
		pivots[i] = i
	}
	work := func(n int) (work []float64, lwork int) { return floats(n), n }
	w, lw := work(300)
	var out []call
	add := func(name string, args ...any) { out = append(out, call{name, args}) }
	for _, ul := range []gblas.Uplo{gblas.Lower, gblas.Upper} {
		add("Dpotrf", ul, m, definite(), m)
		add("Dpotri", ul, m, definite(), m)
		add("Dpocon", ul, m, definite(), m, 7.0, w, ints)
		add("Dtrtri", ul, gblas.NonUnit, m, definite(), m)
		add("Dtrtri", ul, gblas.Unit, m, definite(), m)
		add("Dtrcon", lapack.MaxColumnSum, ul, gblas.NonUnit, m, definite(), m, w, ints)
		for _, job := range []lapack.EVJob{lapack.EVCompute, lapack.EVNone} {
			add("Dsyev", job, ul, m, definite(), m, floats(m), w, lw)
		}
	}
	add("Dgetrf", m, n, floats(m*n), n, pivots)
	add("Dgetrf", n, m, floats(m*n), m, pivots)
	add("Dgetri", n, definite(), m, pivots, w, lw)
	add("Dgecon", lapack.MaxRowSum, m, definite(), m, 7.0, w, ints)
	add("Dgecon", lapack.MaxColumnSum, m, definite(), m, 7.0, w, ints)
	add("Dgeqrf", m, n, floats(m*n), n, floats(n), w, lw)
	add("Dorgqr", m, n, n, floats(m*n), n, make([]float64, n), w, lw)
	ww, lww := work(4500)
	for _, t := range []gblas.Transpose{gblas.NoTrans, gblas.Trans} {
		add("Dormqr", gblas.Left, t, m, 5, n, floats(m*n), n, make([]float64, n), floats(m*5), 5, ww, lww)
		add("Dormqr", gblas.Right, t, 5, m, n, floats(m*n), n, make([]float64, n), floats(m*5), m, ww, lww)
	}
	for _, job := range []lapack.SVDJob{lapack.SVDAll, lapack.SVDStore, lapack.SVDNone} {
		add("Dgesvd", job, lapack.SVDNone, m, n, floats(m*n), n, floats(n), floats(m*m), m, floats(n*n), n, ww, lww)
		add("Dgesvd", lapack.SVDNone, job, m, n, floats(m*n), n, floats(n), floats(m*m), m, floats(n*n), n, ww, lww)
	}
	return out
}

// do calls the method on a copy of the arguments, and returns the copy, the
// results and what it panicked with.
func do(impl any, name string, args []any) (used []any, results string, panicked any) {
	defer func() { panicked = recover() }()
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		switch s := arg.(type) {
		case []float64:
			arg = slices.Clone(s)
		case []int:
			arg = slices.Clone(s)
		}
		used = append(used, arg)
		in[i] = reflect.ValueOf(arg)
	}
	for _, v := range reflect.ValueOf(impl).MethodByName(name).Call(in) {
		if v.Kind() == reflect.Bool {
			results += fmt.Sprint(v)
		} else {
			results += fmt.Sprintf("%.10g", v.Float())
		}
	}
	return used, results, nil
}

// spoiled lists what may be wrong with an argument.
func spoiled(arg any) []any {
	switch v := arg.(type) {
	case int:
		return []any{-1, -2, 0, 1, v - 1, v + 1, v + 100}
	case float64:
		return []any{0.0, -1.0, math.NaN(), math.Inf(1)}
	case []float64:
		return []any{[]float64{}, []float64{1}, v[:len(v)/2], v[:len(v)-1], append(slices.Clone(v), 0)}
	case []int:
		return []any{[]int{}, v[:1], v[:len(v)-1], append(slices.Clone(v), 0)}
	case gblas.Transpose:
		return []any{gblas.ConjTrans, gblas.Transpose('x')}
	case gblas.Uplo:
		return []any{gblas.All, gblas.Uplo('x')}
	case gblas.Side:
		return []any{gblas.Side('x')}
	case gblas.Diag:
		return []any{gblas.Diag('x')}
	case lapack.MatrixNorm:
		return []any{lapack.MaxAbs, lapack.Frobenius, lapack.MatrixNorm('x')}
	case lapack.EVJob:
		return []any{lapack.EVJob('x')}
	case lapack.SVDJob:
		return []any{lapack.SVDOverwrite, lapack.SVDJob('x')}
	}
	panic(fmt.Sprintf("an argument of type %T", arg))
}

// TestArguments spoils one argument after the other: panics, results that are
// numbers or flags, and the answers to workspace queries are gonum's.
func TestArguments(t *testing.T) {
	tried, refused := 0, 0
	for _, c := range calls() {
		if _, _, panicked := do(fromOne, c.name, c.args); panicked != nil {
			t.Fatalf("%s panicked with valid arguments: %v", c.name, panicked)
		}
		for i := range c.args {
			for _, bad := range append(spoiled(c.args[i]), c.args[i]) {
				args := slices.Clone(c.args)
				args[i] = bad
				wantArgs, want, wantPanic := do(gonum.Implementation{}, c.name, args)
				gotArgs, got, gotPanic := do(fromOne, c.name, args)
				what := fmt.Sprintf("%s, argument %d of type %T spoiled", c.name, i, bad)
				tried++
				if wantPanic != nil {
					refused++
				}
				if fmt.Sprint(gotPanic) != fmt.Sprint(wantPanic) {
					t.Errorf("%s: panicked with %v, want %v", what, gotPanic, wantPanic)
				} else if wantPanic == nil && got != want {
					t.Errorf("%s: returned %s, want %s", what, got, want)
				}
				if lwork, ok := bad.(int); ok && lwork == -1 && i == len(args)-1 && wantPanic == nil {
					if w := len(args) - 2; gotArgs[w].([]float64)[0] != wantArgs[w].([]float64)[0] {
						t.Errorf("%s: asks for %g floats of workspace, want %g", what, gotArgs[w].([]float64)[0],
							wantArgs[w].([]float64)[0])
					}
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("gonum refused %d of %d calls", refused, tried)
	}
}

// TestOtherTriangle fills the triangle that a routine must leave alone with NaN.
func TestOtherTriangle(t *testing.T) {
	for _, c := range calls() {
		at := slices.IndexFunc(c.args, func(v any) bool { _, ok := v.(gblas.Uplo); return ok })
		if at < 0 || c.name == "Dsyev" && c.args[0] == lapack.EVCompute {
			continue
		}
		a := slices.IndexFunc(c.args, func(v any) bool { _, ok := v.([]float64); return ok })
		lda := c.args[a+1].(int)
		matrix := c.args[a].([]float64)
		other := func(k int) bool {
			return k/lda != k%lda && (k/lda < k%lda) == (c.args[at] == gblas.Lower) && k < lda*lda
		}
		for k := range matrix {
			if other(k) {
				matrix[k] = math.NaN()
			}
		}
		used, results, panicked := do(fromOne, c.name, c.args)
		if panicked != nil || results == "false" || results == "NaN" {
			t.Errorf("%s: returned %s, panicked with %v", c.name, results, panicked)
		}
		for k, v := range used[a].([]float64) {
			if math.IsNaN(v) != other(k) {
				t.Fatalf("%s %c: element (%d,%d) is %g", c.name, c.args[at], k/lda, k%lda, v)
			}
		}
	}
}

// TestNaN puts NaN and infinity into matrices: iterations give up.
func TestNaN(t *testing.T) {
	const n = 70
	work := make([]float64, 6000)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		poisoned := func() []float64 {
			a := make([]float64, n*n)
			for i := range n {
				a[i*n+i] = 1
			}
			a[n+1] = bad
			return a
		}
		for _, job := range []lapack.EVJob{lapack.EVCompute, lapack.EVNone} {
			if fromOne.Dsyev(job, gblas.Upper, n, poisoned(), n, make([]float64, n), work, len(work)) {
				t.Errorf("Dsyev(%c) accepted %v", job, bad)
			}
		}
		for _, job := range []lapack.SVDJob{lapack.SVDStore, lapack.SVDNone} {
			if fromOne.Dgesvd(job, job, n, n, poisoned(), n, make([]float64, n), make([]float64, n*n), n,
				make([]float64, n*n), n, work, len(work)) {
				t.Errorf("Dgesvd(%c) accepted %v", job, bad)
			}
		}
		if fromOne.Dpotrf(gblas.Upper, n, poisoned(), n) || fromOne.Dpotrf(gblas.Lower, n, poisoned(), n) {
			t.Errorf("Dpotrf accepted %v", bad)
		}
	}
}

// TestSingular has every factorization and inverse meet a zero, or a minor that is not positive.
func TestSingular(t *testing.T) {
	const n = 50
	work, pivots := make([]float64, n), make([]int, n)
	for name, routine := range map[string]func(l lapack.Float64, a []float64) bool{
		"Dpotrf L": func(l lapack.Float64, a []float64) bool { return l.Dpotrf(gblas.Lower, n, a, n) },
		"Dpotrf U": func(l lapack.Float64, a []float64) bool { return l.Dpotrf(gblas.Upper, n, a, n) },
		"Dpotri":   func(l lapack.Float64, a []float64) bool { return l.Dpotri(gblas.Upper, n, a, n) },
		"Dtrtri":   func(l lapack.Float64, a []float64) bool { return l.Dtrtri(gblas.Lower, gblas.NonUnit, n, a, n) },
		"Dtrtri unit": func(l lapack.Float64, a []float64) bool {
			return !l.Dtrtri(gblas.Lower, gblas.Unit, n, a, n)
		},
		"Dgetrf": func(l lapack.Float64, a []float64) bool { return l.Dgetrf(n, n, a, n, pivots) },
		"Dgetri": func(l lapack.Float64, a []float64) bool { return l.Dgetri(n, a, n, pivots, work, n) },
	} {
		for _, zero := range []int{0, 20, n - 1} {
			a := make([]float64, n*n)
			for i := range n {
				a[i*n+i], pivots[i] = 1, i
			}
			a[zero*n+zero] = 0
			if want := routine(gonum.Implementation{}, slices.Clone(a)); want || routine(fromOne, a) != want {
				t.Errorf("%s took element %d, which is zero", name, zero)
			}
		}
	}
}

// TestExtremeCondition has solves overflow: the estimates are gonum's.
func TestExtremeCondition(t *testing.T) {
	const n = 40
	work, iwork := make([]float64, 4*n), make([]int, n)
	for name, d := range map[string]float64{"singular": 0, "tiny": 1e-300, "subnormal": 1e-310, "moderate": 1e-3} {
		a := make([]float64, n*n)
		for i := range n {
			for j := range n {
				a[i*n+j] = 1 / float64(i+j+1)
			}
			a[i*n+i] = 1
		}
		a[n*n/2+n/2], a[n*n-1] = d, d
		for routine, estimate := range map[string]func(l lapack.Float64) float64{
			"Dgecon": func(l lapack.Float64) float64 { return l.Dgecon(lapack.MaxRowSum, n, a, n, 3, work, iwork) },
			"Dpocon": func(l lapack.Float64) float64 { return l.Dpocon(gblas.Upper, n, a, n, 3, work, iwork) },
			"Dtrcon": func(l lapack.Float64) float64 {
				return l.Dtrcon(lapack.MaxColumnSum, gblas.Lower, gblas.NonUnit, n, a, n, work, iwork)
			},
		} {
			got, want := estimate(fromOne), estimate(gonum.Implementation{})
			if !(math.Abs(got-want) <= 1e-10*want) {
				t.Errorf("%s, %s: %g, want %g", routine, name, got, want)
			}
		}
	}
}

// TestThreads has every routine give the same bits on one, two and five processors.
func TestThreads(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(4, 4))
	a, s := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = rng.NormFloat64()
			s[i*n+j] = 1 / (1 + math.Abs(float64(i-j)))
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want [][]float64
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		got := everything(n, a, s)
		if want == nil {
			want = got
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("result %d depends on the number of threads: %d", i, procs)
			}
		}
	}
}

// everything is all that the routines make of a and the positive definite s.
func everything(n int, a, s []float64) (results [][]float64) {
	work, pivots, tau := make([]float64, 100*n), make([]int, n), make([]float64, n)
	keep := func(x []float64) []float64 {
		results = append(results, slices.Clone(x))
		return x
	}
	matrix := func(from []float64) []float64 { return slices.Clone(from) }
	l := fromOne
	for _, ul := range []gblas.Uplo{gblas.Lower, gblas.Upper} {
		c := matrix(s)
		l.Dpotrf(ul, n, c, n)
		l.Dpotri(ul, n, keep(c), n)
		keep(c)
		w := make([]float64, n)
		l.Dsyev(lapack.EVCompute, ul, n, keep(matrix(s)), n, w, work, len(work))
		keep(w)
	}
	lu := matrix(a)
	l.Dgetrf(n, n, lu, n, pivots)
	keep([]float64{l.Dgecon(lapack.MaxRowSum, n, keep(lu), n, 1, work, pivots)})
	l.Dgetrf(n, n, lu, n, pivots)
	l.Dgetri(n, lu, n, pivots, work, len(work))
	keep(lu)
	q, c := matrix(a), matrix(s)
	l.Dgeqrf(n, n, q, n, tau, work, len(work))
	l.Dormqr(gblas.Right, gblas.Trans, n, n, n, q, n, tau, c, n, work, len(work))
	l.Dorgqr(n, n, n, keep(q), n, tau, work, len(work))
	keep(q)
	keep(c)
	w := make([]float64, n)
	l.Dsyev(lapack.EVNone, gblas.Upper, n, matrix(s), n, w, work, len(work))
	keep(w)
	u, vt, sv := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
	l.Dgesvd(lapack.SVDAll, lapack.SVDAll, n, n, matrix(a), n, sv, u, n, vt, n, work, len(work))
	keep(u)
	keep(vt)
	keep(sv)
	l.Dgesvd(lapack.SVDNone, lapack.SVDNone, n, n, matrix(a), n, sv, u, n, vt, n, work, len(work))
	keep(sv)
	return results
}

// TestUse looks at what gonum holds before, meanwhile and after.
func TestUse(t *testing.T) {
	double, single := blas64.Implementation(), blas32.Implementation()
	restore := Use()
	assembly := NewBLAS().Level() != native.Generic
	if (blas64.Implementation() != double) != assembly || (blas32.Implementation() != single) != assembly {
		t.Error("gonum has its BLAS though there is assembly, or lost it though there is none")
	}
	restore()
	if blas64.Implementation() != double || blas32.Implementation() != single {
		t.Error("gonum did not get its BLAS back")
	}
}
