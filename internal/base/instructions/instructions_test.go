package instructions

import "testing"

// Less is allowed by each name than by the next; AVX-512 implies AVX2.
func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		name            string
		vectors, widest bool
	}{
		{"generic", false, false},
		{"avx2", true, false},
		{"neon", true, false},
		{"avx512", true, true},
		{"", true, true},
	} {
		got, err := allowed(c.name)
		if err != nil {
			t.Error(err)
		}
		whole := level(2)
		vectors, widest := got.avx2() || got.neon(), got.avx512()
		if vectors && !c.vectors || widest && !c.widest {
			t.Errorf("%q allows too much", c.name)
		}
		if c.vectors && vectors != (whole.avx2() || whole.neon()) || c.widest && widest != whole.avx512() {
			t.Errorf("%q allows too little", c.name)
		}
	}
	if l, err := allowed("avx3"); err == nil || l != 2 {
		t.Errorf("an unknown name: level %d, %v", l, err)
	}
}
