package iokl_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/stream"
)

// Two outputs from three inputs, of which only the first matters.
func Example() {
	X, Y := mat.NewDense(80, 3, nil), mat.NewDense(80, 2, nil)
	for i := range 80 {
		a, b := float64(i)/40-1, math.Sin(float64(7*i))
		X.SetRow(i, []float64{a, b, math.Cos(float64(3 * i))})
		Y.SetRow(i, []float64{math.Sin(3 * a), 2 * math.Sin(3*a)})
	}
	model, err := iokl.Fit(context.Background(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:each:0.5,1,2", "linear:all"},
		Lambda:  1e-4,
	})
	if err != nil {
		log.Fatal(err)
	}
	P, err := model.Predict(mat.NewDense(1, 3, []float64{0.5, 0, 0}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("f(0.5, 0, 0) = %.2f, %.2f\n", P.At(0, 0), P.At(0, 1))
	fmt.Println("certified optimal to 1 in 10,000:", model.Certificate().RelativeGap <= 1e-4)
	// Output:
	// f(0.5, 0, 0) = 1.00, 1.99
	// certified optimal to 1 in 10,000: true
}

// waves are l rows of two inputs, and of a target that is a wave along the first, with noise.
func waves(l int, noise float64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(1, 2))
	X, Y = mat.NewDense(l, 2, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		x := 2*rng.Float64() - 1
		X.SetRow(i, []float64{x, rng.NormFloat64()})
		Y.Set(i, 0, math.Sin(3*x)+noise*rng.NormFloat64())
	}
	return X, Y
}

// Intervals that hold nine of ten new targets, by models without each of ten folds.
func ExampleModel_PredictInterval() {
	X, Y := waves(200, 0.2)
	model, err := iokl.Fit(context.Background(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:all:median"}, Lambda: 1e-4, IntervalFolds: 10,
	})
	if err != nil {
		log.Fatal(err)
	}
	at := mat.NewDense(1, 2, []float64{0.5, 0})
	r, err := model.PredictInterval(context.Background(), at, iokl.IntervalOptions{
		Level: 0.9, Method: iokl.MethodCVPlus,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f, between %.1f and %.1f\n", r.Predictions.At(0, 0), r.Low.At(0, 0), r.High.At(0, 0))
	// Output: 1.0, between 0.6 and 1.3
}

// Twenty rows arrive at a model of a hundred, and the oldest ten leave.
func ExampleModel_Update() {
	X, Y := waves(120, 0)
	model, err := iokl.Fit(context.Background(), X.Slice(0, 100, 0, 2), Y.Slice(0, 100, 0, 1), iokl.Options{
		Kernels: []string{"gaussian:all:median"}, Lambda: 1e-4,
	})
	if err != nil {
		log.Fatal(err)
	}
	updated, err := model.Update(context.Background(), X.Slice(100, 120, 0, 2), Y.Slice(100, 120, 0, 1),
		iokl.UpdateOptions{Window: 110})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Certificate().Samples, "rows, then", updated.Certificate().Samples)
	// Output: 100 rows, then 110
}

// A kernel of the program's own between words, and predictions from its values between a new word and the old ones.
func ExampleFitGram() {
	words := []string{"", "a", "aa", "aaa", "aaaa", "aaaaa"}
	k := func(a, b string) float64 { return math.Exp(-math.Abs(float64(len(a)-len(b))) / 4) }
	l := len(words)
	K, Y := mat.NewDense(l, l, nil), mat.NewDense(l, 1, nil)
	for i, a := range words {
		Y.Set(i, 0, float64(len(a)*len(a)))
		for j, b := range words {
			K.Set(i, j, k(a, b))
		}
	}
	model, err := iokl.FitGram(context.Background(), []mat.Matrix{K}, Y, iokl.Options{Lambda: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	cross := mat.NewDense(1, l, nil)
	for j, b := range words {
		cross.Set(0, j, k("bbb", b))
	}
	P, err := model.PredictGram([]mat.Matrix{cross})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", P.At(0, 0))
	// Output: 9.0
}

// Rows that come in blocks, from memory here, and from files or a network in the same way.
func ExampleFitStream() {
	X, Y := waves(3000, 0.1)
	model, err := iokl.FitStream(context.Background(), stream.Rows{
		Name: "waves", Inputs: 2, Outputs: 1,
		Open: func() (stream.Source, error) {
			return stream.FromMatrices("waves", X.RawMatrix(), Y.RawMatrix()), nil
		},
	}, iokl.Options{Kernels: kernel.Texts(kernel.Gaussian.On(kernel.All).RFF(200)), Lambda: 1e-4})
	if err != nil {
		log.Fatal(err)
	}
	P, err := model.Predict(mat.NewDense(1, 2, []float64{0.5, 0}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows: f(0.5, 0) = %.1f\n", model.Certificate().Samples, P.At(0, 0))
	// Output: 3000 rows: f(0.5, 0) = 1.0
}

// Two classes by the loss of probabilities.
func ExampleFitClasses() {
	X, Y := waves(200, 0)
	labels := make([]string, 200)
	for i := range labels {
		if labels[i] = "low"; Y.At(i, 0) > 0 {
			labels[i] = "high"
		}
	}
	model, err := iokl.FitClasses(context.Background(), X, labels, iokl.Options{
		Kernels: []string{"gaussian:all:median"}, Lambda: 1e-3, Loss: iokl.LossLogistic,
	})
	if err != nil {
		log.Fatal(err)
	}
	at := mat.NewDense(2, 2, []float64{0.5, 0, -0.5, 0})
	classes, err := model.Classify(at)
	if err != nil {
		log.Fatal(err)
	}
	P, err := model.PredictProba(at)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(classes, model.Classes(), P.At(0, 0) > 0.9)
	// Output: [high low] [high low] true
}

// A fit in the background, which ends with its best model so far when it is stopped.
func ExampleStart() {
	X, Y := waves(100, 0)
	job := iokl.Start(context.Background(), iokl.Data{X: X, Y: Y}, iokl.Options{
		Kernels: []string{"gaussian:all:median*0.5,1,2"}, Lambda: 1e-4, Norm: iokl.NormL1,
	})
	select {
	case <-job.Done():
	case <-time.After(time.Minute):
		job.Stop()
	}
	model, err := job.Result()
	fmt.Println(model.Certificate().Converged, err, job.Progress().RelativeGap <= 1e-4)
	// Output: true <nil> true
}
