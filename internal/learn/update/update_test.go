package update_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/race"
	"github.com/iokl/iokl/kernel"
)

// drift is l rows of inputs and targets that depend on them, the later the more on the second one.
func drift(l int, seed uint64, missing float64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 7))
	X, Y = mat.NewDense(l, 3, nil), mat.NewDense(l, 4, nil)
	for i := range l {
		a, b, c := rng.Float64()*4-2, rng.Float64()*4-2, rng.Float64()*4-2
		X.SetRow(i, []float64{a, b, c})
		late := float64(i) / float64(l)
		f, g := math.Sin(2*a)+late*b, 0.5*b*c
		for j, v := range []float64{f + g, f - g, 0.3 * f, g + 0.1*a} {
			if rng.Float64() < missing && j != i%4 {
				v = math.NaN()
			}
			Y.Set(i, j, v+0.1*rng.NormFloat64())
		}
	}
	return X, Y
}

// exact predicts for Xnew by the observed cells of X, Y: it solves the dense system Σ_j K_j⊗L_j + μ·diag(1/w) by
// Cholesky's factor and returns its objective without the regularizer. W is 1 where nil.
func exact(
	t *testing.T, specs []string, Ls []*mat.SymDense, mu float64, X, Y, Xnew, W *mat.Dense,
) (F *mat.Dense, objective float64) {
	t.Helper()
	dict, err := kernel.Build(specs, blas.Raw(X), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, n := Y.Dims()
	tn, _ := Xnew.Dims()
	var K, KX []*mat.Dense
	for j := range dict {
		K, KX = append(K, mat.NewDense(l, l, nil)), append(KX, mat.NewDense(tn, l, nil))
		if err := errors.Join(dict[j].Cross(blas.Raw(K[j]), blas.Raw(X), blas.Raw(X)),
			dict[j].Cross(blas.Raw(KX[j]), blas.Raw(Xnew), blas.Raw(X))); err != nil {
			t.Fatal(err)
		}
	}
	var cells [][2]int
	rows := map[int]bool{}
	for i := range l {
		for j := range n {
			if !math.IsNaN(Y.At(i, j)) {
				rows[i] = true
				if W == nil || W.At(i, j) > 0 {
					cells = append(cells, [2]int{i, j})
				}
			}
		}
	}
	entry := func(K []*mat.Dense, i, k int, a, b int) (v float64) {
		for j := range K {
			v += K[j].At(i, k) * Ls[j].At(a, b)
		}
		return v
	}
	A, y := mat.NewSymDense(len(cells), nil), mat.NewVecDense(len(cells), nil)
	for p, c := range cells {
		y.SetVec(p, Y.At(c[0], c[1]))
		for q, d := range cells[:p+1] {
			v := entry(K, c[0], d[0], c[1], d[1])
			switch {
			case p == q && W != nil:
				v += mu / W.At(c[0], c[1])
			case p == q:
				v += mu
			}
			A.SetSym(p, q, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(A) {
		t.Fatal("not positive definite")
	}
	var c mat.VecDense
	if err := chol.SolveVecTo(&c, y); err != nil {
		t.Fatal(err)
	}
	F = mat.NewDense(tn, n, nil)
	for i := range tn {
		for j := range n {
			for p, d := range cells {
				F.Set(i, j, F.At(i, j)+entry(KX, i, d[0], j, d[1])*c.AtVec(p))
			}
		}
	}
	return F, mu / float64(len(rows)) * mat.Dot(y, &c)
}

// rowsOf are some rows of a.
func rowsOf(a *mat.Dense, idx []int) *mat.Dense {
	out := mat.NewDense(len(idx), a.RawMatrix().Cols, nil)
	for k, i := range idx {
		out.SetRow(k, a.RawRowView(i))
	}
	return out
}

// someOf are some rows of W, nil for nil.
func someOf(W *mat.Dense, idx []int) *mat.Dense {
	if W == nil {
		return nil
	}
	return rowsOf(W, idx)
}

// costs are weights of the cells of Y, of its rows, or of the cells of rows from 60 on; nil for "".
func costs(Y *mat.Dense, of string) *mat.Dense {
	if of == "" {
		return nil
	}
	rng := rand.New(rand.NewPCG(12, 2))
	l, n := Y.Dims()
	W := mat.NewDense(l, n, nil)
	for i := range l {
		w := float64(1+rng.IntN(5)) / 2
		for j := range n {
			switch {
			case of == "cells of later rows" && i < 60:
				w = 1
			case of != "rows":
				w = float64(1+rng.IntN(5)) / 2
			}
			W.Set(i, j, w)
		}
	}
	return W
}

// weighted are the η_j·L, or the L_j, of a model.
func weighted(m *iokl.Model) (Ls []*mat.SymDense) {
	for j, e := range m.Eta() {
		L, scale := m.OutputKernel(), e
		if all := m.OutputKernels(); all != nil {
			L, scale = all[j], 1
		}
		D := blas.NewGeneral(L.Dim(), L.Dim())
		L.Dense(blas.Active(), D)
		S := mat.NewSymDense(L.Dim(), nil)
		for i := range L.Dim() {
			for k := range i + 1 {
				S.SetSym(i, k, scale*D.Data[i*D.Stride+k])
			}
		}
		Ls = append(Ls, S)
	}
	return Ls
}

// apart is the largest difference of a and b relative to the largest element of b.
func apart(a, b *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return mat.Max(abs(&d)) / mat.Max(abs(b))
}

func abs(a *mat.Dense) *mat.Dense {
	var b mat.Dense
	b.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, a)
	return &b
}

var updateForms = []struct {
	name     string
	kernels  []string
	model    iokl.ModelKind
	missing  float64
	features bool
	weights  string // see costs
}{
	{"product", []string{"gaussian:all:1.5", "linear:all", "gaussian:all:0.4"}, "", 0, false, ""},
	{"missing cells", []string{"gaussian:all:1.5", "linear:all"}, "", 0.3, false, ""},
	{"sum", []string{"gaussian:all:1.5", "linear:all"}, "sum", 0, false, ""},
	{"sum, missing cells", []string{"gaussian:all:1.5", "linear:all"}, "sum", 0.3, false, ""},
	{"features", []string{"linear:0-1", "linear:1-2"}, "", 0, true, ""},
	{"features, missing cells", []string{"linear:0-1", "linear:1-2"}, "", 0.3, true, ""},
	{"features, sum", []string{"linear:0-1", "linear:1-2"}, "sum", 0, true, ""},
	{"weighted rows", []string{"gaussian:all:1.5", "linear:all"}, "", 0, false, "rows"},
	{"weighted cells, missing cells", []string{"gaussian:all:1.5", "linear:all"}, "", 0.3, false, "cells"},
	{"sum, weighted cells", []string{"gaussian:all:1.5", "linear:all"}, "sum", 0, false, "cells"},
	{"weights later", []string{"gaussian:all:1.5", "linear:all"}, "", 0, false, "cells of later rows"},
	{"features, weighted rows", []string{"linear:0-1", "linear:1-2"}, "", 0, true, "rows"},
	{"features, weighted rows, missing cells", []string{"linear:0-1", "linear:1-2"}, "", 0.3, true, "rows"},
}

// Rows that arrive and leave give the model of the rows that stay, to 1e-8, by a method that shares no code with it: at
// the weights, output kernels and μ of the first fit.
func TestUpdateExact(t *testing.T) {
	for _, form := range updateForms {
		t.Run(form.name, func(t *testing.T) {
			const l = 60
			X, Y := drift(l+40, 3, form.missing)
			Xnew, _ := drift(20, 4, 0)
			W := costs(Y, form.weights)
			first, more := upTo(0, l), upTo(l, l+40)
			some := func(rows []int) iokl.UpdateOptions {
				if W == nil || rows[len(rows)-1] < l && form.weights == "cells of later rows" {
					return iokl.UpdateOptions{}
				}
				return iokl.UpdateOptions{Weights: rowsOf(W, rows)}
			}
			m, err := iokl.Fit(t.Context(), rowsOf(X, first), rowsOf(Y, first), iokl.Options{
				Kernels: form.kernels, Lambda: 1e-3, Standardize: "none", Model: form.model,
				Weights: some(first).Weights,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Chosen().Space == "features"; got != form.features {
				t.Fatalf("in features: %t", got)
			}
			mu := m.Certificate().Lambda * float64(l)
			check := func(what string, m2 *iokl.Model, rows []int) {
				t.Helper()
				F, err := m2.Predict(Xnew)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := exact(t, form.kernels, weighted(m), mu, rowsOf(X, rows), rowsOf(Y, rows), Xnew,
					someOf(W, rows))
				if d := apart(F, want); !(d <= 1e-8) {
					t.Errorf("%s: predictions differ by %.3g", what, d)
				}
				c := m2.Certificate()
				if c.Samples != len(rows) || !(math.Abs(c.Lambda*float64(len(rows))-mu) <= 1e-12*mu) {
					t.Errorf("%s: %d samples, λ %g", what, c.Samples, c.Lambda)
				}
			}
			before, _ := m.Predict(Xnew)
			added, err := m.Update(t.Context(), rowsOf(X, more), rowsOf(Y, more), some(more))
			if err != nil {
				t.Fatal(err)
			}
			check("added", added, upTo(0, l+40))
			leave := []int{0, 7, l + 3}
			stay := slices.DeleteFunc(upTo(0, l+40), func(i int) bool { return slices.Contains(leave, i) })
			var less *iokl.Model
			if form.features {
				less, err = added.ForgetRows(t.Context(), rowsOf(X, leave), rowsOf(Y, leave), some(leave))
			} else {
				less, err = added.Forget(t.Context(), leave, iokl.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			check("forgotten", less, stay)
			var file bytes.Buffer
			if err := added.Encode(&file); err != nil {
				t.Fatal(err)
			}
			read, err := iokl.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if !form.features {
				window, err := read.Update(t.Context(), &mat.Dense{}, &mat.Dense{}, iokl.UpdateOptions{Window: 50})
				if err != nil {
					t.Fatal(err)
				}
				check("window", window, upTo(l-10, l+40))
			}
			again, err := read.Update(t.Context(), rowsOf(X, upTo(0, 1)), rowsOf(Y, upTo(0, 1)),
				some(upTo(0, 1)))
			if err != nil {
				t.Fatal(err)
			}
			check("read from a file", again, append(upTo(0, l+40), 0))
			after, _ := m.Predict(Xnew)
			if !mat.Equal(before, after) {
				t.Error("the model that was updated has changed")
			}
		})
	}
}

func upTo(from, to int) (rows []int) {
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return rows
}

// Where what the rows say changes, the certificate shows it, and learning on closes the gap: it bounds what is gained.
func TestUpdateCertificate(t *testing.T) {
	for _, form := range updateForms {
		t.Run(form.name, func(t *testing.T) {
			const l = 120
			X, Y := drift(2*l, 5, form.missing)
			opt := iokl.Options{ // lp:2: the gap is of the values of all kernels
				Kernels: form.kernels, Lambda: 1e-3, Norm: "lp:2", Tol: 1e-5, Standardize: "none", Model: form.model,
			}
			W := costs(Y, form.weights)
			if W != nil {
				opt.Weights = rowsOf(W, upTo(0, l))
			}
			m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, l)), rowsOf(Y, upTo(0, l)), opt)
			if err != nil {
				t.Fatal(err)
			}
			more := func(opt iokl.UpdateOptions) *iokl.Model {
				if W != nil {
					opt.Weights = rowsOf(W, upTo(l, 2*l))
				}
				m2, err := m.Update(t.Context(), rowsOf(X, upTo(l, 2*l)), rowsOf(Y, upTo(l, 2*l)), opt)
				if err != nil {
					t.Fatal(err)
				}
				return m2
			}
			held := more(iokl.UpdateOptions{}).Certificate()
			learned := more(iokl.UpdateOptions{Relearn: true}).Certificate()
			if held.Converged || !(held.RelativeGap > 1e-5) || held.OuterIterations != 0 {
				t.Errorf("gap %.3g after %d iterations where weights changed", held.RelativeGap, held.OuterIterations)
			}
			if !learned.Converged || !(learned.RelativeGap <= 1e-5) {
				t.Errorf("gap %.3g after learning on", learned.RelativeGap)
			}
			// Not learned on, by Gram matrices.
			stored := more(iokl.UpdateOptions{Relearn: true, Tol: 1}).Certificate()
			for _, c := range [][2]float64{
				{held.Objective, stored.Objective}, {held.GapEta, stored.GapEta}, {held.GapL, stored.GapL},
			} {
				if !(math.Abs(c[0]-c[1]) <= 1e-7*stored.Objective) {
					t.Errorf("certified %g, and %g by Gram matrices", c[0], c[1])
				}
			}
			gain := held.Objective - learned.Objective
			if bound := held.GapEta + held.GapL; !(gain > 0) || form.model == "sum" && !(gain <= bound*(1+1e-9)) {
				t.Errorf("learning gained %.3g of %.3g certified", gain, bound)
			}
		})
	}
}

// The objective is that of the rows that stay, whatever is learned and with which preparation.
func TestUpdateObjective(t *testing.T) {
	for _, c := range []struct {
		name    string
		learn   iokl.Learned
		missing float64
		prepare bool
	}{
		{"both", "", 0.2, false},
		{"both, prepared", "", 0, true},
		{"nothing", "none", 0.2, false},
		{"nothing, prepared", "none", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			X, Y := drift(120, 6, c.missing)
			specs := []string{"gaussian:all:1.5", "linear:all"}
			m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, 100)), rowsOf(Y, upTo(0, 100)),
				iokl.Options{Kernels: specs, Lambda: 1e-3, Learn: c.learn, Standardize: "none"})
			if err == nil && c.prepare {
				err = m.Prepare(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			m2, err := m.Update(t.Context(), rowsOf(X, upTo(100, 120)), rowsOf(Y, upTo(100, 120)), iokl.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, want := exact(t, specs, weighted(m), m.Certificate().Lambda*100, X, Y, X, nil)
			cert := m2.Certificate()
			if !(math.Abs(cert.Objective-want) <= 1e-9*want) || (cert.Sylvester == "bordered") != c.prepare {
				t.Errorf("objective %.12g by %s, want %.12g", cert.Objective, cert.Sylvester, want)
			}
		})
	}
}

func TestUpdateRefuses(t *testing.T) {
	X, Y := drift(60, 8, 0)
	opt := iokl.Options{Kernels: []string{"gaussian:all:1.5"}, Lambda: 1e-3}
	m, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	gram, err := iokl.FitGram(t.Context(), []mat.Matrix{eye(60)}, Y, iokl.Options{Lambda: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	opt.Kernels, opt.IntervalFolds = []string{"linear:all"}, -1
	sums, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Kernels, opt.Loss, opt.IntervalFolds = []string{"gaussian:all:1.5"}, "huber", 0
	robust, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Loss, opt.Weights = "", costs(Y, "cells")
	heavy, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := heavy.Prepare(t.Context()); !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), "weights") {
		t.Errorf("prepared with weights: %v", err)
	}
	if _, err := robust.LeaveOneOut(t.Context()); !errors.Is(err, iokl.ErrInput) ||
		!strings.Contains(err.Error(), "by the loss huber") {
		t.Errorf("left out in closed form by another loss: %v", err)
	}
	none := &mat.Dense{}
	cells := iokl.UpdateOptions{Weights: opt.Weights}
	infinite := mat.DenseCopyOf(Y)
	infinite.Set(1, 2, math.Inf(1))
	for _, c := range []struct {
		name  string
		m     *iokl.Model
		X, Y  *mat.Dense
		opt   iokl.UpdateOptions
		words string
	}{
		{"compact", m.Compact(), X, Y, iokl.UpdateOptions{}, "compact"},
		{"compact with weights", heavy.Compact(), X, Y, iokl.UpdateOptions{}, "compact"},
		{"another loss, compact", robust.Compact(), X, Y, iokl.UpdateOptions{}, "by the loss huber"},
		{"weights of cells in sums", sums, X, Y, cells, "weights of rows"},
		{"shape of weights", m, rowsOf(X, upTo(0, 3)), rowsOf(Y, upTo(0, 3)), cells, "the weights are 60×4"},
		{"Gram matrices", gram, X, Y, iokl.UpdateOptions{}, "Gram"},
		{"rows", m, X, rowsOf(Y, upTo(0, 3)), iokl.UpdateOptions{}, "X has 60 rows and Y has 3"},
		{"columns", m, X, X, iokl.UpdateOptions{}, "Y has 3 columns"},
		{"inputs", m, Y, Y, iokl.UpdateOptions{}, "the data have 4 columns"},
		{"infinity", m, X, infinite, iokl.UpdateOptions{}, "row 2, column 3 (y3) of the targets is +Inf"},
		{"no such row", m, none, none, iokl.UpdateOptions{Forget: []int{60}}, "rows 0 to 59"},
		{"all rows", m, none, none, iokl.UpdateOptions{Forget: upTo(0, 59)}, "1 rows stay"},
		{"window", m, none, none, iokl.UpdateOptions{Window: -1}, "-1 rows"},
		{"rows of sums", sums, none, none, iokl.UpdateOptions{Forget: []int{1}}, "sums in the place of its rows"},
		{"window of sums", sums, none, none, iokl.UpdateOptions{Window: 9}, "sums in the place of its rows"},
		{"tolerance", m, none, none, iokl.UpdateOptions{Tol: -1}, "negative"},
	} {
		if _, err := c.m.Update(t.Context(), c.X, c.Y, c.opt); !errors.Is(err, iokl.ErrInput) ||
			!strings.Contains(fmt.Sprint(err), c.words) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if m.UpdateBytes() != 8*60*4 || heavy.UpdateBytes() != 2*8*60*4 || m.Compact().UpdateBytes() != 0 {
		t.Errorf("%d bytes for updates, %d compact", m.UpdateBytes(), m.Compact().UpdateBytes())
	}
}

// A window keeps models to their size, in memory as in files.
func TestUpdateBounded(t *testing.T) {
	X, Y := drift(200, 14, 0)
	for _, specs := range [][]string{{"gaussian:all:1.5"}, {"rff:gaussian:all:1.5:32"}} {
		m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, 100)), rowsOf(Y, upTo(0, 100)),
			iokl.Options{Kernels: specs, Lambda: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		opt := iokl.UpdateOptions{Window: 100}
		size := func(m *iokl.Model) int {
			var file bytes.Buffer
			if err := m.Encode(&file); err != nil {
				t.Fatal(err)
			}
			return file.Len()
		}
		before, kept := size(m), m.UpdateBytes()
		for at := 100; at < 200; at += 20 {
			more := upTo(at, at+20)
			if m, err = m.Update(t.Context(), rowsOf(X, more), rowsOf(Y, more), opt); err != nil {
				t.Fatal(err)
			}
		}
		if after := size(m); m.UpdateBytes() != kept || !(after < before+before/50) {
			t.Errorf("%s: files of %d and %d bytes, %d and %d for updates", specs, before, after, kept, m.UpdateBytes())
		}
		if c := m.Certificate().Samples; c != 100 {
			t.Errorf("%s: %d rows", specs, c)
		}
	}
}

func eye(n int) *mat.Dense {
	I := mat.NewDense(n, n, nil)
	for i := range n {
		I.Set(i, i, 1)
	}
	return I
}

// Thousands of single rows that arrive and leave at random give the model of the rows that stay, and its certificate,
// by a prepared model as by one that is not.
func TestUpdateLive(t *testing.T) {
	steps, l := 10_000, 40
	if testing.Short() {
		steps = 300
	}
	X, Y := drift(l+steps, 10, 0)
	Xnew, _ := drift(20, 4, 0)
	specs := []string{"gaussian:all:1.5", "linear:all", "laplacian:all:2"}
	m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, l)), rowsOf(Y, upTo(0, l)),
		iokl.Options{Kernels: specs, Lambda: 1e-3, Standardize: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, 1))
	live, present, next := m, upTo(0, l), l
	for step := range steps {
		var err error
		if i := rng.IntN(len(present)); len(present) > l/2 && (len(present) > 2*l || rng.IntN(2) == 0) {
			live, err = live.Forget(t.Context(), []int{i}, iokl.UpdateOptions{})
			present = slices.Delete(present, i, i+1)
		} else {
			live, err = live.Update(t.Context(), rowsOf(X, []int{next}), rowsOf(Y, []int{next}), iokl.UpdateOptions{})
			present = append(present, next)
			next++
		}
		if err != nil {
			t.Fatal(err)
		}
		if step%(steps/5) > 0 && step < steps-1 {
			continue
		}
		F, err := live.Predict(Xnew)
		if err != nil {
			t.Fatal(err)
		}
		mu := m.Certificate().Lambda * float64(l)
		want, objective := exact(t, specs, weighted(m), mu, rowsOf(X, present), rowsOf(Y, present), Xnew, nil)
		c := live.Certificate()
		if d := apart(F, want); !(d <= 1e-7) || !(math.Abs(c.Objective-objective) <= 1e-7*objective) {
			t.Fatalf("step %d: predictions differ by %.3g; objective %.10g, want %.10g", step, d, c.Objective,
				objective)
		}
		if c.Sylvester != "bordered" {
			t.Errorf("step %d: solved by %s", step, c.Sylvester)
		}
		var file bytes.Buffer
		if err := live.Encode(&file); err != nil {
			t.Fatal(err)
		}
		read, err := iokl.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := read.Forget(t.Context(), nil, iokl.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p := plain.Certificate(); !(math.Abs(p.RelativeGap-c.RelativeGap) <= 1e-6) || p.Sylvester == "bordered" {
			t.Errorf("step %d: gap %.9g live, %.9g by %s", step, c.RelativeGap, p.RelativeGap, p.Sylvester)
		}
	}
}

// A prepared model of more outputs than rows, which solvers reduce, is updated as one that is not prepared.
func TestUpdateManyOutputs(t *testing.T) {
	const n, l, most = 4100, 30, 36
	X, waves := drift(most, 10, 0)
	Y := mat.NewDense(most, n, nil)
	rng := rand.New(rand.NewPCG(5, 1))
	_, q := waves.Dims()
	mix := mat.NewDense(q, n, nil)
	mix.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, mix)
	Y.Mul(waves, mix)
	Y.Apply(func(_, _ int, v float64) float64 { return v + 0.1*rng.NormFloat64() }, Y)
	m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, l)), rowsOf(Y, upTo(0, l)), iokl.Options{
		Kernels: []string{"gaussian:all:1.5", "linear:all"}, Lambda: 1e-2, Standardize: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func() (*iokl.Model, *mat.Dense) {
		next, err := m.Update(t.Context(), rowsOf(X, upTo(l, most)), rowsOf(Y, upTo(l, most)),
			iokl.UpdateOptions{Forget: []int{3, 20}})
		if err == nil {
			next, err = next.Forget(t.Context(), []int{29}, iokl.UpdateOptions{}) // which has just arrived
		}
		if err != nil {
			t.Fatal(err)
		}
		F, err := next.Predict(X)
		if err != nil {
			t.Fatal(err)
		}
		return next, F
	}
	plain, want := change()
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	live, F := change()
	c, d := live.Certificate(), plain.Certificate()
	if far := apart(F, want); !(far <= 1e-7) || !(math.Abs(c.Objective-d.Objective) <= 1e-9*d.Objective) ||
		!(math.Abs(c.RelativeGap-d.RelativeGap) <= 1e-6) {
		t.Errorf("predictions differ by %.3g; objective %.12g, want %.12g; gap %.6g, want %.6g", far, c.Objective,
			d.Objective, c.RelativeGap, d.RelativeGap)
	}
	if c.Sylvester != "bordered" || d.Sylvester == "bordered" {
		t.Errorf("solved by %s and %s", c.Sylvester, d.Sylvester)
	}
}

