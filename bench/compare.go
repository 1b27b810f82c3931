package bench

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat"
)

// Comparison is what changed from one run to another.
type Comparison struct {
	Regressed bool     `json:"regressed"` // something is slower or worse
	Threshold float64  `json:"threshold"`
	Geomean   *float64 `json:"geomean,omitempty"`  // of new over old medians; nil without common lines
	Warnings  []string `json:"warnings,omitempty"` // about the two runs: different machines, noise
	Lines     []Change `json:"lines"`
}

// Change is one line that both runs measured, or only one did.
type Change struct {
	Case   string  `json:"case"`
	Name   string  `json:"name"`
	Params string  `json:"params"`
	Old    float64 `json:"old_seconds,omitempty"` // median
	New    float64 `json:"new_seconds,omitempty"`
	Ratio  float64 `json:"ratio,omitempty"` // of the medians, new over old
	// of so large a difference by chance (Mann–Whitney U, see correct); nil when not testable
	P       *float64 `json:"p,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Note    string   `json:"note,omitempty"`

	minimum float64 // ratio of the minima, new over old
}

// Verdict says what a change amounts to.
type Verdict string

const (
	Same   Verdict = "no difference" // none beyond chance and the threshold
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	Worse  Verdict = "worse answer" // objective, accuracy or an error; whatever the time
	Single Verdict = "too few repetitions"
	Gone   Verdict = "only in the first"
	Added  Verdict = "only in the second"
)

// Alpha is the level of significance, benchstat's.
const Alpha = 0.05

// Compare tests each line that both files have as benchstat does, and corrects for
// their number. A line is faster or slower when the difference is significant and
// both the medians and the minima, which disturbances of the machine move least,
// differ by more than the threshold: 0.1 is ten percent.
func Compare(a, b *File, threshold float64) *Comparison {
	c := &Comparison{Threshold: threshold, Lines: []Change{}}
	c.warn(a, b)
	news := map[string]Result{}
	for _, r := range b.Results {
		news[key(r)] = r
	}
	var ratios []float64
	for _, old := range a.Results {
		k := key(old)
		r, ok := news[k]
		if !ok {
			c.Lines = append(c.Lines, newChange(old, Gone))
			continue
		}
		delete(news, k)
		ch := compareLine(old, r)
		if ch.Ratio > 0 {
			ratios = append(ratios, ch.Ratio)
		}
		c.Lines = append(c.Lines, ch)
	}
	for _, r := range b.Results {
		if _, ok := news[key(r)]; ok {
			c.Lines = append(c.Lines, newChange(r, Added))
		}
	}
	if len(ratios) > 0 {
		c.Geomean = Num(stat.GeometricMean(ratios, nil))
	}
	c.correct()
	for i := range c.Lines {
		c.Lines[i].judge(threshold)
	}
	c.Regressed = slices.ContainsFunc(c.Lines, func(ch Change) bool {
		return ch.Verdict == Slower || ch.Verdict == Worse
	})
	return c
}

// correct replaces each P by the least share of false findings among all lines
// with a P as small (Benjamini and Hochberg, 1995): of two hundred lines of one
// build ten would otherwise differ by chance.
func (c *Comparison) correct() {
	var tested []*Change
	for i := range c.Lines {
		if ch := &c.Lines[i]; ch.P != nil {
			tested = append(tested, ch)
		}
	}
	slices.SortFunc(tested, func(a, b *Change) int { return cmp.Compare(*b.P, *a.P) })
	least := 1.0
	for i, ch := range tested { // the largest first
		least = min(least, *ch.P*float64(len(tested))/float64(len(tested)-i))
		*ch.P = least
	}
}

// judge gives a line that was tested its verdict.
func (ch *Change) judge(threshold float64) {
	switch {
	case ch.P == nil || !(*ch.P < Alpha):
	case ch.Ratio > 1+threshold && ch.minimum > 1+threshold:
		ch.Verdict = Slower
	case ch.Ratio < 1/(1+threshold) && ch.minimum < 1/(1+threshold):
		ch.Verdict = Faster
	}
}

func (c *Comparison) warn(a, b *File) {
	add := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	ma, mb := a.Machine, b.Machine
	for _, d := range differences(ma, mb) {
		if d[1] != d[2] {
			add("the runs differ in %s: %s and %s", d[0], d[1], d[2])
		}
	}
	if ma.Noise.Noisy() || mb.Noise.Noisy() {
		add("the machine was disturbed during a run: other programs, the hypervisor or the clock")
	}
}

// differences are the names and values of what moves times from one run to another.
func differences(a, b Machine) [][3]string {
	return [][3]string{
		{"processor", a.CPU, b.CPU},
		{"Go version", a.Go, b.Go},
		{"backend", a.Backend.Backend, b.Backend.Backend},
		{"threads", fmt.Sprint(a.Threads), fmt.Sprint(b.Threads)},
		{"quick", fmt.Sprint(a.Quick), fmt.Sprint(b.Quick)},
	}
}

// key identifies a line by its parameters, less those that are outcomes.
func key(r Result) string {
	return r.Case + "\x00" + r.Name + "\x00" + r.Without("seconds_after_pass", "chosen", "fastest", "central")
}

func newChange(r Result, v Verdict) Change {
	return Change{Case: r.Case, Name: r.Name, Params: r.Without(), Verdict: v}
}

func compareLine(old, r Result) Change {
	ch := newChange(old, Same)
	ch.Old, ch.New = old.Seconds, r.Seconds
	if old.Seconds > 0 && r.Seconds > 0 {
		ch.Ratio = r.Seconds / old.Seconds
	}
	if note := worse(old, r); note != "" {
		ch.Verdict, ch.Note = Worse, note
		return ch
	}
	if min(len(old.Samples), len(r.Samples)) < 4 { // no arrangement of fewer is significant
		ch.Verdict = Single
		return ch
	}
	s1, s2 := benchmath.NewSample(slices.Clone(old.Samples), &benchmath.DefaultThresholds),
		benchmath.NewSample(slices.Clone(r.Samples), &benchmath.DefaultThresholds)
	ch.P = Num(benchmath.AssumeNothing.Compare(s1, s2).P)
	ch.minimum = r.Min / old.Min
	return ch
}

// worse says in what the new answer is worse than the old one, "" when it is not.
func worse(old, r Result) string {
	switch {
	case old.Error == "" && r.Error != "":
		return r.Error
	case old.Accuracy != nil && r.Accuracy != nil && *r.Accuracy < *old.Accuracy-0.01:
		return fmt.Sprintf("accuracy %.2f %%, was %.2f %%", 100**r.Accuracy, 100**old.Accuracy)
	case old.Objective != nil && r.Objective != nil && !old.Stopped && !r.Stopped &&
		*r.Objective > *old.Objective*1.001:
		return fmt.Sprintf("objective %.6g, was %.6g", *r.Objective, *old.Objective)
	}
	return ""
}

// Count is the number of lines of that verdict.
func (c *Comparison) Count(v Verdict) (n int) {
	for _, ch := range c.Lines {
		if ch.Verdict == v {
			n++
		}
	}
	return n
}

// Verdicts are those that some line has.
func (c *Comparison) Verdicts() []Verdict {
	return slices.DeleteFunc([]Verdict{Same, Faster, Slower, Worse, Single, Gone, Added}, func(v Verdict) bool {
		return c.Count(v) == 0
	})
}

// Changed reports whether the line tells of a change.
func (ch *Change) Changed() bool { return ch.Verdict != Same && ch.Verdict != Single }
