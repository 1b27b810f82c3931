package kernel

import (
	"reflect"
	"testing"
)

// What builders make is what Parse reads.
func TestBuilders(t *testing.T) {
	for text, s := range map[string]Spec{
		"gaussian":                             Gaussian.On(All),
		"gaussian:0-3:median*0.5,1,2":          Gaussian.On("0-3").Median(0.5, 1, 2),
		"laplacian:each:3":                     Laplacian.On(Each).Width(3),
		"linear:0,2":                           Linear.On("0,2"),
		"poly:3":                               Poly.On(All, 3),
		"poly:2:all:0:0.5":                     Poly.On(All, 2, 0, 0.5),
		"matern:1.5:all:median*2":              Matern.On(All, 1.5).Median(2),
		"gaussian+matern12:ard":                Gaussian.On("ard").Plus(Matern12),
		"rff:gaussian:all:median:2000":         Gaussian.On(All).RFF(2000),
		"nystrom:rational:2:all:median:500":    Rational.On(All, 2).Nystrom(500),
		"rff:gaussian+linear:all:1:unit:100":   unit(Gaussian.On(All).Plus(Linear).Width(1).RFF(100)),
		"nystrom:chi2:0-9:median*0.5:center:8": center(Chi2.On("0-9").Median(0.5).Nystrom(8)),
	} {
		want, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Params) == 0 {
			s.Params = nil
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%s: built %+v, read %+v", text, s, want)
		}
		if again, err := Parse(s.String()); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s is read as %+v: %v", s, again, err)
		}
	}
}

func unit(s Spec) Spec {
	s.Unit = true
	return s
}

func center(s Spec) Spec {
	s.Center = true
	return s
}
