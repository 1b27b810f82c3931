package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/iokl/iokl/bcd"
)

// progress shows a fit on standard error: a bar that moves with the logarithm of
// the gap when that is a screen, lines with --verbose, nothing with --quiet.
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
	return &progress{w: w, bar: !m.quiet && !m.verbose && isTerminal(w), lines: m.verbose && !m.quiet, tol: tol, start: time.Now()}
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
	text := fmt.Sprintf("iteration %d  objective %.6g  gap %.2e  %.1f s", s.Iter, s.Objective, s.RelativeGap, time.Since(p.start).Seconds())
	switch {
	case p.lines:
		fmt.Fprintf(p.w, "%s  %d solves, %d kernels, rank %d\n", text, s.SylvesterSolves, active(s.Eta), s.Rank)
	case p.bar && time.Since(p.last) > 50*time.Millisecond:
		p.draw(p.gauge(s.RelativeGap) + " " + text)
	}
	return nil
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
	const width = 24
	p.first = math.Max(p.first, gap)
	done := math.Log(p.first/gap) / math.Log(p.first/p.tol)
	if !(done >= 0) {
		done = 0
	}
	full := int(width * math.Min(done, 1))
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
