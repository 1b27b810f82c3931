// Package cases has the cases of mklbench: one list of them, in the order in which "all" runs them, what each measures,
// and what the report says, tabulates and draws of it.
//
// What is said and tabulated is in sentences.tmpl and tables.tmpl, by the name of the case. Figures that others have
// published are results too, in published.json.
package cases

import (
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/picture"
)

// All are the cases in the order in which they run.
var All = []bench.Case{
	{
		Name:    "gonum",
		Does:    "operations of gonum's mat with blas/accelerate imported and without",
		Run:     runGonum,
		Minutes: 1.5,
	},
	{
		Name: "eigen",
		Does: "the factorizations behind the exact solvers, every backend",
		Run:  runEigen,
	},
	{
		Name:     "gemm",
		Does:     "matrix products of every backend, as a share of the machine's peak",
		Run:      runGemm,
		Minutes:  1,
		Pictures: gemmFigures,
	},
	{
		Name: "gram",
		Does: "building Gram matrices",
		Run:  runGram,
	},
	{
		Name: "operator",
		Does: "K·X for few and many columns: every backend's packed operator",
		Run:  runOperator,
	},
	{
		Name:  "drosophila",
		Topic: bench.Learning,
		Does:  "groups of genes through the life cycle of the fly: the paper's figures 3 and 4",
		Run:   runDrosophila,
	},
	{
		Name: "granger-forecast",
		Does: "forecasts of several steps against a linear VAR and the last value: US macroeconomic series, a " +
			"year of hourly load",
		Run:     runForecasts,
		Minutes: 2,
	},
	{
		Name:     "lorenz96",
		Topic:    bench.Graphs,
		Does:     "who drives whom in chaotic systems: nonlinear causality against a linear VAR",
		Run:      runLorenz96,
		Pictures: graphDots,
	},
	{
		Name:     "dream3",
		Topic:    bench.Graphs,
		Does:     "gene networks in silico",
		Run:      runDream3,
		Pictures: graphDots,
	},
	{
		Name:    "scale",
		Does:    "up to a million rows streamed through 2000 random features, and the fit after the pass",
		Run:     runScale,
		Minutes: 1,
	},
	{
		Name:    "caltech",
		Topic:   bench.Learning,
		Does:    "a problem of the shape of Caltech-101: time to within 0.1 % of the best objective",
		Run:     runCaltech,
		Minutes: 3.5,
	},
	{
		Name:    "figures",
		Topic:   bench.Learning,
		Does:    "plant leaves at the paper's settings: its figures 1 and 2, objective and accuracy against time",
		Run:     runFigures,
		Minutes: 2.5,
	},
	{
		Name:     "digits",
		Topic:    bench.Learning,
		Does:     "handwritten digits: what learning kernels and outputs brings, exact against inexact solvers",
		Run:      runDigits,
		Pictures: digitFigures,
	},
	{
		Name:  "jura",
		Topic: bench.Fields,
		Does:  "cadmium in the soil of 100 sites from nickel and zinc there and 259 other sites",
		Run:   runJura,
	},
	{
		Name:    "wheat",
		Topic:   bench.Fields,
		Does:    "genomic prediction of wheat yields in four environments: whole lines hidden (cv1), or cells (cv2)",
		Run:     runWheat,
		Minutes: 2,
		Parts:   []string{"cv1", "cv2"},
		Pictures: dots{
			Chart:   picture.Chart{Title: "yields of wheat", X: "whole lines (cv1) or 30 % of the cells (cv2) hidden", Y: "correlation"},
			Metrics: [][2]string{{"r1", "E1"}, {"r2", "E2"}, {"r3", "E3"}, {"r4", "E4"}}, Params: []string{"scheme"},
		}.figures,
	},
	{
		Name:         "peers",
		Topic:        bench.Systems,
		Does:         "numpy, scipy, PyTorch, Octave and SLICOT beside ours: the same data, threads, accuracy",
		Run:          runPeers,
		Minutes:      5,
		Parts:        []string{"sylvester", "eigsh"},
		Shown:        []string{"sylvester"},
		ShownMinutes: 4,
	},
	{
		Name:  "curves",
		Topic: bench.Curves,
		Does: "learning curves with missing tails by zero Options and the axis of times, beside a Gaussian process " +
			"of settings and times; one alone is curves:SET-SHARE",
		Run:     runCurves,
		Minutes: 48,
		Parts: []string{
			"made-0.1", "made-0.5", "made-0.9", "adult-0.1", "adult-0.5", "adult-0.9",
			"higgs-0.1", "higgs-0.5", "higgs-0.9", "Fashion-MNIST-0.1", "Fashion-MNIST-0.5", "Fashion-MNIST-0.9",
		},
		Quick:        []string{"made-0.5"},
		Shown:        []string{"adult-0.5", "higgs-0.5"},
		ShownMinutes: 8,
		Pictures: dots{
			Chart: picture.Chart{
				Title: "errors of the cells that were cut", X: "curves and share that lost its tail", Y: "error",
			},
			Metrics: [][2]string{{"rmse", ""}}, Params: []string{"set", "cut"},
		}.figures,
	},
	{
		Name: "losses",
		Does: "the losses quantile, huber and logistic beside models of scikit-learn for them; one set alone is " +
			"losses:SET",
		Run:     runLosses,
		Minutes: 20,
		Parts:   []string{"airfoil", "concrete", "enb", "digits", "mfeat"},
		Quick:   []string{"digits"},
	},
	{
		Name:    "uci",
		Topic:   bench.Rows,
		Does:    "regression with zero Options on the published split, beside boosting; one set alone is uci:SET",
		Run:     runUCI,
		Minutes: 6,
		Parts:   []string{"airfoil", "concrete", "kin40k", "protein"},
		Quick:   []string{"airfoil"},
		Pictures: dots{
			Chart: picture.Chart{
				Title: "held-out errors", X: "data", Y: "error in standard deviations", LogY: true,
			},
			Metrics: [][2]string{{"rmse", ""}}, Params: []string{"set"},
		}.figures,
	},
	{
		Name:  "intervals",
		Topic: bench.Intervals,
		Does: "coverage and width of 90 % intervals on simulated data, volume of joint regions of several outputs, " +
			"and the rate of intervals beside that of predictions",
		Run:     runIntervals,
		Minutes: 7,
		Parts:   []string{"coverage", "regions", "speed"},
		Pictures: dots{
			Chart: picture.Chart{
				Title: "coverage of 90 % intervals", X: "noise, rows and outputs", Y: "share of new targets inside",
			},
			Metrics: [][2]string{{"coverage", ""}}, Params: []string{"noise", "l", "n"},
		}.figures,
	},
	{
		Name:         "mtr",
		Topic:        bench.Targets,
		Does:         "multi-target regression with zero Options, ten folds; one set alone is mtr:SET",
		Run:          runMTR,
		Minutes:      20,
		Parts:        []string{"slump", "andro", "edm", "jura", "enb", "oes97", "wq", "scpf"},
		Quick:        []string{},
		Shown:        []string{"slump", "andro", "edm", "jura", "enb", "oes97", "wq"},
		ShownMinutes: 3,
		Pictures: dots{
			Chart:   picture.Chart{Title: "errors of ten folds", X: "data", Y: "average relative error", LogY: true},
			Metrics: [][2]string{{"arrmse", ""}}, Params: []string{"set"},
		}.figures,
	},
	{
		Name:  "stock04",
		Topic: bench.Learning,
		Does:  "next week's returns of nine companies: the paper's Table 1",
		Run:   runStock04,
	},
	{
		Name:  "sylvester",
		Topic: bench.Systems,
		Does: "one linear system K·C·L + λl·C = Y: every solver, over sizes, spectra of L and λ, in about " +
			"twenty minutes; one size alone is sylvester:1000x100, with one λ sylvester:4000x300@1e-06",
		Run:      runSylvester,
		Minutes:  20,
		Parts:    sylvesterParts(),
		Pieces:   sylvesterPieces(),
		Pictures: sylvesterFigures,
	},
}

// Find returns the case of that name, nil where there is none.
func Find(name string) *bench.Case { return bench.Find(All, name) }
