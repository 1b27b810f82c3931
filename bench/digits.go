package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed" // digits.csv.gz
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

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
		{"rows", func(img []float64) []float64 { return profile(img, digitSide, 1) }},
		{"columns", func(img []float64) []float64 { return profile(img, 1, digitSide) }},
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

// profile sums the image along the direction of the given stride, for each line across.
func profile(img []float64, across, along int) []float64 {
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

// digitTask learns from three images in five and tests on the others.
func digitTask(ctx context.Context, env *Env) (*task, error) {
	images, labels, err := loadDigits()
	if err != nil {
		return nil, err
	}
	X, groups := digitViews(images)
	var train, test []int
	for i := range labels {
		if keep := i%5 < 3; keep && (!env.Quick || i%15 < 5) {
			train = append(train, i)
		} else if !keep {
			test = append(test, i)
		}
	}
	t := &task{X: takeRows(X, train), lambda: 1e-4, norm: bcd.Lp{P: 1}, labels: take(labels, test)}
	t.Y, t.mean = oneHot(take(labels, train), digitClass)
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

// runDigits learns to read digits: first what each learned part brings, then
// exact against inexact solvers of the same problem.
func runDigits(ctx context.Context, env *Env) ([]Result, error) {
	t, err := digitTask(ctx, env)
	if err != nil {
		return nil, err
	}
	tol := pick(env, 1e-3, 1e-4)
	m := len(t.grams)
	uniform := make([]float64, m)
	t.norm.Start(uniform)
	exact, inexact := bcd.Options{Tol: tol, Sylvester: "eigen"}, bcd.Options{Tol: tol, Sylvester: "cg"}
	budget := seconds(pick(env, 3.0, 25))
	return fitAll(ctx, env, t, []approach{
		{name: "uniform kernels, L = I", eta: uniform, fixEta: true, fixL: true, opt: bcd.Options{Tol: tol}},
		{name: "IKL (kernel weights)", fixL: true, opt: bcd.Options{Tol: tol}, budget: budget},
		{name: "OKL (output kernel)", eta: uniform, fixEta: true, opt: bcd.Options{Tol: tol}, budget: budget},
		{name: "IOKL (both)", opt: bcd.Options{Tol: tol}, budget: budget},
		{name: "IOKL by plain CG", opt: inexact, budget: budget},
		{name: "IOKL by eigendecomposition", opt: exact, budget: budget},
	})
}

// fitAll solves the task in every way; an approach that fails is reported as a
// result with its error.
func fitAll(ctx context.Context, env *Env, t *task, approaches []approach) ([]Result, error) {
	var results []Result
	for _, a := range approaches {
		r, err := t.fit(ctx, env, a)
		if err != nil && ctx.Err() == nil {
			r.Error = err.Error()
		}
		if r.Count > 0 || r.Error != "" {
			results = append(results, r)
		}
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		env.Log("  %s: %.2f s", a.name, r.Seconds)
	}
	return results, nil
}
