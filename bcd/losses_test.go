package bcd

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

// goldenLosses are minima at fixed L, or, for tau above 0, over L of that trace.
var goldenLosses = []struct {
	name, loss             string
	lambda, tau, objective float64
}{
	{"loss_huber0.3_0.1", "huber:0.3", 0.1, 0, 1.7555907543045806},
	{"loss_huber0.3_0.001", "huber:0.3", 0.001, 0, 0.35430783628202517},
	{"loss_quantile0.5_0.1", "quantile:0.5", 0.1, 0, 1.791704087072219},
	{"loss_quantile0.5_0.001", "quantile:0.5", 0.001, 0, 0.42959380720697393},
	{"loss_quantile0.9_0.1", "quantile:0.9", 0.1, 0, 1.581732055864864},
	{"loss_quantile0.9_0.001", "quantile:0.9", 0.001, 0, 0.21697773853849278},
	{"loss_logistic_0.1", "logistic", 0.1, 0, 2.7303697064998405},
	{"loss_logistic_0.001", "logistic", 0.001, 0, 1.1961759247198043},
	{"loss_huber_learned_l", "huber:0.3", 0.01, 3, 0.7410966242207372},
}

func lossOf(t testing.TB, text string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l[0]
}

func TestLossGolden(t *testing.T) {
	for _, c := range goldenLosses {
		t.Run(c.name, func(t *testing.T) {
			z := golden(t, c.name)
			p := &Problem{
				Space:  NewLoss(alone(z["K"].matrix()), z["Y"].matrix(), z["W"].matrix(), lossOf(t, c.loss), false),
				Lambda: c.lambda, Tau: c.tau, Eta: []float64{1}, Model: Output,
			}
			if c.tau == 0 {
				p.L, p.Model = mustSpectral(t, z["L"].matrix()), Neither
			}
			res, err := Solve(t.Context(), p, Options{Tol: 1e-8})
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(res.Objective-c.objective) <= 1e-8*c.objective) {
				t.Errorf("objective %.12g, want %.12g; relative gap %g", res.Objective, c.objective, res.RelativeGap)
			}
		})
	}
}

// goldenOffsets are minima at fixed L with a constant of each output.
var goldenOffsets = []struct {
	name, loss        string
	lambda, objective float64
}{
	{"offset_squared_0.1", "squared", 0.1, 2.9706770905140547},
	{"offset_huber0.3_0.1", "huber:0.3", 0.1, 1.8173066515622789},
	{"offset_quantile0.5_0.1", "quantile:0.5", 0.1, 1.8115694616101317},
	{"offset_quantile0.9_0.1", "quantile:0.9", 0.1, 1.1398764351970698},
	{"offset_logistic_0.1", "logistic", 0.1, 1.8937877672461494},
	{"offset_squared_0.001", "squared", 0.001, 0.06539935772512662},
	{"offset_huber0.3_0.001", "huber:0.3", 0.001, 0.06520982798336689},
	{"offset_quantile0.5_0.001", "quantile:0.5", 0.001, 0.0950043838268036},
	{"offset_quantile0.9_0.001", "quantile:0.9", 0.001, 0.07208330840131869},
	{"offset_logistic_0.001", "logistic", 0.001, 0.5006267006187722},
}

// The constants of outputs are part of the minimum: F, and the sums of coefficients are 0, as product and as sum.
func TestConstantsGolden(t *testing.T) {
	for _, c := range goldenOffsets {
		t.Run(c.name, func(t *testing.T) {
			z := golden(t, c.name)
			p := &Problem{
				Space:  NewLoss(alone(z["K"].matrix()), z["Y"].matrix(), z["W"].matrix(), lossOf(t, c.loss), true),
				Lambda: c.lambda, Eta: []float64{1}, L: mustSpectral(t, z["L"].matrix()), Model: Neither,
			}
			res, err := Solve(t.Context(), p, Options{Tol: 1e-8})
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(res.Objective-c.objective) <= 1e-8*c.objective) || !(res.RelativeGap <= 1e-8) {
				t.Errorf("objective %.12g, want %.12g; relative gap %g", res.Objective, c.objective, res.RelativeGap)
			}
			checkSums(t, res.C)
			for j, b := range res.Constants {
				if want := z["b"].data[j]; !(math.Abs(b-want) <= 1e-3*math.Max(1, math.Abs(want))) {
					t.Errorf("constant %d is %g, want %g", j, b, want)
				}
			}
		})
	}
}

