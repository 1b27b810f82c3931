// Checkpoints of a fit.

package learn

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
)

// checkpointer keeps the state of a fit in a file, the last one of a fit that ends early too.
type checkpointer struct {
	path    string
	p       *bcd.Problem
	trace   func(bcd.Step) error
	written time.Time
	last    *bcd.State // not in the file yet
}

// checkpointing makes a fit of p with the options so start from its checkpoint, when
// there is one, and keep it up to date, alone. The returned function ends that: it writes
// what is not in the file yet.
func (m *Method) checkpointing(p *bcd.Problem, so *bcd.Options) (end func() error, err error) {
	if m.Checkpoint == "" {
		return func() error { return nil }, nil
	}
	unlock, err := atomicfile.TryLock(m.Checkpoint)
	if err != nil {
		return nil, err
	}
	c := &checkpointer{path: m.Checkpoint, p: p, trace: so.Trace, written: time.Now()}
	if so.Start, err = c.read(); err != nil {
		unlock()
		return nil, err
	}
	if so.Start != nil {
		m.Say("going on after the %d outer iterations of %s", so.Start.Iter, c.path)
	}
	so.Trace = c.step
	return func() error { defer unlock(); return c.flush() }, nil
}

// read returns the state in the file, or nil when there is no file yet but can be.
func (c *checkpointer) read() (*bcd.State, error) {
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Check(c.path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := bcd.DecodeState(f, c.p)
	if err != nil {
		return nil, fault.Input("%s: %w", c.path, err)
	}
	return s, nil
}

func (c *checkpointer) step(s bcd.Step) error {
	c.last = s.State()
	if time.Since(c.written) >= defaults.CheckpointEvery {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if c.trace == nil {
		return nil
	}
	return c.trace(s)
}

// flush writes the last state, whole or not at all.
func (c *checkpointer) flush() error {
	if c.last == nil {
		return nil
	}
	err := atomicfile.Write(c.path, func(w io.Writer) error { return c.last.Encode(w, c.p) })
	c.last, c.written = nil, time.Now()
	return err
}
