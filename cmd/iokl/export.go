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
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/atomicfile"
)

type exportFlags struct {
	machine
	model, golang, onnx, name string
}

func newExportCmd() *cobra.Command {
	var e exportFlags
	cmd := &cobra.Command{
		Use:  "export",
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&e.model, "model", "", "")
	f.StringVar(&e.golang, "go", "", "")
	f.StringVar(&e.name, "package", "model", "")
	f.StringVar(&e.onnx, "onnx", "", "")
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
		return status.Input("%s: %v", e.model, err)
	}
	var text bytes.Buffer
	if e.onnx != "" {
		err = export.ONNX(&text, f)
	} else {
		err = export.Go(&text, f, e.name)
	}
	if err != nil {
		return status.Input("%s: %v", e.model, err)
	}
	path, size := cmp.Or(e.golang, e.onnx), text.Len()
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := text.WriteTo(w); return err }); err != nil {
		return status.Failure(err)
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
			results.Enumerated(f.Outputs, 5), results.Enumerated(report.Inputs, 5))
	}
	return nil
}
