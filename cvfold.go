package iokl

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
)

// fold follows all branches on one split and writes its column of their errors.
func (s *study) fold(ctx context.Context, g *grid, opt Options, branches []*branch, f int) error {
	split := g.splits[f]
	if len(split.Train) < 2 || len(split.Test) == 0 {
		return badInput("it trains on %d samples and tests on %d", len(split.Train), len(split.Test))
	}
	opt.Trace, opt.Notify, opt.Tol = nil, nil, g.Tol
	opt.InputNames, opt.OutputNames = nil, nil
	test := rows(s.Y, split.Test)
	var t training
	var m Model
	var r *ridge
	var kernels []string
	for _, b := range branches {
		if !b.open() {
			continue
		}
		if b.exact {
			var err error
			if r, err = s.factor(ctx, g, &opt, r, b, f); err != nil {
				return err
			}
			continue
		}
		if t.Y.Data == nil || !slices.Equal(b.kernels, kernels) {
			var err error
			if m, t, err = s.train(ctx, opt, b.kernels, split); err != nil {
				return err
			}
			kernels = b.kernels
		}
		opt.Norm, opt.Tau, opt.Learn = b.norm, b.tau, b.learn
		if err := s.follow(ctx, g, opt, b, f, m, t, test); err != nil {
			return err
		}
	}
	return nil
}

// factor fills in the errors of a branch on which nothing but C is learned.
func (s *study) factor(ctx context.Context, g *grid, opt *Options, r *ridge, b *branch, f int) (*ridge, error) {
	if r == nil {
		var err error
		if r, err = s.ridge(g.splits[f], opt); err != nil {
			return nil, err
		}
	}
	r.opt.Tau = b.tau
	K, err := r.cross(ctx, b.kernels)
	if err != nil {
		return r, err
	}
	var idx []int
	var lambdas []float64
	for i, lambda := range b.lambdas {
		if !b.dropped[i] {
			idx, lambdas = append(idx, i), append(lambdas, lambda)
		}
	}
	e := make([]float64, len(idx))
	r.errors(ctx, e, K, lambdas, g.Metric)
	if err := ctx.Err(); err != nil {
		return r, err
	}
	for k, i := range idx {
		b.errors[i][f] = e[k]
	}
	return r, nil
}

// train prepares the training part of a split.
func (s *study) train(ctx context.Context, opt Options, specs []string, split Split) (m Model, t training, err error) {
	opt.Kernels = specs
	Y := rows(s.Y, split.Train)
	if s.grams == nil {
		opt.MaxBytes = -1 // checked for all folds together
		t, err = opt.prepare(ctx, &m, rows(s.X, split.Train), Y)
		return m, t, err
	}
	if m.out, t.Y, _, err = newOutputs(Y, &opt); err != nil {
		return m, t, err
	}
	for _, g := range s.grams {
		if err := ctx.Err(); err != nil {
			return m, t, err
		}
		t.grams = append(t.grams, part(g, split.Train, opt.Precision))
	}
	return m, t, nil
}

// rising is how far above the best the error may be at two values of λ in a row before a path ends.
const rising = 1.5

// follow goes down one path of λ.
func (s *study) follow(ctx context.Context, g *grid, opt Options, b *branch, f int, m Model, t training, test blas.General) error {
	space := opt.space(&t)
	var start *bcd.State
	best, high := math.Inf(1), 0
	for i, lambda := range b.lambdas {
		if b.dropped[i] {
			continue
		}
		opt.Lambda = lambda
		p := opt.problem(space, t.weights)
		so := opt.solverOptions()
		so.Start = start
		res, err := bcd.Solve(ctx, p, so)
		if res == nil || ctx.Err() != nil {
			return asInput(err)
		}
		start = &bcd.State{Eta: res.Eta, L: res.L, X: blas.Clone(res.C)}
		m.certify(res, p, &opt)
		m.basis = newBasis(&t, res, opt.Backend)
		F, err := s.predict(ctx, &m, g.splits[f])
		if err != nil {
			return err
		}
		nmse := relativeMSE(F, test, t.Y, m.out)
		b.errors[i][f] = metric(g.Metric, nmse, F, test)
		best = math.Min(best, nmse)
		if high++; nmse <= rising*best {
			high = 0
		}
		if high == 2 && len(b.lambdas) == pathPoints && g.CVOptions.Lambdas == nil {
			return nil
		}
	}
	return nil
}

// predict is the model's prediction for the test part of a split.
func (s *study) predict(ctx context.Context, m *Model, split Split) (blas.General, error) {
	dst := blas.NewGeneral(len(split.Test), s.Y.Cols)
	if s.grams == nil {
		return dst, m.predict(ctx, dst, rows(s.X, split.Test))
	}
	F := blas.NewGeneral(len(split.Test), len(m.out.Live))
	b := m.basis.(*gramBasis)
	K := blas.NewGeneral(len(split.Test), len(split.Train))
	for _, j := range kept(m.eta) {
		if err := ctx.Err(); err != nil {
			return dst, err
		}
		addCross(K, m.eta[j], s.grams[j], split)
	}
	blas.Mul(blas.Or(b.be), F, false, false, K, b.CL)
	m.out.restore(dst, F)
	return dst, nil
}

// addCross adds w·g(test, train) to K.
func addCross(K blas.General, w float64, g *blas.Sym, split Split) {
	for a, i := range split.Test {
		row := blas.Row(K, a)
		for c, j := range split.Train {
			row[c] += w * g.At(i, j)
		}
	}
}

// part is the Gram matrix of some of the samples.
func part(g *blas.Sym, idx []int, prec blas.Precision) *blas.Sym {
	out := blas.NewSym(len(idx), prec)
	line := make([]float64, len(idx))
	for b := range out.Panels() {
		row, rows, cols, _ := out.Panel(b)
		for i := row; i < row+rows; i++ {
			for j := range cols {
				line[j] = g.At(idx[i], idx[j])
			}
			out.SetPanel(b, i, 0, 1, cols, line, cols)
		}
	}
	return out
}

// relativeMSE is the mean over the learned outputs of the squared error divided
// by the variance of the training targets.
func relativeMSE(F, Y, train blas.General, out *outputs) float64 {
	variance := newScaler(train)
	var sum float64
	for k, j := range out.Live {
		unit := variance.Scale[k]
		if out.Scaler != nil {
			unit *= out.Scaler.Scale[j]
		}
		var se float64
		for i := range Y.Rows {
			d := (F.Data[i*F.Stride+j] - Y.Data[i*Y.Stride+j]) / unit
			se += d * d
		}
		sum += se / float64(Y.Rows)
	}
	return sum / float64(len(out.Live))
}

func metric(name string, nmse float64, F, Y blas.General) float64 {
	if name == "nmse" {
		return nmse
	}
	s := NewScores(blas.Dense(F), blas.Dense(Y), nil)
	switch name {
	case "mse":
		return s.MeanMSE
	case "rmse":
		return s.ARMSE
	}
	return s.Accuracy
}
