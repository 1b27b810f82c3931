package loss_test

import (
	"fmt"

	"github.com/iokl/iokl/loss"
)

func ExampleParse() {
	losses, err := loss.Parse("quantile:0.1,0.9")
	for _, l := range losses {
		fmt.Printf("%v: %.2f for 1 too low, %.2f for 1 too high\n", l, l.Value(1, 0), l.Value(0, 1))
	}
	fmt.Println(err)
	// Output:
	// quantile:0.1: 0.10 for 1 too low, 0.90 for 1 too high
	// quantile:0.9: 0.90 for 1 too low, 0.10 for 1 too high
	// <nil>
}
