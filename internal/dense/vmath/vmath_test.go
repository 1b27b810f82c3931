package vmath

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// forEachSet runs f with every implementation this machine has.
func forEachSet(t *testing.T, f func(t *testing.T)) {
	saved := use
	t.Cleanup(func() { use = saved })
	for _, s := range sets {
		use = s
		t.Run(s.name, f)
	}
}

// bigExp is exp(x) to far more digits than float64 has: Taylor's series at x/2¹⁰, squared ten times.
func bigExp(x float64) *big.Float {
	const prec = 300
	r := new(big.Float).SetPrec(prec).SetFloat64(x)
	r.SetMantExp(r, -10)
	sum := big.NewFloat(1).SetPrec(prec)
	term := big.NewFloat(1).SetPrec(prec)
	for k := 1; k < 70; k++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(int64(k)))
		sum.Add(sum, term)
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulpError is |got − want| in units of the last place of want.
func ulpError(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	ulp := math.Nextafter(math.Abs(w), math.Inf(1)) - math.Abs(w)
	d := new(big.Float).SetPrec(300).SetFloat64(got)
	diff, _ := d.Sub(d, want).Float64()
	return math.Abs(diff) / ulp
}

func TestExpError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var x []float64
	for range 3000 {
		x = append(x, 1400*rng.Float64()-700, -40*rng.Float64(), rng.NormFloat64(), 1e-8*rng.NormFloat64())
	}
	for range 300 {
		x = append(x, -708-37*rng.Float64(), math.Ln2*(float64(rng.IntN(2000)-1000)+0.5))
	}
	want := make([]*big.Float, len(x))
	for i, v := range x {
		if v < 709.7 {
			want[i] = bigExp(v)
		}
	}
	forEachSet(t, func(t *testing.T) {
		got := make([]float64, len(x))
		Exp(got, x, 1)
		var worst float64
		bound := 1.1
		if use.name == "generic" {
			bound = 2 // math.Exp's own
		}
		for i, v := range x {
			if want[i] == nil {
				continue
			}
			if e := ulpError(got[i], want[i]); !(e <= worst) {
				worst = e
				if !(e <= bound) {
					t.Fatalf("exp(%v) = %v is off by %.3g ulp", v, got[i], e)
				}
			}
		}
		t.Logf("largest error %.3f ulp", worst)
	})
}

func TestExpSpecial(t *testing.T) {
	x := []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 710, 1e300, -746, -1e300,
		709.782712893384, -745.1, 1,
	}
	want := []float64{
		1, 1, math.Inf(1), 0, math.NaN(), math.Inf(1), math.Inf(1), 0, 0, math.Exp(709.782712893384), 5e-324, math.E,
	}
	forEachSet(t, func(t *testing.T) {
		got := slices.Clone(x)
		Exp(got, got, 1)
		for i, v := range got {
			same := v == want[i] || math.IsNaN(v) && math.IsNaN(want[i]) ||
				math.Abs(v-want[i]) <= max(2e-16*want[i], math.SmallestNonzeroFloat64)
			if !same {
				t.Errorf("exp(%v) = %v, want %v", x[i], v, want[i])
			}
		}
		Exp(got[:2], []float64{2, -4}, -0.5)
		if math.Abs(got[0]*math.E-1) > 4e-16 || math.Abs(got[1]-math.E*math.E) > 2e-15 {
			t.Errorf("exp(−x/2) = %v", got[:2])
		}
	})
}

func TestSinCos(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	x := []float64{
		0, math.Copysign(0, -1), math.Pi / 4, math.Pi / 2, math.Pi, -3 * math.Pi / 2, 1<<30 - 1, 1 << 30,
		1e18, -1e300, 5e-324,
	}
	for range 5000 {
		x = append(x, rng.NormFloat64(), 1e3*rng.NormFloat64(), 1e6*rng.NormFloat64(), 1e8*rng.NormFloat64())
	}
	for i := range 500 {
		x = append(x, math.Pi/2*float64(i-250), math.Pi/4*float64(2*i+1))
	}
	forEachSet(t, func(t *testing.T) {
		for _, amp := range []float64{1, 0.25} {
			s, c := make([]float64, len(x)), slices.Clone(x)
			SinCos(s, c, c, amp)
			alone := slices.Clone(x)
			Cos(alone, alone, amp)
			for i, v := range x {
				ws, wc := math.Sincos(v)
				// math.Sincos itself may be off by an ulp.
				if !(math.Abs(s[i]-amp*ws) <= 3.4e-16*amp && math.Abs(c[i]-amp*wc) <= 3.4e-16*amp) {
					t.Fatalf("sin, cos of %v: off by %g, %g", v, s[i]-amp*ws, c[i]-amp*wc)
				}
				if !(math.Abs(alone[i]-amp*wc) <= 3.4e-16*amp) {
					t.Fatalf("cos of %v: off by %g", v, alone[i]-amp*wc)
				}
			}
		}
		bad := []float64{1, math.NaN(), math.Inf(1), 2}
		s, c := make([]float64, 4), make([]float64, 4)
		SinCos(s, c, bad, 1)
		if s[0] != math.Sin(1) && math.Abs(s[0]-math.Sin(1)) > 3e-16 || !math.IsNaN(s[1]) || !math.IsNaN(c[2]) ||
			math.Abs(c[3]-math.Cos(2)) > 3e-16 {
			t.Errorf("NaN and Inf among others: %v, %v", s, c)
		}
		Cos(c, bad, 1)
		if !(math.Abs(c[0]-math.Cos(1)) <= 3e-16) || !math.IsNaN(c[1]) || !math.IsNaN(c[2]) ||
			!(math.Abs(c[3]-math.Cos(2)) <= 3e-16) {
			t.Errorf("cosines with NaN and Inf among them: %v", c)
		}
	})
}

