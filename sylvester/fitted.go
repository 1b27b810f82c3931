// This file holds the fitted constants of the package and the speeds of each backend.

package sylvester

import "github.com/iokl/iokl/blas"

// The constants of this file were fitted; the other files only use them. Those of
// costs come from solves of order 250 to 4000 with 1 to 1000 outputs on two AVX-512
// cores with 32 MiB of third-level cache; on other machines only their ratios have to hold. They
// are constants, rather than measured when a program starts, so that the choice of
// a method, and with it the last digits of a solution, does not depend on the moment.
// The thresholds of choices were set where auto lost least against the fastest
// method, in 210 systems of those sizes with λ of 1e-2, 1e-4 and 1e-6 and L with
// decaying eigenvalues, the identity, and of rank 5. The case sylvester of mklbench
// measures what they are worth.
const (
	// Which methods auto looks at.
	directOrder     = 64     // order up to which a direct method is taken at once
	directOutputs   = 3      // multiple of the order from which many outputs do the same,
	directMost      = 1000   // up to this order
	sketchOutputs   = 2      // outputs up to which a caller has no use for a sketch
	trialRank       = 8      // rank of L up to which plain iterations are tried first,
	trialIter       = 8      // where the trial can have so many, fewer do not tell the pace,
	trialShare      = 2. / 3 // of what a first sketch costs; after a trial that failed, a sketch
	triedShare      = 0.08   // is made where it costs at most this part of the direct method
	minIterPerDigit = 0.75   // lower bound of iterations per decimal digit before any have run
	surely          = 0.9    // part of a direct method's cost that iterations, whose cost is estimated, may have
	undecided       = 1.5    // multiple of that up to which a larger sketch may change the choice,
	lookShare       = 0.07   // for this part of the cheapest method's cost
	leastGrowth     = 1.25   // least factor on the rank for which a sketch grows

	// Iterations behind a sketch are watched where a factor in single precision could serve: from watchShare of its
	// cost on they end where those to come are expected to cost more. factorError is the ratio of condition numbers
	// that rounding of the factor causes.
	watchShare  = 0.1
	factorError = 1.5

	// Sketches. firstRank costs little beside any solve. sketchError is the usual
	// ratio of ‖K − U·diag(s)·Uᵀ‖ to the eigenvalue after the last one kept.
	firstRank   = 16
	sketchError = 1.2
	// While it grows, a sketch of rank q takes sketchBlocks l×q blocks. Of the memory there is, it takes at most the
	// part sketchMemory; plans are made for the rank plannedRank.
	sketchBlocks = 6
	sketchMemory = 0.5
	plannedRank  = 512
	slower       = 1.5 // growth of the iterations at which a sketch of an older K is renewed
	mostUses     = 8   // solves that a sketch is taken to serve, at most

	// The model of a spectrum keeps the part trusted of a sketch's eigenvalues; a power law with a slope within bounds
	// follows. Iterations beyond twice the eigenvalues known grow by the part excess for each doubling. Conjugate
	// gradients remove eigenvalues in (ln(ρσ/μ)/lossFrom)^lossPower iterations each, at least one. Columns whose ρ
	// differ by the factor groupRatio are predicted together.
	trusted    = 0.8
	leastSlope = 1.
	mostSlope  = 4.
	excess     = 0.25
	lossFrom   = 6
	lossPower  = 1.3
	groupRatio = 1.5

	// K in single precision pays from order mixedFrom and mixedRank columns on. Of the cost of its products, a column
	// of an iteration takes singleColumn and one of a sketch singleSketch. singleError is ‖E·x‖/‖x‖ over ‖K‖_F/√l for
	// the error E of such a product with a Gram matrix. singleCondition bounds the condition number, 1 + ρ₁·‖K‖/μ, at a
	// hundredth of what would leave no digit: more of them cost iterations.
	mixedFrom       = 1000
	mixedRank       = 8
	singleColumn    = 0.65
	singleSketch    = 0.62
	singleError     = 4e-7
	singleCondition = 0x1p24 / 100

	// A space of krylov: an extension leaves out at most the part krylovCut of the
	// residual, in the norm, and takes krylovLeast directions or more, which cost
	// little more than one. It helps when it lowers the residual by the factor krylovGain;
	// after krylovIdle that do not, or at a third of the order, beyond which a direct method
	// is cheaper, the space is complete.
	krylovCut   = 0.1
	krylovLeast = 24
	krylovGain  = 0.9
	krylovIdle  = 3

	// margin is the part of the tolerance that recurrences aim at, so that
	// the true residual, a little larger, passes at the first check. Of its square,
	// they aim at a part only: correctionShare in rounds after the first, where the
	// true residual has turned out a good deal larger than theirs; mixedShare with K in
	// single precision; formulaShare where some columns are solved by formula.
	margin          = 0.95
	correctionShare = 0.25
	mixedShare      = 0.8
	formulaShare    = 0.75
)

