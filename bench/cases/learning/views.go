// This file makes learning problems of samples that several views describe.

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

// viewSet is a data set whose samples are described by several views.
type viewSet struct {
	name    string
	views   []string // files, a view each
	classes int
	first   int      // the smallest label
	train   int      // training samples of each class, the first in the file
	kernels []string // for every view, with the view's name for %s
	lambda  float64
	norm    regularizer.Regularizer
}

// task reads the set and builds its kernels.
func (s *viewSet) task(ctx context.Context, env *bench.Env) (*task, error) {
	labels, err := data.Read(env, s.name, "labels.csv")
	if err != nil {
		return nil, err
	}
	X, groups, err := s.join(env, labels.Data.Rows)
	if err != nil {
		return nil, err
	}
	class := make([]int, X.Rows)
	var learn, test []int
	seen := make([]int, s.classes)
	for i := range class {
		c := int(blas.Row(labels.Data, i)[0]) - s.first
		class[i] = c
		if seen[c]++; seen[c] <= s.train {
			learn = append(learn, i)
		} else {
			test = append(test, i)
		}
	}
	t := &task{X: blas.TakeRows(X, learn), lambda: s.lambda, norm: s.norm, labels: data.Take(class, test)}
	t.Y, t.mean = oneHot(data.Take(class, learn), s.classes)
	dictionary, err := kernel.Build(s.specs(), t.X, groups, env.Seed)
	if err != nil {
		return nil, err
	}
	return t, t.build(ctx, env, dictionary, blas.TakeRows(X, test))
}

// specs are the kernels on every view.
func (s *viewSet) specs() []string {
	var out []string
	for _, v := range s.views {
		for _, k := range s.kernels {
			out = append(out, fmt.Sprintf(k, v))
		}
	}
	return out
}

// join puts the views side by side, each column standardised.
func (s *viewSet) join(env *bench.Env, rows int) (blas.General, []kernel.Group, error) {
	var parts []blas.General
	var groups []kernel.Group
	width := 0
	for _, v := range s.views {
		t, err := data.Read(env, s.name, v+".csv")
		if err != nil {
			return blas.General{}, nil, err
		}
		if t.Data.Rows != rows {
			return blas.General{}, nil, fmt.Errorf("%s: view %s has %d rows and there are %d labels", s.name, v,
				t.Data.Rows, rows)
		}
		g := kernel.Group{Name: v}
		for range t.Data.Cols {
			g.Columns = append(g.Columns, width)
			width++
		}
		groups, parts = append(groups, g), append(parts, t.Data)
	}
	X := blas.NewGeneral(rows, width)
	for k, p := range parts {
		blas.Copy(blas.View(X, 0, groups[k].Columns[0], rows, p.Cols), p)
	}
	data.Standardise(X, blas.General{})
	return X, groups, nil
}

// leaves are plant leaves at the settings of the paper's figures: 100 classes, three views, twelve kernels.
func leaves(env *bench.Env) *viewSet {
	return &viewSet{
		name: "leaves100", views: []string{"view1", "view2", "view3"}, classes: 100, first: 1,
		train: bench.Pick(env, 4, 8), lambda: 1e-4, norm: regularizer.Lp{P: 1.7},
		kernels: []string{
			"gaussian:%s:median*0.25", "gaussian:%s:median*0.5", "gaussian:%s:median", "laplacian:%s:median*0.5",
		},
	}
}
