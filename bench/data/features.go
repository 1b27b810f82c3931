// This file maps samples to explicit features, and learns and predicts from these.

package data

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// FeatureSums sums the features of all rows.
func FeatureSums(ctx context.Context, env *bench.Env, maps rff.Maps, X, Y blas.General) (stream.Sums, error) {
	acc := stream.New(maps, X.Cols, Y.Cols, stream.Options{Seed: env.Seed, Backend: env.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the data", X, Y)); err != nil {
		return stream.Sums{}, err
	}
	sums, err := acc.Sums()
	if err != nil {
		return stream.Sums{}, err
	}
	return sums[0], nil
}

// FeaturePredictions are Z(X)·W, the predictions for L = I and η = 1.
func FeaturePredictions(env *bench.Env, maps rff.Maps, X, W blas.General) (blas.General, error) {
	Z, P := blas.NewGeneral(X.Rows, maps.Dim()), blas.NewGeneral(X.Rows, W.Cols)
	if err := maps.Transform(Z, X); err != nil {
		return P, err
	}
	blas.Mul(env.Backend, P, false, false, Z, W)
	return P, nil
}

// FeatureSpace is the space of weights of the features whose sums these are.
func FeatureSpace(env *bench.Env, maps rff.Maps, s stream.Sums) bcd.Space {
	s.Recenter(nil)
	return bcd.NewFeatures(s.Gamma, s.H, floats.Sum(s.YY), int(s.Rows), maps.Blocks(), env.Backend)
}
