// Gram matrices, built tile by tile and in parallel.

package kernel

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/klauspost/cpuid/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/dense/vmath"
)

// GramOptions says how Gram matrices are built. The zero value is ready to use.
type GramOptions struct {
	Precision blas.Precision // of the stored elements; they are computed in float64
	Backend   blas.Backend   // multiplies inside the tiles; nil means blas.Active()
	MaxBytes  int64          // refuse to allocate more than this; 0 means no limit
	// Into, unless nil, is overwritten and returned in place of new matrices, one for
	// each kernel, of the order of the samples and all of Precision: memory that is
	// there already takes half the time of new memory, which the system clears first.
	// After an error its contents are undefined.
	Into []*blas.Sym

	cache int64 // bytes that stay in the caches; 0 means those of the last level
}

const useInstead = "use float32, fewer kernels, or explicit features (linear, rff:…, nystrom:…)"

// A tile is tileRows×tileCols: one block row of blas.Sym high, and wide enough
// to keep a multiply busy while it stays in the second-level cache.
const (
	tileRows = blas.SymBlock
	tileCols = 4 * blas.SymBlock
)

// Gram computes the matrix k(x_i,x_j) of the rows of X (l×d). A centred kernel
// also stores the training means that Cross needs. Errors as for Dictionary.Grams.
func (k *Kernel) Gram(X blas.General, prec blas.Precision) (*blas.Sym, error) {
	d := Dictionary{*k}
	grams, err := d.Grams(context.Background(), X, GramOptions{Precision: prec})
	if err != nil {
		return nil, err
	}
	*k = d[0]
	return grams[0], nil
}

// Grams computes the Gram matrix of every kernel on the rows of X (l×d), tile by
// tile in parallel. Kernels that differ in their width only share the
// computation of distances, which costs 2·l²·d/2 flops; no other l×l array is
// made. Centred kernels also store their training means in the dictionary.
//
// The result is symmetric to the bit, the diagonal of a kernel that is 1 there
// is exactly 1, and neither depends on the number of threads. Errors wrap
// ErrMemory (more than MaxBytes needed), ErrNotFinite, ErrNegative (chi2), or
// ctx's.
func (d Dictionary) Grams(ctx context.Context, X blas.General, opt GramOptions) ([]*blas.Sym, error) {
	if err := d.ready(X); err != nil {
		return nil, err
	}
	if opt.Into == nil {
		what := fmt.Sprintf("%d Gram matrices of %d samples in %v", len(d), X.Rows, opt.Precision)
		if err := memory.Within(opt.MaxBytes, what, float64(d.Bytes(X.Rows, opt.Precision)), useInstead); err != nil {
			return nil, err
		}
	}
	a, err := d.lay(X, "", opt.Backend, all)
	if err != nil {
		return nil, err
	}
	b := builder{laid: a}
	b.allocate(opt)
	phase.Do(ctx, phase.FormK, func(ctx context.Context) { err = b.run(ctx) })
	if err != nil {
		return nil, err
	}
	for j := range d {
		if d[j].Center {
			d[j].center(b.grams[j])
		}
	}
	return b.grams, nil
}

// ready checks the kernels and that X fits them.
func (d Dictionary) ready(X blas.General) error {
	for j := range d {
		k := &d[j]
		if err := k.Validate(); err != nil {
			return err
		}
		if k.Kind == Precomputed {
			return fmt.Errorf("kernel %q is precomputed: its Gram matrix is the caller's to give", k.Name)
		}
		if k.Inputs != X.Cols {
			return fmt.Errorf("kernel %q is for %d columns, the data have %d", k.Name, k.Inputs, X.Cols)
		}
	}
	return nil
}

// laid is samples as the kernels of a dictionary see them.
type laid struct {
	d     Dictionary
	be    blas.Backend
	X     blas.General // l×d
	fams  []*family
	sides []*side     // of each family
	scale [][]float64 // unit scales of each kernel
	eval  []evaluator // of each kernel
}

// builder computes the lower triangles of the Gram matrices of a dictionary.
type builder struct {
	laid
	grams []*blas.Sym
	// The Gram matrices are larger than the caches: writing them past the caches
	// takes half the time or less, and loses nothing.
	stream bool
}

// lastLevel is the size of the last-level cache in bytes.
var lastLevel = int64(max(cpuid.CPU.Cache.L3, cpuid.CPU.Cache.L2, 1<<20))

// lay lays out the rows of X, which errors call so, for the kernels with skip unset.
func (d Dictionary) lay(X blas.General, what string, be blas.Backend, skip func(j int) bool) (laid, error) {
	a := laid{d: d, be: blas.Or(be), X: X, fams: d.families(skip)}
	a.scale, a.eval = make([][]float64, len(d)), make([]evaluator, len(d))
	for _, f := range a.fams {
		s, err := f.prepare(X)
		if err != nil {
			return a, fmt.Errorf("kernel %q: %s%w", d[f.members[0]].Name, what, err)
		}
		a.sides = append(a.sides, s)
		for _, j := range f.members {
			a.scale[j], a.eval[j] = d[j].scale(s), d[j].evaluator()
		}
	}
	return a, nil
}

// all skips no kernel.
func all(int) bool { return false }

