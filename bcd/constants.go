package bcd

// They were fitted on the golden cases of testdata; on classes with ten views of the shape of
// Caltech-101 (l = 600 … 3060, 20 … 102 outputs); on 130 near-collinear kernels of 200
// samples and 5 outputs; and on many outputs at small λ (100×60 … 1500×150 samples×outputs,
// λ = 1e-4, 1e-6). Judged by C steps and seconds to certified gaps of 1e-4 and 1e-6; figures
// in docs/decisions/2026-11-21-learning.md.

// Tolerances of C steps that are tied to the gap, and the share of the relative gap
// that a step may leave open.
const (
	innerFirst    = 3e-2 // the loosest of the first C step, which begins at 0
	innerLoosest  = 5e-3
	innerTightest = 1e-13
	warmUpShare   = 2 // while closed forms run: C errors enter them in second order
	innerShare    = 0.2
	sharpest      = 1e-4
)

// Single precision. A C step to a relative residual of singleTol or more may take A_η
// in it, which moves the relative gap by singleSlack at most.
const (
	singleTol   = 5e-4
	singleSlack = 1e-5
	singleFrom  = 600 // order of K_η from which products are worth the forming of another K_η
)

// Closed forms.
const (
	warmUpDrop = 0.03 // relative decrease of the objective below which they give way
	// overRelaxation lengthens the steps of l_p weights. From equal weights the step ends
	// at η_j ∝ c_j^{1/(q+1)}; were the c_j to stay as they are, the optimum would be at
	// c_j^{1/(q−1)}, were they to fall as η_j⁻², at the former.
	overRelaxation = 1.3
	sketchDrop     = 1e-3 // relative decrease below which those for a sketch end, about how near it is,
	sketchSteps    = 10   // and their largest number
)

// Starts on a part of the rows: docs/decisions/2026-11-24-starts-on-rows.md.
const (
	startFrom = 1000 // rows
	startPart = 4    // rows for each of the part
	startGap  = 3e-2 // relative gap of its fit
)

// The quasi-Newton method.
const (
	historyLen = 5    // objectives that a step is compared with
	armijo     = 1e-4 // share of the predicted decrease that a step must reach
	backtracks = 25
	patience   = 12  // iterations at the level of noise without a smaller gap
	roundGap   = 0.9 // share of the gap that a round of steps may leave for another

	// Once Tol is met extraSteps more, which converge fast there, go for a gap of
	// extraGoal·Tol: the function found is only as exact as the square root of the gap.
	extraGoal  = 0.1
	extraSteps = 3

	leastWeight = 0.05 // of an element of a move of a sum's output kernels, relative to the mean
	leastFloor  = 1e-8 // keeps the metric finite, relative to the mean eigenvalue of L

	checkEvery = 6 // iterations between measurements of all kernels
)

// L and η in turn.
const (
	outputStepsFrom  = 40   // outputs from which the steps begin early where A_η has more rows than
	outputStepsRows  = 4    // for each output; up to so many they are taken from the start
	outputStepsLate  = 5    // steps after which they are taken with more rows, or where weights have an exact model,
	outputStepsLast  = 20   // and with fewer outputs, but
	outputStepsLeast = 8    // so many at least,
	outputStepsMost  = 3000 // up to this number of rows
	poorStep         = 0.5  // share of gapL that a good step may leave
	poorSteps        = 2
	slowStep         = 0.1 // gain of an approximate output step, relative to gapEta, below which the weights move next
	// jointShare is the share of gapL that gapEta has at least for joint steps where cells are missing or weighted:
	// docs/decisions/2026-11-24-output-steps-at-once.md.
	jointShare = 0.25
	riseShare  = 0.03 // of the gap asked for, by which the objective may rise: what output steps leave to gain there
	poorTol    = 1e-2 // factor of the tolerance of the C step after a poor one

	// The second derivative by the weights costs little beside C steps that are spared up
	// to this order of A_η, and numbers, m·N·rank(L), that computing it takes.
	exactWeightsMost   = 400
	exactWeightsMemory = 2e7
)

