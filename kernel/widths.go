// This file reads and writes the WIDTHS of a SPEC.

package kernel

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
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
