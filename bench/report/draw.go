// This file draws the pictures of a run into files.

package report

import (
	"fmt"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// Draw draws every picture that the results have the numbers for into dir, each
// as PNG and SVG, and returns the names of the files.
func Draw(f *bench.File, dir string) ([]string, error) {
	var figures []picture.Figure
	for _, q := range bench.Questions() {
		figures = append(figures, q.Answer(f).Figures...)
	}
	for _, group := range f.ByCase() {
		figures = append(figures, bench.Figures(group, f.Machine.Limits)...)
		if c := bench.Find(group[0].Case); c != nil && c.Paper != nil {
			for _, e := range c.Paper(group) {
				figures = append(figures, e.Figures...)
			}
		}
	}
	var names []string
	for _, fig := range figures {
		if fig.Name == "" {
			continue
		}
		files, err := fig.Save(dir)
		names = append(names, files...)
		if err != nil {
			return names, fmt.Errorf("drawing %s: %w", fig.Name, err)
		}
	}
	return names, nil
}