// Bounds over L where cells are missing.
const (
	shapeSteps = 8   // at most
	shapeGain  = 0.1 // part of the gap by which a step must raise the bound for another

	combinedPoints  = 8     // whose coefficients are combined, fewer where they take more than
	combinedNumbers = 4e6   // numbers, and half of those of a kernel
	combinedSteps   = 20    // of a search for the best combination
	combinedDrop    = 1e-12 // eigenvalues of the forms of coefficients, relative to the largest, that are rounding
)

// fewCellsMost is the number of observed cells of Y up to which a step of the barrier method takes a factor of their
// system.
const fewCellsMost = 1000

// Growing bases of the outputs.
const (
	firstShare    = 32   // the first basis is this part of maxOutputs,
	growthShare   = 256  // a growth this part at least
	firstGap      = 1e-2 // relative gap that the first basis is solved to
	growthGap     = 0.1  // and later ones, of what the one before left
	topBlock      = 8    // vectors of the Lanczos method for λ_max
	topShare      = 0.02 // of the gap asked for that its residual may take
	topSteps      = 60
	compressShare = 0.1   // of the gap that eigenvalues of L may cost when the basis is compressed
	newDirection  = 1e-10 // eigenvalues of what is added to a basis, relative to the largest, that count
	violation     = 1e-12 // how far above the largest eigenvalue along P one must be, relatively, to count
)

// Sums of separable kernels.
const (
	// A step of the interior point method of up to interiorFirst operations is cheaper than what it
	// takes the place of; up to interiorLast it follows interiorAfter other iterations.
	interiorFirst = 1e8
	interiorLast  = 1e10
	interiorAfter = 25
	interiorSteps = 100 // at most

	sumStartTol   = 1e-2 // relative gap of the product model that is their start
	sumStartSteps = 30
	sumMix        = 0.03 // share of the identity in the L_j that closed forms start from
	sumPower      = 0.7  // in the place of the root in them
	sumDrop       = 3e-3 // relative decrease of the objective below which they give way
	sumQuasiTol   = 1e-4 // modelTol, and the relative gap where that is less

	// Levels that the certificate tries: from this share of the mean of ⟨G_j,L_j⟩, as
	// many as cost clipWork operations of an eigendecomposition's n³.
	clipFrom            = 0.5
	clipWork            = 6e7
	clipLeast, clipMost = 8, 20
	clipSlack           = 1e-12 // for the rounding of eigenvalues that were cut to the level
)

// Rounding and indefinite kernels.
const (
	// psdSlack is the size of a negative value of a form vᵀK_jv, relative to tr K_j·‖v‖²,
	// that counts as the rounding of a kernel that is positive semidefinite: of its
	// entries, which may be given in single precision, and of the form.
	psdSlack = 0x1p-22
	// indefiniteSteps bounds the products by which a negative eigenvalue is looked for.
	indefiniteSteps = 30
	// Shifts in place of a μ that is lost in the rounding of A_η·L, relative to
	// tr A_η·λ_max(L): the first, the factor between them, and how many.
	firstRaise = 0x1p-50
	raiseBy    = 64
	raises     = 6
	// gapUlps is the rounding of U, in units of its last place a sample, up to which a
	// bound above U is equal to it.
	gapUlps = 16
	// termRounding is the rounding of a sum of products, relative to the sum of their sizes:
	// random errors of many roundings come to about one. formTol is the relative rounding of
	// Z_ηᵀCL^½ from which it is computed anew.
	termRounding = 0x1p-52
	formTol      = 0x1p-26
	stepTol      = 1e-12 // relative gap at which an L step by Frank–Wolfe ends before its iterations do
	eigenDrop    = 1e-15 // eigenvalues of L below this part of the largest are rounding
)
