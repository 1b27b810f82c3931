// This file writes the state of a pass and reads it back.

package stream

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
)

// ErrCheckpoint is wrapped when a checkpoint cannot be read; the message says why.
var ErrCheckpoint = errors.New("unusable checkpoint")

// The format: the magic, the length of the header (uint32), the header (JSON),
// the numbers of each fold as little-endian float64 (lower triangle of Γ by
// rows, H, ZSum, Center, YSum, YY, the waiting inputs, targets and weights), and the
// Castagnoli CRC-32 of all before it.
const (
	magic = "IOKLSUM3"
	// Checkpoints of format 1 have sums about 0, those of format 2 have no weights.
	magicBefore = "IOKLSUM1 IOKLSUM2"
)

// maxHeader bounds what a header may ask to be read.
const maxHeader = 1 << 20

type header struct {
	Identity  string   `json:"identity"`
	Features  int      `json:"features"`
	Inputs    int      `json:"inputs"`
	Targets   int      `json:"targets"`
	BlockRows int      `json:"block_rows"`
	Seed      uint64   `json:"seed"`
	NoGamma   bool     `json:"no_gamma,omitempty"`
	Patterns  []string `json:"patterns,omitempty"`
	Rows      int64    `json:"rows"`
	FoldRows  []int64  `json:"fold_rows"`
	Waiting   []int    `json:"waiting"`

	FoldWeights []float64 `json:"fold_weights"`
}

func (a *Accumulator) header() header {
	h := header{
		Identity: a.opt.Identity, Features: a.features.Dim(), Inputs: a.d, Targets: a.n,
		BlockRows: a.opt.BlockRows, Seed: a.opt.Seed, NoGamma: a.opt.NoGamma, Rows: a.rows,
	}
	for _, observed := range a.opt.Patterns {
		h.Patterns = append(h.Patterns, key(observed))
	}
	for k := range a.folds {
		h.FoldRows = append(h.FoldRows, a.folds[k].sums.Rows)
		h.FoldWeights = append(h.FoldWeights, a.folds[k].sums.Weight)
		h.Waiting = append(h.Waiting, a.folds[k].waiting)
	}
	return h
}

// numbers visits every stored slice of a fold in the order of the format, in parts of a few thousand numbers.
func (f *fold) numbers(visit func([]float64) error) error {
	var all [][]float64
	for i := range f.sums.Gamma.Rows {
		all = append(all, blas.Row(f.sums.Gamma, i)[:i+1])
	}
	x, y, w := f.x.Data[:f.waiting*f.x.Cols], f.y.Data[:f.waiting*f.y.Cols], f.w[:f.waiting]
	for _, s := range append(all, f.sums.H.Data, f.sums.ZSum, f.sums.Center, f.sums.YSum, f.sums.YY, x, y, w) {
		for part := range slices.Chunk(s, 1<<12) {
			if err := visit(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// Encode writes the state of the accumulator; a pass that goes on from it ends
// bitwise as one that was not interrupted.
func (a *Accumulator) Encode(w io.Writer) error {
	text, err := json.Marshal(a.header())
	if err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	_, _ = out.WriteString(magic)
	_ = binary.Write(out, binary.LittleEndian, uint32(len(text)))
	_, _ = out.Write(text)
	for k := range a.folds {
		if err := a.folds[k].numbers(func(s []float64) error {
			return binary.Write(out, binary.LittleEndian, s)
		}); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, sum.Sum32())
}

// Decode reads the state that Encode wrote, for an accumulator of the same
// features, options and identity; on error the accumulator is as it was. Errors
// wrap ErrCheckpoint.
func (a *Accumulator) Decode(r io.Reader) error {
	in := &checked{r: bufio.NewReaderSize(r, 1<<16), sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	folds, rows, err := a.decode(in)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut short")
	}
	if err != nil {
		return fmt.Errorf("stream: %w: %w", ErrCheckpoint, err)
	}
	a.folds, a.rows = folds, rows
	return nil
}

// checked adds up the checksum of what is read.
type checked struct {
	r   *bufio.Reader
	sum hash.Hash32
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	_, _ = c.sum.Write(p[:n])
	return n, err
}

func (a *Accumulator) decode(in *checked) ([]fold, int64, error) {
	h, err := readHeader(in)
	if err != nil {
		return nil, 0, err
	}
	if err := a.fits(h); err != nil {
		return nil, 0, err
	}
	folds := a.emptyFolds()
	for k := range folds {
		folds[k].sums.Rows, folds[k].sums.Weight, folds[k].waiting = h.FoldRows[k], h.FoldWeights[k], h.Waiting[k]
		if err := folds[k].numbers(func(s []float64) error {
			return binary.Read(in, binary.LittleEndian, s)
		}); err != nil {
			return nil, 0, err
		}
	}
	want := in.sum.Sum32()
	var got uint32
	if err := binary.Read(in, binary.LittleEndian, &got); err != nil {
		return nil, 0, err
	}
	if got != want {
		return nil, 0, errors.New("its checksum is wrong")
	}
	if _, err := in.r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, 0, errors.New("there is something after its end")
	}
	return folds, h.Rows, nil
}

func readHeader(in io.Reader) (header, error) {
	var h header
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(in, start); err != nil {
		return h, err
	}
	if strings.Contains(magicBefore, string(start)) {
		return h, errors.New("it is of an older version of the format: start the pass anew")
	}
	if string(start) != magic {
		return h, errors.New("it is not a checkpoint of this program's, or of another version of it")
	}
	var n uint32
	if err := binary.Read(in, binary.LittleEndian, &n); err != nil {
		return h, err
	}
	if n > maxHeader {
		return h, errors.New("its header is damaged")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(in, text); err != nil {
		return h, err
	}
	if json.Unmarshal(text, &h) != nil {
		return h, errors.New("its header is damaged")
	}
	return h, nil
}

// fits compares a header with the accumulator.
func (a *Accumulator) fits(h header) error {
	own := a.header()
	if h.Identity != own.Identity {
		return fmt.Errorf("it belongs to other data or features (%q, these are %q)", h.Identity, own.Identity)
	}
	same := h.Features == own.Features && h.Inputs == own.Inputs && h.Targets == own.Targets &&
		h.BlockRows == own.BlockRows && h.Seed == own.Seed && h.NoGamma == own.NoGamma &&
		len(h.FoldRows) == len(a.folds) && len(h.Waiting) == len(a.folds) && len(h.FoldWeights) == len(a.folds)
	if !same {
		return fmt.Errorf("it has %d features, %d inputs, %d targets, %d folds, blocks of %d rows, seed %d; here "+
			"they are %d, %d, %d, %d, %d, %d",
			h.Features, h.Inputs, h.Targets, len(h.FoldRows), h.BlockRows, h.Seed,
			own.Features, own.Inputs, own.Targets, len(a.folds), own.BlockRows, own.Seed)
	}
	if !slices.Equal(h.Patterns, own.Patterns) {
		return errors.New("in its rows other targets are missing")
	}
	var rows int64
	for k, w := range h.Waiting {
		if w < 0 || w > a.opt.BlockRows || h.FoldRows[k] < 0 {
			return errors.New("its header is damaged")
		}
		rows += h.FoldRows[k] + int64(w)
	}
	if rows != h.Rows {
		return errors.New("its header is damaged")
	}
	return nil
}
