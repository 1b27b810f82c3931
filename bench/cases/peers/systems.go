// This file solves systems with K⊗L + μI by other programs beside ours.

package peers

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

// besideSylvester solves K·C·L + λl·C = Y with an L that others can invert.
func besideSylvester(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	var results []bench.Result
	for _, size := range bench.Pick(env, [][2]int{{300, 20}}, [][2]int{{300, 20}, {1000, 50}, {3000, 100}}) {
		K, err := data.GaussianGram(ctx, env, size[0])
		if err != nil {
			return results, err
		}
		s := peerSystem{env: env, sys: sylvester.System{K: K, L: data.OutputKernel(env, size[1], "full")}}
		s.K, s.L = blas.NewGeneral(size[0], size[0]), blas.NewGeneral(size[1], size[1])
		K.Dense(s.K)
		s.sys.L.Dense(env.Backend, s.L)
		s.Y, s.C = data.Targets(env, K, size[1]), blas.NewGeneral(size[0], size[1])
		for _, lambda := range bench.Pick(env, []float64{1e-3}, []float64{1e-2, 1e-4}) {
			part, err := s.beside(ctx, lambda)
			if results = append(results, part...); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

// peerSystem is a system that ours and others solve.
type peerSystem struct {
	env        *bench.Env
	sys        sylvester.System
	K, L, Y, C blas.General // in dense form, the same for all
}

// beside solves the system at one λ by ours and by others.
func (s *peerSystem) beside(ctx context.Context, lambda float64) ([]bench.Result, error) {
	l, n := s.K.Rows, s.L.Rows
	s.sys.Mu = lambda * float64(l)
	params := map[string]any{"problem": "K·C·L + λl·C = Y", "l": l, "n": n, "lambda": lambda}
	var all []bench.Contender
	for _, name := range []string{"auto", "eigen", "tridiagonal"} {
		tol := 0.0
		if name == "auto" {
			tol = inexactTol
		}
		all = append(all, bench.Contender{Name: "iokl " + name, Run: func() error {
			blas.Zero(s.C)
			solver, err := sylvester.New(name, sylvester.Config{Backend: s.env.Backend, Seed: s.env.Seed})
			if err != nil {
				return err
			}
			_, err = solver.Solve(ctx, s.C, s.sys, s.Y, sylvester.Options{Tol: tol})
			return err
		}})
	}
	results, err := oursThen(ctx, s.env, params, all, func(r *bench.Result) error {
		r.Residual = bench.Num(trueResidual(s.env, s.K, s.L, s.C, s.Y, s.sys.Mu))
		return nil
	})
	mu := fmt.Sprint(s.sys.Mu)
	for _, job := range []peerJob{
		{script: "sylvester.py", args: []string{mu}},
		{script: "sylvester_torch.py", args: []string{mu, fmt.Sprint(inexactTol)}},
		{script: "sylvester.m", args: []string{mu, fmt.Sprint(l), fmt.Sprint(n)}},
	} {
		if err != nil {
			return results, err
		}
		if l > 1000 {
			job.count = 1 // each run takes seconds
		}
		job.data, job.params = map[string]blas.General{"K": s.K, "L": s.L, "Y": s.Y}, params
		var theirs []bench.Result
		theirs, err = otherPrograms(ctx, s.env, job)
		results = append(results, theirs...)
	}
	return results, err
}

// systemsTable has the seconds of each program for each system.
func systemsTable(group []bench.Result) *bench.Table {
	t := &bench.Table{
		Title:  "Seconds for one system:",
		Head:   []string{"l", "n", "λ"},
		Source: "Measured here on the same matrices, auto and CG to the same residual, the rest to rounding.",
	}
	var columns []bench.Column
	for _, name := range bench.Names(group) {
		if r := bench.Lookup(group, name); r.Params["lambda"] != nil && r.Params["n"] != nil {
			t.Head, columns = append(t.Head, name), append(columns, bench.Column{name, "seconds", "%.3g"})
		}
	}
	if columns == nil {
		return nil
	}
	t.Beside(group, []string{"l", "n", "lambda"}, columns)
	return t
}
