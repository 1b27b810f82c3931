// Package loss holds the convex losses φ(y, f) of a target y and a prediction f that a fit can minimise, and their
// conjugates, of which its certificate is made (mathematics.md §15). With weights w and u = 2μC,
//
//	Σ w·φ(y, KCL) + μ·tr(CᵀKCL)  ≥  min  ≥  Σ w·ψ*(u/w) − μ·tr(CᵀKCL),   ψ*(v) = min over f of φ(y, f) + v·f,
//
// for every C for which v = u/w is in the box of the loss, the interval on which ψ* is finite. At the optimum v =
// −∂φ/∂f.
package loss

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrInvalid says that a text names no loss, or that a parameter is out of range.
var ErrInvalid = errors.New("loss: invalid")

// Kind is a family of losses.
type Kind uint8

const (
	Squared  Kind = iota // (y−f)²
	Huber                // r² for r = y−f up to δ, beyond it 2δ|r| − δ²
	Quantile             // max(τr, (τ−1)r): τ of the targets lie below the prediction
	Logistic             // log(1+eᶠ) − yf for y = 0 or 1: f is the log odds of y = 1
)

var names = [...]string{Squared: "squared", Huber: "huber", Quantile: "quantile", Logistic: "logistic"}

// RobustDelta is the default δ in standard deviations of the output. With it the loss of Huber has 95 % of the
// efficiency of the squared one on normal errors (Holland and Welsch, doi:10.1080/03610927708827533).
const RobustDelta = 1.345

// Loss is one loss. The zero value is the squared one.
type Loss struct {
	Kind      Kind
	Parameter float64 // δ > 0 of Huber; 0 < τ < 1 of Quantile; 0 of the others
}

// Parse reads squared, huber, huber:δ, quantile:τ[,τ…] or logistic: a list of losses, which is longer than 1 for
// several τ. huber alone has the δ RobustDelta. "" is squared.
func Parse(text string) ([]Loss, error) {
	name, list, given := strings.Cut(text, ":")
	switch name {
	case "", "squared", "logistic":
		if given {
			return nil, fmt.Errorf("%w: %s takes no parameter, got %q", ErrInvalid, name, text)
		}
		if name == "logistic" {
			return []Loss{{Kind: Logistic}}, nil
		}
		return []Loss{{}}, nil
	case "huber":
		if !given {
			return []Loss{{Huber, RobustDelta}}, nil
		}
		return parse(Huber, text, []string{list})
	case "quantile":
		return parse(Quantile, text, strings.Split(list, ","))
	}
	return nil, fmt.Errorf("%w: unknown loss %q (have squared, huber[:δ], quantile:τ[,τ…], logistic)", ErrInvalid, text)
}

func parse(kind Kind, text string, list []string) (all []Loss, err error) {
	for _, s := range list {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q holds no number", ErrInvalid, text)
		}
		l := Loss{kind, v}
		if err := l.Check(); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// Check reports a parameter out of range.
func (l Loss) Check() error {
	p := l.Parameter
	switch {
	case int(l.Kind) >= len(names):
		return fmt.Errorf("%w: kind %d", ErrInvalid, l.Kind)
	case l.Kind == Huber && !(p > 0 && !math.IsInf(p, 0)):
		return fmt.Errorf("%w: huber takes a δ above 0, not %g", ErrInvalid, p)
	case l.Kind == Quantile && !(p > 0 && p < 1):
		return fmt.Errorf("%w: quantile takes a τ between 0 and 1, not %g", ErrInvalid, p)
	}
	return nil
}

// CheckTarget reports a target that the loss is not defined for.
func (l Loss) CheckTarget(y float64) error {
	if l.Kind == Logistic && y != 0 && y != 1 {
		return fmt.Errorf("the logistic loss takes targets 0 and 1, not %g", y)
	}
	return nil
}

// String is what Parse reads.
func (l Loss) String() string {
	if l.Kind == Huber || l.Kind == Quantile {
		return fmt.Sprintf("%s:%g", names[l.Kind], l.Parameter)
	}
	return names[l.Kind]
}

// Value is φ(y, f).
func (l Loss) Value(y, f float64) float64 {
	r := y - f
	switch l.Kind {
	case Huber:
		if a := math.Abs(r); a > l.Parameter {
			return l.Parameter * (2*a - l.Parameter)
		}
	case Quantile:
		return math.Max(l.Parameter*r, (l.Parameter-1)*r)
	case Logistic: // log(1+eᶠ) = max(f, 0) + log(1+e^−|f|)
		return math.Max(f, 0) + math.Log1p(math.Exp(-math.Abs(f))) - y*f
	}
	return r * r
}

// Slope returns −∂φ/∂f and the curvature ∂²φ/∂f². At the kink of Quantile the slope is a number between the one-sided
// derivatives.
func (l Loss) Slope(y, f float64) (slope, curvature float64) {
	r := y - f
	switch l.Kind {
	case Huber:
		if d := l.Parameter; math.Abs(r) > d {
			return math.Copysign(2*d, r), 0
		}
	case Quantile:
		switch {
		case r > 0:
			return l.Parameter, 0
		case r < 0:
			return l.Parameter - 1, 0
		}
		return 0, 0
	case Logistic:
		p := Probability(f)
		return y - p, p * Probability(-f)
	}
	return 2 * r, 2
}

// Probability is σ(f) = 1/(1+e⁻ᶠ).
func Probability(f float64) float64 {
	if f >= 0 {
		return 1 / (1 + math.Exp(-f))
	}
	e := math.Exp(f)
	return e / (1 + e)
}

// Box is the interval [lo, hi] of the v for which ψ*(v) is finite.
func (l Loss) Box(y float64) (lo, hi float64) {
	switch l.Kind {
	case Huber:
		return -2 * l.Parameter, 2 * l.Parameter
	case Quantile:
		return l.Parameter - 1, l.Parameter
	case Logistic:
		return y - 1, y
	}
	return math.Inf(-1), math.Inf(1)
}

// Stiffness is −∂²ψ*/∂v² in the box, for the losses for which it is constant: Squared and Huber, and 0 for Quantile.
func (l Loss) Stiffness() float64 {
	if l.Kind == Squared || l.Kind == Huber {
		return 0.5
	}
	return 0
}

// Conjugate is ψ*(v) for v in the box.
func (l Loss) Conjugate(y, v float64) float64 {
	switch l.Kind {
	case Quantile:
		return v * y
	case Logistic:
		p := y - v
		return -entropy(p) - entropy(1-p)
	}
	return v * (y - v/4)
}

// entropy is p·log p.
func entropy(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log(p)
}
