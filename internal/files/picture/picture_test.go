package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// check opens every file: a picture in each format that its reader takes.
func check(t *testing.T, files []string, words ...string) {
	t.Helper()
	if len(files) != 2 {
		t.Fatalf("files %v", files)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".png") {
			if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() < 50 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for d := xml.NewDecoder(bytes.NewReader(b)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, w := range words {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s has no %q", name, w)
			}
		}
	}
}

func TestHeat(t *testing.T) {
	a := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, -1, 0, 1}}
	h := Heat{Title: "heat", Matrix: a, Names: []string{"n1", "n2"}, Min: -1, Max: 1}
	files, err := SaveAll(t.TempDir(), []Figure{h.Figure("h")})
	if err != nil {
		t.Fatal(err)
	}
	check(t, files, "heat", "n1", "n2")
}

func TestNetwork(t *testing.T) {
	g := Network{Title: "net", Nodes: []string{"a", "c"}, Edges: []Edge{{To: 1, Strength: 2}, {From: 1, Strength: 1}}}
	for range 5 { // weaker ones, of which two nodes show four
		g.Edges = append(g.Edges, Edge{To: 1, Strength: .1})
	}
	f := g.Figure("n")
	files, err := f.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	check(t, files, "net (the strongest 6 of 7 edges)", ">a<", ">c<")
	if len(files) != 2 {
		t.Errorf("files %q", files)
	}
}

func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		want []string
	}{
		"":                          {3, []string{""}},
		"oil":                       {3, []string{"oil"}},
		"Unemployment rate (%)":     {3, []string{"Unemployment", "rate (%)"}},
		"fourteenletter s":          {3, []string{"fourteenletter", "s"}},
		"consumer_confidence_index": {3, []string{"consumer_", "confidence_", "index"}},
		"Bevölkerungsentwicklung":   {3, []string{"Bevölkerungsen", "twicklung"}},
		"a name of very many words": {1, []string{"a name of ver…"}},
		"a name of many more words": {2, []string{"a name of many", "more words"}},
	} {
		if got := broken(name, 14, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d lines: %q, want %q", name, c.most, got, c.want)
		}
	}
}

// TestCorrelations puts what goes together side by side.
func TestCorrelations(t *testing.T) {
	R := mat.NewSymDense(4, []float64{1, 0, .9, 0, 0, 1, 0, .8, .9, 0, 1, .1, 0, .8, .1, 1})
	h := Correlations("", []string{"a", "b", "c", "d"}, R)
	if want := []string{"a", "c", "d", "b"}; !slices.Equal(h.Names, want) {
		if slices.Reverse(want); !slices.Equal(h.Names, want) {
			t.Errorf("order %v", h.Names)
		}
	}
	if h.Matrix.Data[1] < .8 || h.Matrix.Data[2*4+3] < .8 {
		t.Errorf("map %v", h.Matrix.Data)
	}
}
