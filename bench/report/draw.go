package report

import (
	"fmt"

	"github.com/iokl/iokl/bench"
)

// Draw draws every picture that the results have the numbers for into dir, each
// as PNG and SVG, and returns the names of the files.
func Draw(f *bench.File, dir string) ([]string, error) {
	figures := answerFigures(f)
	for _, group := range f.ByCase() {
		figures = append(figures, bench.Figures(group, f.Machine.Limits)...)
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
