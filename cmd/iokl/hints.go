// This file warns of inputs that are far from those learned from, and of inputs that give a target away.

package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
)

// far counts the values beyond the limits of a model, by column.
type far struct {
	low, high []float64
	count     []int
}

func (f *far) note(X blas.General) {
	if len(f.low) != X.Cols {
		return
	}
	if f.count == nil {
		f.count = make([]int, X.Cols)
	}
	for i := range X.Rows {
		for j, v := range blas.Row(X, i) {
			if v < f.low[j] || v > f.high[j] {
				f.count[j]++
			}
		}
	}
}

func (f *far) warnings(file string, names []string) []string {
	var in []string
	total := 0
	for j, c := range f.count {
		if total += c; c > 0 {
			in = append(in, names[j])
		}
	}
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s %s far outside what the model learned from, in %s: the range there, "+
		"widened by its width on both sides, is as far as it goes",
		results.Counted(total, "value"), file, map[bool]string{true: "is", false: "are"}[total == 1],
		results.Enumerated(in, 5))}
}

// giveaways says which single columns of the inputs determine a target.
func (d *data) giveaways() (hints []string) {
	if d.X == nil {
		return nil
	}
	s := d.X.Schema
	if s == nil {
		s = schema.Numbers(d.X.Names, d.X.Data.Cols)
	}
	targets, names := d.targetCodes()
	at := 0
	for k := range s {
		w := schema.Columns{s[k]}.Cols()
		for t, target := range targets {
			if w > 0 && at+w <= d.X.Data.Cols && len(target) == d.X.Data.Rows &&
				determines(blas.View(d.X.Data, 0, at, d.X.Data.Rows, w), target) {
				hints = append(hints,
					fmt.Sprintf("%s gives %s away: rows with the same value have the same target; if it is not known "+
						"when predicting, --drop it", s.Label(k), names[t]))
			}
		}
		at += w
	}
	return hints
}

// targetCodes are the targets as numbers, with their names.
func (d *data) targetCodes() (targets [][]float64, names []string) {
	if d.labels != nil {
		target := make([]float64, len(d.labels))
		for i, number := range numbered(d.labels) {
			if target[i] = float64(number); d.labels[i] == "" {
				target[i] = math.NaN()
			}
		}
		return [][]float64{target}, []string{"the class"}
	}
	for j := range d.Y.Data.Cols {
		targets, names = append(targets, mat.Col(nil, j, blas.Dense(d.Y.Data))), append(names, d.Y.Schema.Label(j))
	}
	return targets, names
}

// A column determines a target where it has at most mostValues different values, with repeats rows each on average.
const mostValues, repeats = 1000, 5

// determines reports whether rows that are alike in X, of which there are several, have the same
// target, and not all rows.
func determines(X blas.General, target []float64) bool {
	value := map[string]float64{}
	rows := 0
	for i, v := range target {
		if v != v {
			continue
		}
		rows++
		key := fmt.Sprint(blas.Row(X, i))
		known, ok := value[key]
		if ok && known != v || len(value) > mostValues {
			return false
		}
		value[key] = v
	}
	different := slices.Compact(slices.Sorted(maps.Values(value)))
	return len(different) > 1 && repeats*len(value) <= rows
}

// classNumbers asks whether labels that are many different numbers are meant as classes.
func classNumbers(labels []string) []string {
	const many = 20
	different := map[string]bool{}
	for _, label := range labels {
		if !table.MayBeNumber(label) {
			return nil
		}
		different[label] = true
	}
	if len(different) <= many {
		return nil
	}
	return []string{fmt.Sprintf("the labels are %d different numbers, and each is a class of its own: are they "+
		"amounts? Without --classes they are predicted as such", len(different))}
}

// flagsOnly refuses a file without its flag, and says which one it is.
func flagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	flags := []string{"x", "series", "model"}
	if strings.HasSuffix(args[0], ".iokl") {
		slices.Reverse(flags)
	}
	for _, name := range flags {
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Errorf("%q is no flag: is it --%s %s?", args[0], name, args[0])
		}
	}
	return fmt.Errorf("%q is no flag: see %s --help", args[0], cmd.CommandPath())
}

// unknownFlag says which flag is near one that does not exist, or how the command is called.
func unknownFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	near := flags.SuggestionsFor(unknown.GetSpecifiedName())
	if len(near) > 0 && len(unknown.GetSpecifiedName()) > 1 {
		return fmt.Errorf("%w: is it --%s?", err, strings.Join(near, " or --"))
	}
	return fmt.Errorf("%w (usage: %s; see %s --help)", err, cmd.UseLine(), cmd.CommandPath())
}
