// Accounts of memory that grows while something is read.

package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
)

// Growing is memory that becomes more as something is read, of a size that nobody knows before its end. What it holds
// is reserved.
type Growing struct {
	what, instead string
	held          float64 // bytes in use
	granted       float64 // held may become so large without another check
	reserved      int64   // of the limit, for granted
}

// Grow begins to account for something; see [Check] for what and instead.
func Grow(what, instead string) *Growing { return &Growing{what: what, instead: instead} }

// Add adds bytes that are about to be allocated, or takes away those that are not in use any more where they are
// negative. The error is an [Error].
func (g *Growing) Add(bytes float64) error {
	if g.held += bytes; g.held <= g.granted {
		return nil
	}
	const step = 64 << 10 // so that small ones are not checked one by one
	granted := g.held + max(g.held/8, step)
	total := Peak(granted, limit.Load()+int64(len(ballast)))
	if err := Check(g.what, total-float64(g.reserved), g.instead); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Bytes, e.Taken = total, e.Taken-g.reserved
		}
		return err
	}
	more := int64(min(total, math.MaxInt64/4)) - g.reserved
	reserved.Add(more)
	g.granted, g.reserved = granted, g.reserved+more
	return nil
}

// Free gives back what is reserved.
func (g *Growing) Free() {
	reserved.Add(-g.reserved)
	*g = Growing{what: g.what, instead: g.instead}
}

// ReadAll reads r to its end, as far as there is memory for it.
func ReadAll(r io.Reader, what string) ([]byte, error) {
	g := Grow(what, "give a file in place of a pipe, or more memory")
	defer g.Free()
	var out []byte
	for size := 64 << 10; ; size *= 2 {
		if err := g.Add(float64(size)); err != nil {
			return nil, err
		}
		grown := make([]byte, size)
		n := copy(grown, out)
		_ = g.Add(-float64(cap(out)))           // nothing more
		for out = grown[:n]; len(out) < size; { // not io.ReadFull, which hides that a packed file is cut short
			k, err := r.Read(out[len(out):size])
			out = out[:len(out)+k]
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
}

// Guard is r without a piece that takes more memory than there is: so many bytes for each byte since the last Reset,
// and for each separator.
type Guard struct {
	R                     io.Reader
	Separator             byte
	PerByte, PerSeparator float64
	What, Instead         string
	g                     *Growing
}

// Read implements io.Reader.
func (u *Guard) Read(b []byte) (int, error) {
	n, err := u.R.Read(b)
	if u.g == nil {
		u.g = Grow(u.What, u.Instead)
	}
	cost := u.PerByte * float64(n)
	if u.PerSeparator > 0 {
		cost += u.PerSeparator * float64(bytes.Count(b[:n], []byte{u.Separator}))
	}
	if e := u.g.Add(cost); e != nil {
		return 0, e
	}
	return n, err
}

// Reset begins another piece.
func (u *Guard) Reset() {
	if u.g != nil {
		u.g.Free()
	}
}

// Unmarshal is json.Unmarshal of a whole file, where its values take at most 4 times the text and 64 MiB, and there is
// memory for them.
func Unmarshal(text []byte, v any) error {
	bytes := JSON(text)
	err := Within(4*int64(len(text))+64<<20, "the values of a JSON file", bytes, "it is none that was written here")
	if err != nil {
		return err
	}
	if err := Check("the values of a JSON file", bytes, "read it where there is more memory"); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// JSON is at least how many bytes the values of a JSON text take in memory, with those that were copied as their lists
// grew: it counts them by kind, whatever they are decoded to.
func JSON(text []byte) (cost float64) {
	const object, list, word, key, number = 480, 54, 64, 24, 18
	var before byte // what is no space before the byte at hand
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			cost += object
		case '[':
			cost += list
		case ':': // behind a word
			cost += key - word
		case '"':
			cost += word
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			if cost += number; c == 'n' && before != ':' {
				cost += object // null may be an empty one in a list
			}
			for i+1 < len(text) && bytes.IndexByte(endsNumber, text[i+1]) < 0 {
				i++
			}
		}
		before = c
	}
	return cost
}

var endsNumber = []byte(",]} \t\r\n")
