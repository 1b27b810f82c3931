// The numbers of the race. docs/race.md has them all, and those of package defaults, in one table.

package choose

import (
	"math"

	"github.com/iokl/iokl/internal/learn/defaults"
)

const (
	// Folds: Breiman and Spector (Submodel selection and evaluation in regression, International Statistical Review 60,
	// 1992) recommend five or ten. Three, where they hold out testSamples by themselves, take half of the time of five.
	fitFolds = 5
	fewFolds = 3
	// The folds are repeated to hold out about testSamples in all: the standard error of a mean square error of normal
	// residuals is then √(2/400), 7 % of it.
	testSamples = defaults.SomeSamples
	// By the formula at margin the variance of the mean of J folds that test 1/fitFolds of the samples each is
	// 1/J + 1/(fitFolds−1) of that of one. With fitFolds−1 repeats it is 6/5 of what it is of folds without end.
	mostRepeats = fitFolds - 1

	// firstSamples is the least number of samples of the first rung, where that standard error is 10 %.
	firstSamples = testSamples / 2
	// MostSamples is the number of samples of a random part of more, where one decomposition takes about a second.
	MostSamples = 2000
	// mostTargets is the number of targets of a random part of at least twice as many.
	mostTargets = defaults.Many
	// Where 2·holedTargets targets or more, and as many rows, lack cells, each target takes a decomposition of its own,
	// and fits take many iterations: the decompositions of a part then take a fifth of the time of one of MostSamples
	// (docs/decisions/2026-11-23-tails.md).
	holed        = 4
	holedSamples = MostSamples / holed
	holedTargets = mostTargets / holed / 2

	// doubt is the number of standard errors beyond which a difference is believed: 95 % of a normal variable lie
	// below it.
	doubt = 1.64
	// closeCall is that of the last rule (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3).
	closeCall = 1
	// beside is the number of steps of a path that stay on both sides of the best: its neighbours. A path that begins
	// beside the best of other arms or samples ends at so many values without a lower error.
	beside = 1
	// patience is the number of values of λ without a lower error that end a path of fits from the largest λ on: a
	// factor of about 30. It does not count while the error is within its standard error of that of the mean, as it is
	// at large λ.
	patience = 3
	// unionOfBest is the number of dictionaries whose union arms learn on (docs/decisions/2026-11-23-race.md), and of
	// arms that stay after each rung, whatever their errors, where there are more samples than the race has.
	unionOfBest = 3
)

// LambdasAround are the values of λ to try with so many times the samples, around that at which μ = λl is that of a
// best λ.
func LambdasAround(lambda, times float64) (lambdas []float64) {
	for k := 2 * beside; k >= -2*beside; k-- {
		lambdas = append(lambdas, lambda/times*math.Pow(10, float64(k)/2))
	}
	return lambdas
}
