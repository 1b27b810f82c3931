package results

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/loss"
)

// HeldOut are predictions for rows that models had not seen; nil where there are none.
func HeldOut(ctx context.Context, model *iokl.Model) (*iokl.HeldOut, error) {
	if !model.KeepsHeldOut() || ctx.Err() != nil {
		return nil, nil
	}
	h, err := model.HeldOut(ctx)
	if errors.Is(err, iokl.ErrInput) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return nil, nil // the report does without
	}
	return h, err
}

// HeldOutLine says, for each target in its unit, the held-out error beside that of the best constant by the same
// measure, how sure these are, and how long the fit took.
func HeldOutLine(model *iokl.Model, h *iokl.HeldOut, seconds float64) string {
	of := struct {
		*iokl.Chosen
		How, What string
		Seconds   float64
	}{Chosen: model.Chosen(), Seconds: seconds}
	if h != nil {
		of.How, of.What = heldBy(h), heldOutText(model, h)
	}
	return say("heldout", of)
}

// heldBy names what the models that predict held-out rows have not seen.
func heldBy(h *iokl.HeldOut) string {
	if h.Folds > 0 {
		return page.Counted(h.Folds, "fold")
	}
	return "each row by itself"
}

func heldOutText(model *iokl.Model, h *iokl.HeldOut) string {
	if model.Classes() != nil {
		right, most, _ := shares(confusionOf(h.Predictions, h.Targets, h.Weights))
		Q, truth, w := outcomes(model, h.Probabilities, h, nil)
		s := scoreProbabilities(Q, truth, w)
		return fmt.Sprintf("%.1f ± %.1f %% of classes are right, the most frequent class %.1f %%; %s", 100*right,
			100*math.Sqrt(right*(1-right)/effective(w)), 100*most, say("score", s))
	}
	const listed = 5
	var parts []string
	names := model.OutputNames()
	for j, name := range names[:min(listed, len(names))] {
		if h.Probabilities != nil {
			s := scoreProbabilities(outcomes(model, h.Probabilities, h, []int{j}))
			parts = append(parts, name+" has "+say("score", s))
			continue
		}
		if q := model.Quantiles(); q != nil {
			parts = append(parts, name+" has "+heldOutQuantile(h, j, q[j%len(q)]))
			continue
		}
		if strings.HasPrefix(string(model.Certificate().Loss), "huber") {
			parts = append(parts, name+" has "+heldOutMedian(h, j))
			continue
		}
		e := fitError(h.Predictions, h.Targets, h.Weights, j)
		parts = append(parts, fmt.Sprintf("%s is off by %s ± %s, its mean by %s", name, page.Figure(e.RMSE, 3),
			page.Figure(e.stderr, 2), page.Figure(e.Deviation, 3)))
	}
	if more := len(names) - listed; more > 0 {
		parts = append(parts, page.Counted(more, "more target"))
	}
	return strings.Join(parts, "; ")
}

// heldOutMedian says the median of the absolute errors of output j, which gross errors of targets do not move, and that
// of the median of the targets.
func heldOutMedian(h *iokl.HeldOut, j int) string {
	y, f, w := cells(h.Predictions, h.Targets, h.Weights, j)
	if len(y) == 0 {
		return "no held-out targets"
	}
	constant := quantileOf(y, w, 0.5)
	own, without := make([]float64, len(y)), make([]float64, len(y))
	for i := range y {
		own[i], without[i] = math.Abs(y[i]-f[i]), math.Abs(y[i]-constant)
	}
	// The ranks of a median of n numbers have a standard deviation of √n/2.
	rank := 0.5 / math.Sqrt(effective(w))
	return fmt.Sprintf("a median absolute error of %s ± %s, its median %s", page.Figure(quantileOf(own, w, 0.5), 3),
		page.Figure(quantileOf(own, w, 0.5+rank)/2-quantileOf(own, w, 0.5-rank)/2, 2),
		page.Figure(quantileOf(without, w, 0.5), 3))
}

// quantileOf is the quantile p, of 0 to 1 where that is beyond, of values of the weights w.
func quantileOf(values, w []float64, p float64) float64 {
	sorted, by := slices.Clone(values), slices.Clone(w)
	stat.SortWeighted(sorted, by)
	return stat.Quantile(min(max(p, 0), 1), stat.Empirical, sorted, by)
}

