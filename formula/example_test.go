package formula_test

import (
	"fmt"

	"github.com/iokl/iokl/formula"
)

// The formula y = 1 + 3·(x − 2)/4 of one standardised number.
func Example() {
	f := formula.Formula{
		Columns: []formula.Column{{Name: "x", Number: true}}, Mean: []float64{2}, Scale: []float64{4},
		Outputs: []string{"y"}, Offset: []float64{1},
		Sums: []formula.Sum{{
			Terms: []formula.Term{{Metric: formula.Linear, Weight: 1}}, Weights: []float64{3},
		}},
	}
	y, err := f.Predict([]float64{10})
	fmt.Println(y, err)
	// Output: [7] <nil>
}
