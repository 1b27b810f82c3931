// Operands of products, packed into panels.

package native

import "unsafe"

// operand is one factor of a product, seen as elements (i,p) with i the free
// index and p the one that is summed over.
type operand[T element] struct {
	data []T
	ld   int
	form form
}

// form says where element (i,p) of an operand stands.
type form int

const (
	byFree   form = iota // data[p·ld+i]: neighbours in i are neighbours in memory
	bySum                // data[i·ld+p]
	symLower             // symmetric, the lower triangle of data is stored
	symUpper             // symmetric, the upper triangle of data is stored
)

// pack writes elements (i0+i, p0+p) to dst[p·w+i] for i < ni ≤ w and p < np, and
// zeros for ni ≤ i < w.
func (k *kernels[T]) pack(o operand[T], dst []T, w, i0, ni, p0, np int) {
	switch o.form {
	case byFree:
		o.packRows(dst, w, i0, ni, p0, np)
	case bySum:
		k.packColumns(o, dst, w, i0, ni, p0, np)
	default:
		k.packSym(o, dst, w, i0, ni, p0, np)
	}
}

// packWide packs columns j0 to j1 of o, the free index, in panels of mr, one after the other.
func (k *kernels[T]) packWide(o operand[T], dst []T, j0, j1, p0, np int) {
	j := j0
	if whole := (j1 - j0) / k.mr; k.spread != nil && o.form == byFree && whole > 0 && np > 0 {
		var v T
		size := int(unsafe.Sizeof(v))
		from := o.data[p0*o.ld+j0:][:(np-1)*o.ld+whole*k.mr]
		k.spread(unsafe.Pointer(&dst[:whole*k.mr*np][0]), unsafe.Pointer(&from[0]), o.ld*size, k.mr*np*size, np, whole)
		j += whole * k.mr
	}
	for ; j < j1; j += k.mr {
		k.pack(o, dst[(j-j0)*np:], k.mr, j, min(k.mr, j1-j), p0, np)
	}
}

// packRows is pack for data[p·ld+i].
func (o operand[T]) packRows(dst []T, w, i0, ni, p0, np int) {
	if np == 0 || ni == 0 {
		clear(dst[:np*w])
		return
	}
	src := o.data[p0*o.ld+i0:]
	switch {
	case w == 8 && ni == w:
		for p := range np {
			*(*[8]T)(dst[p*8:]) = *(*[8]T)(src[p*o.ld:])
		}
		return
	case ni == w:
		for p := range np {
			copy(dst[p*w:p*w+w], src[p*o.ld:])
		}
		return
	}
	for p := range np {
		out := dst[p*w : p*w+w]
		copy(out, src[p*o.ld:p*o.ld+ni])
		clear(out[ni:])
	}
}

// packColumns is pack for data[i·ld+p]: it turns rows into columns.
func (k *kernels[T]) packColumns(o operand[T], dst []T, w, i0, ni, p0, np int) {
	if ni > 0 && np > 0 {
		k.transpose(dst, w, o.data[i0*o.ld+p0:], o.ld, ni, np)
	}
	for i := ni; i < w; i++ {
		for to := i; to < np*w; to += w {
			dst[to] = 0
		}
	}
}

// transpose writes src[i·ld+p] to dst[p·w+i] for i < ni ≤ w and p < np.
func (k *kernels[T]) transpose(dst []T, w int, src []T, ld, ni, np int) {
	var v T
	i := turnRows(k.turn, 8, 8, 0, dst, w, src, ld, ni, np)
	i = turnRows(k.turn4, 4, int(32/unsafe.Sizeof(v)), i, dst, w, src, ld, ni, np)
	for ; i+4 <= ni; i += 4 {
		s0, s1, s2, s3 := src[i*ld:][:np], src[(i+1)*ld:][:np], src[(i+2)*ld:][:np], src[(i+3)*ld:][:np]
		to := i
		for p, v := range s0 {
			out := dst[to : to+4 : to+4]
			out[0], out[1], out[2], out[3] = v, s1[p], s2[p], s3[p]
			to += w
		}
	}
	for ; i < ni; i++ {
		to := i
		for _, v := range src[i*ld:][:np] {
			dst[to] = v
			to += w
		}
	}
}

// turnRows transposes from row i of src on as many rows as turn does, which takes so many rows, and columns by
// multiples of columns, at a time. It returns the first row that is left.
func turnRows[T element](
	turn func(dst []T, w int, src []T, ld, np int), rows, columns, i int, dst []T, w int, src []T, ld, ni, np int,
) int {
	whole := np &^ (columns - 1)
	if turn == nil || whole == 0 {
		return i
	}
	for ; i+rows <= ni; i += rows {
		turn(dst[i:], w, src[i*ld:], ld, whole)
		for r := i; r < i+rows; r++ {
			for p, v := range src[r*ld+whole : r*ld+np] {
				dst[(whole+p)*w+r] = v
			}
		}
	}
	return i
}

// packSym is pack for a symmetric operand: the parts of the panel on either side
// of the diagonal are read as they stand and transposed.
func (k *kernels[T]) packSym(o operand[T], dst []T, w, i0, ni, p0, np int) {
	before, after := operand[T]{o.data, o.ld, bySum}, operand[T]{o.data, o.ld, byFree}
	if o.form == symUpper {
		before, after = after, before
	}
	// Columns below i0 are left of the diagonal for all ni rows, columns from i0+ni on right of it.
	left := min(max(i0-p0, 0), np)
	right := min(max(i0+ni-p0, left), np)
	k.pack(before, dst[:left*w], w, i0, ni, p0, left)
	for p := left; p < right; p++ {
		out := dst[p*w : p*w+w]
		clear(out[ni:])
		for i := range ni {
			r, c := i0+i, p0+p
			if (r < c) != (o.form == symUpper) {
				r, c = c, r
			}
			out[i] = o.data[r*o.ld+c]
		}
	}
	k.pack(after, dst[right*w:np*w], w, i0, ni, p0+right, np-right)
}
