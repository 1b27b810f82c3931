package bench

// cases are all there are, in the order of "all": the machine's own speed first.
var cases = []Case{
	simple{"digits", "handwritten digits: what learning kernels and outputs brings, exact against inexact solvers", runDigits},
	simple{"macro", "one-step forecasts of US macroeconomic series against a linear VAR", runMacro},
	simple{"gemm", "matrix products of every backend, as a share of the machine's peak", runGemm},
}
