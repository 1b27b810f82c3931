package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed" // digits.csv.gz
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

//go:embed data/digits.csv.gz
var digitsCSV []byte

const (
	digitSide  = 8
	digitClass = 10
)

// loadDigits returns the 1797 images, 64 pixels from 0 to 16 each, and their classes
// (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, CC BY 4.0).
func loadDigits() (images blas.General, labels []int, err error) {
	zr, err := gzip.NewReader(bytes.NewReader(digitsCSV))
	if err != nil {
		return blas.General{}, nil, err
	}
	rows, err := csv.NewReader(zr).ReadAll()
	if err != nil {
		return blas.General{}, nil, err
	}
	images, labels = blas.NewGeneral(len(rows), digitSide*digitSide), make([]int, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return images, labels, fmt.Errorf("digits: row %d: %w", i+1, err)
			}
			if j == images.Cols {
				labels[i] = int(v)
				continue
			}
			blas.Row(images, i)[j] = v
		}
	}
	return images, labels, nil
}

// digitViews computes what the kernels look at, several views of each image side by side.
func digitViews(images blas.General) (blas.General, []kernel.Group) {
	views := []struct {
		name string
		of   func(img []float64) []float64
	}{
		{"pixels", func(img []float64) []float64 { return img }},
		{"pooled", pooled},
		{"rows", func(img []float64) []float64 { return lineSums(img, digitSide, 1) }},
		{"columns", func(img []float64) []float64 { return lineSums(img, 1, digitSide) }},
		{"gradients", gradients},
		{"dct", lowFrequencies},
		{"border", border},
	}
	var groups []kernel.Group
	first := blas.Row(images, 0)
	width := 0
	for _, v := range views {
		g := kernel.Group{Name: v.name}
		for range v.of(first) {
			g.Columns = append(g.Columns, width)
			width++
		}
		groups = append(groups, g)
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
		out[p/digitSide/2*4+p%digitSide/2] += v
	}
	return out
}

// lineSums sums the image along the direction of the given stride, for each line across.
func lineSums(img []float64, across, along int) []float64 {
	out := make([]float64, digitSide)
	for i := range out {
		for j := range digitSide {
			out[i] += img[i*across+j*along]
		}
	}
	return out
}

// gradients are the differences of neighbours, to the right and down.
func gradients(img []float64) []float64 {
	var out []float64
	for y := range digitSide {
		for x := range digitSide {
			p := y*digitSide + x
			if x+1 < digitSide {
				out = append(out, img[p+1]-img[p])
			}
			if y+1 < digitSide {
				out = append(out, img[p+digitSide]-img[p])
			}
		}
	}
	return out
}

