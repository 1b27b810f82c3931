package export

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iokl/iokl/formula"
)

// ONNX writes a model of standard operators in double precision, from X (rows×columns), the inputs of the formula, to
// its outputs Y, as a protocol buffer with the field numbers of onnx.proto (https://onnx.ai). The names of both, and
// the words of categories, are JSON in its metadata. Rows with infinite inputs give what the limits of these columns
// give, and rows with missing numbers that the formula refuses NaN.
func ONNX(w io.Writer, f *formula.Formula) error {
	g := new(graph)
	z := g.inputs(f)
	g.outputs(f, z)
	m := g.model(len(f.Columns), len(f.Outputs))
	for _, note := range []struct {
		key   string
		value any
	}{{"inputs", f.Columns}, {"outputs", f.Outputs}, {"classes", f.Classes}} {
		value, err := json.Marshal(note.value)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		m = message(m, 14, message(text(nil, 1, note.key), 2, value))
	}
	if len(m) > math.MaxInt32 {
		return fmt.Errorf("the model takes %d MB, and an ONNX file holds %d at most", len(m)>>20, math.MaxInt32>>20)
	}
	_, err := w.Write(m)
	return err
}

// scalar adds a constant that goes with tables of any shape.
func (g *graph) scalar(v float64) string { return g.array([]float64{v}, 1, 1) }

// row adds a constant with one number for each column.
func (g *graph) row(v []float64) string { return g.array(v, 1, len(v)) }

func (g *graph) op(name string, inputs ...string) string { return g.node(name, inputs) }

func (g *graph) add(a, b string) string {
	if a == "" {
		return b
	}
	return g.op("Add", a, b)
}

func (g *graph) times(a string, v float64) string {
	if v == 1 {
		return a
	}
	return g.op("Mul", a, g.scalar(v))
}

func (g *graph) plus(a string, v float64) string {
	if v == 0 {
		return a
	}
	return g.op("Add", a, g.scalar(v))
}

// columns takes the given columns of a table.
func (g *graph) columns(a string, idx ...int) string {
	return g.node("Gather", []string{a, g.integers(idx...)}, attribute{"axis", 1})
}

// beside puts tables side by side.
func (g *graph) beside(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return g.node("Concat", parts, attribute{"axis", 1})
}

// rowSums is a column.
func (g *graph) rowSums(a string) string {
	return g.node("ReduceSum", []string{a, g.integers(1)}, attribute{"keepdims", 1})
}

// inputs computes z from X.
func (g *graph) inputs(f *formula.Formula) string {
	z := "X"
	plain := func(c formula.Column) bool { return c.Number && c.First == 0 && c.Periods == nil }
	if slices.ContainsFunc(f.Columns, func(c formula.Column) bool { return !plain(c) }) {
		var parts []string
		for k := range f.Columns {
			parts = append(parts, g.expand(&f.Columns[k], g.columns("X", k))...)
		}
		z = g.beside(parts)
	}
	if f.Fill != nil {
		z = g.op("Where", g.op("IsNaN", z), g.row(f.Fill), z)
	}
	if f.Low != nil {
		z = g.op("Max", g.op("Min", z, g.row(f.High)), g.row(f.Low))
	}
	if f.Mean == nil {
		return z
	}
	scale, mask := slices.Clone(f.Scale), make([]float64, len(f.Scale))
	for j, s := range f.Scale {
		if mask[j] = 1; s == 0 {
			scale[j], mask[j] = 1, 0
		}
	}
	z = g.op("Div", g.op("Sub", z, g.row(f.Mean)), g.row(scale))
	if slices.Contains(mask, 0) {
		z = g.op("Mul", z, g.row(mask))
	}
	return z
}

