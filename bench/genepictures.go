package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/picture"
)

// Graph is a causal graph: row = target, column = source.
type Graph struct {
	Nodes    []string    `json:"nodes"`
	Strength [][]float64 `json:"strength"`
}

// OutputKernel is the L learned for one node, as a correlation.
type OutputKernel struct {
	Node        string      `json:"node"`
	Series      []string    `json:"series"`
	Correlation [][]float64 `json:"correlation"`
}

// shownOutputs is how many output kernels a result carries beside that of foldingGroup.
const shownOutputs = 3

// recordGraph keeps the graph, and the output kernels of the most central nodes.
func recordGraph(r *Result, res *granger.Result, d *granger.Data, names []string) {
	r.Graph = &Graph{Nodes: res.Nodes}
	for i := range res.Graph.Rows {
		r.Graph.Strength = append(r.Graph.Strength, blas.Row(res.Graph, i))
	}
	shown := mostCentral(r, shownOutputs)
	if !slices.Contains(shown, foldingGroup) {
		shown = append(shown, foldingGroup)
	}
	for _, node := range shown {
		k := slices.Index(res.Nodes, node)
		if k < 0 {
			continue
		}
		L := res.Fits[k].L
		if L == nil || slices.Max(L.S)-slices.Min(L.S) <= 1e-9*slices.Max(L.S) && len(L.S) == L.Dim() {
			continue // the identity
		}
		n := L.Dim()
		a := blas.NewGeneral(n, n)
		L.Dense(blas.Active(), a)
		o := OutputKernel{Node: node}
		for i := range n {
			o.Series = append(o.Series, names[d.Nodes[k].Series[i]])
			row := make([]float64, n)
			for j := range row {
				if s := math.Sqrt(a.Data[i*n+i] * a.Data[j*n+j]); s > 0 {
					row[j] = a.Data[i*n+j] / s
				}
			}
			o.Correlation = append(o.Correlation, row)
		}
		r.Outputs = append(r.Outputs, o)
	}
}

const groupError = "rmse of "

// groupOrder lists the groups in the order of their hold-out error.
func groupOrder(r Result) []string {
	return byMetric(&r, groupError, 1)
}

// groupFigures shows the hold-out error of each group for every setting, the
// groups in the order of their error in the first.
func groupFigures(group []Result) []figure {
	fig := figure{
		name: "drosophila-groups", named: true, title: "fruit fly: hold-out error of each group of genes",
		xLabel: "group, in the order of the first setting's error", yLabel: "RMSE (standard deviations)",
	}
	if len(group) == 0 {
		return nil
	}
	order := groupOrder(group[0])
	if len(order) < 2 {
		return nil
	}
	for _, r := range paperSettings(group) {
		c := curve{name: r.Name}
		for i, name := range order {
			if v, ok := r.Metrics[groupError+name]; ok {
				c.xy = append(c.xy, plotter.XY{X: float64(i + 1), Y: v})
			}
		}
		if len(c.xy) > 0 {
			fig.curves = append(fig.curves, c)
		}
	}
	return []figure{fig}
}

// drawGenes draws what needs names: the error of each group for every setting, and of
// the setting that learns L from nonlinear kernels, or else the best, the causal graph as
// network and as heat map, and the output kernels.
func drawGenes(group []Result, dir string) ([]string, error) {
	files, err := drawGroupErrors(group, dir)
	r := lookup(group, "nonlinear, L learned")
	if err != nil || r == nil || r.Graph == nil {
		return files, err
	}
	more, err := drawGraph(r, dir)
	files = append(files, more...)
	for k, o := range r.Outputs {
		if err != nil {
			break
		}
		in := outputHeat(&o)
		h := picture.Heat{
			Title: "output kernel of " + o.Node + " as correlation (blue −1, grey 0, red +1)", Matrix: matrixOf(in.matrix), Rows: in.rows, Cols: in.cols, Min: in.min, Max: in.max,
		}
		more, err = h.Draw(dir, fmt.Sprintf("drosophila-output-%d", k+1))
		files = append(files, more...)
	}
	return files, err
}

