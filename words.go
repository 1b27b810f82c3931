package iokl

import (
	"strconv"

	"github.com/iokl/iokl/internal/learn"
)

// Learned says what a fit learns beside the coefficients C. "" means [LearnBoth], or, where cross-validation chooses
// the kernels, that it chooses among all but [LearnLikelihood] too.
type Learned string

// What can be learned beside C. The words of [LearnBoth] may come in any order.
const (
	LearnBoth         Learned = "eta,l" // weights η and output kernel L
	LearnWeights      Learned = "eta"   // η, with L = (τ/n)·I or one between points of an axis
	LearnOutputKernel Learned = "l"     // L, with weights that the SPECs of Kernels share equally
	LearnNothing      Learned = "none"  // neither
	// LearnLikelihood learns a sum, [ModelSum], as variance components of a mixed model: the L_j, a residual variance
	// of each output and intercepts by restricted likelihood with a weak prior of the L_j, without λ, τ, norm or
	// cross-validation.
	LearnLikelihood Learned = "likelihood"
)

// Weights reports whether η is learned.
func (w Learned) Weights() bool { return learn.Learned(w).Weights() }

// OutputKernel reports whether L is learned.
func (w Learned) OutputKernel() bool { return learn.Learned(w).OutputKernel() }

// ModelKind is how kernels and output kernels go together. "" means [ModelProduct].
type ModelKind string

// The kinds of models.
const (
	ModelProduct ModelKind = "product" // K_η ⊗ L: weights η and one output kernel of all kernels
	ModelSum     ModelKind = "sum"     // Σ_j K_j ⊗ L_j: an L_j of each kernel's own, whose traces norm lp bounds
)

// Norm is the regularizer of η as [regularizer.Parse] reads it: the String of any regularizer of that package.
type Norm string

// Norms without a parameter, and those that cross-validation compares where none is given.
const (
	NormL1     Norm = "lp:1" // keeps few kernels
	NormL2     Norm = "lp:2" // keeps all
	NormBlock1 Norm = "block1"
	NormWedge  Norm = "wedge"
)

// Loss is what errors of targets cost, as [loss.Parse] reads it. "" means [LossSquared].
type Loss string

// Losses without a parameter.
const (
	LossSquared  Loss = "squared"
	LossHuber    Loss = "huber"    // of δ = 1.345 robust standard deviations of the residuals
	LossLogistic Loss = "logistic" // of targets 0 and 1, whose outputs are log odds
)

// HuberLoss is squared up to δ > 0 and linear beyond. δ is in robust standard deviations of a target, and in units of
// the targets where these are not standardised.
func HuberLoss(delta float64) Loss { return LossHuber + Loss(":"+number(delta)) }

// QuantileLoss is that of functions which have the part τ of the targets below them, 0 < τ < 1. Several share kernels
// and L.
func QuantileLoss(tau float64, more ...float64) Loss {
	text := "quantile:" + number(tau)
	for _, t := range more {
		text += "," + number(t)
	}
	return Loss(text)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Scaling is what is brought to mean 0 and variance 1. "" means [ScaleBoth], and [ScaleNone] for Gram matrices.
type Scaling string

// What can be brought to mean 0 and variance 1.
const (
	ScaleBoth    Scaling = "x,y"
	ScaleInputs  Scaling = "x"
	ScaleTargets Scaling = "y"
	ScaleNone    Scaling = "none"
)

// Missing says what becomes of missing cells (NaN).
type Missing string

// What can become of missing cells.
const (
	MissingMean   Missing = "mean"  // the mean of the column takes their place; for inputs, where it is the default
	MissingUnused Missing = "use"   // they are left out, and others of the row are used; for targets, the default
	MissingError  Missing = "error" // they are refused
)

// Metric is what settings are compared by, an average over the outputs. "" means [MetricNMSE], and [MetricLoss] for
// losses other than the squared one.
type Metric string

// The metrics. Streams know the first three.
const (
	MetricNMSE     Metric = "nmse" // squared error by the variance of the training targets: 1 for a constant guess
	MetricMSE      Metric = "mse"
	MetricRMSE     Metric = "rmse"
	MetricAccuracy Metric = "accuracy" // share of rows whose largest predicted output is the largest target
	MetricLoss     Metric = "loss"     // the loss of the fit, relative to that of the best constant
)

// Hidden says what a fold leaves out. "" means cells where as many rows are observed in part as a fold holds, unless
// groups, the order of time or the accuracy ask for rows, and else rows.
type Hidden string

// What a fold can leave out.
const (
	HideRows  Hidden = "rows"  // as predictions for new samples need
	HideCells Hidden = "cells" // as filling in missing targets does
)

// Dealing says how rows are dealt to folds where neither groups nor the order of time say it. "" means [DealShuffled].
type Dealing string

// How rows can be dealt to folds.
const (
	DealShuffled Dealing = "shuffle" // each row falls in a fold at random
	DealBlocks   Dealing = "blocks"  // rows that follow each other are in one fold
)

// IntervalMethod is how intervals are made; see [IntervalOptions]. "" is the first of the methods that the model can.
type IntervalMethod string

// The methods of intervals.
const (
	MethodCVPlus        IntervalMethod = "cv+"
	MethodJackknifePlus IntervalMethod = "jackknife+"
	MethodConformal     IntervalMethod = "conformal" // of models by quantiles
)

// as is a list of words in another type.
func as[T, S ~string](list []S) (words []T) {
	for _, w := range list {
		words = append(words, T(w))
	}
	return words
}
