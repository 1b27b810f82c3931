package model_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/schema"
)

// someModels are small models of every kind, and inputs for those that take them.
func someModels(t testing.TB) map[string]*iokl.Model {
	t.Helper()
	X, Y := learntest.Wave(30, 11)
	all := map[string]*iokl.Model{}
	add := func(name string, m *iokl.Model, err error) {
		if m == nil {
			t.Fatal(name, err)
		}
		all[name] = m
	}
	base := iokl.Options{Lambda: 1e-2}
	opt := base
	opt.Kernels = []string{
		"gaussian:each", "linear:all", "matern32:0-1:center", "cosine:all", "laplacian:relevant",
		"gaussian:directions", "laplacian:ranks", "laplacian:ard",
	}
	m, err := iokl.Fit(bg, X, Y, opt)
	add("samples", m, err)
	opt.Standardize, opt.Norm = "none", "lp:2"
	m, err = iokl.Fit(bg, X, Y, opt)
	add("as given", m, err)
	for i := range 30 {
		Y.Set(i, 1, 3)
	}
	opt.Standardize = ""
	m, err = iokl.Fit(bg, X, Y, opt)
	add("constant output", m, err)
	wide := base
	wide.Kernels = []string{
		"rff:gaussian:relevant:median:20", "rff:matern52:0-1:median:10:mc",
		"nystrom:gaussian:each:median:5", "nystrom:laplacian:ranks:median:5", "rff:matern32:ard:median:10",
		"linear:all",
	}
	m, err = iokl.Fit(bg, X, Y, wide)
	add("features", m, err)
	labels := make([]string, 30)
	for i := range labels {
		labels[i] = []string{"a", "b"}[i%2]
	}
	m, err = iokl.FitClasses(bg, X, labels, opt)
	add("classes", m, err)
	G := mat.NewDense(30, 30, nil)
	G.Mul(X, X.T())
	m, err = iokl.FitGram(bg, []mat.Matrix{G}, Y, base)
	add("gram", m, err)
	return all
}

func TestSaveLoad(t *testing.T) {
	X, _ := learntest.Wave(30, 12)
	for name, m := range someModels(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.iokl")
			if err := m.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := iokl.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			predict := (*iokl.Model).Predict
			if name == "gram" {
				predict = func(m *iokl.Model, _ mat.Matrix) (*mat.Dense, error) {
					K := mat.NewDense(30, 30, nil)
					K.Mul(X, X.T())
					return m.PredictGram([]mat.Matrix{K})
				}
			}
			want, err := predict(m, X)
			if err != nil {
				t.Fatal(err)
			}
			have, err := predict(got, X)
			if err != nil {
				t.Fatal(err)
			}
			if !fittest.SameBits(want, have) {
				t.Error("the loaded model predicts other values")
			}
			if got.Certificate() != m.Certificate() || !slices.Equal(got.Eta(), m.Eta()) ||
				!slices.Equal(got.KernelNames(), m.KernelNames()) ||
				!slices.Equal(got.OutputNames(), m.OutputNames()) ||
				!slices.Equal(got.Classes(), m.Classes()) || !slices.Equal(got.Warnings(), m.Warnings()) {
				t.Errorf("%+v is not %+v", got, m)
			}
			if again := fittest.Encode(t, got); !bytes.Equal(again, fittest.Encode(t, m)) {
				t.Error("saving the loaded model writes other bytes")
			}
		})
	}
}

func TestZeroWeightsAreNotStored(t *testing.T) {
	m := someModels(t)["samples"]
	zero := slices.Index(m.Eta(), 0)
	if zero < 0 {
		t.Fatal("every kernel has a weight; the test needs one of weight 0")
	}
	var head struct{ Dictionary kernel.Dictionary }
	if err := json.Unmarshal(memberOf(t, fittest.Encode(t, m), "meta.json"), &head); err != nil {
		t.Fatal(err)
	}
	positive := 0
	for _, e := range m.Eta() {
		if e > 0 {
			positive++
		}
	}
	if len(head.Dictionary) != positive || slices.Contains(head.Dictionary.Names(), m.KernelNames()[zero]) {
		t.Errorf("dictionary %v", head.Dictionary.Names())
	}
}