// expand is the tables that a column v of X becomes.
func (g *graph) expand(c *formula.Column, v string) (parts []string) {
	if c.Number {
		parts = append(parts, g.plus(v, -c.First))
	}
	for _, period := range c.Periods {
		since := g.node("Mod", []string{v, g.scalar(period)}, attribute{"fmod", 1})
		angle := g.op("Div", g.times(since, 2*math.Pi), g.scalar(period))
		for _, ahead := range []float64{math.Pi / 2, 0} { // the cosine and the sine
			sin := g.op("Sin", g.plus(angle, ahead))
			parts = append(parts, g.times(g.op("Round", g.times(sin, 1/formula.Grain)), formula.Grain))
		}
	}
	if c.Places == 0 {
		return parts
	}
	index, place := make([]float64, len(c.Place)), make([]float64, len(c.Place)*c.Places)
	for level, p := range c.Place {
		index[level], place[level*c.Places+p] = float64(level), 1
	}
	is := g.node("Cast", []string{g.op("Equal", v, g.row(index))}, attribute{"to", typeDouble})
	missing := g.times(v, 0) // NaN where v is
	return append(parts, g.add(missing, g.op("MatMul", is, g.array(place, len(c.Place), c.Places))))
}

// outputs computes Y from z.
func (g *graph) outputs(f *formula.Formula, z string) {
	n, d := len(f.Outputs), f.Width()
	y := g.row(f.Offset)
	if len(f.Sums) == 0 { // as many rows as z has
		y = g.add(y, g.op("MatMul", z, g.array(make([]float64, d*n), d, n)))
	}
	for _, s := range f.Sums {
		v := ""
		for i := range s.Terms {
			v = g.add(v, g.term(&s.Terms[i], z, d))
		}
		y = g.add(y, g.op("MatMul", v, g.array(s.Weights, len(s.Weights)/n, n)))
	}
	g.named("Identity", "Y", []string{y})
}

// term computes the values of a term of z, which has d columns.
func (g *graph) term(t *formula.Term, z string, d int) string {
	q, d := g.features(t, z, d)
	if t.Metric == formula.Linear {
		return g.times(q, t.Weight)
	}
	u := g.between(t, q, d)
	if t.Metric == formula.Sine {
		return g.op("Sin", g.op("Add", u, g.row(t.Shift)))
	}
	v := ""
	for _, f := range t.Functions {
		v = g.add(v, g.function(&f, u))
	}
	return v
}

// features computes q and its number of columns.
func (g *graph) features(t *formula.Term, z string, d int) (string, int) {
	if t.Columns != nil {
		z, d = g.columns(z, t.Columns...), len(t.Columns)
	}
	if t.Knots != nil {
		var parts []string
		for c, knots := range t.Knots {
			part := g.columns(z, c)
			if knots != nil {
				part = g.rank(knots, part)
			}
			parts = append(parts, part)
		}
		z = g.beside(parts)
	}
	if t.Factor != nil {
		z = g.op("Mul", z, g.row(t.Factor))
	}
	if t.Directions != nil {
		z, d = g.op("MatMul", z, g.transposed(slices.Concat(t.Directions...), d)), len(t.Directions)
	}
	return z, d
}

// transposed adds the transpose of a matrix of so many columns.
func (g *graph) transposed(data []float64, columns int) string {
	rows := len(data) / columns
	T := make([]float64, len(data))
	for i := range rows {
		for j := range columns {
			T[j*rows+i] = data[i*columns+j]
		}
	}
	return g.array(T, columns, rows)
}

// rank computes the rank of a column among knots: one for each pair of neighbours below it, the part of their distance
// that it has come between two, ½ where it equals both.
func (g *graph) rank(knots []float64, v string) string {
	last := len(knots) - 1
	if knots[0] == knots[last] {
		return g.times(v, 0)
	}
	var low, width, equal []float64
	for i, k := range knots[:last] {
		if next := knots[i+1]; next > k {
			low, width = append(low, k), append(width, next-k)
		} else {
			equal = append(equal, k)
		}
	}
	near := 1e-8 * (knots[last] - knots[0])
	for _, k := range equal {
		low, width = append(low, k-near), append(width, 2*near)
	}
	part := g.op("Div", g.op("Sub", v, g.row(low)), g.row(width))
	place := g.rowSums(g.op("Max", g.op("Min", part, g.scalar(1)), g.scalar(0)))
	return g.plus(g.times(place, 2*math.Sqrt(3)/float64(last)), -math.Sqrt(3))
}

