package screen

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"plain ü λ 日本 \t\n":                     "plain ü λ 日本 \t\n",
		"\x1b[2J":                               `\u001b[2J`,
		"a\rb\x00\x7f":                          `a\u000db\u0000\u007f`,
		"\u009b2J":                              `\u009b2J`, // one character begins a sequence, and in Latin-1 one byte does
		"\x9b2J":                                `\x9b2J`,
		"cut \xc3":                              `cut \xc3`,
		"left\u202eright":                       `left\u202eright`,
		"mark\u200f, no\u00a0break, \U0001f600": "mark\u200f, no\u00a0break, \U0001f600",
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		var w strings.Builder // in pieces of one byte, as whole
		s := &Writer{W: &w}
		for i := range len(text) {
			if n, err := s.Write([]byte(text[i : i+1])); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := s.End(); err != nil || w.String() != want {
			t.Errorf("%q byte by byte is %q, want %q", text, w.String(), want)
		}
	}
}

// Text in JSON reads as before.
func TestSafeJSON(t *testing.T) {
	for r := range rune(0x2100) {
		want := "a" + string(r) + "b"
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal([]byte(Safe(string(b))), &got); err != nil || got != want {
			t.Fatalf("%q is read as %q, %v", want, got, err)
		}
	}
}

type broken struct{ error }

func (b broken) Write([]byte) (int, error) { return 0, b.error }

func TestWriterRemembers(t *testing.T) {
	full := errors.New("full")
	s := &Writer{W: broken{full}}
	if _, err := s.Write([]byte("x")); err != full || s.End() != full {
		t.Error(err, s.End())
	}
}
