// This file learns groups of columns: their ranks among their quantiles, their lengths, and by kernel ridge regression
// along which columns and directions the targets vary.

package dictionary

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary/lengths"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// learnedFeatures are the FEATURES of a SPEC that the data tell, all but the first by their targets.
var learnedFeatures = []string{defaults.Ranks, lengths.Features, defaults.RelevantColumns, defaults.RelevantDirections}

// learnGroups learns the ranks, the lengths and the relevant columns and directions that SPECs refer to, where the
// caller gave no group of that name and none was learned before.
func (r *Resolver) learnGroups(ctx context.Context, specs []string) error {
	for _, text := range specs {
		s, err := kernel.Parse(text)
		if err != nil {
			return fault.From(err)
		}
		means := func(g kernel.Group) bool { return s.Means(&g, 0) }
		if !slices.Contains(learnedFeatures, s.Features) || slices.ContainsFunc(r.groups(), means) {
			continue
		}
		var g []kernel.Group
		phase.Do(ctx, phase.Columns, func(ctx context.Context) { g, err = r.learn(ctx, s) })
		if err != nil {
			return err
		}
		r.learned = append(r.learned, g...)
	}
	return nil
}

// learn returns the groups that the SPEC refers to by FEATURES that the data tell.
func (r *Resolver) learn(ctx context.Context, s kernel.Spec) ([]kernel.Group, error) {
	if s.Features == defaults.Ranks {
		return []kernel.Group{ranks(r.z)}, nil
	}
	if r.y.Rows != r.z.Rows {
		return nil, fault.Input("%s is learned from targets of samples, which the checkpoint of a stream by an older "+
			"version lacks", s.Features)
	}
	if s.Features == lengths.Features {
		return r.learnLengths(ctx, s)
	}
	z, y, relevance := r.z, r.y, columnRelevance
	if z.Rows > defaults.SomeSamples {
		idx := rand.New(rand.NewPCG(r.opt.Seed, defaults.SomeSamples)).Perm(z.Rows)[:defaults.SomeSamples]
		slices.Sort(idx)
		z, y = blas.TakeRows(z, idx), blas.TakeRows(y, idx)
	}
	if s.Features == defaults.RelevantDirections {
		relevance = directionRelevance
	}
	g, err := relevance(ctx, z, y, &r.opt)
	return []kernel.Group{g}, err
}

// LearnFromTargets reports whether some of the SPECs have columns, directions or lengths that targets tell.
func LearnFromTargets(specs []string) bool {
	return slices.ContainsFunc(specs, func(text string) bool {
		s, err := kernel.Parse(text)
		return err == nil && slices.Contains(learnedFeatures[1:], s.Features)
	})
}

// learnLengths is, for each kernel of the SPEC, the group of all columns, and ranks, with their inverse lengths.
func (r *Resolver) learnLengths(ctx context.Context, s kernel.Spec) (groups []kernel.Group, err error) {
	opt := lengths.Options{Seed: r.opt.Seed, Backend: r.opt.Backend}
	g, z := r.lengthColumns()
	if start, ok := r.opt.Start[s.Sum()]; ok && len(start.Scale[0]) == z.Cols {
		opt.Start = &start
	}
	p, err := lengths.Learn(ctx, s.Kinds(), z, r.y, opt)
	if err != nil {
		return nil, err
	}
	r.lengths[s.Sum()] = p
	for term, scale := range p.Scale {
		g.Scale, g.Sum, g.Term, g.Unit = scale, s.Sum(), term, 1
		groups = append(groups, g)
	}
	return groups, nil
}

// ranks is all columns of Z with their quantiles.
func ranks(Z blas.General) kernel.Group {
	g := everyColumn(defaults.Ranks, Z)
	for c := range Z.Cols {
		sorted := slices.Sorted(slices.Values(column(Z, c)))
		knots := make([]float64, defaults.RankKnots)
		for k := range knots {
			at, part := math.Modf(float64(k) / float64(len(knots)-1) * float64(Z.Rows-1))
			low, high := sorted[int(at)], sorted[min(int(at)+1, Z.Rows-1)]
			knots[k] = low + part*(high-low)
		}
		g.Knots = append(g.Knots, knots)
	}
	return g
}