// checkSums holds the columns of coefficients to sums of 0.
func checkSums(t *testing.T, C blas.General) {
	t.Helper()
	for j := range C.Cols {
		var sum, size float64
		for i := range C.Rows {
			sum, size = sum+C.Data[i*C.Stride+j], size+math.Abs(C.Data[i*C.Stride+j])
		}
		if !(math.Abs(sum) <= 1e-12*size) {
			t.Errorf("the coefficients of column %d add up to %g, their sizes to %g", j, sum, size)
		}
	}
}

// lossCase is made data for a loss: two kernels, targets of outliers or classes, weights of which some are 0.
func lossCase(l, n int, ls loss.Loss, seed uint64) (Ks []blas.General, Y, W blas.General) {
	Ks, Y, W = weightedCase(l, n, seed)
	rng := newRand(seed + 1)
	for i := range W.Data {
		W.Data[i] = math.Exp(rng.NormFloat64())
		if rng.Float64() < 0.1 {
			W.Data[i] = 0
		}
		if rng.Float64() < 0.1 {
			Y.Data[i] *= 30
		}
		if ls.Kind == loss.Logistic {
			Y.Data[i] = math.Max(0, math.Copysign(1, Y.Data[i]))
		}
	}
	return Ks, Y, W
}

// sides are (1/l) of both sides of the certificate at C for M = ΣK_j⊗L_j and the constants b of the outputs, nil for
// none, NaN where C leaves the box by more than rounding: dense matrices and the definitions alone.
func sides(
	ls loss.Loss, Ks, Ls []blas.General, Y, W, C blas.General, b []float64, mu float64,
) (primal, dual float64) {
	F := blas.Like(C)
	for j, K := range Ks {
		KC := blas.Like(C)
		blas.Mul(blas.Active(), KC, false, false, K, C)
		blas.Gemm(blas.Active(), false, false, 1, KC, Ls[j], 1, F)
	}
	form := mu * blas.Inner(C, F)
	primal, dual = form, -form
	for i, w := range W.Data {
		y, u := Y.Data[i], 2*mu*C.Data[i]
		if w == 0 {
			if u != 0 {
				return math.NaN(), math.NaN()
			}
			continue
		}
		v := u / w
		if lo, hi := ls.Box(y); !(v >= lo-1e-12 && v <= hi+1e-12) {
			return math.NaN(), math.NaN()
		}
		f := F.Data[i]
		if b != nil {
			f += b[i%C.Cols]
		}
		primal += w * ls.Value(y, f)
		dual += w * ls.Conjugate(y, v)
	}
	return primal / float64(C.Rows), dual / float64(C.Rows)
}

var testLosses = []string{"squared", "huber:0.5", "huber:0.001", "quantile:0.5", "quantile:0.05", "logistic"}

// At fixed kernels the two sides of the certificate meet, along a path of λ from one solution to the next.
func TestLossCertificate(t *testing.T) {
	const l, n = 30, 3
	for _, text := range testLosses {
		for at := range 4 {
			rank, constants := []int{1, 3}[at/2], at%2 > 0
			t.Run(fmt.Sprintf("%s/rank=%d/constants=%v", text, rank, constants), func(t *testing.T) {
				ls := lossOf(t, text)
				Ks, Y, W := lossCase(l, n, ls, 61)
				rng := newRand(62)
				R, D := randn(rng, n, rank), blas.NewGeneral(n, n)
				blas.Mul(blas.Active(), D, false, true, R, R)
				L, eta := mustSpectral(t, D), []float64{0.7, 1.3}
				var Ls []blas.General
				for _, e := range eta {
					E := blas.Clone(D)
					blas.Scal(e, E.Data)
					Ls = append(Ls, E)
				}
				var start *State
				for _, lambda := range []float64{1, 0.1, 1e-2, 1e-3, 1e-4, 1e-5} {
					p := &Problem{
						Space: NewLoss(sumOf(Ks), Y, W, ls, constants), Lambda: lambda, Eta: eta, L: L, Model: Neither,
					}
					tol := 1e-7
					if ls.Kind == loss.Quantile { // which leaves the gap that is asked for, not its square
						tol = 1e-10
					}
					res, err := Solve(t.Context(), p, Options{Tol: tol, Start: start})
					if err != nil {
						t.Fatal(err)
					}
					up, low := sides(ls, Ks, Ls, Y, W, res.C, res.Constants, lambda*l)
					if !(up-low <= 1e-10*up) || !(math.Abs(up-res.Objective) <= 1e-10*up) {
						t.Errorf("λ = %g: primal %.15g, dual %.15g, objective %.15g", lambda, up, low, res.Objective)
					}
					if constants {
						checkSums(t, res.C)
					}
					t.Logf("λ = %g: %d solves, gap %.2g", lambda, res.SylvesterSolves, (up-low)/up)
					start = &State{Eta: res.Eta, L: res.L, X: res.C}
				}
			})
		}
	}
}

