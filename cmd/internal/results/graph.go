// This file writes and draws causal graphs by the names of their files.

package results

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/atomicfile"
	"github.com/iokl/iokl/internal/picture"
)

type graphFormat func(w io.Writer, res *granger.Result, report *Graph, threshold float64) error

// GraphWriter chooses the format by the ending of the name; nil for no name.
func GraphWriter(path string) (graphFormat, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "":
		return nil, nil
	case ext == ".json":
		return func(w io.Writer, _ *granger.Result, report *Graph, _ float64) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", " ")
			return enc.Encode(report)
		}, nil
	case ext == ".csv":
		return plain((*granger.Result).WriteCSV), nil
	case ext == ".dot" || ext == ".gv":
		return plain((*granger.Result).WriteDOT), nil
	case ext == ".graphml":
		return plain((*granger.Result).WriteGraphML), nil
	default:
		return nil, fmt.Errorf("--out %s: graphs are written as .csv, .json, .dot or .graphml", path)
	}
}

func plain(write func(*granger.Result, io.Writer, float64) error) graphFormat {
	return func(w io.Writer, res *granger.Result, _ *Graph, threshold float64) error {
		return write(res, w, threshold)
	}
}

// WriteGraph writes the graph in the format of the name of the file; nothing for no name.
func WriteGraph(path string, res *granger.Result, report *Graph, threshold float64) error {
	write, err := GraphWriter(path)
	if err != nil || write == nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return write(w, res, report, threshold) })
}

// GraphFigures are the graph as a heat map of targets by sources, and as a network.
func GraphFigures(res *granger.Result, threshold float64) []picture.Figure {
	links := res.Links(threshold)
	h := picture.Heat{X: "source", Y: "target", Matrix: blas.Clone(res.Graph), Rows: res.Nodes, Cols: res.Nodes, Max: 1}
	for i := range res.Nodes {
		h.Matrix.Data[i*h.Matrix.Stride+i] = 0 // own history is left out
	}
	if all := res.Links(0); len(all) > 0 {
		h.Max = all[0].Strength
	}
	h.Title = fmt.Sprintf("strength of source → target, 0 (black) to %.3g", h.Max)
	net := picture.Network{Title: "who drives whom: width and colour by strength", Nodes: res.Nodes}
	for _, l := range links {
		net.Edges = append(net.Edges, picture.Edge{From: l.Source, To: l.Target, Strength: l.Strength})
	}
	return []picture.Figure{h.Figure("graph"), net.Figure("network")}
}