// bent is the share of the variance of a column above which it gets a length for its ranks too: that which no line in
// the ranks explains, twice the share of a normal variable.
const bent = 2 * (1 - 3/math.Pi)

// lengthColumns is what lengths are learned for: all columns of Z, and the ranks of those that are far from a line in
// their ranks, such as columns over several decades. It returns the values too.
func (r *Resolver) lengthColumns() (kernel.Group, blas.General) {
	g := everyColumn(lengths.Features, r.z)
	all := ranks(r.z)
	R := features(&all, r.z)
	knots := make([][]float64, r.z.Cols, 2*r.z.Cols)
	for c := range r.z.Cols {
		x, rank := column(r.z, c), column(R, c)
		if share := stat.Correlation(x, rank, nil); 1-share*share > bent {
			g.Columns, knots = append(g.Columns, c), append(knots, all.Knots[c])
		}
	}
	if len(knots) > r.z.Cols {
		g.Knots = knots
	}
	return g, features(&g, r.z)
}

// features is what kernels on the group see of Z.
func features(g *kernel.Group, Z blas.General) blas.General {
	k := kernel.Kernel{Kind: kernel.Linear, Inputs: Z.Cols, Columns: g.Columns, Knots: g.Knots}
	return k.Features(Z)
}

func column(Z blas.General, c int) []float64 { return columns.Take(Z, []int{c}).Data }

// everyColumn is the group of all columns of Z.
func everyColumn(name string, Z blas.General) kernel.Group {
	g := kernel.Group{Name: name}
	for c := range Z.Cols {
		g.Columns = append(g.Columns, c)
	}
	return g
}

// columnRelevance gives every column a factor: the root mean square of the
// derivative, along it, of kernel ridge regression of Y (l×n) on Z (l×d), averaged
// over samples and summed over outputs. The regression is repeated with the columns
// so scaled, each time with the geometric mean of the factor before and the one
// found, so that what hides behind irrelevant columns at first is found later.
// (Kpotufe et al., Gradients weights help nonparametric regressors, JMLR 17, 2016.)
func columnRelevance(ctx context.Context, Z, Y blas.General, opt *Options) (kernel.Group, error) {
	g := everyColumn(defaults.RelevantColumns, Z)
	g.Scale = slices.Repeat([]float64{1}, Z.Cols)
	for range defaults.RelevanceRounds {
		steep := make([]float64, Z.Cols) // squared derivatives, in units of the scaled columns
		err := slopes(ctx, Z, Y, g, opt, func(G blas.General) {
			for i, v := range G.Data {
				steep[i%G.Cols] += v * v
			}
		})
		if err != nil {
			return g, err
		}
		var mean, size float64
		for c := range steep {
			steep[c] *= g.Scale[c] * g.Scale[c]
			mean += steep[c] / float64(Z.Cols)
		}
		if !fault.Positive(mean) {
			break
		}
		for c, v := range steep {
			g.Scale[c] = math.Sqrt(g.Scale[c] * math.Sqrt(v/mean))
			size += g.Scale[c] * g.Scale[c] / float64(Z.Cols)
		}
		blas.Scal(1/math.Sqrt(size), g.Scale)
	}
	return g, nil
}

