package granger_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"strconv"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// small is a graph of three nodes: "a b" → c with 0.75, c → "a b" with 0.25.
func small() *granger.Result {
	strengths := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1, 0.25, 0, 0.75, 1.5, 0, 0, 0, 1}}
	return &granger.Result{
		Nodes: []string{`a "b"`, "c", "d"}, Graph: strengths, Strength: strengths,
		Sizes: blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1, 2, 0, 3, 4, 0, 0, 0, 1}},
		Fits:  []granger.Fit{{Node: `a "b"`}, {Node: "c"}, {Node: "d"}}, Samples: 10, Lag: 1,
	}
}

func TestLinks(t *testing.T) {
	r := small()
	links := r.Links(0)
	if len(links) != 2 || links[0] != (granger.Link{From: `a "b"`, To: "c", Strength: 0.75, Norm: 3, Target: 1}) ||
		links[1].From != "c" {
		t.Errorf("%+v", links)
	}
	if len(r.Links(0.25)) != 1 {
		t.Error("the threshold is not exclusive")
	}
	if c := r.Central(0); c[0].Node != `a "b"` || c[0].Out != 0.75 || c[0].In != 0.25 || c[2].Node != "d" ||
		c[0].Drives != 1 || c[0].Driven != 1 {
		t.Errorf("%+v", c)
	}
}

func TestWriteCSV(t *testing.T) {
	var b bytes.Buffer
	if err := small().WriteCSV(&b, 0); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][1] != `a "b"` || rows[2][0] != "c" {
		t.Fatalf("%v, %v", rows, err)
	}
	if v, _ := strconv.ParseFloat(rows[2][1], 64); v != 0.75 {
		t.Errorf("the strength of the edge to the second node is %g", v)
	}
}

func TestJSON(t *testing.T) {
	g := granger.LinearVAR(2, 50, 1, 1, 1, 1)
	for _, hold := range []float64{0, -1} {
		res, err := granger.Infer(bg, &g.Data, granger.Options{HoldOut: hold})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var back struct {
			Graph [][]float64
			Fits  []map[string]any
		}
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if back.Graph[1][0] != res.Graph.Data[2] {
			t.Errorf("graph %v, want %v", back.Graph, res.Graph.Data)
		}
		if _, has := back.Fits[0]["rmse"]; has != (hold == 0) {
			t.Errorf("hold-out %g: fit %v", hold, back.Fits[0])
		}
	}
}

func TestDOT(t *testing.T) {
	var b bytes.Buffer
	if err := small().WriteDOT(&b, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"digraph", `"a \"b\"" -> "c"`, "weight=0.75", "penwidth=4.50"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

func TestGraphML(t *testing.T) {
	var b bytes.Buffer
	if err := small().WriteGraphML(&b, 0.5); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Graph struct {
			Node []struct {
				ID   string `xml:"id,attr"`
				Data string `xml:"data"`
			} `xml:"node"`
			Edge []struct {
				Source string   `xml:"source,attr"`
				Target string   `xml:"target,attr"`
				Data   []string `xml:"data"`
			} `xml:"edge"`
		} `xml:"graph"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Graph.Node) != 3 || doc.Graph.Node[0].Data != `a "b"` || len(doc.Graph.Edge) != 1 {
		t.Fatalf("%+v", doc)
	}
	if e := doc.Graph.Edge[0]; e.Source != "n0" || e.Target != "n1" || e.Data[0] != "0.75" {
		t.Errorf("%+v", e)
	}
}