func (b *builder) allocate(opt GramOptions) {
	b.stream = b.d.Bytes(b.X.Rows, opt.Precision) > cmp.Or(opt.cache, lastLevel)
	if b.grams = opt.Into; b.grams == nil {
		for range b.d {
			b.grams = append(b.grams, blas.NewSym(b.X.Rows, opt.Precision))
		}
	}
	if len(b.grams) != len(b.d) {
		panic("kernel: GramOptions.Into does not have one matrix for each kernel")
	}
	for _, g := range b.grams {
		if g.N != b.X.Rows || g.Prec != opt.Precision {
			panic("kernel: GramOptions.Into has a matrix of another order or precision")
		}
	}
}

// position is a tile of one family: block row p, columns from j0.
type position struct{ family, p, j0 int }

// tiles are those of the lower triangle, of one family.
func (b *builder) tiles(family int) (all []position) {
	shape := &blas.Sym{N: b.X.Rows}
	for p := range shape.Panels() {
		_, _, cols, _ := shape.Panel(p)
		for j0 := 0; j0 < cols; j0 += tileCols {
			all = append(all, position{family, p, j0})
		}
	}
	return all
}

// scratch is one worker's tile and line of a kernel, and a tile of a sum or a product.
type scratch struct{ tile, line, sum []float64 }

var scratches = sync.Pool{New: func() any {
	return &scratch{
		make([]float64, tileRows*tileCols), make([]float64, tileCols), make([]float64, tileRows*tileCols),
	}
}}

// each calls f for each tile, with its number, on several threads.
func each(ctx context.Context, tiles []position, f func(i int, at position, s *scratch)) error {
	par.For(len(tiles), func(i int) {
		if ctx.Err() != nil {
			return
		}
		s := scratches.Get().(*scratch)
		f(i, tiles[i], s)
		scratches.Put(s)
	})
	return ctx.Err()
}

func (b *builder) run(ctx context.Context) error {
	var all []position
	for i := range b.fams {
		all = append(all, b.tiles(i)...)
	}
	return each(ctx, all, func(_ int, at position, s *scratch) { b.tile(at, s) })
}

// tile fills one tile of the Gram matrix of every kernel of a family.
func (b *builder) tile(at position, s *scratch) {
	f := b.fams[at.family]
	row, rows, stored, off := b.grams[f.members[0]].Panel(at.p)
	cols := min(tileCols, stored-at.j0)
	b.metric(at, row, rows, cols, s.tile)
	for _, j := range f.members {
		for i := range rows {
			line := s.tile[i*cols : (i+1)*cols]
			b.store(j, row+i, at.j0, off+i*stored+at.j0, s.line[:cols], line)
		}
	}
	if b.stream {
		vmath.Fence()
	}
}

// metric writes the values of the family's metric to a tile of rows×cols.
func (b *builder) metric(at position, row, rows, cols int, tile []float64) {
	f, side := b.fams[at.family], b.sides[at.family]
	f.tile(b.be, side, row, rows, side, at.j0, cols, tile)
	if diagonal := row - at.j0; diagonal < cols {
		mirror(tile, diagonal, rows, cols)
		f.diagonal(tile, diagonal, rows, cols)
	}
}

// mirror copies the lower triangle of the diagonal block, which starts at
// column c of the tile, over its upper one.
func mirror(tile []float64, c, rows, cols int) {
	for i := range rows {
		for j := range i {
			tile[j*cols+c+i] = tile[i*cols+c+j]
		}
	}
}

// diagonal makes the squared distance of a sample to itself exactly 0, which
// the other metrics are without help.
func (f *family) diagonal(tile []float64, c, rows, cols int) {
	if f.metric != euclid {
		return
	}
	for i := range rows {
		tile[i*cols+c+i] = 0
	}
}

// store evaluates kernel j on a line of metric values, row i from column j0,
// and puts it at offset off of the Gram matrix.
func (b *builder) store(j, i, j0, off int, buf, line []float64) {
	g, e, scale := b.grams[j], &b.eval[j], b.scale[j]
	if e.fill == nil && scale == nil {
		b.put(g, off, line)
		return
	}
	dst := buf
	if g.Prec == blas.Float64 {
		out := g.F64[off : off+len(line)]
		if e.rate != 0 && b.stream {
			vmath.ExpStream(out, line, e.rate)
			return
		}
		if !b.stream {
			dst = out
		}
	}
	b.values(dst, line, j, i, j0)
	if g.Prec == blas.Float32 || b.stream {
		b.put(g, off, dst)
	}
}

// values evaluates kernel j on a line of metric values, row i from column j0.
func (b *builder) values(dst, line []float64, j, i, j0 int) {
	b.eval[j].row(dst, line)
	scale := b.scale[j]
	if scale == nil {
		return
	}
	for c := range dst {
		dst[c] *= scale[i] * scale[j0+c]
	}
	if at := i - j0; at < len(dst) && at >= 0 && scale[i] > 0 {
		dst[at] = 1
	}
}

// put writes a line of values at offset off of the Gram matrix.
func (b *builder) put(g *blas.Sym, off int, line []float64) {
	switch end := off + len(line); {
	case g.Prec == blas.Float32 && b.stream:
		vmath.StreamNarrow(g.F32[off:end], line)
	case g.Prec == blas.Float32:
		vmath.Narrow(g.F32[off:end], line)
	case b.stream:
		vmath.Stream(g.F64[off:end], line)
	default:
		copy(g.F64[off:end], line)
	}
}