// directionRelevance finds the directions along which the targets vary, and how
// much: distances become those of the metric (x−z)ᵀM(x−z), with M the square root of
// the mean outer product of the gradients of kernel ridge regression, which is
// repeated in the metric found. (Radhakrishnan et al., Mechanism for feature learning
// in neural networks and backpropagation-free machine learning models, Science 383, 2024.)
func directionRelevance(ctx context.Context, Z, Y blas.General, opt *Options) (kernel.Group, error) {
	d := Z.Cols
	be := blas.Or(opt.Backend)
	g := everyColumn(defaults.RelevantDirections, Z)
	for c := range d {
		g.Directions = append(g.Directions, make([]float64, d))
		g.Directions[c][c] = 1
	}
	for range defaults.RelevanceRounds {
		r := len(g.Directions)
		outer := blas.NewGeneral(r, r)
		err := slopes(ctx, Z, Y, g, opt, func(G blas.General) { blas.Gemm(be, true, false, 1, G, G, 1, outer) })
		if err != nil {
			return g, err
		}
		// From features to columns: the gradient along the columns is Dᵀ times that
		// along the directions D (r×d).
		D := blas.General{Rows: r, Cols: d, Stride: d, Data: slices.Concat(g.Directions...)}
		M := blas.Product(be, false, false, blas.Product(be, true, false, D, outer), D)
		w := make([]float64, d)
		if err := be.Syevd(M, w); err != nil {
			return g, err
		}
		var trace float64
		for _, v := range w {
			trace += math.Sqrt(max(v, 0))
		}
		if !fault.Positive(trace) {
			break
		}
		g.Directions = nil
		for k, v := range w {
			if v <= 0x1p-52*w[d-1] { // rounding
				continue
			}
			size := math.Sqrt(math.Sqrt(v) * float64(d) / trace)
			row := make([]float64, d)
			for c := range row {
				row[c] = size * M.Data[c*M.Stride+k]
			}
			g.Directions = append(g.Directions, row)
		}
	}
	return g, nil
}

// slopes hands out, output by output, the gradients at the samples (l×r) of the
// ridge regression with a Gaussian of median width σ on the r features z of g, at
// the λ of the smallest leave-one-out error:
//
//	f_o(z) = Σ_j C_jo k(z, z_j),   ∇f_o(z_i) = σ⁻² Σ_j C_jo k(z_i, z_j)(z_j − z_i).
func slopes(ctx context.Context, Z, Y blas.General, g kernel.Group, opt *Options, each func(G blas.General)) error {
	be := blas.Or(opt.Backend)
	dict, err := kernel.Build([]string{"gaussian:" + g.Name + ":median"}, Z, []kernel.Group{g}, opt.Seed)
	if err != nil {
		return fault.From(err)
	}
	k := dict[0]
	gram, err := k.Gram(Z, blas.Float64)
	if err != nil {
		return fault.From(err)
	}
	F := k.Features(Z)
	l := Z.Rows
	K, M := blas.NewGeneral(l, l), blas.NewGeneral(l, l)
	gram.Dense(K)
	C, err := leaveOneOut(ctx, be, K, Y)
	if err != nil {
		return err
	}
	for o := range Y.Cols {
		if err := ctx.Err(); err != nil {
			return err
		}
		blas.Copy(M, K)
		G := kernel.Gradients(be, M, F, blas.View(C, 0, o, l, 1), k.Width)
		each(G)
	}
	return nil
}

// leaveOneOut is the coefficients (K + λlI)⁻¹Y at the λ of the default path with the smallest sum of squared
// leave-one-out errors.
func leaveOneOut(ctx context.Context, be blas.Backend, K, Y blas.General) (best blas.General, err error) {
	dec, err := sylvester.Decompose(ctx, linop.NewDense(K, be), be)
	if err != nil {
		return best, err
	}
	lo := sylvester.NewLeaveOut(dec.Clip(), be)
	if err := lo.Use(linop.ScaledIdentity(Y.Cols, 1), Y); err != nil {
		return best, err
	}
	C, R, least := blas.NewGeneral(Y.Rows, Y.Cols), blas.NewGeneral(Y.Rows, Y.Cols), math.Inf(1)
	for _, lambda := range defaults.Path(1) {
		if err := lo.At(C, lambda*float64(Y.Rows)); err != nil {
			return best, err
		}
		lo.Residuals(R)
		if miss := blas.Frob(R); miss < least {
			least, best = miss, blas.Clone(C)
		}
	}
	return best, nil
}