// rewrite copies a model file with one member changed, checksums of the archive made right again.
func rewrite(t testing.TB, file []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == name {
			if b = change(b); b == nil {
				continue
			}
		}
		part, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLoadRefuses(t *testing.T) {
	whole := fittest.Encode(t, someModels(t)["samples"])
	swap := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("no %q to replace", old)
			}
			return bytes.Replace(b, []byte(old), []byte(with), 1)
		}
	}
	drop := func([]byte) []byte { return nil }
	flip := func(b []byte) []byte { b[len(b)-3] ^= 1; return b }
	stored := bytes.Clone(whole)
	stored[bytes.Index(stored, []byte("X.npy"))+400] ^= 1 // among its elements
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "truncated"},
		"half":            {whole[:len(whole)/2], "truncated"},
		"last byte gone":  {whole[:len(whole)-1], "truncated"},
		"foreign":         {[]byte("x,y\n1,2\n"), "no model file"},
		"foreign archive": {rewrite(t, whole, "meta.json", drop), "no readable meta.json"},
		"other JSON": {rewrite(t, whole, "meta.json", func([]byte) []byte {
			return []byte("{}")
		}), "not that of a model"},
		"broken JSON": {rewrite(t, whole, "meta.json", func(b []byte) []byte {
			return b[:len(b)/2]
		}), "not that of a model"},
		"newer": {
			rewrite(t, whole, "meta.json", swap(`"version": 2`, `"version": 10`)),
			"newer version (format 10, this program reads up to 9)",
		},
		"version 0": {rewrite(t, whole, "meta.json", swap(`"version": 2`, `"version": 0`)), "format 0"},
		"scale of others": {
			rewrite(t, whole, "meta.json", swap(`"kind": "linear"`, `"kind": "linear", "scale": [1]`)),
			"1 factors for",
		},
		"unknown kind": {
			rewrite(t, whole, "meta.json", swap(`"kind": "samples"`, `"kind": "dreams"`)),
			`unknown kind "dreams"`,
		},
		"array missing":  {rewrite(t, whole, "CL.npy", drop), `no array "CL"`},
		"array altered":  {rewrite(t, whole, "X.npy", flip), "checksum of array X"},
		"bit flipped":    {stored, "checksum"},
		"other kernel":   {rewrite(t, whole, "meta.json", swap(`"kind": "linear"`, `"kind": "lineal"`)), "lineal"},
		"more inputs":    {rewrite(t, whole, "meta.json", swap(`"inputs": 4`, `"inputs": 5`)), "does not fit"},
		"negative scale": {rewrite(t, whole, "meta.json", swap(`"scale": [`, `"scale": [-1,`)), "columns"},
		"output not there": {
			rewrite(t, whole, "meta.json", swap("\"live\": [\n   0", "\"live\": [\n   7")),
			"output 7 of 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := fittest.Decode(c.file); !errors.Is(err, iokl.ErrModel) || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("error %v, want ErrModel with %q", err, c.want)
			}
		})
	}
	if _, err := iokl.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestNumpyReadsModels(t *testing.T) {
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no numpy here (Debian: python3-numpy)")
	}
	path := filepath.Join(t.TempDir(), "m.iokl")
	m := someModels(t)["samples"]
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import numpy, json, sys
z = numpy.load(sys.argv[1])
print(z["X"].shape, z["CL"].shape, z["eta"].sum(), json.loads(z["meta.json"])["version"])`, path).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "(30, 4) (30, 3) ") || !strings.HasSuffix(string(out), " 2\n") {
		t.Errorf("numpy says %q, %v", out, err)
	}
}

// members are the arrays of a model file in the order of the arguments of FuzzDecode.
var members = []string{
	"eta", "L_vectors", "L_values", "X", "CL", "WL", "Y", "gamma1", "H1", "held_observed", "held_predicted",
	"held_inputs",
}

// checksum is the one of meta.json: SHA-256 of the shape and the elements, little-endian.
func checksum(a *npy.Array) string {
	h := sha256.New()
	for _, s := range a.Shape {
		_ = binary.Write(h, binary.LittleEndian, uint64(s))
	}
	_ = binary.Write(h, binary.LittleEndian, a.Data)
	return hex.EncodeToString(h.Sum(nil))
}

// assemble makes a model file of its parts, with checksums that hold, so that a change
// of any part reaches what reads the part.
func assemble(t testing.TB, text []byte, arrays [][]byte) []byte {
	t.Helper()
	sums := map[string]string{}
	var file bytes.Buffer
	z := npy.NewArchiveWriter(&file)
	for k, b := range arrays {
		if len(b) == 0 {
			continue // this kind of model lacks it
		}
		if a, err := npy.Read(bytes.NewReader(b), int64(len(b))); err == nil {
			sums[members[k]] = checksum(a)
		}
		if err := z.Raw(members[k]+".npy", b); err != nil {
			t.Fatal(err)
		}
	}
	var head map[string]json.RawMessage
	if json.Unmarshal(text, &head) == nil && head != nil {
		head["checksums"], _ = json.Marshal(sums)
		if whole, err := json.Marshal(head); err == nil {
			text = whole
		}
	}
	if err := z.Raw("meta.json", text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// memberOf is the named member of a file, nil where it has none.
func memberOf(t testing.TB, file []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzDecode changes the parts of model files of every kind, behind their checksums.
func FuzzDecode(f *testing.F) {
	X, _ := learntest.Wave(3, 13)
	for _, m := range someModels(f) {
		file := fittest.Encode(f, m)
		var parts [][]byte
		for _, name := range members {
			parts = append(parts, memberOf(f, file, name+".npy"))
		}
		text := memberOf(f, file, "meta.json")
		if _, err := fittest.Decode(assemble(f, text, parts)); err != nil {
			f.Fatal(err) // the parts as they are make a model
		}
		f.Add(text, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7], parts[8],
			parts[9], parts[10], parts[11])
	}
	f.Fuzz(func(t *testing.T, text, eta, V, S, X0, CL, WL, Y, gamma, H, held, predicted, inputs []byte) {
		m, err := fittest.Decode(assemble(t, text, [][]byte{
			eta, V, S, X0, CL, WL, Y, gamma, H, held, predicted, inputs,
		}))
		if err != nil {
			if !errors.Is(err, iokl.ErrModel) {
				t.Fatalf("error %v is no ErrModel", err)
			}
			return
		}
		_ = m.String()
		_ = m.OutputCorrelation()
		if m.InputNames() == nil || len(m.InputNames()) == 4 {
			_, _ = m.Predict(X)
		}
	})
}

// FuzzDecodeFile changes the bytes of a whole model file.
func FuzzDecodeFile(f *testing.F) {
	for _, m := range someModels(f) {
		f.Add(fittest.Encode(f, m))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := fittest.Decode(file); err != nil && !errors.Is(err, iokl.ErrModel) {
			t.Fatalf("error %v is no ErrModel", err)
		}
	})
}

// TestLoadsFormat1 loads a model that a program of the first format wrote, and
// compares with what that program predicted.
func TestLoadsFormat1(t *testing.T) {
	m, err := iokl.Load("testdata/format1.iokl")
	if err != nil {
		t.Fatal(err)
	}
	P, err := m.Predict(mat.NewDense(2, 2, []float64{1.5, 1, 6.5, 2.5}))
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{2.763274567971341, 2.2342060869553593, 9.423159166162268, 6.053899891129852} {
		if v := P.RawMatrix().Data[k]; !(math.Abs(v-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("prediction %d is %.17g, was %.17g", k, v, want)
		}
	}
	if s := schema.Columns(m.InputSchema()); !s.Plain() || !slices.Equal(s.Sources(), m.InputNames()) {
		t.Errorf("schema %+v of the inputs %q", s, m.InputNames())
	}
}

// A model that was read from a file, and what is made of it, replaces nothing but what was read or saved by then.
func TestSaveOfChanged(t *testing.T) {
	X, Y := learntest.Wave(30, 11)
	fitted, err := iokl.Fit(bg, X, Y, iokl.Options{Kernels: []string{"gaussian:all"}, Lambda: 1e-2, Learn: "none"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m")
	load := func() *iokl.Model {
		t.Helper()
		m, err := iokl.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	rows := func() int { t.Helper(); return load().Certificate().Samples }
	d, n := X.RawMatrix().Cols, Y.RawMatrix().Cols
	grown := func(m *iokl.Model) *iokl.Model {
		t.Helper()
		next, err := m.Update(bg, X.Slice(0, 2, 0, d), Y.Slice(0, 2, 0, n), iokl.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	if err := fitted.Save(path); err != nil {
		t.Fatal(err)
	}
	a, b, c := load(), load(), load()
	if err := grown(a).Save(path); err != nil || rows() != 32 {
		t.Fatal(err)
	}
	for name, m := range map[string]*iokl.Model{
		"as read": b, "updated": grown(b), "compact": c.Compact(),
		"the first": a,
	} {
		if err := m.Save(path); !errors.Is(err, iokl.ErrChanged) || rows() != 32 {
			t.Errorf("%s: %v, %d rows", name, err, rows())
		}
	}
	if err := b.Save(path + "2"); err != nil {
		t.Error("under another name:", err)
	}
	next := grown(load())
	for range 2 { // again what it saved itself, and further
		if err := next.Save(path); err != nil || rows() != next.Certificate().Samples {
			t.Error(err)
		}
		next = grown(next)
	}
	if err := next.Save(path); err != nil || rows() != 38 {
		t.Error(err)
	}
	if err := fitted.Save(path); err != nil || rows() != 30 {
		t.Error("a new model:", err)
	}
	if err := next.Save(path); !errors.Is(err, iokl.ErrChanged) || rows() != 30 {
		t.Error("after a new model:", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := next.Save(path); err != nil || rows() != 38 {
		t.Error("where no file is:", err)
	}
}

// Of models that goroutines read, change and save, all changes that were saved are in the file.
func TestSavesAtOnce(t *testing.T) {
	X, Y := learntest.Wave(30, 11)
	m, err := iokl.Fit(bg, X, Y, iokl.Options{Kernels: []string{"gaussian:all"}, Lambda: 1e-2, Learn: "none"})
	path := filepath.Join(t.TempDir(), "m")
	if err = errors.Join(err, m.Save(path)); err != nil {
		t.Fatal(err)
	}
	d, n := X.RawMatrix().Cols, Y.RawMatrix().Cols
	var saved atomic.Int64
	var wg sync.WaitGroup
	for k := range 6 {
		wg.Go(func() {
			for range 4 {
				m, err := iokl.Load(path)
				if err == nil {
					m, err = m.Update(bg, X.Slice(k, k+1, 0, d), Y.Slice(k, k+1, 0, n), iokl.UpdateOptions{})
				}
				if err == nil {
					err = m.Save(path)
				}
				if err == nil {
					saved.Add(1)
				} else if !errors.Is(err, iokl.ErrChanged) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	last, err := iokl.Load(path)
	if err != nil || int64(last.Certificate().Samples) != 30+saved.Load() {
		t.Errorf("%d samples after %d changes, %v", last.Certificate().Samples, saved.Load(), err)
	}
}
