package sylvester

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/lapack"
)

// The fitted constants of the package stand here alone. Those of costs come from solves of order 250 to 4000 with 1 to
// 1000 outputs, on two AVX-512 cores with 32 MiB of third-level cache. On other machines only their ratios have to
// hold; BenchmarkCosts times what they predict, and fits them to a machine. They are not measured when a program
// starts: the choice of a method, and with it the last digits of a solution, does not depend on the moment. The
// case sylvester of mklbench measures the time of auto beside that of every method.
const (
	// Which methods auto looks at.
	directOrder   = 128  // order up to which a direct method is taken at once
	directOutputs = 3    // multiple of the order from which many outputs do the same,
	directMost    = 1000 // up to this order
	sketchOutputs = 2    // outputs up to which a caller has no use for a sketch

	// The start of a caller is multiplied by K before a choice where that costs at most the part startShare of a direct
	// method.
	startShare = 0.1
	// A sketch grows when iterations have cost the part soonShare of that, where their pace says that it pays.
	soonShare = 0.25
	// factorError is the ratio of condition numbers that rounding of a factor in single precision causes.
	factorError = 1.5

	// Sketches begin with firstRank columns, which cost little beside any solve.
	firstRank = 16
	// While it grows, a sketch of rank q takes sketchBlocks l×q blocks. Of the memory there is, it takes at most the
	// part sketchMemory; plans are made for the rank plannedRank.
	sketchBlocks = 6
	sketchMemory = 0.5
	plannedRank  = 512
	slower       = 1.5 // growth of the iterations at which a sketch of an older K is renewed

	// K in single precision pays from order mixedFrom and mixedRank columns on. Of the cost of its products, a column
	// of an iteration takes singleColumn and one of a sketch singleSketch. singleCondition bounds the condition number,
	// 1 + ρ₁·‖K‖/μ, at a hundredth of what would leave no digit: more of them cost iterations.
	mixedFrom       = 1000
	mixedRank       = 8
	singleColumn    = 0.65
	singleSketch    = 0.62
	singleCondition = 0x1p24 / 100

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
	factor   [3]float64 // Cholesky factorizations: l², and for each shift l² and l³
	single   [3]float64 // the same in blocks of single precision, l³; a solve with it: l², and l² for each column
	reduce   [3]float64 // tridiagonal reduction: l, l² and l³
	eigen    [3]float64 // eigendecomposition: l², l³, and l³ beyond the cache

	// Solves with kept factors: by Cholesky's factor and by eigenvectors for each
	// l²·r; by the reflectors of the reduction for each l, l² and l²·r, the last two
	// of a reduction in one stage and in two.
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
	factor:       [3]float64{10, 2, 0.003},
	single:       [3]float64{0.0016, 0.4, 0.02},
	reduce:       [3]float64{2.4e3, 5, 0.024},
	eigen:        [3]float64{80, 0.03, 0.015},
	byFactor:     0.035,
	byVectors:    0.045,
	perReflector: 2.5e3, readReflectors: [2]float64{5, 18}, byReflectors: [2]float64{0.085, 0.235},
}

// libraryCosts are those of OpenBLAS, and of whatever else is not known. Iterations
// do not use it, see [blas.Beside].
var libraryCosts = costs{
	plain: nativeCosts.plain, sketched: nativeCosts.sketched, sketch: nativeCosts.sketch,
	factor: [3]float64{5, 8.5, 0.0025}, single: nativeCosts.single, reduce: [3]float64{0, 25, 0.02},
	eigen: [3]float64{65, 0.055, 0}, byFactor: 0.035,
	byVectors: 0.08, readReflectors: [2]float64{4, 6}, byReflectors: [2]float64{0.2, 0.2},
}

func costsOf(be blas.Backend) *costs {
	if be.Name() == "native" {
		return &nativeCosts
	}
	return &libraryCosts
}

// Factors of systems with cells consist of large matrix products, and their costs are counted in flops of these.

// DecomposeCubes is the time of an eigendecomposition of order l, in units of l³ flops of large matrix products.
// Measured values are between 8.6 and 11.9 at orders from 1000 to 4000.
const DecomposeCubes = 10.

// flop is the time of a flop of such products, in nanoseconds of nativeCosts: half of that of a column of an iteration.
const flop = 0.0085

// total predicts passes iterations, of columns columns in all, of order l behind a sketch of rank q.
func (it iterationCost) total(passes, columns, l, q float64) float64 {
	return passes*(it.pass[0]+(it.pass[1]+it.pass[2]*min(max(l/1000-2, 0), 1))*l*l+it.passSketch*l*q) +
		columns*(it.column[0]*l*l+it.column[1]*l+it.columnSketch*l*q)
}

// behindSketch is the cost of iterations behind a sketch of rank q, with K in single precision or not.
func (c *costs) behindSketch(q int, single bool) iterationCost {
	if q == 0 {
		return c.plain
	}
	it := c.sketched
	if single {
		it.column[0] *= singleColumn
	}
	return it
}

// growth predicts that of a sketch from known columns to q, with K in single
// precision or not.
func (c *costs) growth(l, q, known int, single bool) float64 {
	fl, fq := float64(l), float64(q)
	each := c.sketch[2]
	if single {
		each *= singleSketch
	}
	return c.sketch[0] + (c.sketch[1]+each*fl)*fl*float64(q-known) + c.sketch[3]*fl*fq*fq + c.sketch[4]*fq*fq
}

// cacheExcess is 0 for a matrix in the third-level cache and grows with what does not fit.
func cacheExcess(l int) float64 { return max(0, float64(l)/1000-1) }

// cholesky predicts the solver of that name for the given number of shifts.
func (c *costs) cholesky(l, r, shifts int) float64 {
	fl := float64(l)
	return fl * fl * (c.factor[0] + float64(shifts)*(c.factor[1]+c.factor[2]*fl) + c.byFactor*float64(r))
}

// tridiagonal and eigendecomposition predict those solvers for r columns.
func (c *costs) tridiagonal(l, r int, kept bool) float64 {
	fl, stage := float64(l), 0
	if l >= lapack.TwoStageFrom {
		stage = 1
	}
	t := c.perReflector*fl + (c.readReflectors[stage]+c.byReflectors[stage]*float64(r))*fl*fl
	if !kept {
		t += fl * (c.reduce[0] + (c.reduce[1]+c.reduce[2]*fl)*fl)
	}
	return t
}

func (c *costs) eigendecomposition(l, r int, kept bool) float64 {
	fl := float64(l)
	t := c.byVectors * fl * fl * float64(r)
	if !kept {
		t += fl * fl * (c.eigen[0] + (c.eigen[1]+c.eigen[2]*min(cacheExcess(l), 2))*fl)
	}
	return t
}
