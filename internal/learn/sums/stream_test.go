package sums_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/stream"
)

var bg = context.Background()

// pieces is a source of some rows at a time that may end in an error.
type pieces struct {
	x, y blas.General
	at   int
	bad  int // the row that cannot be read; 0 means none
	open *int
}

var errPiece = errors.New("file.csv: row 1501 is no number")

func (s *pieces) Next() (stream.Block, error) {
	end := s.x.Rows
	if s.bad > 0 {
		end = s.bad
	}
	rows := min(97, end-s.at)
	if rows == 0 {
		if s.bad > 0 {
			return stream.Block{}, errPiece
		}
		return stream.Block{}, io.EOF
	}
	b := stream.Block{
		X: blas.View(s.x, s.at, 0, rows, s.x.Cols), Y: blas.View(s.y, s.at, 0, rows, s.y.Cols),
		Row: int64(s.at), Source: "file.csv",
	}
	s.at += rows
	return b, nil
}

func (s *pieces) Close() error { *s.open--; return nil }

// blocksOf is X and Y as streamed data, and the number of passes that are open.
func blocksOf(X, Y *mat.Dense, bad int) (data stream.Rows, open *int) {
	open = new(int)
	data = stream.Rows{Inputs: X.RawMatrix().Cols, Outputs: Y.RawMatrix().Cols, Name: "file.csv"}
	data.Open = func() (stream.Source, error) {
		*open++
		return &pieces{x: blas.Raw(X), y: blas.Raw(Y), bad: bad, open: open}, nil
	}
	return data, open
}

func maxDifference(t *testing.T, a, b *iokl.Model, X mat.Matrix) float64 {
	t.Helper()
	P, err := a.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	Q, err := b.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	P.Sub(P, Q)
	return math.Max(mat.Max(P), -mat.Min(P))
}

var streamed = iokl.Options{
	Kernels: []string{"rff:gaussian:all:median*0.5,1:60", "linear:all", "nystrom:cauchy:0-1:2:20"},
	Lambda:  1e-3, Tol: 1e-9, Seed: 3,
}