// Products and sums with weights and L learned reach their tolerance, which the sum's global bound confirms for both;
// the gradient of the objective is that of differences.
func TestLossLearned(t *testing.T) {
	const l, n = 30, 3
	for at := range 2 * len(testLosses) {
		text, constants := testLosses[at/2], at%2 > 0
		t.Run(fmt.Sprintf("%s/constants=%v", text, constants), func(t *testing.T) {
			ls := lossOf(t, text)
			Ks, Y, W := lossCase(l, n, ls, 63)
			p := &Problem{
				Space: NewLoss(sumOf(Ks), Y, W, ls, constants), Lambda: 1e-2, Tau: n, Norm: regularizer.Lp{P: 1.5},
			}
			product, err := Solve(t.Context(), p, Options{Tol: 1e-5})
			if err != nil {
				t.Fatal(err)
			}

			p.Model = Sum
			sum, err := Solve(t.Context(), p, Options{Tol: 1e-5})
			if err != nil {
				t.Fatal(err)
			}

			if !(sum.Objective <= product.Objective) || !(sum.LowerBound <= sum.Objective) {
				t.Errorf("sum %.9g ≥ %.9g, product %.9g", sum.Objective, sum.LowerBound, product.Objective)
			}
			var Ls []blas.General
			for _, L := range sum.Ls {
				D := blas.NewGeneral(n, n)
				L.Dense(blas.Active(), D)
				Ls = append(Ls, D)
			}
			up, low := sides(ls, Ks, Ls, Y, W, sum.C, sum.Constants, p.Lambda*l)
			if constants {
				checkSums(t, sum.C)
				checkSums(t, product.C)
			}
			if !(math.Abs(up-sum.Objective) <= 1e-9*up) || !(up-low <= 1e-6*up) {
				t.Errorf("primal %.12g, dual %.12g, objective %.12g", up, low, sum.Objective)
			}
		})
	}
}

