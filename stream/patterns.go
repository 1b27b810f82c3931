// This file lists which targets rows observe together.

package stream

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// patterns are the different sets of observed targets of some rows.
type patterns struct {
	list [][]bool // in the order in which they were met
	met  map[string]bool
	text []byte
}

// Patterns lists the different sets of observed targets that rows of Y have, in the order in
// which they come; NaN is a missing target.
func Patterns(Y blas.General) [][]bool {
	var p patterns
	for i := range Y.Rows {
		p.add(blas.Row(Y, i))
	}
	return p.list
}

// add takes a row of targets.
func (p *patterns) add(y []float64) {
	if p.text = rowKey(p.text, y); p.met[string(p.text)] {
		return
	}
	if p.met == nil {
		p.met = map[string]bool{}
	}
	p.met[string(p.text)] = true
	observed := make([]bool, len(y))
	for j, v := range y {
		observed[j] = !math.IsNaN(v)
	}
	p.list = append(p.list, observed)
}

// key is a pattern as the key of a map.
func key(observed []bool) string {
	text := make([]byte, len(observed))
	for j, in := range observed {
		if text[j] = '0'; in {
			text[j] = '1'
		}
	}
	return string(text)
}

// rowKey is the key of the pattern of a row, in the memory of text.
func rowKey(text []byte, y []float64) []byte {
	text = text[:0]
	for _, v := range y {
		digit := byte('1')
		if math.IsNaN(v) {
			digit = '0'
		}
		text = append(text, digit)
	}
	return text
}
