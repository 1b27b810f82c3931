//go:build unix

package update_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// perRun runs f again and again and reports the processor time of a run, which others on the machine change little.
func perRun(b *testing.B, f func() error) {
	var u [2]syscall.Rusage
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u[0]))
	for b.Loop() {
		check(f())
	}
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u[1]))
	ns := u[1].Utime.Nano() - u[0].Utime.Nano() + u[1].Stime.Nano() - u[0].Stime.Nano()
	b.ReportMetric(float64(ns)/1e9/float64(b.N), "cpu-s/op")
}

// BenchmarkUpdate is updates of a model of 5000 rows, 10 inputs and 8 targets by 1 to 1000 rows, where it was prepared
// and where not, and beside them fits of these rows, at one λ and with λ chosen, and Prepare.
func BenchmarkUpdate(b *testing.B) {
	const l, many, d, n = 5000, 1000, 10, 8
	rng := rand.New(rand.NewPCG(13, 0))
	X, Y := mat.NewDense(l+many, d, nil), mat.NewDense(l+many, n, nil)
	for i := range l + many {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for j := range n {
			Y.Set(i, j, math.Sin(x[j])+0.5*x[j+1]*x[j+2]+0.3*x[0]+0.3*rng.NormFloat64())
		}
	}
	X0, Y0 := rowsOf(X, upTo(0, l)), rowsOf(Y, upTo(0, l))
	opt := iokl.Options{Kernels: []string{"gaussian:all", "linear:all"}, Lambda: 1e-4}
	must := func(m *iokl.Model, err error) *iokl.Model {
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	plain := sync.OnceValue(func() *iokl.Model { return must(iokl.Fit(b.Context(), X0, Y0, opt)) })
	prepared := sync.OnceValue(func() *iokl.Model {
		m := must(plain().Forget(b.Context(), nil, iokl.UpdateOptions{}))
		return must(m, m.Prepare(b.Context()))
	})
	for _, lambda := range []float64{0, opt.Lambda} {
		b.Run(fmt.Sprintf("fit/lambda=%g", lambda), func(b *testing.B) {
			opt := opt
			opt.Lambda = lambda
			perRun(b, func() error {
				_, err := iokl.Fit(b.Context(), X0, Y0, opt)
				return err
			})
		})
	}
	b.Run("prepare", func(b *testing.B) { perRun(b, func() error { return prepared().Prepare(b.Context()) }) })
	for _, rows := range []int{1, 10, 100, many} {
		X, Y := rowsOf(X, upTo(l, l+rows)), rowsOf(Y, upTo(l, l+rows))
		for name, model := range map[string]func() *iokl.Model{"plain": plain, "prepared": prepared} {
			b.Run(fmt.Sprintf("rows=%d/%s", rows, name), func(b *testing.B) {
				m := model()
				perRun(b, func() error {
					_, err := m.Update(b.Context(), X, Y, iokl.UpdateOptions{})
					return err
				})
			})
		}
	}
}