// A model predicts the same while others are made of it.
func TestUpdateConcurrent(t *testing.T) {
	X, Y := drift(150, 9, 0)
	m, err := iokl.Fit(t.Context(), rowsOf(X, upTo(0, 100)), rowsOf(Y, upTo(0, 100)), iokl.Options{
		Kernels: []string{"gaussian:all:1.5", "poly:2:all:1"}, Lambda: 1e-3,
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for range 20 {
				if F, err := m.Predict(X); err != nil || !mat.Equal(F, want) {
					t.Errorf("predictions have changed: %v", err)
				}
			}
		})
	}
	for k := range 3 {
		work.Go(func() {
			next := m
			for i := 100 + k; i < 150; i += 10 {
				var err error
				if next, err = next.Update(t.Context(), rowsOf(X, []int{i}), rowsOf(Y, []int{i}),
					iokl.UpdateOptions{Window: 100}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
}

// Predictions of few rows into given memory allocate nothing.
func TestPredictAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector empties pools of scratch")
	}
	X, Y := drift(400, 12, 0)
	for _, specs := range [][]string{
		{"gaussian:all:1.5"},
		{"gaussian:all:1.5,3", "linear:all", "laplacian:each"},
		{"linear:all"},
		{"rff:gaussian:all:1:50"},
	} {
		m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Kernels: specs, Lambda: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		x, F := rowsOf(X, upTo(0, 1)), mat.NewDense(1, 4, nil)
		count := testing.AllocsPerRun(200, func() {
			if err := m.PredictTo(F, x); err != nil {
				t.Fatal(err)
			}
		})
		if count > 0 {
			t.Errorf("%s: %g allocations a prediction", specs, count)
		}
	}
}
