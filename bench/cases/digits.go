package cases

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/regularizer"
)

// side is that of an image in pixels, classes the number of digits.
const side, classes = 8, 10

// digitViews computes what the kernels look at, several views of each image side by side.
func digitViews(images blas.General) (blas.General, []kernel.Group) {
	views := []struct {
		name string
		of   func(img []float64) []float64
	}{
		{"pixels", func(img []float64) []float64 { return img }},
		{"pooled", pooled},
		{"rows", func(img []float64) []float64 { return lineSums(img, side, 1) }},
		{"columns", func(img []float64) []float64 { return lineSums(img, 1, side) }},
		{"gradients", gradients},
		{"dct", lowFrequencies},
		{"border", border},
	}
	var groups []kernel.Group
	first := blas.Row(images, 0)
	width := 0
	for _, v := range views {
		groups = append(groups, nextGroup(v.name, &width, len(v.of(first))))
	}
	X := blas.NewGeneral(images.Rows, width)
	for i := range images.Rows {
		row := blas.Row(X, i)
		for k, v := range views {
			copy(row[groups[k].Columns[0]:], v.of(blas.Row(images, i)))
		}
	}
	return X, groups
}

// pooled are the sums over 2×2 blocks.
func pooled(img []float64) []float64 {
	out := make([]float64, 16)
	for p, v := range img {
		out[p/side/2*4+p%side/2] += v
	}
	return out
}

// lineSums sums the image along the direction of the given stride, for each line across.
func lineSums(img []float64, across, along int) []float64 {
	out := make([]float64, side)
	for i := range out {
		for j := range side {
			out[i] += img[i*across+j*along]
		}
	}
	return out
}

// gradients are the differences of neighbours, to the right and down.
func gradients(img []float64) []float64 {
	var out []float64
	for y := range side {
		for x := range side {
			p := y*side + x
			if x+1 < side {
				out = append(out, img[p+1]-img[p])
			}
			if y+1 < side {
				out = append(out, img[p+side]-img[p])
			}
		}
	}
	return out
}

// lowFrequencies are the coefficients (u,v), u+v ≤ 5, of the discrete cosine
// transform but the constant one.
func lowFrequencies(img []float64) []float64 {
	wave := func(u, x int) float64 { return math.Cos(math.Pi * float64(u) * (float64(x) + 0.5) / side) }
	var out []float64
	for u := range 6 {
		for v := range 6 - u {
			if u+v == 0 {
				continue
			}
			var s float64
			for p, w := range img {
				s += w * wave(u, p/side) * wave(v, p%side)
			}
			out = append(out, s)
		}
	}
	return out
}

// border are the pixels of the rim, which tell little about the digit.
func border(img []float64) []float64 {
	var out []float64
	for p, v := range img {
		y, x := p/side, p%side
		if y == 0 || x == 0 || y == side-1 || x == side-1 {
			out = append(out, v)
		}
	}
	return out
}

// digitKernels are twelve kernels on seven views.
var digitKernels = []string{
	"gaussian:pixels:median*0.5,1",
	"laplacian:pixels:median",
	"chi2:pixels:median",
	"gaussian:pooled:median*0.5,1",
	"gaussian:rows:median",
	"gaussian:columns:median",
	"gaussian:gradients:median",
	"matern32:dct:median",
	"poly:2:dct:1:unit",
	"gaussian:border:median",
}

// digitTask learns from some of the images, those that train picks by their
// number, and tests on the others.
func digitTask(ctx context.Context, env *bench.Env, lambda float64, train func(i int) bool) (*task, error) {
	images, labels, err := data.Digits()
	if err != nil {
		return nil, err
	}
	X, groups := digitViews(images)
	var learn, test []int
	for i := range labels {
		switch {
		case !train(i):
			test = append(test, i)
		case !env.Quick || i%2 == 0:
			learn = append(learn, i)
		}
	}
	t := &task{lambda: lambda, norm: regularizer.Lp{P: 1}}
	return t, t.split(ctx, env, X, labels, learn, test, digitKernels, groups)
}

// runDigits learns to read digits: first what each learned part brings when
// images are few, one in three, for every λ; then exact against inexact solvers
// of the same problem on the other two thirds.
func runDigits(ctx context.Context, env *bench.Env) error {
	few, err := digitTask(ctx, env, 0, func(i int) bool { return i%3 == 0 })
	if err != nil {
		return err
	}
	uniform, opt := make([]float64, len(few.grams)), bcd.Options{Tol: 1e-3}
	few.norm.Start(uniform)
	for _, lambda := range []float64{1e-2, 1e-3, 1e-4, 1e-5} {
		few.lambda = lambda
		part, err := fitAll(ctx, env, few, []approach{
			{name: "uniform kernels, L = I", eta: uniform, model: bcd.Neither, opt: opt},
			{name: "IKL (kernel weights)", model: bcd.Weights, opt: opt},
			{name: "OKL (output kernel)", eta: uniform, model: bcd.Output, opt: opt},
			{name: "IOKL (both)", opt: opt},
		})
		for i := range part {
			part[i].Trace = nil
		}
		addAll(env, part)
		if err != nil {
			return err
		}
	}
	many, err := digitTask(ctx, env, 1e-3, func(i int) bool { return i%3 != 0 })
	if err != nil {
		return err
	}
	budget := bench.Duration(bench.Pick(env, 5.0, 25))
	part, err := fitAll(ctx, env, many, []approach{ // the same minimisation with three solvers of the C step
		{name: "IOKL, fast", opt: bcd.Options{Tol: 1e-5}, budget: budget},
		{name: "IOKL, plain CG", opt: bcd.Options{Tol: 1e-5, Sylvester: "cg"}, budget: budget},
		{name: "IOKL, eigendecomposition", opt: bcd.Options{Tol: 1e-5, Sylvester: "eigen"}, budget: budget},
	})
	addAll(env, part)
	return err
}

// digitFigures show the accuracy against λ for each choice of what to learn.
func digitFigures(group []bench.Result, _ *bench.File) []picture.Figure {
	c := picture.Chart{
		Title: "digits: test accuracy by what is learned, few training images",
		X:     "λ (logarithmic)", Y: "test accuracy (%)", LogX: true,
	}
	for _, r := range group {
		if lambda, ok := r.Params["lambda"].(float64); ok && r.Trace == nil && r.Accuracy != nil {
			c.Point(r.Name, lambda, 100**r.Accuracy)
		}
	}
	c.Curves = slices.DeleteFunc(c.Curves, func(c picture.Curve) bool { return len(c.XY) < 2 })
	return c.Figures("digits-lambda")
}
