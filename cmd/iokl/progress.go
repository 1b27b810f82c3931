package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/base/screen"
)

// progress shows a fit on standard error: on a terminal as a bar of the share of settings compared, and then of the
// logarithm of the gap; with --verbose as lines; with --quiet not at all. The current phase and the time spent are
// shown again when nothing else has been shown for almost stillAlive. Its methods may be called from several
// goroutines.
type progress struct {
	w     io.Writer
	bar   bool
	lines bool
	tol   float64
	start time.Time
	stop  func()

	mu    sync.Mutex
	doing string
	last  time.Time // of anything shown
	told  time.Time // of the share of settings compared, or the rows of a pass
	first float64   // the gap that the bar starts from
	drawn bool
}

// stillAlive is the longest time without output, looksEach the time between two checks of it.
const (
	stillAlive = 2 * time.Second
	looksEach  = stillAlive / 8
)

func newProgress(w io.Writer, m *machine, tol float64) *progress {
	tol, _ = bcd.Tolerance(tol)
	p := &progress{
		w: w, lines: m.verbose && !m.quiet, tol: tol,
		start: time.Now(), last: time.Now(), doing: "preparing", stop: func() {},
	}
	if t := cli.Terminal(w); t != nil && !m.quiet && !m.verbose {
		p.w, p.bar = t, true
	}
	if p.bar || p.lines {
		done, ended := make(chan struct{}), make(chan struct{})
		p.stop = sync.OnceFunc(func() { close(done); <-ended })
		go p.watch(done, ended)
	}
	return p
}

// watch repeats the current phase where nothing else is shown, until done.
func (p *progress) watch(done, ended chan struct{}) {
	defer close(ended)
	look := time.NewTicker(looksEach)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-look.C:
		}
		p.mu.Lock()
		if time.Since(p.last) >= stillAlive-2*looksEach {
			p.show(fmt.Sprintf("%s  %.1f s", p.doing, time.Since(p.start).Seconds()))
		}
		p.mu.Unlock()
	}
}

// show prints a line, on a terminal over the one before.
func (p *progress) show(text string) {
	p.last = time.Now()
	if p.bar {
		fmt.Fprintf(p.w, "\r\x1b[K%s", screen.Safe(text))
		p.drawn = true
		return
	}
	fmt.Fprintln(p.w, text)
}

// line prints a message of the library.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines || p.bar {
		p.show(text)
	}
}

// step is the Trace of a fit.
func (p *progress) step(s bcd.Step) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("iteration %d  objective %.6g  gap %.2e", s.Iter, s.Objective, s.RelativeGap)
	p.doing = "after " + text
	text += fmt.Sprintf("  %.1f s", time.Since(p.start).Seconds())
	switch {
	case p.lines:
		p.show(fmt.Sprintf("%s  %d solves, %d kernels, rank %d", text, s.SylvesterSolves, results.Active(s.Eta),
			s.Rank))
	case p.bar && time.Since(p.last) > 50*time.Millisecond:
		p.show(p.gauge(s.RelativeGap) + " " + text)
	}
	return nil
}

// every is the time between two lines about the choice of settings.
const every = 10 * time.Second

// choosing is the Watch of a fit.
func (p *progress) choosing(at iokl.Progress) {
	more := ""
	if at.Left >= 0 {
		more += fmt.Sprintf("  %v left", at.Left.Round(time.Second))
	}
	if !math.IsNaN(at.Best) {
		more += fmt.Sprintf("  best %s of a fold %.4g", at.Metric, at.Best)
	}
	p.now(fmt.Sprintf("%s  %.0f %%", at.Phase, 100*at.Done), more, at.Done, every, 50*time.Millisecond)
}

// now shows the current phase and more about it, unless it did so less than wait ago, on a terminal onScreen. There it
// draws a bar of the share unless that is NaN.
func (p *progress) now(doing, more string, share float64, wait, onScreen time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
	text := doing + more
	if p.bar && !math.IsNaN(share) {
		text = bar(share) + " " + text
	}
	if p.bar {
		wait = onScreen
	}
	if (p.bar || p.lines) && time.Since(p.told) >= wait {
		p.told = time.Now()
		p.show(text)
	}
}

// gauge is full when the gap reaches the tolerance.
func (p *progress) gauge(gap float64) string {
	p.first = math.Max(p.first, gap)
	return bar(math.Log(p.first/gap) / math.Log(p.first/p.tol))
}

// bar is full at 1, and empty for NaN.
func bar(share float64) string {
	const width = 24
	if !(share >= 0) {
		share = 0
	}
	full := int(width * math.Min(share, 1))
	return "[" + strings.Repeat("█", full) + strings.Repeat("·", width-full) + "]"
}

// end clears the bar and stops the repetition.
func (p *progress) end() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
