// This file fits to rows that are read in blocks, in one process or in the ranks of a parallel job.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/mpi"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/stream"
)

// streamFlags are those of a fit that reads its data in blocks of rows.
type streamFlags struct {
	on             bool
	checkpoint     string
	checkpointRows int64
	surveyRows     int64
	weights        string // of rows: a file, or a column of --x
}

func (s *streamFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "stream", false, "")
	f.StringVar(&s.checkpoint, "checkpoint", "", "")
	f.Int64Var(&s.checkpointRows, "checkpoint-rows", 0, "")
	f.Int64Var(&s.surveyRows, "survey-rows", 0, "")
}

// check refuses flags that do not go together.
func (s *streamFlags) check(cmd *cobra.Command, d *dataFlags) error {
	if !s.on {
		for _, name := range []string{"checkpoint-rows", "survey-rows"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --stream", name)
			}
		}
		return nil
	}
	switch {
	case len(d.grams) > 0:
		return errors.New("--stream is for --x: Gram matrices are not read by rows")
	case cmd.Flags().Changed("folds-by"):
		return errors.New("--stream deals rows to folds by their numbers: --folds-by is for data in memory")
	case cmd.Flags().Changed("hide"):
		return errors.New("--stream hides whole rows: --hide is for data in memory")
	case d.classes:
		return errors.New("--classes needs all labels at once: with --stream give a 0/1 column for each class")
	case once(d.x) || once(d.y):
		return errors.New("--stream reads the data more than once: standard input and pipes will not do")
	case d.missing == "mean" && cmd.Flags().Changed("missing"):
		return errors.New("--stream does not fill missing cells")
	case s.checkpointRows < 0 || s.surveyRows < 0:
		return errors.New("--checkpoint-rows and --survey-rows are numbers of rows")
	}
	return nil
}

// route turns streaming on where the tables do not fit into memory and the options
// leave the kernels open; it refuses tables that cannot be streamed then.
func (s *streamFlags) route(cmd *cobra.Command, m *machine, d *dataFlags, opt *iokl.Options) error {
	if s.on || d.x == "" || once(d.x) || once(d.y) {
		return nil
	}
	const (
		copies = 3       // as read, as kernels and solvers see them, and those of a fold
		small  = 1 << 20 // tables that are not worth streaming
	)
	bytes := d.tableBytes()
	if bytes < small {
		return nil
	}
	what := fmt.Sprintf("the tables of %s and %s in memory", d.x, cmp.Or(d.y, d.x))
	need := memory.Peak(copies*bytes, memory.Limit())
	err := memory.Check(what, need,
		"use --stream, with kernels that have explicit features (rff:…, nystrom:…, linear, poly)")
	if err == nil || d.classes || opt.Kernels != nil || opt.Lambda != 0 {
		return err
	}
	s.on = true
	if err := s.check(cmd, d); err != nil {
		return err
	}
	if !m.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: %s would take %s, and the limit is %s: rows are read in blocks\n", what,
			memory.Format(need), memory.Format(float64(memory.Limit())))
	}
	return nil
}

// tableBytes is the size of the numbers in the files of inputs and targets; it is estimated where a
// file does not tell how many there are. Files that cannot be opened count nothing: reading them says why.
func (d *dataFlags) tableBytes() (bytes float64) {
	opt := d.options()
	for _, name := range slices.Compact([]string{d.x, cmp.Or(d.y, d.x)}) {
		r, err := table.Open(name, opt)
		if err != nil {
			continue
		}
		if rows := r.Rows(); rows >= 0 {
			bytes += 8 * float64(rows) * float64(r.Cols())
		} else if info, err := os.Stat(name); err == nil {
			const perCell, packed = 5, 4 // characters of a number, and those of one byte in a .gz
			chars := float64(info.Size())
			if strings.HasSuffix(name, ".gz") {
				chars *= packed
			}
			bytes += 8 * chars / perCell
		}
		_ = r.Close()
	}
	return bytes
}

