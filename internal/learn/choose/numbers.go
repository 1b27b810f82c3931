// This file has the numbers of the choice, each with where it comes from.

package choose

import "math"

const (
	// Folds: ten, or five, are what Breiman and Spector (Submodel selection and evaluation in regression, International
	// Statistical Review 60, 1992) recommend; three, from manySamples on, cost half of it.
	fitFolds    = 5
	fewFolds    = 3
	manySamples = 500
	// Repeats of the folds test on about testSamples in all: the standard error of an error is then some 5 % of it.
	testSamples = 400
	mostRepeats = 4
	foldBlocks  = 3 // blocks a fold, where rows that follow each other stay together

	// firstSamples is the least number on the first rung, where a decomposition takes milliseconds.
	firstSamples = 250
	// MostSamples is the number that a part of more samples has: a decomposition takes about a second.
	MostSamples = 2000
	// mostTargets is the number that a part of more than twice as many targets has.
	mostTargets = 100

	// doubt is the number of standard errors beyond which a difference is believed: 95 % of a normal variable lie below it.
	doubt = 1.64
	// closeCall is that of the last rule (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3).
	closeCall = 1
	// tooHigh times the least error so far ends a path of falling λ.
	tooHigh = 1.5
	// united is the number of dictionaries whose union arms learn on.
	united = 3
	// bytesPerPair is what the race takes of memory for each pair of samples.
	bytesPerPair = 1000
)

// Carried are the values of λ to try with so many times the samples, around that at which μ = λl is that of a best λ.
func Carried(lambda, times float64) (lambdas []float64) {
	for k := 2; k >= -2; k-- {
		lambdas = append(lambdas, lambda/times*math.Pow(10, float64(k)/2))
	}
	return lambdas
}
