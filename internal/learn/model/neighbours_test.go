package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/race"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// noisy is a model of l rows of three inputs and two targets that share a part, with noise, and so many new rows of
// both.
func noisy(t *testing.T, l, fresh int, spec string, noise, lambda float64) (m *Model, x, y blas.General) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(l)))
	X, Y := blas.NewGeneral(l+fresh, 3), blas.NewGeneral(l+fresh, 2)
	for i := range X.Rows {
		row := blas.Row(X, i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		f := math.Sin(2*row[0]) + row[1]*row[2]
		Y.Data[2*i], Y.Data[2*i+1] = f+noise*rng.NormFloat64(), f-row[0]+noise*rng.NormFloat64()
	}
	Z := blas.View(X, 0, 0, l, 3)
	d, err := kernel.Build([]string{spec}, Z, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	shared := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, .6, .6, 1}}
	L, err := linop.NewSpectral(blas.Active(), shared, 0)
	if err != nil {
		t.Fatal(err)
	}
	m = &Model{L: L, Mu: lambda * float64(l), Out: &columns.Outputs{Live: []int{0, 1}}}
	m.Y = blas.Clone(blas.View(Y, 0, 0, l, 2))
	m.Basis = NewSamples(d, slices.Repeat([]float64{1}, len(d)), Z, blas.NewGeneral(l, 2), nil)
	return m, blas.View(X, l, 0, fresh, 3), blas.Clone(blas.View(Y, l, 0, fresh, 2))
}

// density is the mean negative log density of the targets y (t×2) at predictions F and deviations for noise 1.
func density(y, F, D blas.General, sigma []float64) (sum float64) {
	for i := range y.Rows {
		for k, s := range sigma {
			d := s * math.Hypot(1, D.Data[i*D.Stride+k])
			r := (y.Data[i*y.Stride+k] - F.Data[i*F.Stride+k]) / d
			sum += (r*r/2 + math.Log(d*math.Sqrt(2*math.Pi))) / float64(y.Rows*len(sigma))
		}
	}
	return sum
}

