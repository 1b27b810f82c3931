// Command graph denoises two related signals on the nodes of a graph. It shows
// how a program of its own brings its own kernels to the solvers of iokl: the
// kernels here are walks on the graph, which are only ever multiplied with.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/regularizer"
)

// steps are the lengths of the walks: a kernel for each.
var steps = []int{2, 8, 32}

const side = 20 // the graph is a grid of side×side nodes

func main() {
	noisy, clean := signals(side, 0.5)
	got, res, err := denoise(newWalks(grid(side), steps), noisy)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("error of the noisy signals    %.3f\n", rmse(noisy, clean))
	fmt.Printf("error of the denoised signals %.3f\n", rmse(got, clean))
	for j, s := range steps {
		fmt.Printf("weight of walks of %2d steps   %.3f\n", s, res.Eta[j])
	}
	L := blas.NewGeneral(2, 2)
	res.L.Dense(blas.Active(), L)
	fmt.Printf("correlation of the signals    %+.2f\n", L.Data[1]/math.Sqrt(L.Data[0]*L.Data[3]))
	fmt.Printf("certified relative gap        below 1e-4: %v\n", res.RelativeGap <= 1e-4)
}

// denoise learns walk weights, output kernel and function, and returns the fitted values K_η C L.
func denoise(K *walks, Y blas.General) (blas.General, *bcd.Result, error) {
	problem := &bcd.Problem{Space: bcd.NewSamples(K, Y), Lambda: 1e-2, Tau: 2, Norm: regularizer.Lp{P: 1}}
	res, err := bcd.Solve(context.Background(), problem, bcd.Options{Sylvester: "cg"})
	if err != nil {
		return Y, res, err
	}
	CL, F := blas.NewGeneral(Y.Rows, Y.Cols), blas.NewGeneral(Y.Rows, Y.Cols)
	res.L.MulRight(blas.Active(), CL, res.C)
	K.SetWeights(res.Eta)
	K.Apply(F, CL)
	return F, res, nil
}

// signals are two smooth functions on the grid, the second nearly the opposite of
// the first, with noise added and without.
func signals(side int, noise float64) (noisy, clean blas.General) {
	noisy, clean = blas.NewGeneral(side*side, 2), blas.NewGeneral(side*side, 2)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range side {
		for j := range side {
			x, y := float64(i)/float64(side), float64(j)/float64(side)
			f := math.Sin(3*x) * math.Cos(4*y)
			k := 2 * (i*side + j)
			clean.Data[k], clean.Data[k+1] = 2*f, -2*f+0.3*x
			noisy.Data[k] = clean.Data[k] + noise*rng.NormFloat64()
			noisy.Data[k+1] = clean.Data[k+1] + noise*rng.NormFloat64()
		}
	}
	return noisy, clean
}

func rmse(a, b blas.General) float64 {
	return floats.Distance(a.Data, b.Data, 2) / math.Sqrt(float64(len(a.Data)))
}
