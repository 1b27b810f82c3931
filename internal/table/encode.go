// This file turns the cells of the pass that voted into numbers, so that most files are read once.

package table

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/schema"
)

// The cells of the pass that votes hold words as NaN whose low bits are the place of the word in a tally, and whose
// high bits say in which.
const (
	wordNaN, nothingNaN = uint64(0x7ff81) << placeBits, uint64(0x7ff82) << placeBits
	placeBits           = 44
)

func nanOf(tally uint64, place int) float64 { return math.Float64frombits(tally | uint64(place)) }

// wordCodes are the codes of the words in the tallies of a column.
type wordCodes struct{ words, nothing []float64 }

// code is the code of a cell.
func (w *wordCodes) code(x float64) float64 {
	if x == x {
		return x
	}
	bits := math.Float64bits(x)
	place := int(bits & (1<<placeBits - 1))
	switch bits &^ (1<<placeBits - 1) {
	case wordNaN:
		return w.words[place]
	case nothingNaN:
		return w.nothing[place]
	}
	return nan
}

// codes are those of the words of a column that became known, false where they do not tell the code of every cell: a
// word had no room or is none of the column, or numbers are to be read as the words are.
func (v *votes) codes(known *column) (w wordCodes, ok bool) {
	out := known.Kind == schema.Text || known.Kind == schema.Empty
	if !out && (v.words.lost || v.numbers.plain > 0 && (known.Kind != schema.Number || known.Decimal == ",")) {
		return w, false
	}
	if w.words, ok = v.words.codes(known); ok {
		w.nothing, ok = v.nothing.codes(known)
	}
	return w, ok
}

func (t *tally) codes(known *column) (codes []float64, ok bool) {
	codes = make([]float64, len(t.count))
	for word, place := range t.at {
		code, err := known.code(cell{word, nan})
		if err != nil {
			return nil, false
		}
		codes[place] = code
	}
	return codes, true
}

// encoded are the rows of a, as the pass that voted read them, by the schema that the votes made; false where
// the file has to be read once more.
func (r *textReader) encoded(a blas.General, s schema.Columns) (blas.General, bool) {
	words := make([]wordCodes, len(s))
	for k := range s {
		known, ok := knownColumn(s[k], r.columns[k].opt), false
		if words[k], ok = r.columns[k].votes.codes(&known); !ok {
			return blas.General{}, false
		}
	}
	out, codes := blas.NewGeneral(a.Rows, s.Cols()), make([]float64, len(s))
	for i := range a.Rows {
		for k, x := range blas.Row(a, i) {
			codes[k] = words[k].code(x)
		}
		s.Expand(blas.Row(out, i), codes)
	}
	return out, true
}
