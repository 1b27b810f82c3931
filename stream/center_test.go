package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
)

// Targets far from 0 lose no digits: the sums are those of the targets less their
// offset, whichever way they were added up. The offset is a power of two far above
// the targets, which are rounded so that adding it changes nothing else.
func TestFarTargets(t *testing.T) {
	X, near, maps := data(t, 900)
	const offset = 0x1p40
	far := blas.Clone(near)
	for i, v := range far.Data {
		far.Data[i] = v + offset
		near.Data[i] = far.Data[i] - offset
	}
	first := blas.Row(far, 0) // a fold that begins with a row unlike the others
	first[0] -= offset
	near.Data[0] = first[0] - offset
	opt := Options{BlockRows: 64, Folds: 3}
	run := func(Y blas.General, src func(Source) Source) *Accumulator {
		a := New(maps, 3, 2, opt)
		if err := a.Run(context.Background(), src(&chopped{x: X, y: Y, sizes: []int{41}, end: io.EOF})); err != nil {
			t.Fatal(err)
		}
		return a
	}
	whole := func(s Source) Source { return s }
	for _, c := range []struct {
		name string
		of   func(Y blas.General) *Accumulator
	}{
		{"one pass", func(Y blas.General) *Accumulator { return run(Y, whole) }},
		{"ranks", func(Y blas.General) *Accumulator {
			ranks := make([]*Accumulator, 3)
			for k := range ranks {
				ranks[k] = run(Y, func(s Source) Source { return Share(s, k, len(ranks)) })
			}
			if err := reduceAll(ranks); err != nil {
				t.Fatal(err)
			}
			return ranks[0]
		}},
		{"checkpoint", func(Y blas.General) *Accumulator {
			var buf bytes.Buffer
			a := New(maps, 3, 2, opt)
			if err := a.Add(Block{X: blas.View(X, 0, 0, 500, 3), Y: blas.View(Y, 0, 0, 500, 2)}); err != nil {
				t.Fatal(err)
			}
			if err := a.Encode(&buf); err != nil {
				t.Fatal(err)
			}
			b := New(maps, 3, 2, opt)
			if err := b.Decode(&buf); err != nil {
				t.Fatal(err)
			}
			if err := b.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
				t.Fatal(err)
			}
			return b
		}},
	} {
		got, err := c.of(far).Sums()
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.of(near).Sums()
		if err != nil {
			t.Fatal(err)
		}
		for _, skip := range []func(int) bool{nil, func(k int) bool { return k == 1 }} {
			if err := compareFar(Total(got, skip), Total(want, skip), offset); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// compareFar compares moments and standardised sums of targets with those of targets
// that lie offset below.
func compareFar(far, near Sums, offset float64) error {
	m, d := far.OutputMoments()
	mean, dev := near.OutputMoments()
	for j := range mean {
		if !(math.Abs(d[j]-dev[j]) <= 1e-12*dev[j]) || !(math.Abs(m[j]-offset-mean[j]) <= 0x1p-50*offset) {
			return fmt.Errorf("target %d: mean %g and deviation %.15g, want %g and %.15g", j, m[j]-offset, d[j],
				mean[j], dev[j])
		}
		mean[j] = m[j] - offset
	}
	H, yy := far.Standardized(m, d)
	G, ww := near.Standardized(mean, dev)
	size := blas.Frob(G)
	blas.AddScaled(G, -1, H)
	for j := range yy {
		if !(math.Abs(yy[j]-ww[j]) <= 1e-12*ww[j]) || !(blas.Frob(G) <= 1e-11*size) {
			return fmt.Errorf("target %d: sum of squares %.15g, want %.15g; H off by %g of %g", j, yy[j], ww[j],
				blas.Frob(G), size)
		}
	}
	return nil
}
