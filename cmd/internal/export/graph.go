// This file writes ONNX models as protocol buffers. Field numbers are those of onnx.proto (https://onnx.ai).

package export

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

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

// model is the ModelProto of the graph, from X with so many columns to Y, with notes for a reader of names.
func (g *graph) model(inputs, outputs int, notes map[string]string, keys ...string) []byte {
	b := text(g.nodes, 2, "iokl")
	b = append(b, g.arrays...)
	b = message(b, 11, value("X", inputs))
	b = message(b, 12, value("Y", outputs))
	m := text(number(nil, 1, irVersion), 2, "iokl")
	m = message(m, 7, b)
	m = message(m, 8, number(text(nil, 1, ""), 2, opsetVersion))
	for _, key := range keys {
		m = message(m, 14, text(text(nil, 1, key), 2, notes[key]))
	}
	return m
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
