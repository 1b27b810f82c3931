// The WIDTHS of a SPEC, and the median distance between samples, of which they may be multiples.

package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
)

// maxPowers bounds a range b^i..b^j, against slips such as 2^-6..2^600.
const maxPowers = 200

// parseWidths reads the WIDTHS part of a SPEC.
func parseWidths(text string) (widths []float64, relative bool, err error) {
	if text == "median" {
		return []float64{1}, true, nil
	}
	if list, ok := strings.CutPrefix(text, "median*"); ok {
		text, relative = list, true
	}
	for item := range strings.SplitSeq(text, ",") {
		if strings.Contains(item, "median") {
			return nil, false,
				errors.New("median must come first and alone, or as median*0.5,1,2, which multiplies it by each number")
		}
		if widths, err = appendItem(widths, item); err != nil {
			return nil, false, err
		}
	}
	return widths, relative, nil
}

// appendItem appends the widths of one ITEM.
func appendItem(widths []float64, item string) ([]float64, error) {
	from, to, isRange := strings.Cut(item, "..")
	if !isRange {
		to = from
	}
	if !isRange && !strings.Contains(item, "^") {
		w, err := parseNumber(item)
		if err != nil {
			return nil, err
		}
		return appendWidth(widths, w, item)
	}
	b, i, err := parsePower(from)
	if err != nil {
		return nil, err
	}
	c, j, err := parsePower(to)
	switch {
	case err != nil:
		return nil, err
	case b != c:
		return nil, fmt.Errorf("the range %s..%s mixes two bases", from, to)
	case i > j:
		return nil, fmt.Errorf("the range %s..%s is empty", from, to)
	case j-i >= maxPowers:
		return nil, fmt.Errorf("the range %s..%s has more than %d widths", from, to, maxPowers)
	}
	for k := i; k <= j; k++ {
		if widths, err = appendWidth(widths, math.Pow(b, float64(k)), item); err != nil {
			return nil, err
		}
	}
	return widths, nil
}

func appendWidth(widths []float64, w float64, item string) ([]float64, error) {
	if !(w > 0) || math.IsInf(w, 0) {
		return nil, fmt.Errorf("width %q is not a positive finite number", item)
	}
	return append(widths, w), nil
}

// parsePower reads b^k.
func parsePower(text string) (b float64, k int, err error) {
	base, exp, ok := strings.Cut(text, "^")
	if !ok {
		return 0, 0, fmt.Errorf("%q is not a power such as 2^-6", text)
	}
	if b, err = parseNumber(base); err != nil {
		return 0, 0, err
	}
	if k, err = strconv.Atoi(exp); err != nil || !(b > 0) {
		return 0, 0, fmt.Errorf("%q is not a positive base to an integer power", text)
	}
	return b, k, nil
}

func parseNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a finite number", text)
	}
	return v, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// widthText writes widths so that parseWidths reads them back.
func widthText(widths []float64, relative bool) string {
	if relative && len(widths) == 1 && widths[0] == 1 {
		return "median"
	}
	items := make([]string, len(widths))
	for i, w := range widths {
		items[i] = number(w)
	}
	text := strings.Join(items, ",")
	if relative {
		text = "median*" + text
	}
	return text
}

// medianPairs is the number of pairs the median heuristic looks at, at most.
const medianPairs = 1 << 14

// samplePairs returns all pairs i < j of l samples, or medianPairs random pairs i ≠ j.
func samplePairs(l int, seed uint64) [][2]int {
	if l*(l-1)/2 <= medianPairs {
		var pairs [][2]int
		for i := range l {
			for j := range i {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		return pairs
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d656469616e))
	pairs := make([][2]int, medianPairs)
	for p := range pairs {
		i, j := rng.IntN(l), rng.IntN(l-1)
		if j >= i {
			j++
		}
		pairs[p] = [2]int{i, j}
	}
	return pairs
}

// medianDistance is the median, over the pairs that do not coincide when most
// do, of the kernel's own distance.
func medianDistance(m metric, X blas.General, set Group, pairs [][2]int) (float64, error) {
	if len(pairs) == 0 {
		return 0, fmt.Errorf("the median distance of a single sample: %w", ErrConstant)
	}
	dist := make([]float64, len(pairs))
	Z := set.view().of(X)
	for p, ij := range pairs {
		dist[p] = distance(m, blas.Row(Z, ij[0]), blas.Row(Z, ij[1]))
	}
	median := order.Select(dist, len(dist)/2)
	if median == 0 {
		dist = slices.DeleteFunc(dist, func(v float64) bool { return v == 0 })
		if len(dist) == 0 {
			return 0, fmt.Errorf("the median distance on features %s is 0: all the %d pairs looked at coincide: %w",
				set.Name, len(pairs), ErrConstant)
		}
		median = order.Select(dist, len(dist)/2)
	}
	if math.IsInf(median, 0) {
		return 0, fmt.Errorf("the median distance on features %s overflows: %w: rescale the data", set.Name,
			ErrNotFinite)
	}
	return median, nil
}

// distance is the distance whose width the kernel takes.
func distance(m metric, a, b []float64) float64 {
	var s float64
	switch m {
	case manhattan:
		return floats.Distance(a, b, 1)
	case chiSquare:
		for i, v := range a {
			if t := v + b[i]; t > 0 {
				s += (v - b[i]) * (v - b[i]) / t
			}
		}
		return s
	}
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return math.Sqrt(s)
}
