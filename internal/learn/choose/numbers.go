// This file has the numbers of the choice, each with where it comes from. With defaults.PathPoints they are sixteen,
// beside two that bound memory and deal blocks.

package choose

import "math"

const (
	// Folds: Breiman and Spector (Submodel selection and evaluation in regression, International Statistical Review 60,
	// 1992) recommend five or ten. Three, from manySamples on, take half of the time of five.
	fitFolds    = 5
	fewFolds    = 3
	manySamples = 500
	// The folds are repeated to hold out about testSamples in all: the standard error of a mean square error of normal
	// residuals is then √(2/400), 7 % of it.
	testSamples = 400
	mostRepeats = 4

	// firstSamples is the least number of samples of the first rung, where one decomposition takes some milliseconds.
	firstSamples = 250
	// MostSamples is the number of samples of a random part of more, where one decomposition takes about a second.
	MostSamples = 2000
	// mostTargets is the number of targets of a random part of at least twice as many.
	mostTargets = 100
	// Where at least one row in holedRows lacks cells of at least 2·holedTargets targets, each target takes a
	// decomposition of its own, and fits take many iterations: a part has holedSamples samples and holedTargets targets
	// then (docs/decisions/2026-11-23-tails.md).
	holedRows    = 20
	holedSamples = 500
	holedTargets = 12

	// doubt is the number of standard errors beyond which a difference is believed: 95 % of a normal variable lie
	// below it.
	doubt = 1.64
	// closeCall is that of the last rule (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3).
	closeCall = 1
	// beside is the number of steps of a path that stay on both sides of the best. Arms that enter,
	// and those on more than
	// twice the samples of the rung before, have two of them.
	beside = 1
	// tooHigh times the least error so far ends a path of falling λ.
	tooHigh = 1.5
	// patience is the number of values of λ without a lower error that end a path of fits by weights or by a loss other
	// than the squared one, which become slow as λ falls: a factor of about 30.
	patience = 3
	// unionOfBest is the number of dictionaries whose union arms learn on (docs/decisions/2026-11-23-race.md).
	unionOfBest = 3
	// sumWork bounds m·n·(l² + 1000·n²) of a sum of separable kernels that enters, for l samples, m kernels and n
	// outputs: a fit then takes about a tenth of a second (docs/decisions/2026-11-22-sums-tried.md).
	sumWork = 1e6
)

const (
	foldBlocks   = 3    // blocks a fold, where rows that follow each other stay together
	bytesPerPair = 1000 // of memory that the race takes for each pair of samples
)

// LambdasAround are the values of λ to try with so many times the samples, around that at which μ = λl is that of a
// best λ.
func LambdasAround(lambda, times float64) (lambdas []float64) {
	for k := 2 * beside; k >= -2*beside; k-- {
		lambdas = append(lambdas, lambda/times*math.Pow(10, float64(k)/2))
	}
	return lambdas
}
