// Package cases defines the cases of mklbench: what each measures, and what the report writes and draws of it.
//
// cases.json lists the cases in the order in which "all" runs them. The templates of a case's name in sentences.tmpl
// and tables.tmpl make its sentences and tables. published.json holds figures published by others, as results.
package cases

import (
	"bytes"
	"context"
	_ "embed" // cases.json
	"encoding/json"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/picture"
)

//go:embed cases.json
var casesText []byte

// runs measures each case.
var runs = map[string]func(context.Context, *bench.Env) error{
	"gonum":            runGonum,
	"eigen":            runEigen,
	"gemm":             runGemm,
	"gram":             runGram,
	"operator":         runOperator,
	"drosophila":       runDrosophila,
	"granger-forecast": runForecasts,
	"lorenz96":         runLorenz96,
	"dream3":           runDream3,
	"scale":            runScale,
	"caltech":          runCaltech,
	"figures":          runFigures,
	"digits":           runDigits,
	"jura":             runJura,
	"wheat":            runWheat,
	"peers":            runPeers,
	"curves":           runCurves,
	"losses":           runLosses,
	"uci":              runUCI,
	"intervals":        runIntervals,
	"mtr":              runMTR,
	"stock04":          runStock04,
	"sylvester":        runSylvester,
}

// drawn are the pictures of cases that are more than dots.
var drawn = map[string]func(group []bench.Result, f *bench.File) []picture.Figure{
	"gemm": gemmFigures, "digits": digitFigures, "sylvester": sylvesterFigures,
}

// All are the cases in the order in which they run.
var All = func() (all []bench.Case) {
	var list []struct {
		bench.Case
		Dots *dots
	}
	decoder := json.NewDecoder(bytes.NewReader(casesText))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		panic("cases: cases.json: " + err.Error())
	}
	for _, c := range list {
		if c.Run, c.Pictures = runs[c.Name], drawn[c.Name]; c.Dots != nil {
			c.Pictures = c.Dots.figures
		}
		if c.Name == "sylvester" {
			c.Pieces = sylvesterPieces(c.Parts)
		}
		all = append(all, c.Case)
	}
	return all
}()

// Find returns the case of that name, nil where there is none.
func Find(name string) *bench.Case { return bench.Find(All, name) }
