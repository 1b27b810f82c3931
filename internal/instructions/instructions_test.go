package instructions

import "testing"

// Less is allowed by each name than by the next; AVX-512 implies AVX2.
func TestAllowed(t *testing.T) {
	old := most
	defer func() { most = old }()
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
		most = allowed(c.name)
		if (AVX2() || NEON()) && !c.vectors || AVX512() && !c.widest {
			t.Errorf("%q allows too much", c.name)
		}
		most = 2
		vectors, widest := AVX2() || NEON(), AVX512()
		most = allowed(c.name)
		if c.vectors && vectors != (AVX2() || NEON()) || c.widest && widest != AVX512() {
			t.Errorf("%q allows too little", c.name)
		}
	}
}