func matrixOf(rows [][]float64) blas.General {
	a := blas.NewGeneral(len(rows), len(rows))
	for i, row := range rows {
		copy(blas.Row(a, i), row)
	}
	return a
}

// alike orders the rows of a correlation so that neighbours go together: after each
// comes the one most correlated with it that is left.
func alike(a blas.General) []int {
	n := a.Rows
	order, used := []int{0}, make([]bool, n)
	used[0] = true
	for len(order) < n {
		row, best := blas.Row(a, order[len(order)-1]), -1
		for j, v := range row {
			if !used[j] && (best < 0 || v > row[best]) {
				best = j
			}
		}
		used[best] = true
		order = append(order, best)
	}
	return order
}

func reordered(a blas.General, order []int) blas.General {
	b := blas.NewGeneral(len(order), len(order))
	for i, p := range order {
		for j, q := range order {
			b.Data[i*b.Stride+j] = a.Data[p*a.Stride+q]
		}
	}
	return b
}

func drawGraph(r *Result, dir string) ([]string, error) {
	G := matrixOf(r.Graph.Strength)
	short := shortNames(r.Graph.Nodes)
	net := picture.Network{Title: "fruit fly: which groups of genes drive which (" + r.Name + ")", Nodes: short}
	for i := range G.Rows {
		for j, v := range blas.Row(G, i) {
			if i != j && v > 0 {
				net.Edges = append(net.Edges, picture.Edge{From: j, To: i, Strength: v})
			}
		}
		G.Data[i*G.Stride+i] = 0
	}
	if len(net.Edges) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(net.Edges, func(a, b picture.Edge) int { return cmp.Compare(b.Strength, a.Strength) })
	h := picture.Heat{
		Title: fmt.Sprintf("strength of source → target, 0 (black) to %.3g; own past left out", net.Edges[0].Strength), X: "source", Y: "target",
		Matrix: G, Rows: short, Cols: short, Max: net.Edges[0].Strength,
	}
	files, err := h.Draw(dir, "drosophila-strengths")
	if err != nil {
		return files, err
	}
	net.Edges = net.Edges[:min(len(net.Edges), len(short))] // more would be a tangle of long names
	net.Title += fmt.Sprintf(": the strongest %d edges", len(net.Edges))
	more, err := net.Draw(dir, "drosophila-graph")
	return append(files, more...), err
}

// shortened cuts long names.
func shortened(name string) string {
	const most = 36
	if r := []rune(name); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return name
}

// drawGroupErrors is the hold-out error of every group, named, for every setting.
func drawGroupErrors(group []Result, dir string) ([]string, error) {
	figs := groupFigures(group)
	if len(figs) == 0 {
		return nil, nil
	}
	p := picture.New("fruit fly: error on held-out time points, by group of genes", "", "RMSE (standard deviations)")
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	for k, c := range figs[0].curves {
		s, err := plotter.NewScatter(c.xy)
		if err != nil {
			return nil, err
		}
		s.GlyphStyle = draw.GlyphStyle{Color: palette[k%len(palette)], Radius: vg.Points(2.6), Shape: shapes[k%len(shapes)]}
		p.Add(s)
		p.Legend.Add(c.name, s)
	}
	names := groupOrder(group[0])
	var ticks []plot.Tick
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i + 1), Label: shortened(name)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Tick.Label.Font.Size = 7
	p.X.Tick.Label.Rotation = math.Pi / 2
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Min, p.X.Max = 0, float64(len(names)+1)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 4
	p.Y.Max += 0.25 * (p.Y.Max - p.Y.Min) // room for the legend
	return picture.Save(dir, "drosophila-rmse", vg.Length(max(420, 80+12*len(names))), 460, p.Draw)
}
