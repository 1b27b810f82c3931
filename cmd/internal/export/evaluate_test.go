package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"google.golang.org/protobuf/encoding/protowire"
)

// fields are those of a message: numbers as they are, and others as bytes.
type fields map[protowire.Number][]field

type field struct {
	number uint64
	bytes  []byte
}

func (f fields) text(n protowire.Number) string { return string(f[n][0].bytes) }

func decode(t *testing.T, b []byte) fields {
	t.Helper()
	f := fields{}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		var v field
		size := 0
		if b = b[n:]; kind == protowire.VarintType {
			v.number, size = protowire.ConsumeVarint(b)
		} else {
			v.bytes, size = protowire.ConsumeBytes(b)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		f[num], b = append(f[num], v), b[size:]
	}
	return f
}

// tensor is a matrix of doubles or truth values, or a list of integers.
type tensor struct {
	r, c int
	v    []float64
	ints []int
}

func newTensor(r, c int) *tensor { return &tensor{r: r, c: c, v: make([]float64, r*c)} }

func (a *tensor) rows() (list [][]float64) {
	for i := range a.r {
		list = append(list, a.v[i*a.c:(i+1)*a.c])
	}
	return list
}

// at reads an element of a tensor that is repeated to a larger one.
func (a *tensor) at(i, j int) float64 { return a.v[min(i, a.r-1)*a.c+min(j, a.c-1)] }

// model is an ONNX model that was read.
type model struct {
	nodes  []fields
	arrays map[string]*tensor
	notes  map[string]string
}

func parse(t *testing.T, file []byte) *model {
	t.Helper()
	top := decode(t, file)
	g := decode(t, top[7][0].bytes)
	m := &model{arrays: map[string]*tensor{}, notes: map[string]string{}}
	for _, note := range top[14] {
		f := decode(t, note.bytes)
		m.notes[f.text(1)] = f.text(2)
	}
	for _, n := range g[1] {
		m.nodes = append(m.nodes, decode(t, n.bytes))
	}
	for _, a := range g[5] {
		f := decode(t, a.bytes)
		var words []uint64
		for raw := f[9][0].bytes; len(raw) > 0; raw = raw[8:] {
			words = append(words, binary.LittleEndian.Uint64(raw))
		}
		v := new(tensor)
		switch f[2][0].number {
		case typeDouble:
			v = newTensor(int(f[1][0].number), int(f[1][1].number))
			for i := range v.v {
				v.v[i] = math.Float64frombits(words[i])
			}
		case typeInt64:
			for _, w := range words {
				v.ints = append(v.ints, int(w))
			}
		}
		m.arrays[f.text(8)] = v
	}
	return m
}

