// This file has what values of flags may be, for all commands that have them.

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl/cmd/internal/results"
)

// bounds are those of numbers that are given.
var bounds = []struct {
	flags []string
	what  string
	holds func(v float64) bool
}{
	{
		[]string{"lambda", "tau", "tol", "budget"},
		"it must be positive",
		func(v float64) bool { return v > 0 },
	},
	{
		[]string{
			"threads", "max-outer", "max-levels", "repeats", "lag", "stability", "null", "top", "block", "forecast",
		},
		"at least 1 is needed", func(v float64) bool { return v >= 1 },
	},
	{[]string{"folds"}, "at least 2 are needed", func(v float64) bool { return v >= 2 }},
	{[]string{"threshold"}, "it may not be negative", func(v float64) bool { return v >= 0 }},
	{[]string{"interval"}, "it must lie between 0 and 1", func(v float64) bool { return v > 0 && v < 1 }},
}

// choices are the words that flags take.
var choices = map[string][]string{
	"header": {"auto", "yes", "no"}, "missing": {"mean", "error"}, "missing-targets": {"use", "error"},
	"categories": {"auto", "error"}, "hide": {"rows", "cells"}, "certify": {"global"},
	"method": {"cv+", "jackknife+", "conformal"},
}

// checkValues refuses values of the flags given that are out of bounds or none of the choices.
func checkValues(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		text := f.Value.String()
		v, notNumber := strconv.ParseFloat(text, 64)
		if d, e := time.ParseDuration(text); e == nil {
			v, notNumber = d.Seconds(), nil
		}
		usual := cmd.Name() == "update" && text == f.DefValue // 0 stands for the fit's there
		for _, b := range bounds {
			if slices.Contains(b.flags, f.Name) && notNumber == nil && !b.holds(v) && !usual && err == nil {
				err = fmt.Errorf("--%s %s: %s", f.Name, text, b.what)
			}
		}
		if words := choices[f.Name]; words != nil && !slices.Contains(words, text) && err == nil {
			err = fmt.Errorf("--%s %q: want %s", f.Name, text,
				strings.Replace(results.Enumerated(words, len(words)), " and ", " or ", 1))
		}
	})
	return err
}
