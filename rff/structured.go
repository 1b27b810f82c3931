// Random Fourier features by fast Hadamard transforms.

package rff

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/vmath"
)

// structured draws frequencies as blocks of rows of H D₁ H D₂ H D₃, H the
// Hadamard matrix of order a power of two, each row with a length of its own.
type structured struct {
	waves
	order  int
	blocks []structuredBlock
}

type structuredBlock struct {
	signs [3][]float64 // D₁, D₂, D₃, each ±1
	scale []float64    // of each row
}

// lanes is the number of samples transformed together: one to a column.
const lanes = vmath.HadamardLanes

func newStructured(w waves, d int, width float64, mix func(u float64) float64, rng *rand.Rand) *structured {
	order := 1 << bits.Len(uint(d-1))
	s := &structured{waves: w, order: order}
	// Rows of H D₁ H D₂ H D₃ have length order^{3/2}; they get χ-distributed ones.
	unit := math.Pow(float64(order), -1.5) / width
	for lo := 0; lo < w.n; lo += order {
		b := structuredBlock{scale: make([]float64, order)}
		for k := range b.signs {
			b.signs[k] = make([]float64, order)
			for i := range b.signs[k] {
				b.signs[k][i] = float64(1 - 2*int(rng.Uint64()>>63))
			}
		}
		for i := range b.scale {
			b.scale[i] = unit * blas.Nrm2(normals(1, order, rng).Data) * mix(openUniform(rng))
		}
		s.blocks = append(s.blocks, b)
	}
	return s
}

func (s *structured) transform(dst, x blas.General) error {
	s.phases(dst, x)
	s.finish(dst)
	return nil
}

// phases writes the n phases of each row to its first columns.
func (s *structured) phases(dst, x blas.General) {
	tile := make([]float64, s.order*lanes)
	for lo := 0; lo < x.Rows; lo += lanes {
		rows := min(lanes, x.Rows-lo)
		for b := range s.blocks {
			s.load(tile, x, lo, rows, s.blocks[b].signs[2])
			s.blocks[b].apply(tile)
			s.store(dst, tile, lo, rows, b)
		}
	}
}

// load puts D₃x of the rows from lo on into the columns of the tile.
func (s *structured) load(tile []float64, x blas.General, lo, rows int, signs []float64) {
	clear(tile)
	for i := range rows {
		for f, v := range blas.Row(x, lo+i) {
			tile[f*lanes+i] = signs[f] * v
		}
	}
}

// apply multiplies the columns by H D₁ H D₂ H.
func (b *structuredBlock) apply(tile []float64) {
	vmath.Hadamard(tile)
	for _, signs := range [][]float64{b.signs[1], b.signs[0]} {
		for f, sign := range signs {
			row := tile[f*lanes : (f+1)*lanes]
			for i := range row {
				row[i] *= sign
			}
		}
		vmath.Hadamard(tile)
	}
}

// store scales the phases of block b and writes those that are wanted.
func (s *structured) store(dst blas.General, tile []float64, lo, rows, b int) {
	first := b * s.order
	count := min(s.order, s.n-first)
	scale := s.blocks[b].scale[:count]
	for i := range rows {
		out := blas.Row(dst, lo+i)[first : first+count]
		for f, c := range scale {
			out[f] = c * tile[f*lanes+i]
		}
	}
}
