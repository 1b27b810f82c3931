package bench

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// frame is a node of the call tree: a function with all that it called.
type frame struct {
	name     string
	value    int64
	children []*frame
}

func (f *frame) child(name string) *frame {
	for _, c := range f.children {
		if c.name == name {
			return c
		}
	}
	c := &frame{name: name}
	f.children = append(f.children, c)
	return c
}

const (
	flameWidth  = 1200.0
	flameRow    = 17.0
	flameTop    = 44.0
	flameDepth  = 60
	flameNarrow = 0.4 // narrower boxes are left out
)

// WriteFlame draws a CPU profile as a flame graph in SVG: width is time, callers
// are above what they call, and the phases of the solvers are the first row.
func WriteFlame(w io.Writer, cpu io.Reader) error {
	p, err := profile.Parse(cpu)
	if err != nil {
		return err
	}
	root, err := callTree(p)
	if err != nil {
		return err
	}
	var b strings.Builder
	height := flameTop + flameRow*float64(depthOf(root)) + 8
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`, flameWidth, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="8" y="18" font-size="14">CPU time by phase and function: %.2f s in all</text>`, float64(root.value)/1e9)
	fmt.Fprint(&b, `<text x="8" y="34" fill="#555">width is time; hold the pointer over a box for its name and share</text>`)
	root.draw(&b, root.value, 0, flameWidth, 0)
	b.WriteString("</svg>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

// callTree adds up the samples' CPU time over their stacks, below their phase.
func callTree(p *profile.Profile) (*frame, error) {
	kind := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if kind < 0 {
		return nil, errors.New("not a CPU profile")
	}
	root := &frame{name: "all"}
	for _, s := range p.Sample {
		v := s.Value[kind]
		root.value += v
		phase := "no phase"
		if label := s.Label["phase"]; len(label) > 0 {
			phase = "phase " + label[0]
		}
		at := root.child(phase)
		at.value += v
		for i := len(s.Location) - 1; i >= 0; i-- {
			for j := len(s.Location[i].Line) - 1; j >= 0; j-- {
				if fn := s.Location[i].Line[j].Function; fn != nil {
					at = at.child(fn.Name)
					at.value += v
				}
			}
		}
	}
	return root, nil
}

func depthOf(f *frame) int {
	deepest := 0
	for _, c := range f.children {
		deepest = max(deepest, depthOf(c))
	}
	return min(1+deepest, flameDepth)
}

// draw draws the box of f at x with the given width, and its children below, the widest first.
func (f *frame) draw(b *strings.Builder, total int64, x, width float64, depth int) {
	if width < flameNarrow || depth >= flameDepth {
		return
	}
	y := flameTop + flameRow*float64(depth)
	name := f.name[strings.LastIndexByte(f.name, '/')+1:]
	share := 100 * float64(f.value) / float64(max(total, 1))
	fmt.Fprintf(b, `<g><title>%s: %.1f %%, %.2f s</title><rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" fill="%s" stroke="#fff" stroke-width="0.5"/>`,
		html.EscapeString(f.name), share, float64(f.value)/1e9, x, y, width, flameRow-1, warm(f.name))
	if fits := int(width / 6.2); fits > 3 {
		text := name
		if r := []rune(text); len(r) > fits {
			text = string(r[:fits-1]) + "…"
		}
		fmt.Fprintf(b, `<text x="%.2f" y="%.1f">%s</text>`, x+3, y+12, html.EscapeString(text))
	}
	b.WriteString("</g>")
	slices.SortStableFunc(f.children, func(p, q *frame) int { return cmp.Compare(q.value, p.value) })
	for _, c := range f.children {
		w := width * float64(c.value) / float64(max(f.value, 1))
		c.draw(b, total, x, w, depth+1)
		x += w
	}
}

// warm is a colour between yellow and red, always the same for a name; phases are blue.
func warm(name string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, name)
	v := h.Sum32()
	if strings.HasPrefix(name, "phase ") {
		return fmt.Sprintf("hsl(%d,60%%,72%%)", 195+v%40)
	}
	return fmt.Sprintf("hsl(%d,75%%,%d%%)", 15+v%40, 66+v/64%10)
}
