package model_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// bounded decodes a file and holds what was allocated meanwhile, garbage included, against 4 times the file and 64 MiB.
func bounded(t testing.TB, file []byte) (*iokl.Model, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := fittest.Decode(file)
	runtime.ReadMemStats(&after)
	took, most := after.TotalAlloc-before.TotalAlloc, uint64(4*len(file)+64<<20)
	if took > most {
		t.Errorf("%d bytes took %d to load, and %d are allowed: %v", len(file), took, most, err)
	}
	return m, err
}

// altered is a model file with other text in its meta.json, and other arrays, behind checksums that hold.
func altered(t testing.TB, file []byte, change func(head map[string]any), arrays map[string]*npy.Array) []byte {
	t.Helper()
	var head map[string]any
	if err := json.Unmarshal(memberOf(t, file, "meta.json"), &head); err != nil {
		t.Fatal(err)
	}
	change(head)
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for _, name := range members {
		part := memberOf(t, file, name+".npy")
		if a := arrays[name]; a != nil {
			var b bytes.Buffer
			if err := npy.Write(&b, *a); err != nil {
				t.Fatal(err)
			}
			part = b.Bytes()
		}
		parts = append(parts, part)
	}
	return assemble(t, text, parts)
}

// repeated is a list of n equal elements, as JSON.
func repeated(element string, n int) json.RawMessage {
	return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]")
}

