package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/kernel"
)

// dataFile is the path of a file in a data set's folder.
func (e *Env) dataFile(set, file string) string {
	dir := e.Data
	if dir == "" {
		dir = filepath.Join("..", "shared", "data")
		if root, err := moduleRoot(); err == nil {
			dir = filepath.Join(root, "..", "shared", "data")
		}
	}
	return filepath.Join(dir, set, file)
}

// readData reads one file of a data set, or says that the case is skipped.
func (e *Env) readData(set, file string) (*table.Table, error) {
	name := e.dataFile(set, file)
	t, err := table.Read(name, table.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: the data set %s is not here (%v); --data names its folder", ErrSkipped, set, err)
	}
	return t, nil
}

// viewSet is a data set whose samples are described by several views.
type viewSet struct {
	name    string
	views   []string // files, a view each
	classes int
	first   int      // the smallest label
	train   int      // training samples of each class, the first in the file
	kernels []string // for every view, with the view's name for %s
	lambda  float64
	norm    bcd.Regularizer
	metric  string // by which cross-validation chooses λ; "" means nmse
}

// task reads the set and builds its kernels.
func (s *viewSet) task(ctx context.Context, env *Env) (*task, error) {
	labels, err := env.readData(s.name, "labels.csv")
	if err != nil {
		return nil, err
	}
	class := make([]int, labels.Data.Rows)
	for i := range class {
		class[i] = int(blas.Row(labels.Data, i)[0]) - s.first
	}
	X, groups, err := s.join(env, len(class))
	if err != nil {
		return nil, err
	}
	var learn, test []int
	seen := make([]int, s.classes)
	for i, c := range class {
		if seen[c]++; seen[c] <= s.train {
			learn = append(learn, i)
		} else {
			test = append(test, i)
		}
	}
	t := &task{X: takeRows(X, learn), lambda: s.lambda, norm: s.norm, labels: take(class, test)}
	t.Y, t.mean = oneHot(take(class, learn), s.classes)
	var specs []string
	for _, v := range s.views {
		for _, k := range s.kernels {
			specs = append(specs, fmt.Sprintf(k, v))
		}
	}
	d, err := kernel.Build(specs, t.X, groups, env.Seed)
	if err != nil {
		return nil, err
	}
	return t, t.build(ctx, env, d, takeRows(X, test))
}

// join puts the views side by side, each column standardised.
func (s *viewSet) join(env *Env, rows int) (blas.General, []kernel.Group, error) {
	var parts []blas.General
	var groups []kernel.Group
	width := 0
	for _, v := range s.views {
		t, err := env.readData(s.name, v+".csv")
		if err != nil {
			return blas.General{}, nil, err
		}
		if t.Data.Rows != rows {
			return blas.General{}, nil, fmt.Errorf("%s: view %s has %d rows and there are %d labels", s.name, v, t.Data.Rows, rows)
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
	standardise(X, blas.General{})
	return X, groups, nil
}

// runLeaves classifies plant leaves: 100 classes, three views, twelve kernels,
// eight of each class's sixteen samples to learn from; and three, drawn twenty times
// over, λ chosen on them by the accuracy over three folds, where what is learned is
// compared, draw by draw, with the twelve kernels added up.
func runLeaves(ctx context.Context, env *Env) ([]Result, error) {
	s := leaves(env)
	d, err := s.read(env)
	if err != nil {
		return nil, err
	}
	few, err := s.compare(ctx, env, d, "3 a class", fewEach(env, d.class, 3, pick(env, 1, 20)), true)
	if err != nil {
		return few, err
	}
	rest, err := s.run(ctx, env)
	return append(few, rest...), err
}

func leaves(env *Env) *viewSet {
	return &viewSet{
		name: "leaves100", views: []string{"view1", "view2", "view3"}, classes: 100, first: 1,
		train: pick(env, 4, 8), lambda: 1e-4, norm: bcd.Lp{P: 1.7},
		kernels: []string{"gaussian:%s:median*0.25", "gaussian:%s:median*0.5", "gaussian:%s:median", "laplacian:%s:median*0.5"},
		metric:  "accuracy",
	}
}

// runMfeat classifies handwritten numerals by six views: ten folds, with λ chosen
// on the training samples of the first, and a hundred samples of each class.
func runMfeat(ctx context.Context, env *Env) ([]Result, error) {
	s := &viewSet{
		name: "mfeat", views: []string{"fou", "fac", "kar", "pix", "zer", "mor"}, classes: 10,
		train: pick(env, 50, 100), lambda: 1e-5, norm: bcd.Lp{P: 1.3},
		kernels: []string{"gaussian:%s:median*0.5,1"},
	}
	d, err := s.read(env)
	if err != nil {
		return nil, err
	}
	var folds []Result
	if !env.Quick {
		if folds, err = s.compare(ctx, env, d, "ten folds", tenFolds(env.rng(11), len(d.class)), false); err != nil {
			return folds, err
		}
	}
	rest, err := s.run(ctx, env)
	return append(folds, rest...), err
}

func (s *viewSet) run(ctx context.Context, env *Env) ([]Result, error) {
	t, err := s.task(ctx, env)
	if err != nil {
		return nil, err
	}
	budget := seconds(pick(env, 4.0, 40))
	all := append(whatIsLearned(t, bcd.Options{Tol: 1e-4}), inners(1e-4, budget)[1:]...)
	for i := range all {
		all[i].budget = budget
	}
	return fitAll(ctx, env, t, all)
}
