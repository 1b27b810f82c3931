package par

import (
	"runtime"
	"testing"
)

// TestCountCores counts cores of four hardware threads on two cores, of part of them, and where nothing is known.
func TestCountCores(t *testing.T) {
	lists := []string{"0,2\n", "1,3\n", "0,2\n", "1,3\n"}
	of := func(p int) string { return lists[p] }
	for _, c := range []struct {
		processors []int
		want       int
	}{{[]int{0, 1, 2, 3}, 2}, {[]int{0, 2}, 1}, {[]int{2, 3}, 2}, {nil, 0}} {
		if got := countCores(c.processors, of); got != c.want {
			t.Errorf("processors %v: %d cores, want %d", c.processors, got, c.want)
		}
	}
	if got := countCores([]int{0, 1}, func(int) string { return "" }); got != 0 {
		t.Errorf("%d cores of which nothing is known", got)
	}
}

// TestThreadsByCores asks for at most one thread a core, and for as many as the program sets.
func TestThreadsByCores(t *testing.T) {
	c, known := Cores(), processors
	if runtime.GOOS == "linux" && (c < 1 || c > runtime.NumCPU()) {
		t.Errorf("%d cores of %d processors", c, runtime.NumCPU())
	}
	n := runtime.GOMAXPROCS(c + 3)
	defer func() { runtime.GOMAXPROCS(n); processors = known }()
	if got := fallback(); got != c+3 {
		t.Errorf("%d threads where the program says %d", got, c+3)
	}
	if processors = c + 3; c > 0 && fallback() != c {
		t.Errorf("%d threads on %d cores", fallback(), c)
	}
}
