package schema_test

import (
	"fmt"

	"github.com/iokl/iokl/schema"
)

// A number stays one, and a category becomes a column of 0 and 1 for each level.
func Example() {
	s := schema.Columns{
		{Name: "height"},
		{Name: "colour", Kind: schema.Category, Levels: []string{"blue", "red"}},
	}
	row := make([]float64, s.Cols())
	s.Expand(row, []float64{1.8, 1}) // the second word of colour
	fmt.Println(s.Names(), row)
	// Output: [height colour=blue colour=red] [1.8 0 1]
}
