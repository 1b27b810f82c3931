package bench

// cases are all there are, in the order of "all": the machine's own speed first.
var cases = []Case{
	&simple{"gemm", "matrix products of every backend, as a share of the machine's peak", runGemm},
	&simple{"operator", "K·X for few and many columns: every backend's packed operator", runOperator},
	&simple{"gram", "building Gram matrices", runGram},
	&simple{"lanczos", "extremal eigenpairs by Lanczos against the full eigendecomposition", runLanczos},
	&simple{"eigen", "the factorizations behind the exact solvers, every backend", runEigen},
	&simple{"digits", "handwritten digits: what learning kernels and outputs brings, exact against inexact solvers", runDigits},
	&simple{"macro", "one-step forecasts of US macroeconomic series against a linear VAR", runMacro},
	&simple{"sylvester", "one linear system K·C·L + λl·C = Y: every solver, over sizes, spectra of L and λ", runSylvester},
	&simple{"caltech", "a problem of the shape of Caltech-101: time to within 0.1 % of the best objective", runCaltech},
	&simple{"leaves", "plant leaves: 100 classes, three views, twelve kernels", runLeaves},
	&simple{"mfeat", "handwritten numerals by six views", runMfeat},
	&simple{"sparse", "finding 3 relevant inputs among 10 with 130 kernels", runSparse},
	&simple{"convergence", "objective and certified gap against time, the paper's settings beside ours", runConvergence},
	&simple{"stock04", "next week's returns of nine companies: the paper's Table 1", runStock04},
	&simple{"misprints", "formulas of the paper that do not hold as printed, each with a number that shows it", runMisprints},
	&simple{"mtr", "multi-target regression with zero Options, ten folds", runMTR},
	&simple{"rff", "random features: error of the kernel against their number, by way of drawing them", runRFF},
	&simple{"nystrom", "random and Nyström features against the exact kernel: time and held-out error", runNystrom},
	&simple{"scale", "up to a million rows streamed through 2000 random features, and the fit after the pass", runScale},
	&simple{"ridge", "ridge regression on random features beside scikit-learn on the same data", runRidge},
	&simple{"lorenz96", "who drives whom in chaotic systems: nonlinear causality against a linear VAR", runLorenz96},
	&simple{"dream3", "gene networks in silico", runDream3},
	&simple{"lotka", "who eats whom among many species", runLotka},
	&simple{"drosophila", "groups of genes through the life cycle of the fly", runDrosophila},
}