// lowFrequencies are the coefficients (u,v), u+v ≤ 5, of the discrete cosine
// transform but the constant one.
func lowFrequencies(img []float64) []float64 {
	wave := func(u, x int) float64 { return math.Cos(math.Pi * float64(u) * (float64(x) + 0.5) / digitSide) }
	var out []float64
	for u := range 6 {
		for v := range 6 - u {
			if u+v == 0 {
				continue
			}
			var s float64
			for p, w := range img {
				s += w * wave(u, p/digitSide) * wave(v, p%digitSide)
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
		y, x := p/digitSide, p%digitSide
		if y == 0 || x == 0 || y == digitSide-1 || x == digitSide-1 {
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
func digitTask(ctx context.Context, env *Env, lambda float64, train func(i int) bool) (*task, error) {
	images, labels, err := loadDigits()
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
	t := &task{X: takeRows(X, learn), lambda: lambda, norm: bcd.Lp{P: 1}, labels: take(labels, test)}
	t.Y, t.mean = oneHot(take(labels, learn), digitClass)
	d, err := kernel.Build(digitKernels, t.X, groups, env.Seed)
	if err != nil {
		return nil, err
	}
	return t, t.build(ctx, env, d, takeRows(X, test))
}

// oneHot are the indicators of the classes less their means, and the means.
func oneHot(labels []int, classes int) (Y blas.General, mean []float64) {
	Y, mean = blas.NewGeneral(len(labels), classes), make([]float64, classes)
	for i, c := range labels {
		Y.Data[i*classes+c] = 1
		mean[c] += 1 / float64(len(labels))
	}
	for i := range labels {
		blas.Axpy(-1, mean, blas.Row(Y, i))
	}
	return Y, mean
}

func takeRows(X blas.General, idx []int) blas.General {
	out := blas.NewGeneral(len(idx), X.Cols)
	for k, i := range idx {
		copy(blas.Row(out, k), blas.Row(X, i))
	}
	return out
}

func take[T any](x []T, idx []int) []T {
	out := make([]T, len(idx))
	for k, i := range idx {
		out[k] = x[i]
	}
	return out
}

// runDigits learns to read digits: first what each learned part brings when
// images are few, one in three, for every λ; then exact against inexact solvers
// of the same problem on the other two thirds.
func runDigits(ctx context.Context, env *Env) ([]Result, error) {
	few, err := digitTask(ctx, env, 0, func(i int) bool { return i%3 == 0 })
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, lambda := range []float64{1e-2, 1e-3, 1e-4, 1e-5} {
		few.lambda = lambda
		part, err := fitAll(ctx, env, few, whatIsLearned(few, bcd.Options{Tol: 1e-3}))
		for i := range part {
			part[i].Trace = nil
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	many, err := digitTask(ctx, env, 1e-3, func(i int) bool { return i%3 != 0 })
	if err != nil {
		return results, err
	}
	part, err := fitAll(ctx, env, many, inners(1e-5, seconds(pick(env, 5.0, 25))))
	return append(results, part...), err
}

// whatIsLearned are the four choices of what to learn.
func whatIsLearned(t *task, opt bcd.Options) []approach {
	uniform := make([]float64, len(t.grams))
	t.norm.Start(uniform)
	return []approach{
		{name: "uniform kernels, L = I", eta: uniform, fixEta: true, fixL: true, opt: opt},
		{name: "IKL (kernel weights)", fixL: true, opt: opt},
		{name: "OKL (output kernel)", eta: uniform, fixEta: true, opt: opt},
		{name: "IOKL (both)", opt: opt},
	}
}

// inners are the same minimisation with three solvers of the C step.
func inners(tol float64, budget time.Duration) []approach {
	return []approach{
		{name: "IOKL, fast", opt: bcd.Options{Tol: tol}, budget: budget},
		{name: "IOKL, plain CG", opt: bcd.Options{Tol: tol, Sylvester: "cg"}, budget: budget},
		{name: "IOKL, eigendecomposition", opt: bcd.Options{Tol: tol, Sylvester: "eigen"}, budget: budget},
	}
}

// digitFigures shows the accuracy against λ for each choice of what to learn.
func digitFigures(group []Result) []figure {
	fig := figure{
		name: "digits-lambda", title: "digits: test accuracy by what is learned, few training images",
		xLabel: "λ (logarithmic)", yLabel: "test accuracy (%)", logX: true,
	}
	var curves []curve
	for _, r := range group {
		lambda, ok := r.Params["lambda"].(float64)
		if r.Trace != nil || r.Accuracy == nil || !ok {
			continue
		}
		i := slices.IndexFunc(curves, func(c curve) bool { return c.name == r.Name })
		if i < 0 {
			i = len(curves)
			curves = append(curves, curve{name: r.Name})
		}
		curves[i].xy = append(curves[i].xy, plotter.XY{X: lambda, Y: 100 * *r.Accuracy})
	}
	for _, c := range curves {
		if len(c.xy) > 1 {
			fig.curves = append(fig.curves, c)
		}
	}
	if len(fig.curves) == 0 {
		return nil
	}
	return []figure{fig}
}
