package cases

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
	gemm := strings.Join(words.Sentences("gemm", []bench.Result{
		line("native", 0.1, 50, 60, "m", 9, "threads", 1), line("gonum", 1, 5, 60, "m", 9, "threads", 1),
		line("gonum", 0.1, 4, 60, "m", 2, "threads", 1), // of another size
		line("native", 0.1, 100, 120, "m", 9, "threads", 2), line("gonum", 0.4, 25, 120, "m", 9, "threads", 2),
	}), "\n")
	want := "6.3 times faster than gonum on average in matrix products (its speed is from 4 to 10 times over 2 shapes)."
	if !strings.Contains(gemm, want) || !strings.Contains(gemm, "native computes at 83 % of this machine's peak.") {
		t.Errorf("no %q, or no share of the peak, in\n%s", want, gemm)
	}
	share := func(r bench.Result, x float64) bench.Result {
		r.Metric("of_product", x)
		return r
	}
	gram := strings.Join(words.Sentences("gram", []bench.Result{
		share(line("native", 1, 1, 60, "kernel", "product", "memory", "old", "d", 10), 1),
		share(line("native", 2, 1, 60, "kernel", "gaussian", "memory", "new", "d", 10), 0.5),
		share(line("native", 2, 1, 60, "kernel", "chi2", "memory", "old", "d", 10), 0.9),
		share(line("native", 3, 1, 60, "kernel", "chi2", "memory", "new", "d", 10), 0.34),
		share(line("gonum", 9, 1, 60, "kernel", "chi2", "memory", "new", "d", 10), 3),
	}), "\n")
	if want := "at 0.34 to 0.50 of the speed"; !strings.Contains(gram, want) {
		t.Errorf("no %q in\n%s", want, gram)
	}
}
