// This file draws the pictures of a run into files.

package report

import (
	"slices"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// Draw draws every picture that the results have the numbers for into dir, each
// as PNG and SVG, and returns the names of the files.
func Draw(f *bench.File, dir string) ([]string, error) {
	var figures []picture.Figure
	for _, group := range f.ByCase() {
		figures = append(figures, bench.Figures(group, f)...)
	}
	unnamed := func(f picture.Figure) bool { return f.Name == "" }
	return picture.SaveAll(dir, slices.DeleteFunc(figures, unnamed))
}
