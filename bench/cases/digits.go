package cases

import (
	"context"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/regularizer"
)

// side is that of an image in pixels.
const side = 8

// digitViews are what the kernels look at: sums over pixels, so many of each view, of what a pixel of brightness w
// adds. The border tells little about the digit.
var digitViews = []struct {
	name  string
	width int
	term  func(w float64, k, y, x int) float64
}{
	{"pixels", side * side, func(w float64, k, y, x int) float64 { return where(k == y*side+x, w) }},
	{"pooled", 16, func(w float64, k, y, x int) float64 { return where(k == y/2*4+x/2, w) }}, // blocks of 2×2
	{"rows", side, func(w float64, k, y, _ int) float64 { return where(k == y, w) }},
	{"columns", side, func(w float64, k, _, x int) float64 { return where(k == x, w) }},
	{"gradients", len(neighbours), func(w float64, k, y, x int) float64 {
		return where(neighbours[k][1] == y*side+x, w) - where(neighbours[k][0] == y*side+x, w)
	}},
	{"dct", len(lowFrequencies), func(w float64, k, y, x int) float64 {
		wave := func(u, x int) float64 { return math.Cos(math.Pi * float64(u) * (float64(x) + 0.5) / side) }
		return w * wave(lowFrequencies[k][0], y) * wave(lowFrequencies[k][1], x)
	}},
	{"border", len(border), func(w float64, k, y, x int) float64 { return where(border[k] == y*side+x, w) }},
}

// where is w where b holds, or 0.
func where(b bool, w float64) float64 {
	if b {
		return w
	}
	return 0
}

// lowFrequencies are those of the discrete cosine transform with u+v ≤ 5 but the constant one.
var lowFrequencies = func() (all [][2]int) {
	for u := range 6 {
		for v := range 6 - u {
			all = append(all, [2]int{u, v})
		}
	}
	return all[1:]
}()

// border are the pixels of the rim.
var border = func() (all []int) {
	for p := range side * side {
		if y, x := p/side, p%side; y == 0 || x == 0 || y == side-1 || x == side-1 {
			all = append(all, p)
		}
	}
	return all
}()

// neighbours are each pixel with the one to the right and the one below.
var neighbours = func() (all [][2]int) {
	for p := range side * side {
		if p%side < side-1 {
			all = append(all, [2]int{p, p + 1})
		}
		if p/side < side-1 {
			all = append(all, [2]int{p, p + side})
		}
	}
	return all
}()

// viewsOf has the views of each image side by side.
func viewsOf(images blas.General) (X blas.General, groups []kernel.Group) {
	width := 0
	X = blas.NewGeneral(images.Rows, 0)
	for _, v := range digitViews {
		groups = append(groups, nextGroup(v.name, &width, v.width))
		own := blas.NewGeneral(images.Rows, v.width)
		for i := range images.Rows {
			for p, w := range blas.Row(images, i) {
				for k := range v.width {
					blas.Row(own, i)[k] += v.term(w, k, p/side, p%side)
				}
			}
		}
		X = blas.SideBySide(X, own)
	}
	return X, groups
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
	X, groups := viewsOf(images)
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
	c.DropShort()
	return c.Figures("digits-lambda")
}
