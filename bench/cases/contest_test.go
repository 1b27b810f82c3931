package cases

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/bench"
)

// TestFinalists checks who is measured in turns with auto.
func TestFinalists(t *testing.T) {
	made := func(name string, seconds float64, stopped bool, problem string) *entrant {
		r := &entrant{Result: bench.Result{Name: name, Stopped: stopped, Error: problem}, kept: &decomposed{}}
		r.Time([]float64{seconds})
		return r
	}
	all := []*entrant{
		made("tridiagonal", 1.4, false, ""), made("eigen", 1.6, false, ""), made("auto", 5, false, ""),
		made("nystrom", 1, false, ""), made("rotated", 0.9, true, ""), made("cg", 0.8, false, "no"),
		{Result: bench.Result{Name: "unmeasured"}},
	}
	var names []string
	for _, r := range finalists(all) {
		names = append(names, r.Name)
		if r.Name != "auto" && r.kept != nil {
			t.Errorf("%s keeps a decomposition", r.Name)
		}
	}
	if want := []string{"auto", "nystrom", "tridiagonal"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if got := finalists(all[:2]); got != nil {
		t.Errorf("%d without auto", len(got))
	}
	if got := finalists(all[2:3]); got != nil {
		t.Errorf("%d with nobody to compare to", len(got))
	}
}

// TestChoices checks how auto is judged.
func TestChoices(t *testing.T) {
	group := mapResults()
	judgeChoice(group)
	const want = "Leave it to auto, the default: over 2 systems it takes 0.5 times as long as the solver that was " +
		"fastest, on average, 0.5 at worst."
	if said := words.Sentences("choice", group); !slices.Equal(said, []string{want}) {
		t.Errorf("%q", said)
	}
}
