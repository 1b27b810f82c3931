// This file makes a learning problem of plant leaves that several views describe.

package learning

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/regularizer"
)

// leafKernels look at each of the three views.
var leafKernels = []string{
	"gaussian:%s:median*0.25", "gaussian:%s:median*0.5", "gaussian:%s:median", "laplacian:%s:median*0.5",
}

// leaves are plant leaves at the settings of the paper's figures: 100 classes, three views with standardised columns,
// twelve kernels. The first samples of each class are there to learn from.
func leaves(ctx context.Context, env *bench.Env) (*task, error) {
	const set, classes, views = "leaves100", 100, 3
	labels, err := data.Read(env, set, "labels.csv")
	if err != nil {
		return nil, err
	}
	var parts []blas.General
	var groups []kernel.Group
	var specs []string
	width := 0
	for v := range views {
		g := kernel.Group{Name: fmt.Sprintf("view%d", v+1)}
		t, err := data.Read(env, set, g.Name+".csv")
		if err != nil {
			return nil, err
		}
		for range t.Data.Cols {
			g.Columns = append(g.Columns, width)
			width++
		}
		for _, k := range leafKernels {
			specs = append(specs, fmt.Sprintf(k, g.Name))
		}
		groups, parts = append(groups, g), append(parts, t.Data)
	}
	X := blas.NewGeneral(labels.Data.Rows, width)
	for v, p := range parts {
		blas.Copy(blas.View(X, 0, groups[v].Columns[0], p.Rows, p.Cols), p)
	}
	data.Standardise(X, blas.General{})
	class, seen := make([]int, X.Rows), make([]int, classes)
	var learn, test []int
	for i := range class {
		class[i] = int(blas.Row(labels.Data, i)[0]) - 1
		if seen[class[i]]++; seen[class[i]] <= bench.Pick(env, 4, 8) {
			learn = append(learn, i)
		} else {
			test = append(test, i)
		}
	}
	t := &task{X: blas.TakeRows(X, learn), lambda: 1e-3, norm: regularizer.Lp{P: 1.7}, labels: data.Take(class, test)}
	t.Y, t.mean = oneHot(data.Take(class, learn), classes)
	dictionary, err := kernel.Build(specs, t.X, groups, env.Seed)
	if err != nil {
		return nil, err
	}
	return t, t.build(ctx, env, dictionary, blas.TakeRows(X, test))
}
