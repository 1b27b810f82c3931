package page

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// found is a result with names that could be taken for the end of a cell, a line or a sentence.
var found = struct {
	Names []string
	Empty []string
}{Names: []string{"a\x1f\x1eitem", "b|c\nd", "<i>e.\n"}}

var testWords = NewWords(nil, `{{define "two"}}{{index .Names 0}} is first.
The others
follow.
{{end}}`, "", `
{{define "names"}}
caption	names
name	length
{{range .Names}}{{.}}	{{len .}}
{{end}}{{end}}
{{define "facts"}}
first	{{index .Names 0}}
{{end}}
{{define "page"}}
section	one	One
text	{{template "two" .}}
{{range .Names}}item	{{.}}
{{end}}drawn
section	two	Two
{{range .Empty}}item	{{.}}
{{end}}missing
section	three	Three
facts	facts
table	names
command	again:	run it
{{end}}`)

func TestWords(t *testing.T) {
	want := []string{"a\x1f\x1eitem is first.", "The others follow."}
	if got := testWords.Sentences("two", found); !slices.Equal(got, want) {
		t.Errorf("sentences %q, want %q", got, want)
	}
	if got := testWords.Say("two", found); got != "a\x1f\x1eitem is first. The others follow." {
		t.Errorf("said %q", got)
	}
	if got := testWords.Sentences("two", 3); got != nil {
		t.Errorf("sentences %q about what has no names", got)
	}
	table := testWords.Table("names", found)
	if table.Caption != "names" || !slices.Equal(table.Head, []string{"name", "length"}) || len(table.Rows) != 3 ||
		!slices.Equal(table.Rows[0].Cells, []string{"a\x1f\x1eitem", "7"}) {
		t.Errorf("table %+v", table)
	}
}

// A section without blocks is left out, and both forms of a page have the rest.
func TestPage(t *testing.T) {
	p := Page{Title: "T", Sections: testWords.Sections("page", found, map[string]Block{"drawn": Text("figures")})}
	if len(p.Sections) != 2 || len(p.Sections[0].Blocks) != 3 || len(p.Sections[1].Blocks) != 3 {
		t.Fatalf("sections %+v", p.Sections)
	}
	var html, markdown bytes.Buffer
	if err := p.Write(&html); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteMarkdown(&markdown, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<h2 id="one">One</h2>`, "<p>figures</p>", "&lt;i&gt;e", `data-file="names"`, "<code>run it</code>",
	} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("no %s in the page", want)
		}
	}
	for _, want := range []string{"# T\n\n## One\n", "\n\nfigures\n\n## Three\n", `| b\|c d | 5 |`, "\n    run it\n"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in\n%s", want, markdown.String())
		}
	}
}