func TestStreamEqualsFit(t *testing.T) {
	X, Y := learntest.Wave(1500, 31)
	for i := range 1500 {
		Y.Set(i, 0, Y.At(i, 0)/20-5)
	}
	Xt, _ := learntest.Wave(40, 32)
	for _, standardize := range []iokl.Scaling{iokl.ScaleInputs, iokl.ScaleNone, iokl.ScaleBoth} {
		if standardize == iokl.ScaleBoth {
			for i := range 1500 {
				Y.Set(i, 1, Y.At(i, 1)*0.01-1e4) // far from 0
			}
		}
		opt := streamed
		opt.Standardize = standardize
		opt.Tol = 1e-7
		want, err := iokl.Fit(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := blocksOf(X, Y, 0)
		got, err := iokl.FitStream(bg, data, opt)
		if err != nil {
			t.Fatal(err)
		}
		a, b := got.Certificate(), want.Certificate()
		if !(math.Abs(a.Objective-b.Objective) <= 1e-8*b.Objective) || a.Samples != 1500 {
			t.Errorf("%s: objective %.12g of %d samples, want %.12g", standardize, a.Objective, a.Samples, b.Objective)
		}
		if e := maxDifference(t, got, want, Xt); !(e <= 1e-6) {
			t.Errorf("%s: predictions differ by %.2g", standardize, e)
		}
	}
}

// TestStreamLearnsGroups learns lengths and relevance from the rows surveyed, which are all there are here.
func TestStreamLearnsGroups(t *testing.T) {
	X, Y := learntest.Wave(600, 33)
	Y.Set(5, 1, math.NaN())
	Xt, _ := learntest.Wave(40, 34)
	opt := iokl.Options{
		Kernels: []string{"nystrom:matern52:ard:median*1,2:40", "rff:gaussian:relevant:median:40"},
		Lambda:  1e-2, Tol: 1e-9, Seed: 3,
	}
	want, err := iokl.Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := blocksOf(X, Y, 0)
	got, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	a, b := got.Relevance(), want.Relevance()
	for c := range a {
		if !(math.Abs(a[c]-b[c]) <= 1e-3) {
			t.Errorf("relevance %v of the columns of a stream, %v in memory", a, b)
		}
	}
	if e := maxDifference(t, got, want, Xt); !(e <= 1e-2) {
		t.Errorf("predictions differ by %.2g", e)
	}
}

func TestStreamResumes(t *testing.T) {
	X, Y := learntest.Wave(6000, 33)
	Xt, _ := learntest.Wave(40, 34)
	opt := streamed
	data, _ := blocksOf(X, Y, 0)
	data.SurveyRows = 4500
	want, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Checkpoint = filepath.Join(t.TempDir(), "sums")
	bad, _ := blocksOf(X, Y, 5500)
	bad.SurveyRows = data.SurveyRows
	if _, err := iokl.FitStream(bg, bad, opt); !errors.Is(err, errPiece) {
		t.Fatalf("a row that cannot be read: %v", err)
	}
	var from int64
	data.Progress = func(survey bool, p stream.Progress) error {
		if from == 0 && !survey {
			from = p.Rows
		}
		if survey {
			t.Error("the data were surveyed again")
		}
		return nil
	}
	got, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if from != 5500 {
		t.Errorf("went on from row %d", from)
	}
	if e := maxDifference(t, got, want, Xt); e != 0 {
		t.Errorf("predictions differ by %.2g", e)
	}
	opt.Kernels = []string{"linear:all"}
	if _, err := iokl.FitStream(bg, data, opt); !errors.Is(err, iokl.ErrInput) || !errors.Is(err,
		stream.ErrCheckpoint) {
		t.Errorf("sums of other kernels: %v", err)
	}
	whole, err := os.ReadFile(opt.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, whole[:100], append(bytes.Clone(whole[:40]),
		append([]byte{'7'}, whole[41:]...)...)} {
		if err := os.WriteFile(opt.Checkpoint, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := iokl.FitStream(bg, data, opt); !errors.Is(err, iokl.ErrInput) {
			t.Errorf("a damaged checkpoint of %d bytes: %v", len(damaged), err)
		}
	}
}

// A row that the survey cannot read still leaves the rows before it in the checkpoint.
func TestStreamBadRowInSurvey(t *testing.T) {
	X, Y := learntest.Wave(6000, 35)
	data, _ := blocksOf(X, Y, 5500)
	opt := streamed
	opt.Checkpoint = filepath.Join(t.TempDir(), "sums")
	if _, err := iokl.FitStream(bg, data, opt); !errors.Is(err, errPiece) {
		t.Fatalf("a row that cannot be read: %v", err)
	}
	good, _ := blocksOf(X, Y, 0)
	m, err := iokl.FitStream(bg, good, opt)
	if err != nil {
		t.Fatal(err)
	}
	if l := m.Certificate().Samples; l != 6000 {
		t.Errorf("%d samples", l)
	}
	opt.Checkpoint = ""
	if _, err := iokl.FitStream(bg, data, opt); !errors.Is(err, errPiece) {
		t.Errorf("without checkpoint: %v", err)
	}
}

func TestStreamChoosesLambda(t *testing.T) {
	X, Y := learntest.Wave(2000, 36)
	Xt, Yt := learntest.Wave(200, 37)
	data, _ := blocksOf(X, Y, 0)
	opt := iokl.Options{
		Kernels: []string{"rff:gaussian:all:median*0.5,1:60", "linear:all"},
		CV:      iokl.CVOptions{Folds: 4},
	}
	var lines []string
	opt.Notify = func(line string) { lines = append(lines, line) }
	m, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := m.Score(Xt, Yt); err != nil || !(s.RRMSE[0] < 0.3 && s.RRMSE[1] < 0.3) {
		t.Errorf("relative errors %.3v, %v", s.RRMSE, err)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "chose λ") {
		t.Errorf("said %q", lines)
	}
}

// Leaving out a group from the sums is leaving out its rows: the errors are those
// of fits to the other rows, for every λ, τ and norm, all from one pass.
func TestStreamLeavesGroupsOut(t *testing.T) {
	const l, folds = 600, 3
	X, Y := learntest.Wave(l, 61)
	groups := make([]int, l)
	for i := range groups {
		groups[i] = i * i % 17 % 7
	}
	opt := iokl.Options{
		Kernels:     []string{"rff:gaussian:all:0.7,2:30", "linear:all"},
		Standardize: "none", Tol: 1e-9, Seed: 4,
	}
	opt.CV = iokl.CVOptions{
		Folds: folds, Groups: groups, Lambdas: []float64{1e-2, 1e-4}, Taus: []float64{1, 2},
		Norms: []iokl.Norm{"lp:1.5", "lp:1"}, Metric: "mse", Tol: 1e-9,
	}
	data, _ := blocksOf(X, Y, 0)
	passes, open := 0, data.Open
	data.Open = func() (stream.Source, error) { passes++; return open() }
	r, err := iokl.Compare(bg, iokl.Data{Rows: &data}, opt).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 8 || r.Folds != folds || passes != 2 {
		t.Fatalf("%d points, %d folds, %d passes; want 8, 3, and 2 with the survey", len(r.Points), r.Folds, passes)
	}
	splits, err := iokl.Folds(l, folds, 1, groups, false, opt.Seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []iokl.CVPoint{r.Points[0], r.Points[3], r.Points[6]} {
		for f, s := range splits {
			one := opt
			one.CV = iokl.CVOptions{}
			one.Lambda, one.Tau, one.Norm = p.Lambda, p.Tau, p.Norm
			train, targets := blas.TakeRows(blas.Raw(X), s.Train), blas.TakeRows(blas.Raw(Y), s.Train)
			m, err := iokl.Fit(bg, blas.Dense(train), blas.Dense(targets), one)
			if err != nil {
				t.Fatal(err)
			}
			score, err := m.Score(blas.Dense(blas.TakeRows(blas.Raw(X), s.Test)),
				blas.Dense(blas.TakeRows(blas.Raw(Y), s.Test)))
			if err != nil || !(math.Abs(score.MeanMSE-p.Folds[f]) <= 1e-4*score.MeanMSE) {
				t.Errorf("λ = %g, τ = %g, %s, fold %d: error %.8g from the sums, %.8g from a fit to the other rows; %v",
					p.Lambda, p.Tau, p.Norm, f, p.Folds[f], score.MeanMSE, err)
			}
		}
	}
	m, err := r.Fit(bg)
	if err != nil || m.Certificate().Lambda != r.Chosen().Lambda || m.Certificate().Samples != l || passes != 2 {
		t.Errorf("the chosen fit: %+v, %v after %d passes", m.Certificate(), err, passes)
	}
	for name, change := range map[string]func(o *iokl.Options, rows *stream.Rows){
		"groups of other data": func(o *iokl.Options, _ *stream.Rows) { o.CV.Groups = groups[1:] },
		"groups that run out":  func(o *iokl.Options, r *stream.Rows) { o.CV.Groups, r.SurveyRows = groups[:500], 400 },
		"too few groups":       func(o *iokl.Options, _ *stream.Rows) { o.CV.Groups = make([]int, l) },
		"repeats":              func(o *iokl.Options, _ *stream.Rows) { o.CV.Repeats = 2 },
		"accuracy":             func(o *iokl.Options, _ *stream.Rows) { o.CV.Metric = "accuracy" },
		"unknown norm":         func(o *iokl.Options, _ *stream.Rows) { o.CV.Norms = []iokl.Norm{"lp:3"} },
	} {
		o, rows := opt, data
		change(&o, &rows)
		if _, err := iokl.Compare(bg, iokl.Data{Rows: &rows}, o).Result(); !errors.Is(err, iokl.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without room for Γ the rows are read again for each multiply, and every pass is closed.
func TestStreamWithoutGamma(t *testing.T) {
	X, Y := learntest.Wave(700, 38)
	Xt, _ := learntest.Wave(40, 39)
	opt := streamed
	opt.Tol = 1e-6
	data, open := blocksOf(X, Y, 0)
	want, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	opt.MaxBytes = 1
	opt.Notify = func(line string) { lines = append(lines, line) }
	got, err := iokl.FitStream(bg, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "read the data again") {
		t.Errorf("said %q", lines)
	}
	if e := maxDifference(t, got, want, Xt); !(e <= 1e-2) {
		t.Errorf("predictions differ by %.2g", e)
	}
	if *open != 0 {
		t.Errorf("%d sources were left open", *open)
	}
	a, b := got.Certificate().Objective, want.Certificate().Objective
	if !(math.Abs(a-b) <= 2e-6*b) {
		t.Errorf("objectives %.10g and %.10g", a, b)
	}
	opt.Lambda = 0
	if _, err := iokl.FitStream(bg, data, opt); !errors.Is(err, iokl.ErrMemory) {
		t.Errorf("λ to be chosen without Γ: %v", err)
	}
}

func TestStreamRefuses(t *testing.T) {
	X, Y := learntest.Wave(100, 40)
	data, _ := blocksOf(X, Y, 0)
	with := func(change func(o *iokl.Options)) iokl.Options {
		o := streamed
		change(&o)
		return o
	}
	for name, o := range map[string]iokl.Options{
		"exact kernel": with(func(o *iokl.Options) { o.Kernels = []string{"gaussian:all"} }),
		"width":        with(func(o *iokl.Options) { o.Kernels = []string{"rff:gaussian:ard:2:20"} }),
		"one fold":     with(func(o *iokl.Options) { o.Lambda, o.CV.Folds = 0, 1 }),
		"metric":       with(func(o *iokl.Options) { o.Lambda, o.CV.Metric = 0, "accuracy" }),
		"names":        with(func(o *iokl.Options) { o.OutputNames = []string{"a"} }),
		"lambda":       with(func(o *iokl.Options) { o.Lambda = -1 }),
	} {
		if m, err := iokl.FitStream(bg, data, o); m != nil || !errors.Is(err, iokl.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	X.Set(17, 1, math.NaN())
	if _, err := iokl.FitStream(bg, data, streamed); !errors.Is(err, iokl.ErrInput) ||
		!strings.Contains(err.Error(), "file.csv, row 17") {
		t.Errorf("a missing cell: %v", err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := iokl.FitStream(ctx, data, streamed); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Targets at 1e8 with a noise of about 1 give the model of the same targets less
// 1e8, which a float64 of that size tells to 1.5e-8: rounded so before, they leave
// the objective the same. A survey of few rows does not know the means.
func TestStreamFarTargets(t *testing.T) {
	X, near := learntest.Wave(1200, 5)
	far := mat.DenseCopyOf(near)
	for i, v := range far.RawMatrix().Data {
		far.RawMatrix().Data[i] = 1e8 + v
		near.RawMatrix().Data[i] = far.RawMatrix().Data[i] - 1e8
	}
	for _, rows := range []int64{0, 10} {
		var models [2]*iokl.Model
		for k, Y := range []*mat.Dense{near, far} {
			data, _ := blocksOf(X, Y, 0)
			data.SurveyRows = rows
			m, err := iokl.FitStream(bg, data, streamed)
			if err != nil {
				t.Fatal(err)
			}
			models[k] = m
		}
		a, b := models[0].Certificate(), models[1].Certificate()
		if !(math.Abs(a.Objective-b.Objective) <= 1e-10*a.Objective) || !(b.RelativeGap <= 1e-9) {
			t.Errorf("survey of %d rows: objective %.15g near 0, %.15g with gap %g at 1e8", rows, a.Objective,
				b.Objective, b.RelativeGap)
		}
	}
}

// TestStreamChooses leaves everything open: the kernels are those that Fit chooses, with
// features, and do better than the mean on new rows.
func TestStreamChooses(t *testing.T) {
	X, Y := learntest.Hidden(260, 4)
	data, open := blocksOf(X, Y, 0)
	m, err := iokl.FitStream(bg, data, iokl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if *open != 0 {
		t.Errorf("%d passes are open", *open)
	}
	Xt, Yt := learntest.Hidden(200, 5)
	P, err := m.Predict(Xt)
	if err != nil {
		t.Fatal(err)
	}
	scale := columns.Measure(blas.Raw(Yt)).Scale
	mse, _ := learn.Compare(blas.Raw(P), blas.Raw(Yt), blas.General{})
	for j, v := range mse {
		if share := v / scale[j] / scale[j]; !(share < .1) {
			t.Errorf("output %d: nmse %g; kernels %v", j, share, m.KernelNames())
		}
	}
}