// heldOutShare is what held-out targets tell of a quantile.
type heldOutShare struct {
	own, constant float64 // mean losses, of the predictions and of the quantile of the targets
	below         float64 // share of the targets at or below the prediction
	least, most   float64 // the same without, and with, targets that nearly equal it
	rows          float64 // effective number, of equal weight
}

// nearlyEqual is the difference, relative to the mean loss of a constant, below which a target counts for both sides.
const nearlyEqual = 1e-4

func shareBelow(h *iokl.HeldOut, j int, tau float64) (s heldOutShare) {
	l := loss.Loss{Kind: loss.Quantile, Parameter: tau}
	y, f, w := cells(h.Predictions, h.Targets, h.Weights, j)
	if len(y) == 0 {
		return s
	}
	s.rows = effective(w)
	n, constant := floats.Sum(w), quantileOf(y, w, tau)
	for i, w := range w {
		s.own, s.constant = s.own+w/n*l.Value(y[i], f[i]), s.constant+w/n*l.Value(y[i], constant)
	}
	for i, w := range w {
		if y[i] <= f[i] {
			s.below += w / n
		}
		if y[i] < f[i]-nearlyEqual*s.constant {
			s.least += w / n
		}
		if y[i] <= f[i]+nearlyEqual*s.constant {
			s.most += w / n
		}
	}
	return s
}

// heldOutQuantile says the mean loss of output j, the quantile τ, that of the quantile of the targets, and the share of
// the targets below.
func heldOutQuantile(h *iokl.HeldOut, j int, tau float64) string {
	s := shareBelow(h, j, tau)
	return fmt.Sprintf("a loss of %s, the quantile of all %s, and %.1f %% of the targets below", page.Figure(s.own, 3),
		page.Figure(s.constant, 3), 100*s.below)
}

// shareErrors is the distance, in standard deviations of a share of independent rows, from which a held-out share tells
// that a quantile is off.
const shareErrors = 4

// HeldOutWarnings names quantiles that far more, or far less, of the held-out targets lie below than should.
func HeldOutWarnings(model *iokl.Model, h *iokl.HeldOut) (lines []string) {
	q := model.Quantiles()
	if h == nil || q == nil {
		return nil
	}
	for j, name := range model.OutputNames() {
		tau := q[j%len(q)]
		s := shareBelow(h, j, tau)
		far := shareErrors * math.Sqrt(tau*(1-tau)/max(s.rows, 1))
		if s.rows > 0 && (s.least > tau+far || s.most < tau-far) {
			lines = append(lines, fmt.Sprintf("%s: %.1f %% of %.0f held-out targets lie below the quantile %g: it "+
				"does not hold for new rows", name, 100*s.below, s.rows, tau))
		}
	}
	return lines
}

// ClassesOf names the class of each row of a classifier's outputs.
func ClassesOf(model *iokl.Model, F *mat.Dense) []string {
	classes := model.Classes()
	if classes == nil {
		return nil
	}
	labels := make([]string, F.RawMatrix().Rows)
	for i := range labels {
		row := F.RawRowView(i)
		labels[i] = classes[slices.Index(row, slices.Max(row))]
	}
	return labels
}

// PerOutput has each column of Y so many times.
func PerOutput(Y mat.Matrix, each int) *mat.Dense {
	t, n := Y.Dims()
	Z := mat.NewDense(t, n*each, nil)
	Z.Apply(func(i, j int, _ float64) float64 { return Y.At(i, j/each) }, Z)
	return Z
}

// OneHot makes targets of labels, all of which must be classes of the model.
func OneHot(labels, classes []string, file string) (*mat.Dense, error) {
	Y := mat.NewDense(len(labels), len(classes), nil)
	for i, label := range labels {
		if label == "" {
			return nil, status.Input("%s: row %d has no class label", file, i+1)
		}
		k := slices.Index(classes, label)
		if k < 0 {
			return nil, status.Input("%s: row %d: the model knows no class %q", file, i+1, label)
		}
		Y.Set(i, k, 1)
	}
	return Y, nil
}

