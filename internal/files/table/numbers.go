// Numbers, with or without marks, and the usual words for missing values.

package table

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// nothing reports whether a word is a usual one for a missing number or date.
func nothing(word string) bool {
	if len(word) > 4 || isDigit(word[0]) {
		return false
	}
	switch strings.ToLower(word) {
	case "na", "n/a", "#n/a", "null", `\n`, "none", "?", "-":
		return true
	}
	return false
}

// isNaN reports whether a cell is how programs write that there is no number.
func isNaN(cell string) bool {
	return len(cell) <= 4 && strings.EqualFold(strings.TrimLeft(cell, "+-"), "nan")
}

const wayOut = "(an empty cell means missing; --na names words that do too, --drop columns to leave out)"

var (
	// ErrText is wrapped by the error about a cell that is no number.
	ErrText  = errors.New("is not a number " + wayOut)
	errMarks = fmt.Errorf("%w: the numbers that the model learned from are plain, without marks", ErrText)
	errPoint = fmt.Errorf("%w: the numbers that the model learned from have decimal commas", ErrText)
	errInf   = errors.New("is not a finite number " + wayOut)
)

// MayBeNumber reports whether a cell is a number, plain or written for people, or stands for a missing one.
func MayBeNumber(cell string) bool {
	cell = strings.TrimSpace(cell)
	if cell == "" || nothing(cell) || isNaN(cell) {
		return true
	}
	_, err := number(cell)
	_, _, point := marked(cell, ".")
	_, _, comma := marked(cell, ",")
	return err == nil || point || comma
}

// number parses a trimmed cell that is not empty. A minus sign is one, as a hyphen is.
func number(cell string) (float64, error) {
	if rest, is := strings.CutPrefix(cell, "−"); is {
		cell = "-" + rest
	}
	v, err := strconv.ParseFloat(cell, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errInf
	}
	if err != nil {
		return 0, ErrText
	}
	return v, nil
}

// signs stand before or after an amount.
var signs = []string{"$", "€", "£", "¥", "₹", "%", "USD", "EUR", "GBP", "CHF"}

// marked is a number written for people: with a sign, in parentheses where it is negative, with marks between
// thousands, and with decimal as the decimal mark.
func marked(cell, decimal string) (v float64, sign string, ok bool) {
	text, negative := cell, false
	if inner, is := strings.CutPrefix(text, "("); is && strings.HasSuffix(inner, ")") {
		text, negative = strings.TrimSpace(inner[:len(inner)-1]), true
	}
	text, minus := cutMinus(text)
	for _, s := range signs {
		if rest, is := strings.CutPrefix(text, s); is {
			text, sign = strings.TrimSpace(rest), s
		} else if rest, is := strings.CutSuffix(text, s); is {
			text, sign = strings.TrimSpace(rest), s
		}
	}
	text, second := cutMinus(text)
	if minus && second || negative && (minus || second) || text == "" || text[0] == '+' || text[0] == '-' {
		return 0, "", false
	}
	whole, fraction, hasFraction := strings.Cut(text, decimal)
	if whole, ok = ungrouped(whole, decimal); !ok {
		return 0, "", false
	}
	if hasFraction {
		whole += "." + fraction
	}
	v, err := strconv.ParseFloat(whole, 64)
	if err != nil || strings.ContainsAny(whole, "xXpPnN_") {
		return 0, "", false
	}
	if negative || minus || second {
		v = -v
	}
	return v, sign, true
}

func cutMinus(text string) (string, bool) {
	for _, minus := range []string{"-", "−"} {
		if rest, is := strings.CutPrefix(text, minus); is {
			return strings.TrimSpace(rest), true
		}
	}
	return text, false
}

// ungrouped removes the marks between thousands: a comma or point that is not the decimal mark, an apostrophe or a
// space, one and the same, with three digits behind each.
func ungrouped(whole, decimal string) (string, bool) {
	at := strings.IndexFunc(whole, func(r rune) bool { return strings.ContainsRune(",.'’ \u00a0\u202f", r) })
	if at < 0 {
		return whole, true
	}
	mark := string([]rune(whole[at:])[0])
	groups := strings.Split(whole, mark)
	for i, g := range groups {
		if mark == decimal || !allDigits(g) || i > 0 && len(g) != 3 || i == 0 && !firstGroup(g) {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

// numberVotes counts what the cells of a column would be as numbers.
type numberVotes struct {
	plain        int            // numbers without marks
	whole        int            // of these, those of digits alone
	noCommas     int            // of these, those that are none where the decimal mark is a comma
	point, comma int            // numbers with marks, by decimal mark
	pointed      int            // of all, those with a comma or a point
	signs        map[string]int // that stand with them
}

// notePlain counts a number without marks. Its point is a mark between thousands where three digits follow it, and one
// to three come before.
func (n *numberVotes) notePlain(cell string) {
	n.plain++
	if allDigits(cell) {
		n.whole++
		return
	}
	at := strings.IndexByte(cell, '.')
	if at >= 0 {
		n.pointed++
	}
	if at >= 0 && (len(cell) != at+4 || !threeBehind(cell[:at], cell[at+1:])) {
		n.noCommas++
	}
}

// threeBehind reports whether three digits are behind one to three with a sign.
func threeBehind(whole, behind string) bool {
	return allDigits(behind) && firstGroup(strings.TrimLeft(whole, "+-−"))
}

// firstGroup reports whether digits may stand above a mark between thousands: one to three that do not begin with 0.
func firstGroup(digits string) bool { return len(digits) >= 1 && len(digits) <= 3 && digits[0] != '0' }

const digits = "0123456789"

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func allDigits(text string) bool { return strings.Trim(text, digits) == "" }

// noteMarked counts cells that are no plain number, and reports whether they are one with marks.
func (n *numberVotes) noteMarked(cell string, cells int) bool {
	if !strings.ContainsAny(cell, digits) {
		return false
	}
	_, sign, point := marked(cell, ".")
	_, other, comma := marked(cell, ",")
	if (point || comma) && strings.ContainsAny(cell, ".,") {
		n.pointed += cells
	}
	if point {
		n.point += cells
	}
	if comma {
		n.comma += cells
		sign = other
	}
	if sign != "" {
		if n.signs == nil {
			n.signs = map[string]int{}
		}
		n.signs[sign] += cells
	}
	return point || comma
}

// format is the decimal mark that fits most cells, "" where all are plain, and how many it fits. Where both marks fit
// as many, as in a column of 1,234, it is the comma in files that commas do not separate.
func (n *numberVotes) format(commas bool) (decimal string, fits int) {
	point, comma := n.plain+n.point, n.plain-n.noCommas+n.comma
	switch {
	case n.point == 0 && n.comma == 0:
		return "", n.plain
	case comma > point || comma == point && commas && n.pointed > 0:
		return ",", comma
	}
	return ".", point
}

// sign is the one that stands with the numbers, "" where there is none or several.
func (n *numberVotes) sign() string {
	if len(n.signs) == 1 {
		for s := range n.signs {
			return s
		}
	}
	return ""
}
