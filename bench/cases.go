package bench

import "fmt"

// cases are all there are, in the order of "all": the machine's own speed first.
var cases = []Case{
	&simple{"gemm", "matrix products of every backend, as a share of the machine's peak", runGemm},
	&simple{"operator", "K·X for few and many columns: every backend's packed operator", runOperator},
	&simple{"gram", "building Gram matrices", runGram},
	&simple{"lanczos", "extremal eigenpairs by Lanczos against the full eigendecomposition", runLanczos},
	&simple{"eigen", "the factorizations behind the exact solvers, every backend", runEigen},
	&simple{"digits", "handwritten digits: what learning kernels and outputs brings, exact against inexact solvers", runDigits},
	&simple{"macro", "one-step forecasts of US macroeconomic series against a linear VAR", runMacro},
	&sliced{name: "sylvester", description: "one linear system K·C·L + λl·C = Y: every solver, over sizes, spectra of L and λ, in about a quarter of an hour; one size alone is sylvester:1000x100, with one λ sylvester:4000x300@1e-06", parts: sylvesterParts(), pieces: sylvesterPieces(), run: runSylvester, sum: choiceSummary},
	&simple{"caltech", "a problem of the shape of Caltech-101: time to within 0.1 % of the best objective", runCaltech},
	&simple{"leaves", "plant leaves: 100 classes, three views, twelve kernels", runLeaves},
	&simple{"figures", "plant leaves at the paper's settings: its figures 1 and 2, objective and accuracy against time", runFigures},
	&simple{"mfeat", "handwritten numerals by six views", runMfeat},
	&simple{"sparse", "finding 3 relevant inputs among 10 with 130 kernels", runSparse},
	&simple{"convergence", "objective, certified gap and accuracy against time on the shape of Caltech-101, the paper's settings beside ours", runConvergence},
	&simple{"stock04", "next week's returns of nine companies: the paper's Table 1", runStock04},
	&simple{"misprints", "formulas of the paper that do not hold as printed, each with a number that shows it", runMisprints},
	&sliced{name: "mtr", description: "multi-target regression with zero Options, ten folds; one set alone is mtr:SET", parts: mtrSets, run: runMTR},
	&simple{"predict", "predicting many new points, as a share of the rate of products", runPredict},
	&simple{"rff", "random features: error of the kernel against their number, by way of drawing them", runRFF},
	&simple{"nystrom", "random and Nyström features against the exact kernel: time and held-out error", runNystrom},
	&simple{"scale", "up to a million rows streamed through 2000 random features, and the fit after the pass", runScale},
	&simple{"ranks", "the same number of streamed rows for each rank of an MPI job (build tag mpi): weak scaling, and what is exchanged", runRanks},
	&simple{"ridge", "ridge regression on random features beside scikit-learn on the same data", runRidge},
	&simple{"peers", "scikit-learn, PyTorch, scipy and Octave beside ours: the same data, threads and accuracy", runPeers},
	&simple{"lorenz96", "who drives whom in chaotic systems: nonlinear causality against a linear VAR", runLorenz96},
	&simple{"dream3", "gene networks in silico", runDream3},
	&simple{"lotka", "who eats whom among many species", runLotka},
	&simple{"granger-large", "a causal graph of 100 nodes from 200 kernels on 1000 samples: time and memory", runGrangerLarge},
	&simple{"granger-null", "edges found where there are none, against the level of the permutation null", runGrangerNull},
	&simple{"drosophila", "groups of genes through the life cycle of the fly", runDrosophila},
}

// minutes is about how long each case takes in full on two processors with AVX-512;
// what is not listed takes less than one.
var minutes = map[string]float64{
	"sylvester": 12, "mtr": 8, "caltech": 3, "figures": 2.5, "convergence": 2, "drosophila": 2, "ridge": 1.5, "rff": 1.5, "scale": 1, "peers": 1, "gemm": 1, "granger-null": 1,
}

// Length says about how long a case takes in full on two processors.
func Length(c Case) string {
	if m, ok := minutes[c.Name()]; ok {
		return fmt.Sprintf("%g min", m)
	}
	return "< 1 min"
}