// costs are the speeds of a backend: nanoseconds per unit of work. What every
// method does, the change of coordinates and the residual, is left out.
type costs struct {
	plain    iterationCost
	sketched iterationCost
	sketch   [5]float64 // growth of a sketch: constant, l and l² for each column, l·q², q²
	factor   [2]float64 // Cholesky factorization for one shift: l² and l³
	single   [3]float64 // the same in blocks of single precision, l³; a solve with it: l², and l² for each column
	reduce   [3]float64 // tridiagonal reduction: l, l² and l³
	eigen    [3]float64 // eigendecomposition: l², l³, and l³ beyond the cache

	// Solves with kept factors: by Cholesky's factor and by eigenvectors for each
	// l²·r; by the reflectors of the reduction for each l, l² and l²·r, the last two
	// in the cache and beyond it.
	byFactor, byVectors float64
	perReflector        float64
	readReflectors      [2]float64
	byReflectors        [2]float64
}

// iterationCost is that of conjugate gradients on some columns side by side.
type iterationCost struct {
	pass         [3]float64 // of one iteration: constant, l² for reading K, and l² more from memory
	column       [2]float64 // of one column in it: l², and l for the vectors
	passSketch   float64    // with a sketch of rank q: l·q for an iteration,
	columnSketch float64    // and for a column
}

var nativeCosts = costs{
	plain: iterationCost{pass: [3]float64{1e4, 0.02, 0.06}, column: [2]float64{0.0185, 5.5}},
	sketched: iterationCost{
		pass: [3]float64{2.2e4, 0.06, 0.04}, column: [2]float64{0.017, 6.5}, passSketch: 0.8, columnSketch: 0.05,
	},
	sketch:       [5]float64{3e5, 30, 0.047, 0.05, 200},
	factor:       [2]float64{6.5, 0.0026},
	single:       [3]float64{0.0016, 0.4, 0.02},
	reduce:       [3]float64{4.4e3, 14, 0.0275},
	eigen:        [3]float64{80, 0.03, 0.015},
	byFactor:     0.035,
	byVectors:    0.045,
	perReflector: 2.5e3, readReflectors: [2]float64{5, 18}, byReflectors: [2]float64{0.085, 0.235},
}

// libraryCosts are those of OpenBLAS, and of whatever else is not known. Iterations
// do not use it, see [blas.Beside].
var libraryCosts = costs{
	plain: nativeCosts.plain, sketched: nativeCosts.sketched, sketch: nativeCosts.sketch,
	factor: [2]float64{8.5, 0.0025}, single: nativeCosts.single, reduce: [3]float64{0, 25, 0.02},
	eigen: [3]float64{65, 0.055, 0}, byFactor: 0.035,
	byVectors: 0.08, readReflectors: [2]float64{4, 6}, byReflectors: [2]float64{0.2, 0.2},
}

func costsOf(be blas.Backend) *costs {
	if be.Name() == "native" {
		return &nativeCosts
	}
	return &libraryCosts
}