func TestLossInput(t *testing.T) {
	Ks, Y, W := weightedCase(6, 2, 71)
	labels := blas.Like(Y)
	labels.Data[3], labels.Data[4] = 1, math.NaN()
	two := blas.Clone(labels)
	two.Data[7] = 2
	unused := blas.Clone(two)
	none := blas.Clone(W)
	none.Data[7] = 0
	for _, c := range []struct {
		name string
		loss loss.Loss
		Y, W blas.General
		opt  Options
		ok   bool
	}{
		{"classes", loss.Loss{Kind: loss.Logistic}, labels, W, Options{}, true},
		{"a third class", loss.Loss{Kind: loss.Logistic}, two, W, Options{}, false},
		{"of weight 0", loss.Loss{Kind: loss.Logistic}, unused, none, Options{}, true},
		{"numbers", loss.Loss{Kind: loss.Logistic}, Y, W, Options{}, false},
		{"delta", loss.Loss{Kind: loss.Huber}, Y, W, Options{}, false},
		{"tau", loss.Loss{Kind: loss.Quantile, Parameter: 1}, Y, W, Options{}, false},
		{"shape", loss.Loss{Kind: loss.Huber, Parameter: 1}, Y, blas.NewGeneral(6, 3), Options{}, false},
		{"all zero", loss.Loss{Kind: loss.Huber, Parameter: 1}, Y, blas.NewGeneral(6, 2), Options{}, false},
		{"okl", loss.Loss{Kind: loss.Huber, Parameter: 1}, Y, W, Options{Solver: "okl"}, false},
		{"closed", loss.Loss{Kind: loss.Huber, Parameter: 1}, Y, W, Options{Solver: "closed", Tol: 0.05}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Problem{Space: NewLoss(sumOf(Ks), c.Y, c.W, c.loss, false), Lambda: 0.1, Tau: 2}
			if _, err := Solve(t.Context(), p, c.opt); c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrInput) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The bound of every step, however inexact its C, lies below the minimum over L.
func TestLossBounds(t *testing.T) {
	const l, n = 30, 3
	for _, text := range testLosses {
		t.Run(text, func(t *testing.T) {
			ls := lossOf(t, text)
			Ks, Y, W := lossCase(l, n, ls, 81)
			for _, lambda := range []float64{0.1, 1e-3} {
				p := &Problem{
					Space: NewLoss(sumOf(Ks), Y, W, ls, false), Lambda: lambda, Tau: n, Eta: []float64{0.5, 0.5},
					Model: Output,
				}
				var bounds []float64
				keep := func(s Step) error {
					bounds = append(bounds, s.Objective-s.GapL)
					return nil
				}
				res, err := Solve(t.Context(), p, Options{Tol: 1e-6, Trace: keep})
				if err != nil {
					t.Fatal(err)
				}
				for _, inexact := range []float64{0.5, 0.05} {
					_, _ = Solve(t.Context(), p, Options{Tol: 1e-6, InnerTol: inexact, MaxOuter: 5, Trace: keep})
				}
				for i, low := range bounds {
					if !(low <= res.Objective*(1+1e-9)) {
						t.Errorf("λ = %g, step %d: bound %.9g, minimum at most %.9g", lambda, i, low, res.Objective)
					}
				}
			}
		})
	}
}

// The dual value at multiples of C is the sum of the conjugates, and −∞ where a multiple leaves the box.
func TestLossMultiples(t *testing.T) {
	const l, n, mu = 12, 3, 0.7
	for _, text := range testLosses[1:] {
		ls := lossOf(t, text)
		_, Y, W := lossCase(l, n, ls, 91)
		s := NewLoss(alone(blas.NewGeneral(l, l)), Y, W, ls, false).(*samples)
		C, rng := blas.NewGeneral(l, n), newRand(92)
		most := math.Inf(1)
		for i, w := range W.Data {
			lo, hi := ls.Box(Y.Data[i])
			share := 0.1 + 0.4*rng.Float64() // of the way from 0 to a bound
			if w > 0 && hi > 0 && (lo == 0 || rng.Float64() < 0.5) {
				C.Data[i], most = share*hi*w/(2*mu), math.Min(most, 1/share)
			} else if w > 0 {
				C.Data[i], most = share*lo*w/(2*mu), math.Min(most, 1/share)
			}
		}
		var m measures
		s.fidelity().dual(&m, mu, C)
		for _, scale := range []float64{0, 0.5, 1, most * (1 - 1e-9), most * (1 + 1e-9)} {
			D := blas.Clone(C)
			blas.Scal(scale, D.Data)
			want := math.Inf(-1)
			if scale <= most {
				_, dual := sides(ls, nil, nil, Y, W, D, nil, mu)
				want = dual * l / mu
			}
			got := m.conjugate(mu, scale)
			if near := math.Abs(got-want) <= 1e-12*math.Abs(got)+1e-12; got != want && !near {
				t.Errorf("%s: %.12g at %g of %g, want %.12g", text, got, scale, most, want)
			}
		}
	}
}

// A C step beside that of another level knows the kernels at its weights, and forms them anew at others.
func TestLossStepBeside(t *testing.T) {
	const l, n = 120, 4
	low, high := lossOf(t, "quantile:0.5"), lossOf(t, "quantile:0.6")
	Ks, Y, W := lossCase(l, n, low, 7)
	of := func(ls loss.Loss, eta []float64, step *LossStep) *Result {
		t.Helper()
		p := &Problem{
			Space: NewLoss(sumOf(Ks), Y, W, ls, false), Lambda: 1e-3, Model: Neither,
			Eta: eta, L: linop.ScaledIdentity(n, 1),
		}
		res, err := Solve(t.Context(), p, Options{LossStep: step})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	weights := func(last float64) []float64 {
		eta := make([]float64, len(Ks))
		eta[0], eta[len(Ks)-1] = 1, last
		return eta
	}
	lead := NewLossStep(sylvester.Config{})
	of(low, weights(0.5), lead)
	for _, last := range []float64{0.5, 40} {
		beside := of(high, weights(last), lead.Beside(sylvester.Config{}))
		alone := of(high, weights(last), nil)
		if d := math.Abs(beside.Objective - alone.Objective); !(d <= 1e-4*alone.Objective) {
			t.Errorf("weight %g: objective %g beside, %g alone", last, beside.Objective, alone.Objective)
		}
		if beside.KernelMultiplies > 2*alone.KernelMultiplies {
			t.Errorf("weight %g: %d products beside, %d alone", last, beside.KernelMultiplies, alone.KernelMultiplies)
		}
	}
}
