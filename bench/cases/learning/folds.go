// This file measures the accuracy of classifiers on several views of samples, over splits into
// training and test samples.

package learning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// labelled is a data set of several views with a class for each sample.
type labelled struct {
	X      blas.General
	groups []kernel.Group // the columns of each view
	labels []string
	class  []int
}

// read reads the views and labels of the set.
func (s *viewSet) read(env *bench.Env) (*labelled, error) {
	t, err := data.Read(env, s.name, "labels.csv")
	if err != nil {
		return nil, err
	}
	d := new(labelled)
	for i := range t.Data.Rows {
		c := int(blas.Row(t.Data, i)[0])
		d.class = append(d.class, c-s.first)
		d.labels = append(d.labels, fmt.Sprint(c))
	}
	d.X, d.groups, err = s.join(env, len(d.class))
	return d, err
}

// learner is one way to learn on the views.
type learner struct {
	name   string
	learn  iokl.Learned
	lambda float64 // 0 until it is chosen
}

// learners are what the views are compared with: kernels that are added up, and
// all that can be learned.
func learners() []learner {
	return []learner{{name: "uniform kernels, L = I", learn: "none"}, {name: "IOKL", learn: "eta,l"}}
}

// viewLambdas are the values of λ that three folds of the training samples choose from.
var viewLambdas = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}

// accuracy learns on the rows in and is the share of the rows out whose class is
// found. Without a λ it chooses one on the training samples and leaves it in how.
func (d *labelled) accuracy(
	ctx context.Context, env *bench.Env, s *viewSet, how *learner, in, out []int,
) (float64, error) {
	opt := iokl.Options{
		Kernels: s.specs(), Groups: d.groups, Lambda: how.lambda, Norm: s.norm.String(), Learn: how.learn, Tol: 1e-3,
		Seed: env.Seed, Backend: env.Backend, CV: iokl.CVOptions{Lambdas: viewLambdas, Folds: 3, Metric: s.metric},
	}
	m, err := iokl.FitClasses(ctx, blas.Dense(blas.TakeRows(d.X, in)), data.Take(d.labels, in), opt)
	if err != nil && !(m != nil && errors.Is(err, bcd.ErrNotConverged)) {
		return 0, err
	}
	how.lambda = m.Certificate().Lambda
	found, err := m.Classify(blas.Dense(blas.TakeRows(d.X, out)))
	if err != nil {
		return 0, err
	}
	right := 0
	for k, i := range out {
		if found[k] == d.labels[i] {
			right++
		}
	}
	return float64(right) / float64(len(out)), nil
}

// compare measures the accuracy of every learner over splits into training and
// test samples. λ is chosen anew on each split.
func (s *viewSet) compare(
	ctx context.Context, env *bench.Env, d *labelled, title string, splits []iokl.Split,
) ([]bench.Result, error) {
	var results []bench.Result
	var first []float64 // accuracies of the first learner
	for _, how := range learners() {
		var acc, seconds []float64
		for k, split := range splits {
			how.lambda = 0
			start := time.Now()
			a, err := d.accuracy(ctx, env, s, &how, split.Train, split.Test)
			if err != nil {
				return results, fmt.Errorf("%s, split %d: %w", how.name, k+1, err)
			}
			acc, seconds = append(acc, a), append(seconds, time.Since(start).Seconds())
		}
		r := bench.Result{Name: title + ": " + how.name, Params: map[string]any{
			"splits": len(splits), "train": len(splits[0].Train), "test": len(splits[0].Test),
			"specs": len(s.views) * len(s.kernels), "lambda": how.lambda,
		}}
		r.Time(seconds)
		r.Accuracy = bench.Num(stat.Mean(acc, nil))
		r.Metric("accuracy ±", stat.StdErr(stat.StdDev(acc, nil), float64(len(acc))))
		if first == nil {
			first = acc
		} else {
			gain := slices.Clone(acc) // split by split
			blas.Axpy(-1, first, gain)
			r.Metric("gain", stat.Mean(gain, nil))
			r.Metric("gain ±", stat.StdErr(stat.StdDev(gain, nil), float64(len(gain))))
		}
		results = append(results, r)
		env.Log("  %s %.4f", r.Name, stat.Mean(acc, nil))
	}
	return results, nil
}

// fewEach draws count training samples of each class, repeats times.
func fewEach(env *bench.Env, class []int, count, repeats int) []iokl.Split {
	splits := make([]iokl.Split, repeats)
	rng := env.Rand(12)
	for f := range splits {
		s, seen := &splits[f], map[int]int{}
		for _, i := range rng.Perm(len(class)) {
			if seen[class[i]]++; seen[class[i]] <= count {
				s.Train = append(s.Train, i)
			} else {
				s.Test = append(s.Test, i)
			}
		}
	}
	return splits
}