// between computes u of the features q, without the sine. Distances are summed column by column, which takes no more
// memory than they do, and no digits as norms and inner products would.
func (g *graph) between(t *formula.Term, q string, d int) (u string) {
	if t.Metric == formula.Dot || t.Metric == formula.Sine {
		return g.op("MatMul", q, g.transposed(t.Points, d))
	}
	for c := range d {
		var p []float64
		for i := c; i < len(t.Points); i += d {
			p = append(p, t.Points[i])
		}
		apart := g.op("Sub", g.columns(q, c), g.row(p))
		if t.Metric == formula.Absolute {
			u = g.add(u, g.op("Abs", apart))
		} else {
			u = g.add(u, g.op("Mul", apart, apart))
		}
	}
	if t.Metric == formula.Euclid {
		u = g.op("Sqrt", u)
	}
	return u
}

// function computes weight·p(u)^power·exp(−rate·u).
func (g *graph) function(f *formula.Function, u string) string {
	last := len(f.Coefficients) - 1
	p := g.scalar(f.Coefficients[last])
	for _, c := range slices.Backward(f.Coefficients[:last]) {
		p = g.plus(g.op("Mul", p, u), c)
	}
	if f.Power != 1 {
		p = g.op("Pow", p, g.scalar(f.Power))
	}
	if f.Rate != 0 {
		p = g.op("Mul", p, g.op("Exp", g.times(u, -f.Rate)))
	}
	return g.times(p, f.Weight)
}

// Versions that have all operators used, with double precision.
const irVersion, opsetVersion = 7, 13

// Types of elements.
const (
	typeInt64  = 7
	typeDouble = 11
)

// graph is an ONNX graph while it is built.
type graph struct {
	nodes, arrays []byte // fields 1 and 5 of GraphProto
	names         int    // given so far
}

// attribute is an integer attribute of a node.
type attribute struct {
	name  string
	value int
}

func (g *graph) name() string {
	g.names++
	return fmt.Sprintf("v%d", g.names)
}

// node adds an operator of one output and returns the name of that.
func (g *graph) node(op string, inputs []string, attributes ...attribute) string {
	out := g.name()
	g.named(op, out, inputs, attributes...)
	return out
}

func (g *graph) named(op, out string, inputs []string, attributes ...attribute) {
	var b []byte
	for _, name := range inputs {
		b = text(b, 1, name)
	}
	b = text(b, 4, op)
	b = text(b, 2, out)
	for _, a := range attributes {
		const kind, isInt = 20, 2
		b = message(b, 5, number(number(text(nil, 1, a.name), 3, a.value), kind, isInt))
	}
	g.nodes = message(g.nodes, 1, b)
}

// array adds a constant of doubles.
func (g *graph) array(data []float64, shape ...int) string {
	raw, _ := binary.Append(nil, binary.LittleEndian, data)
	return g.constant(typeDouble, raw, shape)
}

// integers adds a constant vector of integers.
func (g *graph) integers(data ...int) string {
	var raw []byte
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.constant(typeInt64, raw, []int{len(data)})
}

func (g *graph) constant(kind int, raw []byte, shape []int) string {
	out := g.name()
	var b []byte
	for _, n := range shape {
		b = number(b, 1, n)
	}
	b = text(number(b, 2, kind), 8, out)
	g.arrays = message(g.arrays, 5, message(b, 9, raw))
	return out
}

// model is the ModelProto of the graph, from X with so many columns to Y.
func (g *graph) model(inputs, outputs int) []byte {
	b := text(g.nodes, 2, "iokl")
	b = append(b, g.arrays...)
	b = message(b, 11, value("X", inputs))
	b = message(b, 12, value("Y", outputs))
	m := text(number(nil, 1, irVersion), 2, "iokl")
	m = message(m, 7, b)
	return message(m, 8, number(text(nil, 1, ""), 2, opsetVersion))
}

// value is the ValueInfoProto of a table of doubles of any number of rows.
func value(name string, columns int) []byte {
	shape := message(nil, 1, text(nil, 2, "rows"))
	shape = message(shape, 1, number(nil, 1, columns))
	tensor := message(number(nil, 1, typeDouble), 2, shape)
	return message(text(nil, 1, name), 2, message(nil, 1, tensor))
}

func number(b []byte, field protowire.Number, v int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func message(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func text(b []byte, field protowire.Number, v string) []byte { return message(b, field, []byte(v)) }
