// Model files as they are read, and checks that their parts fit together.

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/schema"
)

// ErrModel says that a file is no model, is damaged, or was written by a newer version.
var ErrModel = errors.New("not a usable model")

func badModel(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrModel, fmt.Sprintf(format, args...))
}

// Load reads a model that Save wrote, and its certificate. Errors about its contents wrap [ErrModel].
// It predicts bitwise as before on the same backend.
func Load(path string, certificate any) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, size := io.ReaderAt(f), info.Size()
	if !info.Mode().IsRegular() { // a pipe tells neither its size nor its end before its beginning
		data, err := memory.ReadAll(f, path)
		if err != nil {
			return nil, err
		}
		r, size = bytes.NewReader(data), int64(len(data))
	}
	m, err := Decode(r, size, certificate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Decode reads what Encode wrote, size bytes in r. It takes at most 4 times the size and 64 MiB, whatever the bytes
// say. What a model computes from them is made when it is first used: random frequencies are features times inputs.
func Decode(r io.ReaderAt, size int64, certificate any) (*Model, error) {
	z, err := npy.NewArchive(r, size)
	if err != nil {
		return nil, badModel("truncated, or no model file at all (%v)", err)
	}
	most := 4*float64(size) + 64<<20
	text, err := z.Raw(metaName, int64(most))
	if err != nil {
		return nil, badModel("it has no readable %s", metaName)
	}
	arrays := z.Bytes() - float64(len(text))
	// There are at most three copies of an array: its bytes, and of sums a full matrix. Members of models are stored as
	// they are; packed ones are read as far as the bound goes.
	need := 3*arrays + float64(len(text)) + memory.JSON(text)
	if need > most {
		return nil, badModel("%d bytes claim to be %s in memory, and a model of that size takes %s at most", size,
			memory.Format(need), memory.Format(most))
	}
	if err := memory.Check("a model", need-2*arrays, "load it where there is more memory"); err != nil {
		return nil, err
	}
	var head meta
	if err := head.parse(text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(head.Certificate, certificate); err != nil {
		return nil, badModel("its %s is damaged: %v", metaName, err)
	}
	l := loader{z: z, head: &head}
	m := l.whole(&head.wholeMeta, "")
	m.Origin = head.Origin
	if head.Spread != nil && l.err == nil {
		if m.Spread = l.whole(head.Spread, spreadPrefix); l.err == nil {
			l.spread(m)
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return m, nil
}

// whole reads a model and those without some of the samples.
func (l *loader) whole(w *wholeMeta, prefix string) *Model {
	m := l.model(&w.part, prefix)
	for k := range w.Folds {
		if l.err != nil {
			break
		}
		m.Folds = append(m.Folds, l.fold(m, w, k, prefix))
	}
	if m.Held == nil && l.err == nil {
		m.Held = Join(m.Folds, 0)
	}
	return m
}

// spread checks that the model of the noise is of the same columns and folds.
func (l *loader) spread(m *Model) {
	s := m.Spread
	l.expect(s.In != nil && m.In != nil && len(s.In.Names) == len(m.In.Names) &&
		len(s.Out.Names) == len(m.Out.Names), "its noise is of other columns")
	l.expect(slices.EqualFunc(s.Folds, m.Folds, func(a, b Fold) bool { return slices.Equal(a.Rows, b.Rows) }),
		"its noise was learned without other samples")
}

// parse reads the format and version before the rest, which other versions may write differently.
func (h *meta) parse(text []byte) error {
	var v struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &v); err != nil || v.Format != fileFormat {
		return badModel("its %s is not that of a model", metaName)
	}
	if v.Version > fileVersion {
		return badModel("written by a newer version (format %d, this program reads up to %d)", v.Version, fileVersion)
	}
	if v.Version < 1 {
		return badModel("format %d does not exist", v.Version)
	}
	if err := json.Unmarshal(text, h); err != nil {
		return badModel("its %s is damaged: %v", metaName, err)
	}
	return nil
}

// loader reads and checks the parts of a model; the first error sticks.
type loader struct {
	z      *npy.Archive
	head   *meta
	part   *part  // that is read
	prefix string // of its arrays
	err    error
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = badModel(format, args...)
	}
}

// array reads a member, checks its checksum, its dimensions and that its elements are
// finite, or NaN where cells may be missing.
func (l *loader) array(name string, dims int, missing bool) *npy.Array {
	empty := &npy.Array{Shape: make([]int, dims)}
	if l.err != nil {
		return empty
	}
	name = l.prefix + name
	a, err := l.z.Array(name)
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		l.err = err
	case err != nil:
		l.fail("%v", err)
	case len(a.Shape) != dims:
		l.fail("array %s has %d dimensions", name, len(a.Shape))
	case checksum(a) != l.head.Checksums[name]:
		l.fail("the checksum of array %s does not match", name)
	default:
		for _, v := range a.Data {
			if math.IsNaN(v) && !missing || math.IsInf(v, 0) {
				l.fail("array %s holds %v", name, v)
				return empty
			}
		}
		return a
	}
	return empty
}

func (l *loader) vector(name string) []float64 { return l.array(name, 1, false).Data }

func (l *loader) matrix(name string) blas.General { return general(l.array(name, 2, false)) }

func general(a *npy.Array) blas.General {
	return blas.General{Rows: a.Shape[0], Cols: a.Shape[1], Stride: max(a.Shape[1], 1), Data: a.Data}
}

// expect records that what a model needs does not hold.
func (l *loader) expect(ok bool, format string, args ...any) {
	if !ok {
		l.fail(format, args...)
	}
}

// check records an error of a part.
func (l *loader) check(part string, err error) {
	if err != nil {
		l.fail("%s%v", part, err)
	}
}

// model reads a model of which the arrays have the prefix.
func (l *loader) model(h *part, prefix string) *Model {
	l.part, l.prefix = h, prefix
	m := &Model{In: h.Inputs, Out: h.Outputs, Names: h.Kernels, Mu: h.Mu, Noise: h.Noise, Warnings: h.Warnings}
	if m.Out == nil {
		l.fail("its %s lacks outputs", metaName)
		return m
	}
	m.Eta = l.vector("eta")
	m.L = &linop.Spectral{V: l.matrix("L_vectors"), S: l.vector("L_values")}
	l.expect(len(m.Eta) == len(m.Names), "%d weights for %d kernels", len(m.Eta), len(m.Names))
	l.outputs(m.Out)
	l.spectrum(m.L, len(m.Out.Live))
	for _, e := range m.Eta {
		l.expect(e >= 0, "a kernel weight is %g", e)
	}
	switch h.Kind {
	case "samples", "sum", "gram", "gram-sum":
		m.Basis = l.samples(m)
	case "features":
		m.Basis = l.features(m)
	default:
		l.fail("unknown kind %q", h.Kind)
	}
	l.expect(m.Mu >= 0 && !math.IsInf(m.Mu, 1), "μ is %g", m.Mu)
	l.source(m)
	if l.err == nil && l.z.Has(l.prefix+residualsName) {
		m.Estimate = l.estimate(len(m.Out.Live), m.L.Rank())
	}
	if h.Held != nil && l.err == nil {
		m.Held = l.held(m, h.Held)
	}
	l.expect(h.Noise == nil || len(h.Noise) == len(m.Out.Live), "%d variances of noise for %d outputs", len(h.Noise),
		len(m.Out.Live))
	for _, v := range h.Noise {
		l.expect(v > 0 && !math.IsInf(v, 1), "a variance of noise is %g", v)
	}
	return m
}

// held reads what was predicted for held-out rows.
func (l *loader) held(m *Model, meta *heldMeta) *HeldOut {
	n := len(m.Out.Names)
	h := &HeldOut{
		Rows: meta.Rows, Folds: meta.Folds, Y: general(l.array(heldObserved, 2, true)), F: l.matrix(heldPredicted),
	}
	optional := func(name string, cols int) (a blas.General) {
		if l.err == nil && l.z.Has(l.prefix+name) {
			a = l.matrix(name)
			l.expect(a.Rows == len(h.Rows) && a.Cols == cols, "array %s is %d×%d, for %d held-out rows", name, a.Rows,
				a.Cols, len(h.Rows))
		}
		return a
	}
	for _, a := range []blas.General{h.Y, h.F} {
		l.expect(a.Rows == len(h.Rows) && a.Rows > 0 && a.Cols == n, "held-out predictions are %d×%d, for %d rows "+
			"and %d outputs", a.Rows, a.Cols, len(h.Rows), n)
	}
	if l.err == nil && l.z.Has(l.prefix+heldWeights) {
		h.W = l.matrix(heldWeights)
		_, err := columns.CheckCellWeights(h.W, len(h.Rows), n)
		l.check("", err)
	}
	if h.D = optional(heldDeviations, n); h.D.Data != nil {
		for _, v := range h.D.Data {
			l.expect(v > 0, "a deviation of the noise is %g", v)
		}
	}
	if m.In != nil {
		h.X = optional(heldInputs, len(m.In.Names))
	}
	l.expect(h.Folds >= 0, "%d folds", h.Folds)
	samples := m.Coefficients()
	for k, i := range h.Rows {
		l.expect(i >= 0 && (samples == 0 || i < samples) && (k == 0 || i > h.Rows[k-1]), "held-out row %d of %d", i,
			samples)
	}
	return h
}

// estimate reads the [Estimate] of n outputs that were learned, with r eigenvalues of L.
func (l *loader) estimate(n, r int) *Estimate {
	e := &Estimate{
		R: l.matrix(residualsName), D: l.matrix(deviationsName), Sigma: l.vector(noiseName), Share: l.vector(shareName),
	}
	l.expect(e.R.Rows == e.D.Rows && e.R.Cols == n && e.D.Cols == n && len(e.Sigma) == n && len(e.Share) == r,
		"residuals of %d rows and %d outputs do not fit the model", e.R.Rows, e.R.Cols)
	return e
}

// fold reads the model without the samples of fold k.
func (l *loader) fold(m *Model, w *wholeMeta, k int, prefix string) (f Fold) {
	h, n := &w.Folds[k], len(m.Out.Names)
	f = Fold{Model: l.model(&h.part, prefix+foldPrefix(k)), Rows: h.Rows}
	f.Y, f.F = general(l.array("observed", 2, true)), l.matrix("predicted")
	if l.err != nil {
		return f
	}
	for _, a := range []blas.General{f.Y, f.F} {
		l.expect(a.Rows == len(f.Rows) && a.Cols == n &&
			a.Rows > 0, "an array of fold %d is %d×%d, for %d samples and %d outputs", k+1, a.Rows, a.Cols,
			len(f.Rows), n)
	}
	if l.err == nil && slices.Contains(l.z.Names(), l.prefix+"weights") {
		f.W = general(l.array("weights", 2, false))
		_, err := columns.CheckCellWeights(f.W, len(f.Rows), n)
		l.check("", err)
	}
	l.expect(data(h.Kind) == data(w.Kind) && len(f.Out.Names) == n &&
		(f.In == nil || len(f.In.Names) == len(m.In.Names)), "fold %d is of other columns", k+1)
	l.rows(&f, coefficients(m.Basis))
	return f
}

// data is what the models of a kind are learned from.
func data(kind string) string {
	switch kind {
	case "sum":
		return "samples"
	case "gram-sum":
		return "gram"
	}
	return kind
}

// rows checks which samples a fold leaves out of so many; 0 where the basis does not tell.
func (l *loader) rows(f *Fold, count int) {
	if count == 0 {
		return
	}
	l.expect(coefficients(f.Basis)+len(f.Rows) == count, "a fold leaves out %d of %d samples, and learned from %d",
		len(f.Rows), count, coefficients(f.Basis))
	for k, i := range f.Rows {
		l.expect(i >= 0 && i < count && (k == 0 || i > f.Rows[k-1]), "a fold leaves out sample %d of %d", i, count)
	}
}

// Coefficients is the number of samples that the model holds coefficients of, 0 for features.
func (m *Model) Coefficients() int { return coefficients(m.Basis) }

// coefficients is the number of samples that the basis holds coefficients of.
func coefficients(b Basis) int {
	if b, ok := b.(*Samples); ok {
		return b.CL.Rows
	}
	return 0
}

func (l *loader) outputs(out *columns.Outputs) {
	n := len(out.Names)
	l.expect(len(out.Live) > 0, "no outputs")
	for k, j := range out.Live {
		l.expect(j >= 0 && j < n && (k == 0 || j > out.Live[k-1]), "output %d of %d", j, n)
	}
	if out.Scaler != nil {
		l.check("outputs: ", out.Scaler.Check(n))
	} else {
		l.expect(len(out.Live) == n, "%d of %d outputs without scales", len(out.Live), n)
	}
	l.check("outputs: ", out.CheckLoss())
	if out.Axis != nil && l.err == nil {
		l.check("outputs: ", out.Axis.Check(n))
	}
	l.expect(out.Classes == nil || len(out.Classes) == n, "%d classes for %d outputs", len(out.Classes), n)
}

func (l *loader) spectrum(L *linop.Spectral, n int) {
	l.expect(L.V.Rows == n && L.V.Cols == len(L.S), "L is %d×%d with %d eigenvalues, for %d outputs", L.V.Rows,
		L.V.Cols, len(L.S), n)
	for _, s := range L.S {
		l.expect(s >= 0, "an eigenvalue of L is %g", s)
	}
}

func (l *loader) inputs(in *columns.Inputs, cols int) {
	if in == nil {
		l.fail("its %s lacks the inputs", metaName)
		return
	}
	l.expect(len(in.Low) == len(in.High) && (in.Low == nil || len(in.Low) == cols),
		"%d and %d limits of inputs for %d columns", len(in.Low), len(in.High), cols)
	l.expect(len(in.Names) == cols && len(in.Fill) == cols, "%d input names and %d means for %d columns", len(in.Names),
		len(in.Fill), cols)
	if in.Schema == nil {
		in.Schema = schema.Numbers(in.Names, len(in.Names))
	}
	l.expect(in.Schema.Valid(cols), "its schema makes %d columns of %d", in.Schema.Cols(), cols)
	if in.Scaler != nil {
		l.check("inputs: ", in.Scaler.Check(cols))
	}
}

func (l *loader) kernel(k *kernel.Kernel, name string, Z blas.General) {
	l.check("", k.Validate())
	l.expect(k.Kind != kernel.Precomputed && k.Inputs == Z.Cols && k.Name == name, "kernel %q does not fit the data",
		k.Name)
	l.expect(!k.Center || len(k.Means) == Z.Rows, "kernel %q has %d means for %d samples", k.Name, len(k.Means), Z.Rows)
	l.expect(!slices.ContainsFunc(k.Means, math.IsNaN), "kernel %q has means that are no numbers", k.Name)
}

func (l *loader) features(m *Model) Basis {
	b := &Features{maps: l.part.Maps, WL: l.matrix("WL")}
	l.expect(b.WL.Cols == len(m.Out.Live), "array WL is %d×%d, for %d outputs", b.WL.Rows, b.WL.Cols, len(m.Out.Live))
	if m.In == nil {
		l.inputs(nil, 0)
		return b
	}
	l.inputs(m.In, len(m.In.Names))
	idx := Kept(m.Eta)
	if l.err == nil && l.z.Has(l.prefix+"Ls_ranks") {
		b.L = l.spectra(len(m.Out.Live), len(idx))
	}
	l.expect(len(b.maps) == len(idx), "%d feature maps stored for %d weights", len(b.maps), len(idx))
	for k, f := range b.maps {
		if l.err != nil {
			return b
		}
		if f == nil {
			l.fail("feature map %d is missing", k+1)
			return b
		}
		l.expect(f.Kernel.Inputs == len(m.In.Names) && f.Kernel.Name == m.Names[idx[k]],
			"feature map %q does not fit the data", f.Kernel.Name)
		l.check("", f.Check())
	}
	if l.err == nil {
		l.expect(b.maps.Dim() == b.WL.Rows, "%d features with %d weights", b.maps.Dim(), b.WL.Rows)
	}
	return b
}
