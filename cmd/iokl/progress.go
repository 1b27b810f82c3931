// This file shows on standard error how a fit goes on.

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
)

// progress shows a fit on standard error: on a screen a bar that moves with the share of settings
// compared, and then with the logarithm of the gap; lines with --verbose; nothing with --quiet.
type progress struct {
	w     io.Writer
	bar   bool
	lines bool
	tol   float64
	start time.Time
	last  time.Time
	first float64 // the gap that the bar starts from
	drawn bool
}

func newProgress(w io.Writer, m *machine, tol float64) *progress {
	return &progress{w: w, bar: !m.quiet && !m.verbose && isTerminal(w), lines: m.verbose &&
		!m.quiet, tol: tol, start: time.Now()}
}

// line prints a statement of the library.
func (p *progress) line(text string) {
	switch {
	case p.lines:
		fmt.Fprintln(p.w, text)
	case p.bar:
		p.draw(text)
	}
}

// step is the Trace of a fit.
func (p *progress) step(s bcd.Step) error {
	text := fmt.Sprintf("iteration %d  objective %.6g  gap %.2e  %.1f s", s.Iter, s.Objective, s.RelativeGap,
		time.Since(p.start).Seconds())
	switch {
	case p.lines:
		fmt.Fprintf(p.w, "%s  %d solves, %d kernels, rank %d\n", text, s.SylvesterSolves, active(s.Eta), s.Rank)
	case p.bar && time.Since(p.last) > 50*time.Millisecond:
		p.draw(p.gauge(s.RelativeGap) + " " + text)
	}
	return nil
}

// every is the time between two lines about the choice of settings.
const every = 10 * time.Second

// choosing is the Watch of a fit.
func (p *progress) choosing(at iokl.Progress) {
	wait := every
	if p.bar {
		wait = 50 * time.Millisecond
	}
	if !p.bar && !p.lines || time.Since(p.last) < wait {
		return
	}
	text := fmt.Sprintf("%s  %.0f %%", at.Phase, 100*at.Done)
	if at.Left >= 0 {
		text += fmt.Sprintf("  %v left", at.Left.Round(time.Second))
	}
	if !math.IsNaN(at.Best) {
		text += fmt.Sprintf("  best %s of a fold %.4g", at.Metric, at.Best)
	}
	if p.bar {
		p.draw(bar(at.Done) + " " + text)
		return
	}
	fmt.Fprintln(p.w, text)
	p.last = time.Now()
}

func active(eta []float64) int {
	n := 0
	for _, e := range eta {
		if e > 0 {
			n++
		}
	}
	return n
}

// gauge is full when the gap reaches the tolerance.
func (p *progress) gauge(gap float64) string {
	p.first = math.Max(p.first, gap)
	return bar(math.Log(p.first/gap) / math.Log(p.first/p.tol))
}

// bar is full at 1, and empty where the share is no number.
func bar(share float64) string {
	const width = 24
	if !(share >= 0) {
		share = 0
	}
	full := int(width * math.Min(share, 1))
	return "[" + strings.Repeat("█", full) + strings.Repeat("·", width-full) + "]"
}

func (p *progress) draw(text string) {
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	p.last, p.drawn = time.Now(), true
}

// end clears the bar.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
