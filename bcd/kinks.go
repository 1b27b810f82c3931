// This file descends for a loss whose kinks are rounded.

package bcd

import (
	"context"
	"math"
)

// The gap of a stage is roundedFall of that at its start, and rounding the kinks may leave the share roundedShare of it
// on each side of the certificate. What it leaves falls as κ^(1/roundedPower).
// Figures in docs/decisions/2026-11-26-kinks.md.
const (
	roundedFall  = 0.03
	roundedShare = 0.5
	roundedPower = 2. / 3
	roundedIdle  = 4 // stages that do not lower the gap after which it stays
)

// smooth is a method for a loss whose kinks are rounded by a κ about a v⁰ that stay.
type smooth interface {
	// again is a point at the weights and output kernels of pt. It forgets bounds by points before, which are of a loss
	// with another rounding.
	again(pt *point) *point
	// descend goes on from the certified pt until the goal is met, and returns where it ends.
	descend(ctx context.Context, pt *point, goal float64) (*point, error)
	// sharpen makes the coefficients of pt the v⁰, and multiplies κ by fall.
	sharpen(ctx context.Context, pt *point, fall float64) error
}

// withoutKinks descends for a loss with kinks in stages, each for a part of the gap. In a stage κ and v⁰ stay: the
// least value of the rounded loss over C, as a function of the weights and L, has the derivatives that C gives, and a
// curvature. A large κ makes systems cheap, and leaves much of the gap of the loss itself. The first κ and v⁰ are those
// of a C step; those of a later stage are a smaller κ, about the coefficients at which the stage before ends.
func (f *fit) withoutKinks(ctx context.Context, pt *point, goal float64, by smooth) error {
	s := f.t.space.inSamples()
	defer s.hold(false)
	pt = by.again(pt)
	if err := f.evaluate(ctx, pt, f.loosest, goal); err != nil || f.ends(pt, goal) {
		return err
	}
	for lowest, idle := math.Inf(1), 0; idle < roundedIdle; idle++ {
		aim := math.Max(goal, roundedFall*pt.cert.relative())
		s.hold(true)
		pt = by.again(pt)
		if err := f.evaluate(ctx, pt, f.tolFor(pt, innerShare, aim), goal/2); err != nil {
			return err
		}
		var err error
		pt, err = by.descend(ctx, pt, aim/2)
		s.hold(false)
		if err != nil {
			return err
		}
		held := pt.cert.relative()
		if err := f.cover(ctx, pt); err != nil {
			return err
		}
		if f.best.rounded {
			f.best = pt
		}
		if err := f.accept(pt, goal); err != nil || f.ends(pt, goal) {
			return err
		}
		if pt.cert.relative() < lowest {
			lowest, idle = pt.cert.relative(), 0
		}
		left := math.Max(pt.cert.relative()-held, 0)
		next := math.Max(goal, roundedFall*pt.cert.relative())
		if err := by.sharpen(ctx, pt, math.Min(math.Pow(roundedShare*next/left, roundedPower), 0.5)); err != nil {
			return err
		}
	}
	return nil
}
