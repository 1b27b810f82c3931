// This file is the command export.

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/export"
	"github.com/iokl/iokl/internal/atomicfile"
)

type exportFlags struct {
	machine
	model, golang, onnx, name string
}

func newExportCmd() *cobra.Command {
	var e exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a model as a Go file or as an ONNX graph",
		Long: `Export writes what a model predicts with as a program of another system, in double
precision: scales, limits, missing cells and categories are part of it. Intervals are not.

--go writes one file that needs Go 1.22 and its standard library alone: Predict(x) takes a
number for each column that the model learned from. --onnx writes a graph of standard operators (opset
13), from X, a row of such numbers for each sample, to the predictions Y.

A category is given as the index of its word among the levels that the file lists, −1 for
another word; a date as days since 1970-01-01, a time as the part of the day, a month or
weekday as a count from 0 for January or Monday; a missing cell as NaN.

Kernels: gaussian, laplacian, matern12, matern32, matern52, rational, linear and poly, of
any columns, groups and learned lengths, centred or not, and features by rff and nystrom,
whatever was fitted; of the others, and of Gram matrices, the error says so.`,
		Example: `  iokl export --model model.iokl --go model.go
  iokl export --model model.iokl --go price.go --package price
  iokl export --model model.iokl --onnx model.onnx`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&e.model, "model", "", "model file")
	f.StringVar(&e.golang, "go", "", "Go file to write")
	f.StringVar(&e.name, "package", "model", "name of the package of the Go file")
	f.StringVar(&e.onnx, "onnx", "", "ONNX file to write")
	e.output(f)
	return cmd
}

// exportReport is what export --json prints.
type exportReport struct {
	Model   string   `json:"model"`
	Go      string   `json:"go,omitempty"`
	ONNX    string   `json:"onnx,omitempty"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Bytes   int      `json:"bytes"`
}

func (e *exportFlags) run(cmd *cobra.Command) error {
	switch {
	case e.model == "":
		return errors.New("give the model by --model")
	case (e.golang == "") == (e.onnx == ""):
		return errors.New("give the file to write by --go or by --onnx")
	case e.onnx != "" && cmd.Flags().Changed("package"):
		return errors.New("--package names the package of a Go file: give that by --go")
	}
	if err := cmp.Or(checkFile(cmd, "go"), checkFile(cmd, "onnx")); err != nil {
		return err
	}
	model, err := reading(cmd, func() (*iokl.Model, error) { return iokl.Load(e.model) })
	if err != nil {
		return work(err)
	}
	f, err := model.Formula()
	if err != nil {
		return inputError("%s: %v", e.model, err)
	}
	var text bytes.Buffer
	if e.onnx != "" {
		err = export.ONNX(&text, f)
	} else {
		err = export.Go(&text, f, e.name)
	}
	if err != nil {
		return inputError("%s: %v", e.model, err)
	}
	path, size := cmp.Or(e.golang, e.onnx), text.Len()
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := text.WriteTo(w); return err }); err != nil {
		return failure{err}
	}
	report := exportReport{Model: e.model, Go: e.golang, ONNX: e.onnx, Outputs: f.Outputs, Bytes: size}
	for _, c := range f.Columns {
		report.Inputs = append(report.Inputs, c.Name)
	}
	if e.json {
		return writeJSON(cmd.OutOrStdout(), report)
	}
	if !e.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: wrote %s, %d kB: %s from %s\n", path, (size+999)/1000,
			enumerated(f.Outputs, 5), enumerated(report.Inputs, 5))
	}
	return nil
}
