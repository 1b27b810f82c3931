package iokl_test

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

var recordWork = flag.Bool("record-work", false, "write testdata/work.json anew")

// TestWork holds the work of fits without options, the choice of settings included, to 1.3 times the committed record:
// a choice of solvers that goes wrong multiplies it, whatever the machine and its clock. To write the record anew:
//
//	go test . -run TestWork -short=false -record-work
func TestWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes: see LONG=yes of make test")
	}
	file := filepath.Join("testdata", "work.json")
	record := map[string]iokl.Work{}
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range map[string]func(rng *rand.Rand, x, y []float64){
		"smooth": func(rng *rand.Rand, x, y []float64) {
			y[0] = math.Sin(2*x[0]) + x[1]*x[2] + 0.3*rng.NormFloat64()
			y[1] = math.Tanh(x[0]+x[3]) + 0.3*rng.NormFloat64()
		},
		"rough": func(rng *rand.Rand, x, y []float64) {
			y[0] = math.Abs(math.Sin(5*x[0])) + math.Floor(2*x[1]) + 0.5*rng.NormFloat64()
			y[1] = math.Abs(x[2]-x[3]) + math.Floor(x[0]+x[4]) + 0.5*rng.NormFloat64()
		},
	} {
		t.Run(name, func(t *testing.T) {
			const l, d, n = 12000, 9, 2
			rng := rand.New(rand.NewPCG(101, 102))
			X, Y := mat.NewDense(l, d, nil), mat.NewDense(l, n, nil)
			for i := range l {
				x := X.RawRowView(i)
				for j := range x {
					x[j] = rng.NormFloat64()
				}
				make(rng, x, Y.RawRowView(i))
			}
			m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{MaxBytes: 4 << 30})
			if err != nil {
				t.Fatal(err)
			}
			got, want := m.Certificate().Work, record[name]
			t.Logf("%+v", got)
			record[name] = got
			for _, c := range []struct {
				what      string
				got, want int64
			}{
				{"iterations", got.Iterations, want.Iterations},
				{"products", got.Products, want.Products},
				{"decompositions", got.Decompositions, want.Decompositions},
			} {
				if !*recordWork && float64(c.got) > 1.3*float64(c.want) {
					t.Errorf("%s: %d, recorded %d", c.what, c.got, c.want)
				}
			}
		})
	}
	if *recordWork {
		text, err := json.MarshalIndent(record, "", "\t")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