// hostile are files that claim much more than they hold, of about n bytes each.
func hostile(t testing.TB, n int) map[string][]byte {
	t.Helper()
	models := someModels(t)
	samples, features := fittest.Encode(t, models["samples"]), fittest.Encode(t, models["features"])
	files := map[string][]byte{}
	set := func(key, element string) func(map[string]any) {
		return func(head map[string]any) { head[key] = repeated(element, n/(len(element)+1)) }
	}
	for _, c := range [][2]string{
		{"folds", "{}"},
		{"folds", "null"},
		{"dictionary", "{}"},
		{"idle", "{}"},
		{"sums", "{}"},
		{"kernels", `""`},
		{"warnings", `""`},
		{"idle_maps", "{}"},
		{"maps", "null"},
		{"folds", `{"outputs":{},"inputs":{}}`},
	} {
		files["many "+c[1]+" in "+c[0]] = altered(t, samples, set(c[0], c[1]), nil)
	}
	files["many input columns"] = altered(t, samples, func(head map[string]any) {
		head["inputs"] = map[string]any{"names": []string{"a"}, "fill": []int{0}, "schema": repeated("{}", n/3)}
	}, nil)
	files["many points of an axis"] = altered(t, samples, func(head map[string]any) {
		head["outputs"].(map[string]any)["axis"] = map[string]any{"names": []string{"t"}, "points": repeated("[]", n/3)}
	}, nil)
	files["many words in the origin"] = altered(t, samples, func(head map[string]any) {
		sums := map[string]string{}
		for k := range n / 10 {
			sums[fmt.Sprintf("%x", k)] = ""
		}
		head["origin"] = sums // the checksums are those of the arrays
	}, nil)
	files["nested lists"] = altered(t, samples, func(head map[string]any) {
		head["kernels"] = json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	}, nil)

	// As many features, and inputs that have kernels, as fit: their frequencies are a product.
	D, d := n/48*2, n/12
	files["frequencies"] = altered(t, features, func(head map[string]any) {
		delete(head, "sums")
		maps := head["maps"].([]any)
		for k, m := range maps {
			f := m.(map[string]any)
			f["method"], f["sampler"], f["features"], f["landmarks"], f["projection"] = "rff", "mc", 2, nil, nil
			kernel := map[string]any{"kind": "gaussian", "width": 1, "inputs": d}
			kernel["name"] = f["kernel"].(map[string]any)["name"]
			if f["kernel"] = kernel; k == 0 {
				f["features"] = D - 2*(len(maps)-1)
			}
		}
		head["inputs"] = map[string]any{"names": repeated(`""`, d), "fill": repeated("0", d)}
	}, map[string]*npy.Array{"WL": {Shape: []int{D, 2}, Data: make([]float64, 2*D)}})

	// Many members of the same bytes, and none of any.
	entries := n / 100
	for name, shared := range map[string]bool{"shared members": true, "empty members": false} {
		files[name] = archive(t, entries, shared, memberOf(t, samples, "meta.json"))
	}
	zeros := 100 * min(n, 30_000)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"X.npy", "CL.npy", "meta.json"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := npy.Write(w, npy.Array{Shape: []int{zeros, 1}, Data: make([]float64, zeros)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files["packed zeros"] = packed.Bytes()
	return files
}

// archive is a .zip of meta.json and n more members, which are all the same bytes, or empty.
func archive(t testing.TB, n int, shared bool, meta []byte) []byte {
	t.Helper()
	var array, file bytes.Buffer
	if err := npy.Write(&array, npy.Array{Shape: []int{100}, Data: make([]float64, 100)}); err != nil {
		t.Fatal(err)
	}
	z := npy.NewArchiveWriter(&file)
	if err := z.Raw("meta.json", meta); err != nil {
		t.Fatal(err)
	}
	for k := range n {
		var b []byte
		if shared && k == 0 {
			b = array.Bytes()
		}
		if err := z.Raw(fmt.Sprintf("%06x.npy", k), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b := file.Bytes()
	if !shared {
		return b
	}
	// Every entry of the directory but that of meta.json is made to point to the first array.
	const signature, offsetAt = "PK\x01\x02", 42
	at := bytes.Index(b, []byte(signature))
	first := b[at+bytes.Index(b[at+4:], []byte(signature))+4:]
	for rest := first; ; {
		copy(rest[16:28], first[16:28]) // checksum and sizes
		binary.LittleEndian.PutUint32(rest[offsetAt:], binary.LittleEndian.Uint32(first[offsetAt:]))
		next := bytes.Index(rest[4:], []byte(signature))
		if next < 0 {
			return b
		}
		rest = rest[next+4:]
	}
}

// TestLoadingIsBounded decodes files that claim more than they hold.
func TestLoadingIsBounded(t *testing.T) {
	for _, n := range []int{30_000, 1_000_000} {
		for name, file := range hostile(t, n) {
			t.Run(fmt.Sprintf("%s of %d bytes", name, n), func(t *testing.T) {
				m, err := bounded(t, file)
				if err == nil {
					_, err = m.Predict(mat.NewDense(1, len(m.InputNames()), nil))
				}
				if err != nil && !errors.Is(err, iokl.ErrModel) && !errors.Is(err, iokl.ErrMemory) {
					t.Error(err)
				}
				t.Log(err)
			})
		}
	}
}

// TestHonestModelsLoad holds the bound for models of many rows, columns and outputs, which must load.
func TestHonestModelsLoad(t *testing.T) {
	for _, size := range [][3]int{{1500, 20, 2}, {20, 3000, 1}, {30, 2, 300}} {
		X, Y := mat.NewDense(size[0], size[1], nil), mat.NewDense(size[0], size[2], nil)
		fill := func(a *mat.Dense, by float64) {
			a.Apply(func(i, j int, _ float64) float64 { return float64((i*31+j*17)%101) * by }, a)
		}
		fill(X, .01)
		fill(Y, .1)
		for _, spec := range []string{"gaussian:all:median", "linear:all", "rff:gaussian:all:median:64"} {
			m, err := iokl.Fit(bg, X, Y, iokl.Options{Lambda: 1, Kernels: []string{spec}, Learn: "eta"})
			if m == nil {
				t.Fatal(size, spec, err)
			}
			if _, err := bounded(t, fittest.Encode(t, m)); err != nil {
				t.Errorf("%v %s: %v", size, spec, err)
			}
		}
	}
}

// FuzzLoadingIsBounded changes bytes of files that claim more than they hold.
func FuzzLoadingIsBounded(f *testing.F) {
	for _, file := range hostile(f, 3000) {
		f.Add(file)
	}
	X, _ := learntest.Wave(3, 13)
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := bounded(t, file)
		if err != nil && !errors.Is(err, iokl.ErrModel) {
			t.Fatalf("error %v is no ErrModel", err)
		}
		if err == nil && len(m.InputNames()) == 4 {
			_, _ = m.Predict(X)
		}
	})
}
