// Package screen keeps texts that others chose, such as names of columns and files, from controlling the terminal that
// they are shown on.
package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Safe is text in which characters that control a terminal or the direction of text are written as \u001b, which JSON
// reads as the same character, and bytes that are no UTF-8 as \x9b. Newlines and tabs stay.
func Safe(text string) string {
	at := strings.IndexFunc(text, controls)
	if at < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case controls(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

func controls(r rune) bool {
	turns := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 // embeddings, overrides and isolates
	return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || turns
}

// Writer passes text on to W as Safe has it, and remembers that writing failed, for those that do not look. It serves
// several goroutines.
type Writer struct {
	W    io.Writer
	mu   sync.Mutex
	err  error
	rest []byte // the beginning of a character
}

func (s *Writer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, b...)
	end := len(text)
	for k := 1; k < utf8.UTFMax && k <= len(text); k++ {
		if tail := text[len(text)-k:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end -= k
			}
			break
		}
	}
	safe := Safe(string(text[:end]))
	s.rest = append(s.rest[:0], text[end:]...)
	if _, err := s.pass([]byte(safe)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (s *Writer) pass(b []byte) (int, error) {
	n, err := s.W.Write(b)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// End writes the beginning of a character that nothing followed, and returns the first error of all writing.
func (s *Writer) End() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		_, _ = s.pass([]byte(Safe(string(s.rest))))
		s.rest = nil
	}
	return s.err
}

// Raw passes bytes on as they are.
func (s *Writer) Raw() io.Writer { return raw{s} }

type raw struct{ *Writer }

func (r raw) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pass(b)
}