// freedom is tr ρK(ρK + μI)⁻¹ for every eigenvalue ρ of L.
func freedom(t *testing.T, m *Model) (list []float64) {
	t.Helper()
	b := m.Basis.(*Samples)
	c, err := b.dict.Crossing(b.eta, b.Z, nil)
	if err != nil {
		t.Fatal(err)
	}
	K := blas.NewGeneral(b.Z.Rows, b.Z.Rows)
	if err := c.Sum(K, b.Z); err != nil {
		t.Fatal(err)
	}
	dec, err := sylvester.Decompose(t.Context(), linop.NewDense(K, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, rho := range m.L.S {
		sum := 0.0
		for _, s := range dec.Sigma {
			sum += rho * s / (rho*s + m.Mu)
		}
		list = append(list, sum)
	}
	return list
}

// TestNeighbours compares deviations, residuals and the log density by neighbours with those by a decomposition. The
// environment variable NEIGHBOURS says of how many rows.
func TestNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	l := defaults.IntervalSamples + 1
	if text := os.Getenv("NEIGHBOURS"); text != "" {
		l, _ = strconv.Atoi(text)
	}
	for _, c := range []struct {
		spec          string
		noise, lambda float64
	}{
		{"gaussian:all:median", .3, 1e-3},
		{"matern32:all:median*2", .02, 1e-6},
		{"gaussian:all:median", .001, 1e-9},
		{"laplacian:all:median", .1, 1e-3},
	} {
		const fresh = 300
		m, x, y := noisy(t, l, fresh, c.spec, c.noise, c.lambda)
		b := m.Basis.(*Samples)
		of, err := m.decomposed(t.Context(), b) // of C = 0
		if err != nil {
			t.Fatal(err)
		}
		if err := of.lo.At(b.CL, m.Mu); err != nil {
			t.Fatal(err)
		}
		m.L.MulRight(blas.Active(), b.CL, b.CL)
		exact := &known{posterior: of, R: of.residuals()}
		if err := exact.measure(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		m.freedom = freedom(t, m)
		start := time.Now()
		near, err := m.approximate(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		D, want, F := blas.NewGeneral(fresh, 2), blas.NewGeneral(fresh, 2), blas.NewGeneral(fresh, 2)
		if err := exact.deviation(t.Context(), want, x); err != nil {
			t.Fatal(err)
		}
		made := time.Since(start)
		start = time.Now()
		if err := near.deviation(t.Context(), D, x); err != nil {
			t.Fatal(err)
		}
		each := time.Since(start)
		start = time.Now()
		if err := near.posterior.(*neighbours).cross.Mul(F, x, b.CL); err != nil {
			t.Fatal(err)
		}
		gap := density(y, F, D, near.sigma) - density(y, F, want, exact.sigma)
		t.Logf("%s: log density %.4f, of neighbours %+.4f; noise %.4g, of neighbours %.4g; share %.3g; %v to prepare, "+
			"%v for %d rows, their prediction %v", c.spec, density(y, F, want, exact.sigma), gap, exact.sigma,
			near.sigma, near.posterior.(*neighbours).share, made, each, fresh, time.Since(start))
		if !(gap <= .05) {
			t.Errorf("%s: log density differs by %g", c.spec, gap)
		}
		some, err := near.posterior.(*neighbours).sample(t.Context(), m.Y, m.freedom)
		if err != nil {
			t.Fatal(err)
		}
		if near.R.Rows != min(l, residualRows) {
			t.Errorf("%s: %d residuals", c.spec, near.R.Rows)
		}
		for k, s := range some.noise(1) {
			if !(math.Abs(s/exact.sigma[k]-1) <= 4/math.Sqrt(2*float64(near.R.Rows))) {
				t.Errorf("%s: noise %g, of all rows %g", c.spec, s, exact.sigma[k])
			}
		}
	}
}

// TestNeighboursKeepScratch asserts that a variance allocates less than a matrix of neighbours once its scratch exists:
// garbage of l numbers a row would outgrow the kernel matrix. Under the race detector a sync.Pool forgets values at
// random, and four matrices are allowed.
func TestNeighboursKeepScratch(t *testing.T) {
	const l, matrix = 1200, 8 * nearRows * nearRows
	m, _, _ := noisy(t, l, 1, "gaussian:all:median", .1, 1e-3)
	near, err := m.approximate(t.Context(), m.Basis.(*Samples))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, l)
	var before, after runtime.MemStats
	for _, at := range []*runtime.MemStats{&before, &after} {
		if _, err := near.posterior.(*neighbours).variances(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(at)
	}
	slab := uint64(8 * l * SlabRows)
	most := slab + l*matrix
	if race.Enabled {
		most += 3 * l * matrix
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes for each of %d rows", n/l, l)
	}
}

// TestFactor draws residuals whose variance is σ²(1 + c·D²): the factor is c but for what residualRows leave open.
func TestFactor(t *testing.T) {
	for _, c := range []struct{ truth, least, most float64 }{{0, 0, .25}, {.1, .03, .5}, {1, 1, 1}, {30, 4, 64}} {
		rng := rand.New(rand.NewPCG(8, 9))
		s := &sampled{random: resampled{blas.NewGeneral(residualRows, 2), blas.NewGeneral(residualRows, 2)}}
		for i, d := range s.random.D.Data {
			d = math.Exp(rng.NormFloat64())
			s.random.D.Data[i], s.random.R.Data[i] = d, .1*math.Sqrt(1+c.truth*d*d)*rng.NormFloat64()
		}
		s.E, s.heavy.R, s.heavy.D = s.random.R, blas.NewGeneral(0, 2), blas.NewGeneral(0, 2)
		s.own = make([]bool, residualRows)
		for i := range s.own {
			s.rows = append(s.rows, i)
		}
		f := s.factor()
		if !(f >= c.least && f <= c.most) {
			t.Errorf("variances of factor %g: %g", c.truth, f)
		}
		for _, sigma := range s.noise(c.truth) {
			if !(math.Abs(sigma/.1-1) <= 4/math.Sqrt(2*residualRows)) {
				t.Errorf("variances of factor %g: noise %g, not .1", c.truth, sigma)
			}
		}
	}
}

// TestNeighboursOfAll has as many neighbours as rows: variances are then exact, by a factor for each eigenvalue of L
// and by one reduction for all.
func TestNeighboursOfAll(t *testing.T) {
	const l = nearRows + 1
	m, _, _ := noisy(t, l, 1, "laplacian:all:median", .1, 1e-3)
	b := m.Basis.(*Samples)
	of, err := m.decomposed(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	exact := &known{posterior: of, R: of.residuals()}
	if err := exact.measure(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	near := &neighbours{
		Samples: b, cross: of.cross, rho: m.L.S, V: m.L.V, mu: m.Mu,
		share: []float64{1, 1},
	}
	if err := near.invert(); err != nil {
		t.Fatal(err)
	}
	rows := make([]int, l)
	for i := range rows {
		rows[i] = i
	}
	for _, near.shifts = range []int{len(m.L.S), reducedFrom} {
		// Each row has all the others as neighbours.
		D := blas.NewGeneral(l, 2)
		err = near.each(t.Context(), b.Z, rows, func(at int, v blas.General) {
			near.outputs(blas.View(D, at, 0, v.Rows, 2), v)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range D.Data {
			if got, want := math.Hypot(1, v), exact.D.Data[i]; !(math.Abs(got-want) <= 1e-9*want) {
				t.Fatalf("%d shifts: deviation %d without its row is %g, want %g", near.shifts, i, got, want)
			}
		}
	}
	list := nearest{}
	list.offer(make([]float64, l), near.inverse, 0, 3)
	if N := list.rows; len(N) != nearRows || slices.Contains(N, 3) {
		t.Errorf("neighbours %v of a point that covaries with none", N)
	}
}

// TestNearest compares the rows kept with those of a sort, in orders that need the most and the fewest cuts, and with
// ties, offered in parts.
func TestNearest(t *testing.T) {
	const l, part, skip = 10*nearRows + 7, 3*nearRows + 1, 10*nearRows + 5
	rng := rand.New(rand.NewPCG(3, 1))
	for name, value := range map[string]func(i int) float64{
		"random":         func(int) float64 { return rng.NormFloat64() },
		"nearest first":  func(i int) float64 { return float64(l - i) },
		"farthest first": func(i int) float64 { return float64(i) },
		"ties":           func(int) float64 { return float64(rng.IntN(3)) },
	} {
		k, inverse, share, want := make([]float64, l), make([]float64, l), make([]float64, l), make([]int, l)
		for i := range k {
			k[i], inverse[i], want[i] = value(i), 1+float64(i%2), i
			share[i] = k[i] * k[i] * inverse[i]
		}
		share[skip] = -1
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
		want = want[:nearRows]
		slices.Sort(want)
		var list nearest
		for range 2 { // the list serves again
			for j0 := 0; j0 < l; j0 += part {
				list.offer(k[j0:min(j0+part, l)], inverse[j0:], j0, skip)
			}
			if list.cut(); !slices.Equal(list.rows, want) {
				t.Errorf("%s: rows %v, want %v", name, list.rows, want)
			}
		}
		for a, i := range list.rows {
			if list.k[a] != k[i] {
				t.Errorf("%s: value %g of row %d, want %g", name, list.k[a], i, k[i])
			}
		}
	}
}