// bigMatern is p(t)·exp(−t) at t = s·√x, with t.
func bigMatern(x, s float64, order int) (value *big.Float, at float64) {
	big0 := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	t := big0(x)
	t.Sqrt(t).Mul(t, big0(s))
	if at, _ = t.Float64(); at > 700 {
		return t, at // for the caller to see to
	}
	rest := big0(at)
	rest.Sub(rest, t) // exp(−t) = exp(−at)·(1 + rest), for |rest| ≤ 2⁻⁵³·t
	third := big0(3)
	third.Quo(big0(1), third)
	p := [3]*big.Float{big0(0), big0(0), third}[order]
	p.Mul(p, t).Add(p, [3]*big.Float{big0(0), big0(1), big0(1)}[order])
	p.Mul(p, t).Add(p, big0(1))
	value = bigExp(-at)
	return value.Mul(value, rest.Add(rest, big0(1))).Mul(value, p), at
}

func TestMatern(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := []float64{0, 1e-300, 5e-324, 1e-20, 1, 1e5, 1e308, math.MaxFloat64, math.Inf(1)}
	for range 100 {
		x = append(x, 100*rng.Float64(), rng.Float64(), 1e5*rng.Float64())
	}
	scales := []float64{1.3, 1e-140, 1e-200, 1e200}
	type reference struct {
		value *big.Float
		t     float64
	}
	refs := make([][3][]reference, len(scales))
	for k, s := range scales {
		for order := range 3 {
			for i, v := range x {
				if k > 0 && i >= 20 {
					break
				}
				want, at := bigMatern(min(v, math.MaxFloat64), s, order)
				refs[k][order] = append(refs[k][order], reference{want, at})
			}
		}
	}
	forEachSet(t, func(t *testing.T) {
		got := make([]float64, len(x))
		for k, s := range scales {
			for order, ref := range refs[k] {
				Matern(got, x[:len(ref)], s, order)
				if got[0] != 1 {
					t.Errorf("s = %g, order %d at 0: %v, not 1", s, order, got[0])
				}
				worst := 0.
				for i, v := range x[:len(ref)] {
					if s*math.Sqrt(v) > 700 { // underflow is gradual there
						if !(got[i] >= 0 && got[i] < 1e-290) {
							t.Errorf("s = %g, order %d at %g: %v, want 0", s, order, v, got[i])
						}
						continue
					}
					want, r := ref[i].value, ref[i].t
					w, _ := want.Float64()
					e := ulpError(got[i], want) * (math.Nextafter(w, 2) - w) / (0x1p-52 * w)
					worst = max(worst, e/(4+max(r-1, 0)))
					if !(e <= 4+max(r-1, 0)) {
						t.Errorf("s = %g, order %d at %g: %v, want %v, off by %.2f·2⁻⁵²", s, order, v, got[i], w, e)
					}
				}
				t.Logf("s = %g, order %d: at most %.2f of the bound", s, order, worst)
			}
		}
		Matern(got[:1], []float64{math.NaN()}, 1, 2)
		if !math.IsNaN(got[0]) {
			t.Errorf("Matern(NaN) = %v", got[0])
		}
	})
}

// twin compares every implementation with the generic one on lengths 0–66 and
// two alignments, with NaN around the slices that must neither be read into the
// result nor overwritten.
func TestAgainstGeneric(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const guard = 9
	forEachSet(t, func(t *testing.T) {
		for n := range 67 {
			for align := range 2 {
				for _, d := range []int{1, 2, 11} {
					compare(t, rng, n, guard+align, d)
				}
			}
		}
	})
}

