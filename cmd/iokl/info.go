package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/export"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

func newInfoCmd() *cobra.Command {
	var (
		m    machine
		d    dataFlags
		plot string
	)
	cmd := &cobra.Command{
		Use:  "info MODEL",
		Args: cli.Arguments(1, 1, "info takes one model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (d.x == "") != (d.y == "" && d.yColumns == "") || d.x != "" && plot == "" {
				return errors.New("--x and --y are drawn together, with --plot")
			}
			model, err := reading(cmd, func() (*iokl.Model, error) { return iokl.Load(args[0]) })
			if err != nil {
				return work(err)
			}
			report := results.NewInfo(model, args[0])
			if err := report.LeaveOneOut(cmd.Context(), model); err != nil {
				return work(err)
			}
			if plot != "" {
				if report.Pictures, err = plotModel(cmd, plot, model, &d); err != nil {
					return work(err)
				}
			}
			return m.print(cmd, report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plot, "plot", "", "")
	d.tables(f)
	d.reading(f)
	m.output(f)
	return cmd
}

// plotModel draws what a model learned, and with data how it predicts. The data are read before anything is drawn.
func plotModel(cmd *cobra.Command, dir string, model *iokl.Model, d *dataFlags) ([]string, error) {
	var data *data
	if d.x != "" {
		if d.classes = model.Classes() != nil; d.classes {
			d.missingTargets = "error"
		}
		d.schema, d.inputsOf = model.InputSchema(), d.columnsOf(cmd, model)
		var err error
		if data, err = d.load(cmd); err != nil {
			return nil, err
		}
	}
	if err := cli.CheckOutputs(cmd, "", "plot"); err != nil {
		return nil, err
	}
	figures, err := results.LearnedFigures(model)
	if err == nil && data != nil {
		var Y *mat.Dense
		if data.Y != nil {
			Y = blas.Dense(data.Y.Data)
		}
		var more []picture.Figure
		more, err = results.PredictedFigures(cmd.Context(), model, d.y, blas.Dense(data.X.Data), Y, data.labels)
		figures = append(figures, more...)
	}
	if err != nil {
		return nil, err
	}
	files, err := picture.SaveAll(dir, figures)
	return files, status.Failure(err)
}

func newReportCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:  "report FILE... --out PAGE",
		Args: cli.Arguments(1, math.MaxInt, "report takes models, or JSON files of cv and granger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("give the page to write by --out")
			}
			if err := cli.CheckOutputs(cmd, "", "out"); err != nil {
				return err
			}
			var all []results.Subject
			for _, name := range args {
				s, err := reading(cmd, func() (results.Subject, error) { return results.Read(name) })
				if err != nil {
					return work(err)
				}
				all = append(all, s)
			}
			return results.WritePage(out, all...)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "")
	return cmd
}

type exportFlags struct {
	machine
	model, golang, onnx, name string
}

func newExportCmd() *cobra.Command {
	var e exportFlags
	cmd := newCommand("export", e.run)
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
	if err := cli.CheckOutputs(cmd, "", "go", "onnx"); err != nil {
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
			page.Enumerated(f.Outputs, 5), page.Enumerated(report.Inputs, 5))
	}
	return nil
}
