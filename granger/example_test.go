package granger_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// Example finds who drives whom in a logistic map that drives another.
func Example() {
	const T = 300
	X := blas.NewGeneral(T, 2)
	a, b := 0.3, 0.6
	for t := range T {
		X.Data[2*t], X.Data[2*t+1] = a, b
		a, b = 3.8*a*(1-a), (3.5*(1-b)-0.4*a)*b+0.05
	}
	res, err := granger.Infer(context.Background(), &granger.Data{Names: []string{"a", "b"}, X: X}, granger.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range res.Links(0.05) {
		fmt.Printf("%s drives %s\n", l.From, l.To)
	}
	// Output: a drives b
}
