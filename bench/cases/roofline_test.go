package cases

import (
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/picture"
)

func TestRoofline(t *testing.T) {
	limits := &bench.Limits{
		FMA:       []bench.Peak{{Precision: "float64", Threads: 1, GFlops: 100}},
		Bandwidth: []bench.Bandwidth{{Bytes: 1 << 20, Threads: 1, GBytes: 50}},
	}
	r := bench.Result{Case: "gemm", Name: "native", Params: map[string]any{
		"m": 512, "n": 512, "k": 512, "precision": "float64", "threads": 1,
	}, GFlops: 263}
	results := []bench.Result{r}
	fig := roofline(results, limits)
	byName := map[string]picture.Curve{}
	for _, c := range fig.Curves {
		byName[c.Name] = c
	}
	limit, points := byName["limit of data in 1 MiB"], byName["A·B, native"]
	// 0.1 flop a byte at 50 GB/s, and the peak
	if len(limit.XY) != 3 || limit.XY[0].Y != 5 || limit.XY[2].Y != 100 || !limit.Line {
		t.Errorf("roof %+v", limit)
	}
	// 2·512³ operations on three matrices of 512² float64.
	if len(points.XY) != 1 || points.XY[0].X != 512.0/12 || !points.Dots {
		t.Errorf("points %+v", points)
	}
	if len(roofline(results, nil).Curves) > 0 {
		t.Error("a roofline without limits")
	}
}
