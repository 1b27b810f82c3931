// This file has the flags of granger about how sure edges are, and the checkpoint of its resamplings.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/atomicfile"
	"github.com/iokl/iokl/internal/table"
)

// confidence are the flags of granger that ask how sure the graph is.
type confidence struct {
	stability, null int // rounds
	top, block      int
	improvement     bool
	checkpoint      string
}

func (c *confidence) flags(f *pflag.FlagSet) {
	f.IntVar(&c.stability, "stability", 0, "")
	f.IntVar(&c.top, "top", 0, "")
	f.IntVar(&c.block, "block", 0, "")
	f.IntVar(&c.null, "null", 0, "")
	f.BoolVar(&c.improvement, "improvement", false, "")
	f.StringVar(&c.checkpoint, "checkpoint", "", "")
}

func (c *confidence) check(cmd *cobra.Command) error {
	for _, name := range []string{"top", "block"} {
		if cmd.Flags().Changed(name) && c.stability == 0 {
			return fmt.Errorf("--%s is for --stability", name)
		}
	}
	if c.checkpoint == "" {
		return nil
	}
	if c.stability == 0 && c.null == 0 {
		return errors.New("--checkpoint is for --stability and --null")
	}
	return checkFile(cmd, "checkpoint")
}

// rounds is the content of a checkpoint.
type rounds struct {
	Stability granger.Counts `json:"stability"`
	Null      granger.Counts `json:"null"`
}

// checkpointEvery is the least time between two writes of the file; what is left
// is written when the rounds end, for whatever reason.
const checkpointEvery = 2 * time.Second

// keeper writes the rounds to the checkpoint.
type keeper struct {
	rounds
	path  string
	last  time.Time
	dirty bool
	other bool // rank than the first, which alone writes
}

// open reads the checkpoint, when there is one.
func (k *keeper) open() error {
	if k.path == "" {
		return nil
	}
	b, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if err = json.Unmarshal(b, &k.rounds); err != nil {
			return fmt.Errorf("--checkpoint %s: %w: it is not what an earlier run left (%v)", k.path, table.ErrData,
				err)
		}
	}
	return err
}

func (k *keeper) flush() error {
	if k.path == "" || !k.dirty || k.other {
		return nil
	}
	k.dirty, k.last = false, time.Now()
	return atomicfile.Write(k.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(k.rounds) })
}

// keep is a Trace that puts the counts where they are written from.
func (k *keeper) keep(p *progress, what string, of int, to *granger.Counts) func(granger.Counts) error {
	return func(c granger.Counts) error {
		*to, k.dirty = c, true
		p.line(fmt.Sprintf("%s: %d of %d rounds", what, c.Rounds, of))
		if time.Since(k.last) < checkpointEvery {
			return nil
		}
		return k.flush()
	}
}

// assess fills in how sure the graph is.
func (g *grangerFlags) assess(
	cmd *cobra.Command, study *granger.Study, res *granger.Result, report *results.Graph,
) (err error) {
	k := &keeper{path: g.checkpoint, other: g.world.Rank() > 0}
	if err := k.open(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), &g.machine, 0)
	defer p.end()
	defer func() { err = errors.Join(err, k.flush()) }()
	for _, c := range []struct {
		what  string
		count int
		to    *granger.Counts
		run   func(granger.Rounds) (granger.Counts, error)
		set   **granger.Counts
	}{
		{"stability", g.stability, &k.Stability, func(r granger.Rounds) (granger.Counts, error) {
			return study.Stability(cmd.Context(), g.top, r)
		}, &res.Stability},
		{"null", g.null, &k.Null, func(r granger.Rounds) (granger.Counts, error) {
			return study.Null(cmd.Context(), r)
		}, &res.Null},
	} {
		if c.count == 0 {
			continue
		}
		done := *c.to
		if done.Rounds > c.count {
			return fmt.Errorf("--checkpoint %s: %w: it has %d rounds of %s, more than %d", k.path, table.ErrData,
				done.Rounds, c.what, c.count)
		}
		if done.Rounds > 0 {
			p.line(fmt.Sprintf("%s: going on after %d rounds", c.what, done.Rounds))
		}
		counts, err := c.run(granger.Rounds{To: c.count, Block: g.block, Done: done, Trace: k.keep(p, c.what, c.count,
			c.to)})
		if err != nil {
			if errors.Is(err, granger.ErrForeign) {
				return fmt.Errorf("--checkpoint %s: %w", k.path, err)
			}
			return err
		}
		*c.set = &counts
	}
	if g.improvement {
		if report.Improvement, err = study.Improvement(cmd.Context()); err != nil {
			return err
		}
	}
	report.Confidence(res)
	return nil
}
