package granger_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

func TestErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	change := func(f func(d *granger.Data)) *granger.Data {
		d := granger.LinearVAR(3, 40, 1, 1, 1, 1).Data
		f(&d)
		return &d
	}
	same := func(*granger.Data) {}
	halves := func(d *granger.Data, first int) {
		d.Replicate = make([]int, d.X.Rows)
		for i := first; i < d.X.Rows; i++ {
			d.Replicate[i] = 1
		}
	}
	for _, c := range []struct {
		name string
		ctx  context.Context
		d    *granger.Data
		opt  granger.Options
		err  error
	}{
		{"a gap", bg, change(func(d *granger.Data) { d.X.Data[7] = math.NaN() }), granger.Options{}, nil},
		{"a gap in every window", bg, change(func(d *granger.Data) {
			for i := 0; i < d.X.Rows; i += 2 {
				d.X.Data[i*d.X.Stride] = math.NaN()
			}
		}), granger.Options{}, granger.ErrGap},
		{"an infinite value", bg, change(func(d *granger.Data) {
			d.X.Data[7] = math.Inf(1)
		}), granger.Options{}, granger.ErrGap},
		{"a constant series", bg, change(func(d *granger.Data) {
			for i := range d.X.Rows {
				d.X.Data[i*d.X.Stride+1] = 4
			}
		}), granger.Options{}, granger.ErrConstant},
		{"a replicate shorter than the lag", bg, change(func(d *granger.Data) {
			halves(d, 37)
		}), granger.Options{Lag: 3}, granger.ErrShort},
		{"a replicate just long enough", bg, change(func(d *granger.Data) {
			halves(d, 36)
		}), granger.Options{Lag: 3}, nil},
		{"replicates mixed up", bg, change(func(d *granger.Data) {
			halves(d, 20)
			d.Replicate[39] = 0
		}), granger.Options{}, granger.ErrDuplicate},
		{"T < 3·lag", bg, change(same), granger.Options{Lag: 14}, granger.ErrShort},
		{"two series of one name", bg, change(func(d *granger.Data) {
			d.Names[2] = d.Names[0]
		}), granger.Options{}, granger.ErrDuplicate},
		{"two nodes of one name", bg, change(func(d *granger.Data) {
			d.Nodes = []granger.Node{{"a", []int{0}}, {"a", []int{1}}}
		}), granger.Options{}, granger.ErrDuplicate},
		{"a series twice in a node", bg, change(func(d *granger.Data) {
			d.Nodes = []granger.Node{{"a", []int{0, 0}}}
		}), granger.Options{}, granger.ErrDuplicate},
		{"a node without series", bg, change(func(d *granger.Data) {
			d.Nodes = []granger.Node{{"a", nil}}
		}), granger.Options{}, granger.ErrOption},
		{"an unknown series", bg, change(func(d *granger.Data) {
			d.Nodes = []granger.Node{{"a", []int{3}}}
		}), granger.Options{}, granger.ErrUnknown},
		{"names missing", bg, change(func(d *granger.Data) {
			d.Names = d.Names[:2]
		}), granger.Options{}, granger.ErrOption},
		{"negative lag", bg, change(same), granger.Options{Lag: -1}, granger.ErrOption},
		{"negative lambda", bg, change(same), granger.Options{Lambda: -1}, granger.ErrOption},
		{"NaN lambda", bg, change(same), granger.Options{Lambdas: []float64{1, math.NaN()}}, granger.ErrOption},
		{
			"too few samples to judge λ on", bg, &granger.Data{
				Names: []string{"a"},
				X:     blas.Vector([]float64{1, 3, 2}),
			},
			granger.Options{Lambdas: []float64{1, 2}},
			granger.ErrShort,
		},
		{"lambda too small for single precision", bg, change(same), granger.Options{Lambda: 1e-14}, granger.ErrOption},
		{
			"lambda too small for one node", bg, change(same),
			granger.Options{Lambda: 1e-14, Norm: "lp:2"},
			granger.ErrOption,
		},
		{"units whose squares overflow", bg, change(func(d *granger.Data) {
			blas.Scal(1e200, d.X.Data)
		}), granger.Options{}, nil},
		{"units whose squares vanish", bg, change(func(d *granger.Data) {
			blas.Scal(1e-200, d.X.Data)
		}), granger.Options{}, nil},
		{"decay", bg, change(same), granger.Options{Decay: 1.5}, granger.ErrOption},
		{"hold-out", bg, change(same), granger.Options{HoldOut: 1}, granger.ErrOption},
		{"norm", bg, change(same), granger.Options{Norm: "nonsense"}, granger.ErrOption},
		{"kernel", bg, change(same), granger.Options{Kernels: []string{"nonsense"}}, granger.ErrOption},
		{"kernel of all nodes", bg, change(same), granger.Options{Kernels: []string{"linear:all"}}, granger.ErrOption},
		{"kernel of two nodes", bg, change(same), granger.Options{Kernels: []string{"linear:0,1"}}, granger.ErrOption},
		{"memory", bg, change(same), granger.Options{MaxBytes: 100}, granger.ErrMemory},
		{"cancelled", cancelled, change(same), granger.Options{}, context.Canceled},
		{"long lag", bg, change(same), granger.Options{Lag: 13}, nil},
		{"one series", bg, change(func(d *granger.Data) {
			d.Nodes = []granger.Node{{"a", []int{1}}}
		}), granger.Options{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := granger.Infer(c.ctx, c.d, c.opt)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
		})
	}
}

func TestGroup(t *testing.T) {
	names := []string{"a", "b", "c"}
	nodes, err := granger.Group(names, [][2]string{{"c", "x"}, {"a", "y"}, {"b", "x"}})
	if err != nil || len(nodes) != 2 || nodes[0].Name != "x" || nodes[0].Series[0] != 2 || nodes[0].Series[1] != 1 ||
		nodes[1].Series[0] != 0 {
		t.Fatalf("%v, %v", nodes, err)
	}
	if _, err := granger.Group(names, [][2]string{{"d", "x"}}); !errors.Is(err, granger.ErrUnknown) {
		t.Errorf("unknown series: %v", err)
	}
	if _, err := granger.Group(names, [][2]string{{"a", "x"}, {"a", "x"}}); !errors.Is(err, granger.ErrDuplicate) {
		t.Errorf("a pair twice: %v", err)
	}
	if _, err := granger.Group([]string{"a", "a"}, nil); !errors.Is(err, granger.ErrDuplicate) {
		t.Errorf("two series of one name: %v", err)
	}
}

// A series that its own past explains exactly leaves nothing to the others.
func TestNothingLeft(t *testing.T) {
	d := granger.LinearVAR(2, 60, 1, 0, 1, 1).Data
	for i := range d.X.Rows {
		d.X.Data[i*d.X.Stride] = float64(i) // x_t = x_{t-1} + 1
	}
	res, err := granger.Infer(bg, &d, granger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if g := blas.Row(res.Graph, 0); g[0] != 1 || g[1] != 0 {
		t.Errorf("strengths %v", g)
	}
	if !(res.Fits[0].RMSE <= 1e-9) {
		t.Errorf("RMSE %g", res.Fits[0].RMSE)
	}
}
