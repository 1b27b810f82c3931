package iokl

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// inFeatures reports whether the problem is to be solved in feature space: when
// some kernel asks for explicit features, or when all are linear on so few
// columns that their factors are much thinner than the Gram matrices.
func inFeatures(d kernel.Dictionary, l int) (bool, error) {
	approx, linear, width := false, true, 0
	for _, k := range d {
		approx = approx || k.Approx != nil
		linear = linear && k.Kind == kernel.Linear && !k.Unit
		if width += len(k.Columns); len(k.Columns) == 0 {
			width += k.Inputs
		}
	}
	if !approx {
		return linear && 4*width <= l, nil
	}
	for _, k := range d {
		if k.Approx == nil && !k.Kind.HasFeatures() {
			return false, badInput("kernel %s is exact and others have explicit features: write it with rff: or nystrom: too", k.Name)
		}
	}
	return true, nil
}

// featureWidth is the number D of explicit features, about.
func featureWidth(d kernel.Dictionary) int {
	D := 0
	for _, k := range d {
		switch {
		case k.Approx != nil:
			D += k.Approx.Count
		case len(k.Columns) > 0:
			D += len(k.Columns)
		default:
			D += k.Inputs
		}
	}
	return D
}

// featureBytes is the memory of one fit with D features: ΓᵀΓ as accumulated and
// as packed, and D×n blocks. It saturates.
func featureBytes(D, n int) int64 {
	size := 8 * (2*float64(D)*float64(D) + 12*float64(D)*float64(n) + 1024*float64(D))
	if size >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(size)
}

// accumulate makes the feature maps of the dictionary and their sums over the rows of Z and Y.
func (t *training) accumulate(ctx context.Context, opt *Options) error {
	maps, err := rff.NewMaps(ctx, t.dict, t.Z, opt.Seed)
	if err != nil {
		return &wrapped{err, ErrInput}
	}
	acc := stream.New(maps, t.Z.Cols, t.Y.Cols, stream.Options{Backend: opt.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the data", t.Z, t.Y)); err != nil {
		return asInput(err)
	}
	sums, err := acc.Sums()
	if err != nil {
		return asInput(err)
	}
	sums[0].Recenter(nil)
	t.maps, t.sums = maps, &sums[0]
	return nil
}

// featureSpace is the learning problem over weights W (D×n).
func (opt *Options) featureSpace(maps rff.Maps, sums *stream.Sums) bcd.Space {
	var yy float64
	for _, v := range sums.YY {
		yy += v
	}
	return bcd.NewFeatures(sums.Gamma, sums.H, yy, int(sums.Rows), maps.Blocks(), opt.Backend)
}

// featureBasis predicts Z(x)·(S·W·L), with S = diag(√η_j) over the features of each kernel.
type featureBasis struct {
	maps rff.Maps // of the kernels of positive weight
	WL   blas.General
	be   blas.Backend
}

// newFeatureBasis overwrites res.C.
func newFeatureBasis(maps rff.Maps, res *bcd.Result, be blas.Backend) basis {
	all := timesOutput(be, res.C, res.L)
	b := &featureBasis{be: be}
	b.WL = blas.General{Cols: all.Cols, Stride: all.Stride}
	at := 0
	for j, m := range maps {
		if e := res.Eta[j]; e > 0 {
			b.maps = append(b.maps, m)
			for i := at; i < at+m.Dim(); i++ {
				row := blas.Row(all, i)
				blas.Scal(math.Sqrt(e), row)
				b.WL.Data = append(b.WL.Data, row...)
				b.WL.Rows++
			}
		}
		at += m.Dim()
	}
	return b
}

func (b *featureBasis) evaluator() (evaluator, error) {
	var scratch par.Free[[]float64]
	return func(dst, Z blas.General) error {
		if b.WL.Rows == 0 {
			blas.Zero(dst)
			return nil
		}
		s := scratch.Get()
		if s == nil {
			s = new([]float64)
		}
		defer scratch.Put(s)
		D := b.WL.Rows
		*s = slices.Grow((*s)[:0], Z.Rows*D)[:Z.Rows*D]
		F := blas.General{Rows: Z.Rows, Cols: D, Stride: D, Data: *s}
		if err := b.maps.Transform(F, Z); err != nil {
			return asInput(err)
		}
		blas.Mul(blas.Or(b.be), dst, false, false, F, b.WL)
		return nil
	}, nil
}

func (b *featureBasis) kind() string { return "features" }

func (b *featureBasis) members(head *meta) []member {
	head.Maps = b.maps
	return []member{matrixMember("WL", b.WL)}
}