// onRanks runs f in every process of a parallel job. The first of them prints and
// writes; one that fails ends all, with its message.
func onRanks(m *machine, f func(world *mpi.World) error) error {
	world, err := mpi.Start()
	if err != nil {
		return status.Failure(err)
	}
	if world.Rank() > 0 {
		m.quiet, m.verbose = true, false
	}
	if err := f(world); err != nil {
		if world.Size() > 1 {
			world.Abort("iokl: "+err.Error(), status.Of(err))
		}
		return errors.Join(err, world.Close())
	}
	return status.Failure(world.Close())
}

// streamOptions are those of the library for one of the ranks.
func (c *learning) streamOptions(data iokl.Rows, p *progress, world *mpi.World) iokl.StreamOptions {
	s, opt := &c.s, c.opt
	opt.Trace, opt.Notify, opt.Watch, opt.Checkpoint = p.step, p.line, p.choosing, s.checkpoint
	so := iokl.StreamOptions{
		Options: opt, SurveyRows: s.surveyRows, CheckpointRows: s.checkpointRows,
		Progress: func(survey bool, at stream.Progress) error { p.rows(survey, at, data.Count); return nil },
	}
	if world.Size() > 1 {
		so.Ranks = world
	}
	return so
}

// fitStream fits to streamed data, whose rows the ranks share.
func (c *learning) fitStream(data iokl.Rows, world *mpi.World) error {
	ctx, p := c.cmd.Context(), newProgress(c.cmd.ErrOrStderr(), &c.m, c.opt.Tol)
	start := time.Now()
	model, fitErr := iokl.FitStream(ctx, data, c.streamOptions(data, p, world))
	p.end()
	if model == nil {
		return noModel(ctx, fitErr, c.s.checkpoint)
	}
	if world.Rank() > 0 {
		return nil
	}
	return c.finish(model, nil, nil, time.Since(start).Seconds(), fitErr)
}

// cvStream cross-validates on streamed data, whose rows and folds the ranks share,
// and fits the best setting to the same sums.
func (c *learning) cvStream(data iokl.Rows, world *mpi.World) error {
	ctx, p := c.cmd.Context(), newProgress(c.cmd.ErrOrStderr(), &c.m, c.opt.Tol)
	start := time.Now()
	r, err := iokl.CrossValidateStream(ctx, data, c.streamOptions(data, p, world))
	p.end()
	if err != nil {
		if ctx.Err() != nil {
			return status.Failure(fmt.Errorf("interrupted: %s", kept(c.s.checkpoint)))
		}
		return work(err)
	}
	if world.Rank() > 0 {
		return nil
	}
	return c.report(r, time.Since(start).Seconds(), func() (bool, error) {
		model, err := r.Fit(ctx)
		return c.keep(model, err, p, nil)
	})
}

// kept says what can be gone on from, if there is a checkpoint already, or those of ranks.
func kept(checkpoint string) string {
	_, err := os.Stat(checkpoint)
	ofRanks, _ := filepath.Glob(checkpoint + ".*-of-*")
	if checkpoint == "" || err != nil && ofRanks == nil {
		return "nothing was saved"
	}
	return "the same command goes on from " + checkpoint
}

// rows shows where a pass is.
func (p *progress) rows(survey bool, at stream.Progress, count int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, wait := "adding up", stillAlive
	if survey {
		what = "surveying"
	}
	if p.bar {
		wait = stillAlive / 10
	}
	text := fmt.Sprintf("%s %s: %d rows", what, at.Source, at.Rows)
	if count > 0 {
		text += fmt.Sprintf(" of %d", count)
	}
	p.doing = text
	if !p.bar && !p.lines || time.Since(p.passed) < wait {
		return
	}
	p.passed = time.Now()
	p.show(fmt.Sprintf("%s  %.0f s", text, time.Since(p.start).Seconds()))
}
