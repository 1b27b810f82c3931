package cases

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/bench"
)

// TestConcludePeers compares each line of another program with the fastest of ours that is about as accurate.
func TestConcludePeers(t *testing.T) {
	var group []bench.Result
	line := func(name string, l int, seconds, residual float64) {
		group = append(group, bench.Result{
			Name: name, Seconds: seconds, Residual: bench.Num(residual),
			Params: map[string]any{"problem": "kernel ridge", "l": l, "backend": name},
		})
	}
	line("iokl auto", 100, 0.25, 1e-6)
	line("iokl cholesky", 100, 1, 1e-9)
	line("iokl auto", 9, 0.001, 1e-9) // of another size
	line("scikit-learn KernelRidge", 100, 5, 1e-9)
	line("PyTorch CG", 100, 1, 1e-6)
	line("Octave f", 100, 0.5, 1e-9)
	line("nobody", 7, 0.5, 1e-9)
	want := []string{
		"kernel ridge, l=100: iokl is 5.0 times as fast as scikit-learn KernelRidge.",
		"kernel ridge, l=100: iokl is 4.0 times as fast as PyTorch CG.",
		"kernel ridge, l=100: iokl is 2.0 times as slow as Octave f.",
	}
	if got := words.Sentences("peers", group); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	line("iokl auto", 7, 0.1, 1e-9)
	line("PyTorch CG", 7, 1.6, 1e-9)
	several := "kernel ridge, 2 sizes: iokl is 8.0 times as fast as PyTorch CG on average, 4.0 times as fast at least."
	if got := words.Sentences("peers", group); !slices.Contains(got, several) {
		t.Errorf("%q, want %q among them", got, several)
	}
	if s := faster(1.05); s != "about as fast" {
		t.Error(s)
	}
}
