package algebra

import (
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
)

func TestConcludeSpeed(t *testing.T) {
	line := func(name string, seconds, gflops, peak float64, params ...any) bench.Result {
		r := bench.Result{
			Name: name, Seconds: seconds, GFlops: gflops, OfPeak: gflops / peak,
			Params: map[string]any{"backend": name},
		}
		for i := 0; i < len(params); i += 2 {
			r.Params[params[i].(string)] = params[i+1]
		}
		return r
	}
	gemm := strings.Join(concludeGemm([]bench.Result{
		line("native", 0.1, 50, 60, "m", 9, "precision", "float64", "threads", 1),
		line("gonum", 1, 5, 60, "m", 9, "precision", "float64", "threads", 1),
		line("gonum", 0.1, 4, 60, "m", 2, "precision", "float64", "threads", 1), // smaller
		line("native", 0.1, 100, 120, "m", 9, "precision", "float64", "threads", 2),
		line("gonum", 0.8, 12.5, 120, "m", 9, "precision", "float64", "threads", 2),
	}), "\n")
	for _, want := range []string{
		"gonum multiplies float64 matrices (m=9) at 5 GFLOP/s with 1 thread: the machine's peak, 60, is 12 times " +
			"that, and the native backend 10 times as fast.",
		"at 12.5 GFLOP/s with 2 threads: the machine's peak, 120, is 9.6 times that, and the native backend 8.0 " +
			"times as fast.",
	} {
		if !strings.Contains(gemm, want) {
			t.Errorf("no %q in\n%s", want, gemm)
		}
	}
	collection := func(name string, mean, p95, worst float64) bench.Result {
		return bench.Result{Name: name, Count: 200, Metrics: map[string]float64{
			"mean_ms": mean, "p95_ms": p95,
			"worst_ms": worst,
		}}
	}
	operator := strings.Join(concludeOperator([]bench.Result{
		collection(besideProducts, 1.21, 1.7, 6.1), collection(besideNothing, 0.14, 0.2, 5.3),
		collection(besideLoops, 42.1, 120, 160),
	}), "\n")
	for _, want := range []string{
		"beside products takes 1.2 ms on average, seldom more than 1.7 ms, 6.1 ms at worst (of 200).",
		"at rest it takes 0.14 ms on average, seldom more than 0.2 ms, 5.3 ms at worst",
		"Beside loops in Go on every processor it takes 42 ms",
	} {
		if !strings.Contains(operator, want) {
			t.Errorf("no %q in\n%s", want, operator)
		}
	}
	share := func(r bench.Result, x float64) bench.Result {
		r.Metric("of_product", x)
		return r
	}
	gram := strings.Join(concludeGram([]bench.Result{
		share(line("native", 1, 1, 60, "kernel", "product", "memory", "old", "d", 10), 1),
		share(line("native", 2, 1, 60, "kernel", "gaussian", "memory", "new", "d", 10), 0.5),
		share(line("native", 2, 1, 60, "kernel", "chi2", "memory", "old", "d", 10), 0.9),
		share(line("native", 3, 1, 60, "kernel", "chi2", "memory", "new", "d", 10), 0.34),
		share(line("gonum", 9, 1, 60, "kernel", "chi2", "memory", "new", "d", 10), 3),
	}), "\n")
	if want := "at 0.34 (chi2, 10 features) to 0.50 (gaussian, 10 features) of the speed"; !strings.Contains(gram,
		want) {
		t.Errorf("no %q in\n%s", want, gram)
	}
}