// guarded returns n random positive values between NaNs.
func guarded(rng *rand.Rand, n, guard int) (inner, whole []float64) {
	whole = make([]float64, n+2*guard)
	for i := range whole {
		whole[i] = math.NaN()
	}
	inner = whole[guard : guard+n : guard+n]
	for i := range inner {
		if inner[i] = rng.Float64(); rng.IntN(5) == 0 {
			inner[i] = 0
		}
	}
	return inner, whole
}

func compare(t *testing.T, rng *rand.Rand, n, guard, d int) {
	t.Helper()
	x, _ := guarded(rng, n, guard)
	y, _ := guarded(rng, n, guard)
	zt, _ := guarded(rng, n*d, guard)
	row, _ := guarded(rng, d, guard)
	zt2, row2 := slices.Clone(zt), slices.Clone(row)
	for _, s := range [][]float64{zt2, row2} {
		for i := range s {
			s[i] = s[i] + 0.1
		}
	}
	single := func(dst []float64, round func(dst []float32, x []float64)) {
		out := make([]float32, n+2)
		out[n], out[n+1] = 7, 7
		round(out[:n], x)
		if out[n] != 7 || out[n+1] != 7 {
			t.Fatalf("rounding %d to single precision writes past its end", n)
		}
		for i := range dst {
			dst[i] = float64(out[i])
		}
	}
	for name, run := range map[string]func(s *set, dst []float64){
		"exp": func(s *set, dst []float64) { s.exp(dst, x, -2) },
		"exp stream": func(s *set, dst []float64) {
			saved := use
			defer func() { use = saved }()
			use = *s
			ExpStream(dst, x, -2)
		},
		"sqDist":    func(s *set, dst []float64) { copy(dst, x); s.sqDist(dst, 0.6, y) },
		"matern":    func(s *set, dst []float64) { s.matern(dst, x, 1.5, 1, 0.25) },
		"power1":    func(s *set, dst []float64) { s.power(dst, x, 0.5, 1, 1) },
		"power6":    func(s *set, dst []float64) { s.power(dst, x, 0.5, 1, 6) },
		"power7":    func(s *set, dst []float64) { s.power(dst, x, 0.5, 0, 7) },
		"l1":        func(s *set, dst []float64) { s.l1Row(dst, row, zt, n) },
		"sq":        func(s *set, dst []float64) { s.sqRow(dst, row, zt, n) },
		"chi2":      func(s *set, dst []float64) { s.chi2Row(dst, row, zt, n) },
		"harmonic":  func(s *set, dst []float64) { s.harmonicRow(dst, row2, zt2, n) },
		"lorentz":   func(s *set, dst []float64) { s.lorentzRow(dst, row, zt, n) },
		"sin":       func(s *set, dst []float64) { s.sinCos(dst, make([]float64, n), x, 0.5) },
		"cos":       func(s *set, dst []float64) { copy(dst, x); s.sinCos(make([]float64, n), dst, dst, 0.5) },
		"cos alone": func(s *set, dst []float64) { s.cos(dst, x, 0.5) },
		"secular": func(s *set, dst []float64) {
			for i := range dst { // of the elements up to i
				sum, slope := s.secular(x[:i+1], y[:i+1], 1.75)
				dst[i] = (sum + slope) / float64(i+1)
			}
		},
		"reflect3": func(s *set, dst []float64) {
			for at := range 3 { // of the three vectors
				v := [][]float64{slices.Clone(x), slices.Clone(y), slices.Clone(x)}
				copy(dst, v[at])
				v[at] = dst
				s.reflect3(v[0], v[1], v[2], 1.5, 0.5, -0.25)
			}
		},
		"rotate": func(s *set, dst []float64) {
			for at := range 4 { // of four rows, a column further apart than they are long
				a := slices.Concat(x, []float64{0}, y, []float64{0}, x, []float64{0}, y)
				s.rotate([]float64{0.6, -0.8, 0.6}, []float64{0.8, 0.6, -0.8}, a, n+1, n)
				copy(dst, a[at*(n+1):])
			}
		},
		"narrow":        func(s *set, dst []float64) { single(dst, s.narrow) },
		"stream":        func(s *set, dst []float64) { s.stream(dst, x) },
		"stream narrow": func(s *set, dst []float64) { single(dst, s.streamNarrow) },
	} {
		want := make([]float64, n)
		run(&generic, want)
		got, whole := guarded(rng, n, guard)
		run(&use, got)
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= float64(max(8, d))*0x1p-52*max(1, math.Abs(w))) { // d terms or factors
				t.Fatalf("%s, n=%d, d=%d: element %d is %v, want %v", name, n, d, i, got[i], w)
			}
		}
		for i, v := range whole {
			if (i < guard || i >= guard+n) && !math.IsNaN(v) {
				t.Fatalf("%s, n=%d: writes outside its destination", name, n)
			}
		}
	}
}

