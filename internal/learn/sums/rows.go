// Rows that are read in blocks: their survey, their scaling, and checkpoints of their sums.

package sums

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/checkpoint"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/stream"
)

// Draw returns a survey with at most so many of the rows, drawn uniformly by the seed, and how many there are.
func Draw(
	ctx context.Context, rows *stream.Rows, sample int, seed uint64,
) (s *stream.Survey, all int64, err error) {
	s, bad, err := survey(ctx, rows, sample, seed)
	if err = cmp.Or(err, bad); err != nil {
		return nil, 0, err
	}
	if all = s.Rows; rows.Count > 0 {
		all = rows.Count
	}
	return s, all, nil
}

// survey surveys the rows. It stops at the first unreadable block, whose error is bad.
func survey(
	ctx context.Context, rows *stream.Rows, sample int, seed uint64,
) (s *stream.Survey, bad, err error) {
	src, err := open(rows)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = closeSource(src) }()
	part := &surveyed{Source: src, left: cmp.Or(rows.SurveyRows, -1), progress: rows.Progress}
	s, err = stream.Inspect(ctx, part, rows.Inputs, rows.Outputs, sample, seed)
	return s, rowError(part.err), rowError(err)
}

// surveyed is a source that ends after some rows, or before one that is bad.
type surveyed struct {
	stream.Source
	left     int64 // rows; negative means all
	rows     int64 // read so far
	progress func(survey bool, p stream.Progress) error
	err      error
}

func (s *surveyed) Next() (stream.Block, error) {
	b, err := s.Source.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		s.err, err = err, io.EOF
	}
	if s.left >= 0 && int64(b.X.Rows) >= s.left {
		b, err = b.Part(0, int(s.left)), io.EOF
	}
	if s.left >= 0 {
		s.left -= int64(b.X.Rows)
	}
	s.rows += int64(b.X.Rows)
	if s.progress != nil && b.X.Rows > 0 {
		if stop := s.progress(true, stream.Progress{
			Rows: s.rows, Source: b.Source, Row: b.Row + int64(b.X.Rows),
		}); stop != nil {
			return b, stop
		}
	}
	return b, err
}

// scaled is the rows as the feature maps see them, and this rank's share of them.
type scaled struct {
	stream.Source
	from stream.Source   // to close
	stop func() error    // asked before each block
	x, y *columns.Scaler // nil leaves as is
	X, Y blas.General
}

// open starts a pass over the scaled rows of this rank, which ends with an error of stop.
func (d *Data) open(stop func() error) (*scaled, error) {
	src, err := open(&d.rows)
	if err != nil {
		return nil, err
	}
	s := &scaled{Source: src, from: src, stop: stop, x: d.In.Scaler, y: d.Out}
	if r := d.rows.Ranks; r != nil && r.Size() > 1 {
		s.Source = stream.Share(src, r.Rank(), r.Size())
	}
	return s, nil
}

func closeSource(src stream.Source) error {
	if c, ok := src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *scaled) Close() error { return closeSource(s.from) }

func (s *scaled) Next() (stream.Block, error) {
	if err := s.stop(); err != nil {
		return stream.Block{}, err
	}
	b, err := s.Source.Next()
	b.X, s.X = applied(s.x, b.X, s.X)
	b.Y, s.Y = applied(s.y, b.Y, s.Y)
	return b, err
}

// applied is a scaled in the memory of work, or as it is for nil.
func applied(s *columns.Scaler, a, work blas.General) (_, _ blas.General) {
	if s == nil || a.Rows == 0 || a.Cols != len(s.Mean) {
		return a, work
	}
	work = blas.Reshape(work, a.Rows, a.Cols)
	blas.Copy(work, a)
	s.Apply(work)
	return work, work
}

// accumulate takes the rows into the sums, from where the checkpoint ended.
func (d *Data) accumulate(ctx context.Context, saved io.Reader) error {
	if d.rows.Progress != nil {
		d.so.Progress = func(at stream.Progress) error { return d.rows.Progress(false, at) }
	}
	if d.opt.Checkpoint != "" {
		d.so.Checkpoint = d.save
	}
	var err error
	if d.so.Identity, err = d.identity(); err != nil {
		return err
	}
	acc := stream.New(d.maps, d.rows.Inputs, d.rows.Outputs, d.so)
	if saved != nil {
		if err := acc.Decode(saved); err != nil {
			return fault.Input("%s: %w", d.checkpoint(), err)
		}
		d.opt.Say("going on after the %d rows of %s", acc.Rows(), d.checkpoint())
	}
	src, err := d.open(ctx.Err)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := acc.Run(ctx, src); err != nil {
		return rowError(err)
	}
	if d.so.Checkpoint != nil {
		if err := d.save(acc); err != nil {
			return err
		}
	}
	if d.rows.Ranks != nil {
		if err := acc.Reduce(d.rows.Ranks); err != nil {
			return err
		}
	}
	d.sums, err = acc.Sums()
	return rowError(err)
}

// identity tells passes apart whose sums must not be mixed.
func (d *Data) identity() (string, error) {
	text, err := json.Marshal(struct {
		Data, Kernels any
		X, Y          *columns.Scaler
		Groups        []int `json:",omitempty"`
	}{d.rows.Name, d.maps, d.In.Scaler, d.Out, d.opt.FoldGroups})
	return fmt.Sprintf("%s %x", d.rows.Name, sha256.Sum256(text)), err
}

// A checkpoint is a file of package checkpoint with the survey for its header and no numbers, and behind it the sums as
// package stream writes them.
const passMagic = "IOKLPASS2"

// checkpoint is the name of this rank's file.
func (d *Data) checkpoint() string {
	if r := d.rows.Ranks; r != nil && r.Size() > 1 {
		return fmt.Sprintf("%s.%d-of-%d", d.opt.Checkpoint, r.Rank()+1, r.Size())
	}
	return d.opt.Checkpoint
}

func (d *Data) save(a *stream.Accumulator) error {
	return atomicfile.Write(d.checkpoint(), func(w io.Writer) error {
		if err := checkpoint.Write(w, passMagic, d.survey, nil); err != nil {
			return err
		}
		return a.Encode(w)
	})
}

// resume reads the survey of a checkpoint and returns the file, which goes on
// with the sums; nil when there is none.
func (d *Data) resume() (io.ReadCloser, error) {
	if d.opt.Checkpoint == "" {
		return nil, nil
	}
	f, err := os.Open(d.checkpoint())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Check(d.checkpoint())
	}
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, checkpoint.Buffer)
	if d.survey, err = readSurvey(in, d.rows.Inputs, d.rows.Outputs); err != nil {
		_ = f.Close()
		return nil, fault.Input("%s: %v", d.checkpoint(), err)
	}
	return struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}

func readSurvey(in io.Reader, d, n int) (*stream.Survey, error) {
	s := new(stream.Survey)
	file, err := checkpoint.Open(in, passMagic, s)
	if err == nil {
		err = file.End()
	}
	if err == nil && (len(s.X.Mean) != d || len(s.Y.Mean) != n) {
		err = fmt.Errorf("it is of data with %d inputs and %d targets, these have %d and %d", len(s.X.Mean),
			len(s.Y.Mean), d, n)
	}
	return s, err
}
