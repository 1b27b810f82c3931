// This file says how probabilities hold on rows that were not learned from.

package results

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
)

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

func (s *probabilityScore) String() string {
	return fmt.Sprintf("log loss %.3g ± %.2g, of the shares alone %.3g; Brier score %.3g", s.LogLoss, s.StdErr,
		s.Constant, s.Brier)
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

// probabilityText says how the probabilities of held-out rows hold; "" for notes of older versions.
func (o *Origin) probabilityText() string {
	switch len(o.Scores) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Errors of the probabilities: %v.", &o.Scores[0])
	}
	return fmt.Sprintf("Errors of the probabilities: %v. Without calibration the log loss is %.3g and the Brier "+
		"score %.3g.", &o.Scores[0], o.Scores[1].LogLoss, o.Scores[1].Brier)
}
