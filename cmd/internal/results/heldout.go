// This file says how well a fit predicts rows that it has not learned from, and how probabilities hold on them.

package results

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/loss"
)

// heldOutRows is the number of rows up to which a fit that keeps no folds is repeated without each row, in closed
// form, or without each fold: that takes less than a second for most.
const heldOutRows = 1000

// HeldOut are predictions for rows that models had not seen; nil where there are none. Where the model keeps no folds
// and has no closed form for single rows, they are those of again, the same fit with so many folds, unless it is nil
// or makes several fits, of quantiles, without each fold.
func HeldOut(
	ctx context.Context, model *iokl.Model, again func(folds int) (*iokl.Model, error),
) (*iokl.HeldOut, error) {
	if model.IntervalFolds() == 0 && model.Certificate().Samples > heldOutRows || ctx.Err() != nil {
		return nil, nil
	}
	h, err := model.HeldOut(ctx)
	if errors.Is(err, iokl.ErrInput) && again != nil && len(model.Quantiles()) < 2 {
		folds := iokl.CVOptions{}.ForFit(model.Certificate().Samples).Folds
		if model, err = again(folds); err == nil {
			h, err = model.HeldOut(ctx)
		}
		if err == nil && h.Uncalibrated != nil { // the model that keeps no folds is not calibrated on them
			h.Probabilities = h.Uncalibrated
		}
	}
	if errors.Is(err, iokl.ErrInput) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return nil, nil // the report does without
	}
	return h, err
}

// HeldOutLine says, for each target in its unit, the held-out error beside that of the mean, how sure these are,
// and how long the fit took.
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

// heldBy says what models that predict held-out rows are without.
func heldBy(h *iokl.HeldOut) string {
	if h.Folds > 0 {
		return Counted(h.Folds, "fold")
	}
	return "each row by itself"
}

func heldOutText(model *iokl.Model, h *iokl.HeldOut) string {
	if model.Classes() != nil {
		right, most, _, rows := shares(confusionOf(h.Predictions, h.Targets))
		s := scoreProbabilities(outcomes(model, h.Probabilities, h.Targets, nil))
		return fmt.Sprintf("%.1f ± %.1f %% of classes are right, the most frequent class %.1f %%; %s", 100*right,
			100*math.Sqrt(right*(1-right)/float64(rows)), 100*most, say("score", s))
	}
	const listed = 5
	var parts []string
	names := model.OutputNames()
	for j, name := range names[:min(listed, len(names))] {
		if h.Probabilities != nil {
			s := scoreProbabilities(outcomes(model, h.Probabilities, h.Targets, []int{j}))
			parts = append(parts, name+" has "+say("score", s))
			continue
		}
		if q := model.Quantiles(); q != nil {
			parts = append(parts, name+" has "+heldOutQuantile(h, j, q[j%len(q)]))
			continue
		}
		e := fitError(h.Predictions, h.Targets, j)
		parts = append(parts, fmt.Sprintf("%s is off by %s ± %s, its mean by %s", name, figure(e.RMSE, 3),
			figure(e.stderr, 2), figure(e.Deviation, 3)))
	}
	if more := len(names) - listed; more > 0 {
		parts = append(parts, Counted(more, "more target"))
	}
	return strings.Join(parts, "; ")
}

// figure is a number of so many digits, of those below ten millions without an exponent.
func figure(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && 1 <= math.Abs(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return text
}

// heldOutQuantile says the mean loss of output j, the quantile τ, that of the quantile of the targets, and the share of
// the targets below.
func heldOutQuantile(h *iokl.HeldOut, j int, tau float64) string {
	l := loss.Loss{Kind: loss.Quantile, Parameter: tau}
	y := slices.DeleteFunc(mat.Col(nil, j, h.Targets), math.IsNaN)
	slices.Sort(y)
	constant := stat.Quantile(tau, stat.Empirical, y, nil)
	var own, without, below float64
	for i := range h.Targets.RawMatrix().Rows {
		if y, f := h.Targets.At(i, j), h.Predictions.At(i, j); !math.IsNaN(y) {
			own, without = own+l.Value(y, f), without+l.Value(y, constant)
			if y <= f {
				below++
			}
		}
	}
	n := float64(len(y))
	return fmt.Sprintf("a loss of %s, its constant %s, and %.1f %% of the targets below", figure(own/n, 3),
		figure(without/n, 3), 100*below/n)
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

// outcomes are the probabilities of held-out rows and the numbers of their true classes. Those P of targets 1 become
// rows for 0 and 1, one for each observed cell of the targets.
func outcomes(model *iokl.Model, P, Y *mat.Dense, targets []int) (Q *mat.Dense, truth []int) {
	rows := Y.RawMatrix().Rows
	if model.Classes() != nil {
		for i := range rows {
			truth = append(truth, floats.MaxIdx(Y.RawRowView(i)))
		}
		return P, truth
	}
	var pairs []float64
	for _, j := range targets {
		for i := range rows {
			if y := Y.At(i, j); !math.IsNaN(y) {
				pairs, truth = append(pairs, 1-P.At(i, j), P.At(i, j)), append(truth, int(y))
			}
		}
	}
	if truth == nil {
		return new(mat.Dense), nil
	}
	return mat.NewDense(len(truth), 2, pairs), truth
}

// scoreProbabilities compares probabilities, a row for each sample, with the true classes.
func scoreProbabilities(P *mat.Dense, truth []int) (s probabilityScore) {
	rows, n := P.Dims()
	share, logs := make([]float64, n), make([]float64, rows)
	for i, is := range truth {
		share[is] += 1 / float64(rows)
		for k, p := range P.RawRowView(i) {
			if k == is {
				logs[i] = -math.Log(max(p, 0x1p-52)) // a probability that rounds to 0 is not told from 0x1p-52
				p = 1 - p
			}
			s.Brier += p * p / float64(rows)
		}
	}
	if n == 2 {
		s.Brier /= 2
	}
	var deviation float64
	s.LogLoss, deviation = stat.PopMeanStdDev(logs, nil)
	s.StdErr, s.Constant = stat.StdErr(deviation, float64(rows)), stat.Entropy(share)
	return s
}

// trust fills in how the probabilities of held-out rows hold, and those before their calibration.
func (o *Origin) trust(model *iokl.Model, h *iokl.HeldOut) {
	add := func(P *mat.Dense) []probabilityBin {
		P, truth := outcomes(model, P, h.Targets, spaced(len(model.OutputNames()), len(model.OutputNames())))
		o.Scores = append(o.Scores, scoreProbabilities(P, truth))
		return reliability(P, func(i int) bool { return floats.MaxIdx(P.RawRowView(i)) == truth[i] })
	}
	o.Reliability = add(h.Probabilities)
	if h.Uncalibrated != nil && h.Uncalibrated != h.Probabilities {
		o.Uncalibrated = add(h.Uncalibrated)
	}
}
