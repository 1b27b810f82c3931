package granger_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// Of the columns of a table those are no series that tell the time, and rows are in its order.
func TestInTime(t *testing.T) {
	const l = 40
	rng := rand.New(rand.NewPCG(1, 1))
	line := func(f func(i int) float64) (v []float64) {
		for i := range l {
			v = append(v, f(i))
		}
		return v
	}
	noise := line(func(int) float64 { return rng.NormFloat64() })
	walk := line(func(i int) float64 { return float64(i) + 0.4*math.Tanh(noise[i]) }) // rises, unevenly
	even := line(func(i int) float64 { return 0.1 * float64(i) })
	rows := func(first, step int) (v []int) {
		for i := range l {
			v = append(v, (first+step*i)%l)
		}
		return v
	}
	forth, back := rows(0, 1), rows(l-1, l-1)
	type column struct {
		name string
		v    []float64
	}
	for name, c := range map[string]struct {
		columns   []column
		replicate []int
		times     granger.Times
		series    []string
		order     []int  // the rows, 0 first
		says      string // nothing else is said
		refused   string
	}{
		"no clock": {
			[]column{{"a", noise}, {"b", walk}},
			nil,
			granger.Times{},
			[]string{"a", "b"},
			forth, "", "",
		},
		"by name": {
			[]column{{"Time (s)", walk}, {"a", noise}},
			nil,
			granger.Times{},
			[]string{"a"},
			forth, "evenly", "",
		},
		"by name, shuffled": {[]column{{"a", noise}, {"timestamp", line(func(i int) float64 { return float64(i * 7 % l) })}}, nil, granger.Times{}, []string{"a"}, rows(0, 23), `order of "timestamp"`, ""},
		"camel case":        {[]column{{"unixTime", line(func(i int) float64 { return 1.7e9 - 60*float64(i) })}, {"a", noise}}, nil, granger.Times{}, []string{"a"}, back, `order of "unixTime"`, ""},
		"by values":         {[]column{{"a", noise}, {"x", even}}, nil, granger.Times{}, []string{"a"}, forth, `"x" is taken for the time`, ""},
		"falling values":    {[]column{{"a", noise}, {"x", line(func(i int) float64 { return 7 - even[i] })}}, nil, granger.Times{}, []string{"a"}, back, `order of "x"`, ""},
		"some rows lack": {
			[]column{{"a", noise}, {"x", line(func(i int) float64 { return even[i] + 2*math.Floor(float64(i)/20) })}},
			nil,
			granger.Times{},
			[]string{"a"},
			forth, "evenly", "",
		},
		"numbers of rows": {
			[]column{{"", line(func(i int) float64 { return float64(i + i/2) })}, {"a", noise}},
			nil,
			granger.Times{},
			[]string{"a"},
			forth, "evenly", "",
		},
		"a series so called": {
			[]column{
				{"response_time", noise},
				{"day", line(func(i int) float64 { return float64(i * i % 7) })},
				{"index", noise},
				{"id", noise},
			},
			nil,
			granger.Times{},
			[]string{"response_time", "day", "index", "id"},
			forth, "", "",
		},
		"constant": {
			[]column{{"year", line(func(int) float64 { return 2020 })}, {"a", noise}},
			nil,
			granger.Times{},
			[]string{"year", "a"},
			forth, "", "",
		},
		"two clocks":   {[]column{{"x", even}, {"a", noise}, {"date", walk}}, nil, granger.Times{}, []string{"a"}, forth, `they tell the time too: "x"`, ""},
		"a date first": {[]column{{"year", even}, {"a", noise}, {"b", walk}}, nil, granger.Times{Dates: []int{2}}, []string{"a"}, forth, `too: "year"`, ""},
		"asked for": {
			[]column{{"a", noise}, {"b", walk}},
			nil,
			granger.Times{Clock: 1},
			[]string{"a"},
			forth, "evenly", "",
		},
		"in turn":       {[]column{{"time", line(func(i int) float64 { return float64(i / 2) })}, {"a", noise}}, turns(l, 2), granger.Times{}, []string{"a"}, slices.Concat(rows(0, 2)[:l/2], rows(1, 2)[:l/2]), `order of "time"`, ""},
		"repeated":      {[]column{{"year", line(func(i int) float64 { return float64(max(i, 3)) })}, {"a", noise}}, nil, granger.Times{}, nil, nil, "", `rows 1 and 2 have the same one in "year"`},
		"once repeated": {[]column{{"a", noise}, {"x", line(func(i int) float64 { return even[max(0, i-i/20)] })}}, nil, granger.Times{}, nil, nil, "", `rows 20 and 21 have the same one in "x"`},
		"a panel":       {[]column{{"a", noise}, {"t", line(func(i int) float64 { return float64(i % 20) })}}, nil, granger.Times{}, nil, nil, "", `rows 1 and 21 have the same one in "t"`},
		"no time":       {[]column{{"time", line(func(i int) float64 { return []float64{even[i], math.NaN()}[i/39] })}, {"a", noise}}, nil, granger.Times{}, nil, nil, "", `row 40 has no time in "time"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := &granger.Data{X: blas.NewGeneral(l, len(c.columns)), Replicate: c.replicate}
			for j, q := range c.columns {
				d.Names = append(d.Names, q.name)
				for i := range l {
					d.X.Data[i*d.X.Stride+j] = q.v[i]
				}
			}
			if c.times.Clock == 0 {
				c.times.Clock = -1
			}
			err := d.InTime(c.times)
			if c.refused != "" {
				if !errors.Is(err, granger.ErrTime) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || !slices.Equal(d.Names, c.series) {
				t.Fatalf("series %q, error %v", d.Names, err)
			}
			if says := strings.Join(d.Notes, "; "); !strings.Contains(says, c.says) || c.says == "" && says != "" {
				t.Errorf("says %q, want %q", says, c.says)
			}
			j := slices.Index(d.Names, "a")
			for k, i := range c.order {
				if j >= 0 && d.X.Data[k*d.X.Stride+j] != noise[i] {
					t.Fatalf("row %d is not row %d of the table", k, i)
				}
			}
		})
	}
}

// turns has the numbers 0 to n−1 in turn.
func turns(l, n int) (v []int) {
	for i := range l {
		v = append(v, i%n)
	}
	return v
}

// Shares of the causes of white noise are as large as those of a node that is driven; edges are ranked by norms, and
// nothing is found to be explained of white noise.
func TestWhiteNoiseIsNotRanked(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	d := granger.Data{Names: []string{"a", "b", "c", "d"}, X: blas.NewGeneral(400, 4)}
	for i := range d.X.Rows {
		row := blas.Row(d.X, i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		if i > 0 {
			row[1] += math.Tanh(2 * blas.Row(d.X, i-1)[0])
		}
	}
	res, err := granger.Infer(bg, &d, granger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	links := res.Links(0)
	if first := links[0]; first.From != "a" || first.To != "b" || !(links[1].Norm < first.Norm/3) {
		t.Errorf("%+v", links[:2])
	}
	if !slices.IsSortedFunc(links, func(x, y granger.Link) int { return int(math.Copysign(1, y.Norm-x.Norm)) }) {
		t.Errorf("not in the order of norms: %+v", links)
	}
	for i, f := range res.Fits {
		if explains := f.Explained > 0; explains != (i == 1) {
			t.Errorf("%s: explained %g, errors %g and %g", f.Node, f.Explained, f.RMSE, f.RMSEOwn)
		}
		if f.Explained > 0 && !(math.Abs(1-f.Explained-f.RMSE*f.RMSE/(f.RMSEOwn*f.RMSEOwn)) < 1e-12) {
			t.Errorf("explained %g of errors %g and %g", f.Explained, f.RMSE, f.RMSEOwn)
		}
	}
}