// run computes Y from X by the definitions of the operators: https://onnx.ai/onnx/operators.
func (m *model) run(t *testing.T, X *mat.Dense) *tensor {
	t.Helper()
	r, c := X.Dims()
	values := map[string]*tensor{"X": {r: r, c: c, v: slices.Clone(X.RawMatrix().Data)}}
	for name, a := range m.arrays {
		values[name] = a
	}
	for _, node := range m.nodes {
		var in []*tensor
		for _, name := range node[1] {
			if values[string(name.bytes)] == nil {
				t.Fatalf("%s is not there yet", name.bytes)
			}
			in = append(in, values[string(name.bytes)])
		}
		attributes := map[string]int{}
		for _, a := range node[5] {
			f := decode(t, a.bytes)
			attributes[f.text(1)] = int(f[3][0].number)
		}
		out := apply(node.text(4), in, attributes)
		if out == nil {
			t.Fatalf("operator %s %v", node.text(4), attributes)
		}
		values[node.text(2)] = out
	}
	return values["Y"]
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pointwise are the operators of one element of each input.
var pointwise = map[string]func(v []float64) float64{
	"Add": func(v []float64) float64 { return v[0] + v[1] },
	"Sub": func(v []float64) float64 { return v[0] - v[1] },
	"Mul": func(v []float64) float64 { return v[0] * v[1] },
	"Div": func(v []float64) float64 { return v[0] / v[1] },
	"Pow": func(v []float64) float64 { return math.Pow(v[0], v[1]) },
	"Min": func(v []float64) float64 { return math.Min(v[0], v[1]) },
	"Max": func(v []float64) float64 { return math.Max(v[0], v[1]) },
	"Where": func(v []float64) float64 {
		if v[0] != 0 {
			return v[1]
		}
		return v[2]
	},
	"Equal":    func(v []float64) float64 { return truth(v[0] == v[1]) },
	"IsNaN":    func(v []float64) float64 { return truth(math.IsNaN(v[0])) },
	"Cast":     func(v []float64) float64 { return v[0] },
	"Identity": func(v []float64) float64 { return v[0] },
	"Sin":      func(v []float64) float64 { return math.Sin(v[0]) },
	"Exp":      func(v []float64) float64 { return math.Exp(v[0]) },
	"Abs":      func(v []float64) float64 { return math.Abs(v[0]) },
	"Round":    func(v []float64) float64 { return math.RoundToEven(v[0]) },
	"Sqrt":     func(v []float64) float64 { return math.Sqrt(v[0]) },
}

func apply(op string, in []*tensor, attributes map[string]int) *tensor {
	if f := pointwise[op]; f != nil {
		return elementwise(f, in)
	}
	a := in[0]
	switch {
	case op == "MatMul" && a.c == in[1].r:
		out := newTensor(a.r, in[1].c)
		mat.NewDense(a.r, in[1].c, out.v).Mul(mat.NewDense(a.r, a.c, a.v), mat.NewDense(a.c, in[1].c, in[1].v))
		return out
	case op == "Gather" && attributes["axis"] == 1:
		out := &tensor{r: a.r, c: len(in[1].ints)}
		for i := range a.r {
			for _, j := range in[1].ints {
				out.v = append(out.v, a.v[i*a.c+j])
			}
		}
		return out
	case op == "Concat" && attributes["axis"] == 1:
		out := &tensor{r: a.r}
		for _, part := range in {
			out.c += part.c
		}
		for i := range a.r {
			for _, part := range in {
				out.v = append(out.v, part.v[i*part.c:(i+1)*part.c]...)
			}
		}
		return out
	case op == "Mod" && attributes["fmod"] == 1:
		return elementwise(func(v []float64) float64 { return math.Mod(v[0], v[1]) }, in)
	case op == "ReduceSum" && slices.Equal(in[1].ints, []int{1}) && attributes["keepdims"] == 1:
		out := newTensor(a.r, 1)
		for i, row := range a.rows() {
			for _, v := range row {
				out.v[i] += v
			}
		}
		return out
	}
	return nil
}

// elementwise applies f after the inputs are repeated to a common shape; nil where they have none.
func elementwise(f func(v []float64) float64, in []*tensor) *tensor {
	out := new(tensor)
	for _, a := range in {
		out.r, out.c = max(out.r, a.r), max(out.c, a.c)
	}
	for _, a := range in {
		if a.r != 1 && a.r != out.r || a.c != 1 && a.c != out.c {
			return nil
		}
	}
	v := make([]float64, len(in))
	for i := range out.r {
		for j := range out.c {
			for k, a := range in {
				v[k] = a.at(i, j)
			}
			out.v = append(out.v, f(v))
		}
	}
	return out
}

// checkONNX has the checker of package onnx, and onnxruntime, look at a model, where Python has these.
func checkONNX(t *testing.T, file []byte, X, Y *mat.Dense) {
	t.Helper()
	const script = `
import sys
try:
    import onnx, onnx.checker
    onnx.checker.check_model(onnx.load(sys.argv[1]), full_check=True)
    print("checked by onnx", onnx.__version__)
except ImportError:
    pass
try:
    import numpy, onnxruntime
    X = numpy.loadtxt(sys.argv[2], delimiter=",", ndmin=2)
    want = numpy.loadtxt(sys.argv[3], delimiter=",", ndmin=2)
    Y, = onnxruntime.InferenceSession(sys.argv[1]).run(["Y"], {"X": X})
    assert (abs(Y - want) <= 1e-8 * abs(want).max(axis=0)).all(), abs(Y - want).max()
    print("run by onnxruntime", onnxruntime.__version__)
except ImportError:
    pass
`
	dir := t.TempDir()
	for name, text := range map[string][]byte{"m.onnx": file, "x.csv": csv(X), "y.csv": csv(Y)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		python = "python3"
	}
	cmd := exec.Command(python, "-c", script, "m.onnx", "x.csv", "y.csv")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Errorf("%s", out)
	}
	t.Logf("%s", out)
}

func csv(a *mat.Dense) []byte {
	var b bytes.Buffer
	for i := range a.RawMatrix().Rows {
		row := strings.Trim(fmt.Sprint(a.RawRowView(i)), "[]")
		fmt.Fprintln(&b, strings.ReplaceAll(row, " ", ","))
	}
	return b.Bytes()
}