func TestHadamard(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	forEachSet(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
			x, whole := guarded(rng, n*HadamardLanes, 9)
			want := make([]float64, len(x))
			for i := range n {
				for j := range n {
					sign := float64(1 - 2*(bits.OnesCount(uint(i&j))%2))
					for c := range HadamardLanes {
						want[i*HadamardLanes+c] += sign * x[j*HadamardLanes+c]
					}
				}
			}
			Hadamard(x)
			for i, w := range want {
				if !(math.Abs(x[i]-w) <= 1e-13) {
					t.Fatalf("order %d: element %d is %v, want %v", n, i, x[i], w)
				}
			}
			if !math.IsNaN(whole[8]) || !math.IsNaN(whole[9+len(x)]) {
				t.Fatalf("order %d: writes outside the matrix", n)
			}
		}
	})
}

func TestNaNPasses(t *testing.T) {
	nan := math.NaN()
	forEachSet(t, func(t *testing.T) {
		for n := 1; n < 18; n++ {
			x := make([]float64, n)
			x[n-1] = nan
			got := slices.Clone(x)
			SqDist(got, 1, make([]float64, n))
			if !math.IsNaN(got[n-1]) {
				t.Errorf("SqDist drops NaN at %d", n-1)
			}
			for name, f := range map[string]func(dst, x, zt []float64, ld int){
				"l1": L1Row, "sq": SqRow, "chi2": Chi2Row, "harmonic": HarmonicRow, "lorentz": LorentzRow,
			} {
				f(got, []float64{1}, x, n)
				if !math.IsNaN(got[n-1]) || n > 1 && math.IsNaN(got[0]) {
					t.Errorf("%s row moves NaN: %v", name, got)
				}
			}
		}
	})
}

func TestRowShapes(t *testing.T) {
	dst := []float64{5, 5, 5}
	L1Row(dst, nil, nil, 0)
	if !slices.Equal(dst, []float64{0, 0, 0}) {
		t.Errorf("no features: %v", dst)
	}
	LorentzRow(dst, nil, nil, 0)
	if !slices.Equal(dst, []float64{1, 1, 1}) {
		t.Errorf("no features: %v", dst)
	}
	defer func() {
		if recover() == nil {
			t.Error("short features are accepted")
		}
	}()
	SqRow(dst, []float64{1, 2}, make([]float64, 5), 3)
}

// FuzzAgainstGeneric compares every loop of an implementation with the generic one, for lengths, features
// and alignments of the input.
func FuzzAgainstGeneric(f *testing.F) {
	f.Add(uint64(1), uint8(17), uint8(1), uint8(3))
	f.Add(uint64(2), uint8(66), uint8(0), uint8(40))
	saved := use
	f.Cleanup(func() { use = saved })
	f.Fuzz(func(t *testing.T, seed uint64, n, align, d uint8) {
		use = sets[seed%uint64(len(sets))]
		compare(t, rand.New(rand.NewPCG(seed, 7)), int(n)%100, 9+int(align)%8, 1+int(d)%50)
	})
}

func FuzzExp(f *testing.F) {
	f.Add(0.5)
	f.Add(-745.13)
	f.Add(709.79)
	f.Fuzz(func(t *testing.T, x float64) {
		for _, s := range sets {
			dst := make([]float64, 1)
			s.exp(dst, []float64{x}, 1)
			want := math.Exp(x)
			if dst[0] != want && !(math.Abs(dst[0]-want) <= 0x1p-51*want+5e-324) &&
				!(math.IsNaN(want) && math.IsNaN(dst[0])) {
				t.Fatalf("%s: exp(%v) = %v, want %v", s.name, x, dst[0], want)
			}
		}
	})
}

func BenchmarkVmath(b *testing.B) {
	const n, d = 32, 40
	z, zt := make([]float64, d), make([]float64, n*d)
	for i := range zt {
		zt[i] = float64(i%n+1) / 64
		z[i/n] = zt[i]
	}
	x, y, spare := zt[:n], make([]float64, n), make([]float64, n)
	saved := use
	defer func() { use = saved }()
	for _, s := range sets {
		use = s
		for name, f := range map[string]func(){
			"exp": func() {
				Exp(y, x, -1)
			}, "matern52": func() {
				Matern(y, x, 1, 2)
			}, "sincos": func() { SinCos(y, spare, x, 1) }, "cos": func() { Cos(y, x, 1) },
			"l1/d=40": func() {
				L1Row(y, z, zt, n)
			}, "chi2/d=40": func() {
				Chi2Row(y, z, zt, n)
			}, "harmonic/d=40": func() { HarmonicRow(y, z, zt, n) }, "sqdist": func() { SqDist(y, 1, x) },
			"poly3": func() { Power(y, x, 1, 1, 3) },
		} {
			b.Run("op="+name+"/impl="+s.name, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/elem")
			})
		}
	}
}
