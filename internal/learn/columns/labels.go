// Class labels as targets.

package columns

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
)

// OneHot turns class labels into targets: Y_ik is 1 when sample i is of class k
// and else 0. The classes are sorted, as numbers when all of them are numbers. An
// empty label is a missing one, for which Y holds NaN.
func OneHot(labels []string) (Y *mat.Dense, classes []string) {
	classes = slices.Clone(labels)
	slices.SortFunc(classes, compareLabels)
	classes = slices.DeleteFunc(slices.Compact(classes), func(c string) bool { return c == "" })
	if len(classes) == 0 {
		return new(mat.Dense), nil
	}
	Y, _ = OneHotOf(labels, classes) // which has all labels
	return Y, classes
}

// OneHotOf is OneHot for the classes of a model, and refuses other labels.
func OneHotOf(labels, classes []string) (*mat.Dense, error) {
	if len(labels) == 0 {
		return new(mat.Dense), nil
	}
	at := make(map[string]int, len(classes))
	for k, c := range classes {
		at[c] = k
	}
	Y := mat.NewDense(len(labels), len(classes), nil)
	for i, label := range labels {
		k, known := at[label]
		switch {
		case label == "":
			copy(Y.RawRowView(i), slices.Repeat([]float64{math.NaN()}, len(classes)))
		case !known:
			return nil, fault.Input("row %d: the model has no class %q: fit it anew", i+1, label)
		default:
			Y.Set(i, k, 1)
		}
	}
	return Y, nil
}

// AreClasses reports whether Y can be that of OneHot: in each row that is fully observed one element is 1 and the
// others are 0, and there are several columns.
func AreClasses(Y blas.General) bool {
	for i := range Y.Rows {
		row := blas.Row(Y, i)
		ones := slices.Index(row, 1)
		if slices.ContainsFunc(row, math.IsNaN) {
			continue
		}
		for j, v := range row {
			if v != 0 && j != ones || ones < 0 {
				return false
			}
		}
	}
	return Y.Cols > 1
}

// compareLabels puts numbers before text, numbers in numerical order.
func compareLabels(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