// probabilityScore is the errors of probabilities of classes.
type probabilityScore struct {
	LogLoss  float64 `json:"log_loss"` // mean of −log of the probability of the true class
	StdErr   float64 `json:"stderr"`   // of LogLoss
	Constant float64 `json:"constant"` // log loss of the shares of the classes
	Brier    float64 `json:"brier"`    // mean of Σ(p_k − y_k)² over the classes k, of two classes half of it
}

// outcomes are the probabilities P of held-out rows, the numbers of their true classes and their weights. P of targets
// 1 become rows for 0 and 1, one for each observed cell of the targets.
func outcomes(
	model *iokl.Model, P *mat.Dense, h *iokl.HeldOut, targets []int,
) (Q *mat.Dense, truth []int, w []float64) {
	if model.Classes() != nil {
		for i := range h.Targets.RawMatrix().Rows {
			truth, w = append(truth, floats.MaxIdx(h.Targets.RawRowView(i))), append(w, rowWeight(h.Weights, i))
		}
		return P, truth, w
	}
	var pairs []float64
	for _, j := range targets {
		y, p, own := cells(P, h.Targets, h.Weights, j)
		for i := range y {
			pairs, truth = append(pairs, 1-p[i], p[i]), append(truth, int(y[i]))
		}
		w = append(w, own...)
	}
	if truth == nil {
		return new(mat.Dense), nil, nil
	}
	return mat.NewDense(len(truth), 2, pairs), truth, w
}

// cells are the observed cells y of column j of the targets, what F has there, and their weights W, which are 1 for
// nil.
func cells(F *mat.Dense, Y mat.Matrix, W *mat.Dense, j int) (y, f, w []float64) {
	for i := range F.RawMatrix().Rows {
		if v := Y.At(i, j); !math.IsNaN(v) {
			y, f, w = append(y, v), append(f, F.At(i, j)), append(w, 1)
			if W != nil {
				w[len(w)-1] = W.At(i, j)
			}
		}
	}
	return y, f, w
}

// rowWeight is the mean weight of the cells of a row.
func rowWeight(W *mat.Dense, i int) float64 {
	if W == nil {
		return 1
	}
	return stat.Mean(W.RawRowView(i), nil)
}

// meanOf is the mean of values of the weights w, and its standard error.
func meanOf(values, w []float64) (mean, stderr float64) {
	mean = stat.Mean(values, w)
	all := floats.Sum(w)
	for i, v := range values {
		stderr = math.Hypot(stderr, w[i]/all*(v-mean))
	}
	return mean, stderr
}

// effective is how many values of equal weight have a mean as sure as those of the weights w.
func effective(w []float64) float64 {
	return floats.Sum(w) * floats.Sum(w) / max(floats.Dot(w, w), math.SmallestNonzeroFloat64)
}

// scoreProbabilities compares probabilities, a row for each sample of the weights w, with the true classes.
func scoreProbabilities(P *mat.Dense, truth []int, w []float64) (s probabilityScore) {
	rows, n := P.Dims()
	share, logs, all := make([]float64, n), make([]float64, rows), floats.Sum(w)
	for i, is := range truth {
		share[is] += w[i] / all
		for k, p := range P.RawRowView(i) {
			if k == is {
				logs[i] = -math.Log(max(p, 0x1p-52)) // a probability that rounds to 0 is not told from 0x1p-52
				p = 1 - p
			}
			s.Brier += p * p * w[i] / all
		}
	}
	if n == 2 {
		s.Brier /= 2
	}
	s.LogLoss, s.StdErr = meanOf(logs, w)
	s.Constant = stat.Entropy(share)
	return s
}

// trust fills in how the probabilities of held-out rows hold, and those before their calibration.
func (o *Origin) trust(model *iokl.Model, h *iokl.HeldOut) {
	add := func(P *mat.Dense) []probabilityBin {
		P, truth, w := outcomes(model, P, h, spaced(len(model.OutputNames()), len(model.OutputNames())))
		o.Scores = append(o.Scores, scoreProbabilities(P, truth, w))
		return reliability(P, w, func(i int) bool { return floats.MaxIdx(P.RawRowView(i)) == truth[i] })
	}
	o.Reliability = add(h.Probabilities)
	if h.Uncalibrated != nil && h.Uncalibrated != h.Probabilities {
		o.Uncalibrated = add(h.Uncalibrated)
	}
}
