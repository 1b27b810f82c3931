package granger

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iokl/iokl/blas"
)

// Response is the effect of source From on target To in the model of the target.
type Response struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Lags has, for k = 1, 2, …, the RMS change of the source's part of the model when its values k steps back are
	// shuffled in time, in standard deviations of the target.
	Lags  []float64 `json:"lags"`
	Delay int       `json:"delay"` // the k of the largest of them
	// Effect is, for nodes of one series, the source's part of the model at the values At of the source Delay steps
	// back, its other values at their mean: in standard deviations of the target, with mean 0.
	At     []float64 `json:"at,omitempty"`
	Effect []float64 `json:"effect,omitempty"`
}

const (
	responseRows   = 200 // samples that responses are measured on
	responsePoints = 15  // of a curve
)

// Responses estimates the effect of the source of each link on its target. For every link and lag it evaluates the
// kernels of the source between all samples and 200 of them.
func (s *Study) Responses(ctx context.Context, links []Link) ([]Response, error) {
	models, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Response, len(links))
	return out, forEach(ctx, len(links), func(k int) (err error) {
		out[k], err = s.e.response(ctx, models[links[k].Target], links[k])
		return err
	})
}

// all returns the models of all nodes with their coefficients, which ranks do not exchange: each of several fits all.
func (s *Study) all(ctx context.Context) ([]model, error) {
	if s.e.opt.Ranks.Size() > 1 {
		return s.e.fitHere(ctx, s.e.tasks(s.e.all(), nil, s.lambda))
	}
	_, err := s.graph(ctx)
	return s.models, err
}

func (e *engine) response(ctx context.Context, m model, link Link) (Response, error) {
	r := Response{From: link.From, To: link.To, Lags: make([]float64, e.opt.Lag)}
	part, err := e.kernelPart([]model{m}, e.all(), link.Source)
	if err != nil {
		return r, err
	}
	effect := func(X blas.General) (blas.General, error) {
		F, err := part(ctx, X)
		if err != nil {
			return blas.General{}, err
		}
		return F[0], nil
	}
	rows := evenly(e.all(), responseRows)
	base := blas.TakeRows(e.X, rows)
	from, err := effect(base)
	if err != nil {
		return r, err
	}
	columns, series := e.past[link.Source].Columns, len(e.data.Nodes[link.Source].Series)
	order := rand.New(rand.NewPCG(e.opt.Seed, 25)).Perm(len(rows))
	for age := range e.opt.Lag {
		moved := blas.Clone(base)
		for s := range series {
			c := columns[s*e.opt.Lag+age]
			for i, k := range order {
				moved.Data[i*moved.Stride+c] = base.Data[k*base.Stride+c]
			}
		}
		to, err := effect(moved)
		if err != nil {
			return r, err
		}
		r.Lags[age] = floats.Distance(to.Data, from.Data, 2) / math.Sqrt(float64(len(to.Data)))
	}
	r.Delay = 1 + floats.MaxIdx(r.Lags)
	if series > 1 || from.Cols > 1 {
		return r, nil
	}
	X := e.curve(&r, link.Source)
	F, err := effect(X)
	r.Effect = F.Data
	floats.AddConst(-stat.Mean(r.Effect, nil), r.Effect)
	return r, err
}

// curve fills in At and returns the inputs there.
func (e *engine) curve(r *Response, source int) blas.General {
	c := e.past[source].Columns[r.Delay-1]
	values := mat.Col(nil, c, blas.Dense(e.X))
	slices.Sort(values)
	lo, hi := stat.Quantile(0.05, stat.LinInterp, values, nil), stat.Quantile(0.95, stat.LinInterp, values, nil)
	series := e.node[source].lo
	X := blas.NewGeneral(responsePoints, e.X.Cols)
	for k, v := range floats.Span(make([]float64, responsePoints), lo, hi) {
		X.Data[k*X.Stride+c] = v
		r.At = append(r.At, e.mean[series]+e.scale[series]*v/e.weight[c])
	}
	return X
}

// Simultaneous is a pair of nodes that are correlated within one time step, beyond what the past of all nodes explains.
// Either one drives the other faster than the sampling, or an unobserved variable drives both; the data do not tell
// which.
type Simultaneous struct {
	A           string  `json:"a"`
	B           string  `json:"b"`
	Correlation float64 `json:"correlation"` // of what the models leave of them
	PValue      float64 `json:"p_value"`     // for residuals that are independent in time, times the number of pairs
}

// Simultaneous lists the pairs of nodes of one series whose residuals are correlated
// with a p-value, times the number of pairs, of at most level; the strongest first.
func (s *Study) Simultaneous(ctx context.Context, level float64) ([]Simultaneous, error) {
	models, err := s.residuals(ctx)
	if err != nil {
		return nil, err
	}
	var out []Simultaneous
	pairs := float64(len(models)*(len(models)-1)) / 2
	for i := range models {
		for j := range i {
			a, b := models[j].residual, models[i].residual
			if a.Cols != 1 || b.Cols != 1 {
				continue
			}
			r := stat.Correlation(a.Data, b.Data, nil)
			if p := min(1, pairs*correlated(r, s.e.l)); p <= level {
				out = append(out, Simultaneous{models[j].Node, models[i].Node, r, p})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Simultaneous) int {
		return cmp.Compare(math.Abs(b.Correlation), math.Abs(a.Correlation))
	})
	return out, nil
}

// residuals are the models of all nodes with their residuals: in feature space the targets less the features' part,
// projected off the border.
func (s *Study) residuals(ctx context.Context) ([]model, error) {
	e := s.e
	models, err := s.all(ctx)
	if err != nil || e.maps == nil || models[0].residual.Rows > 0 {
		return models, err
	}
	part, err := e.kernelPart(models, e.all(), -1)
	if err != nil {
		return nil, err
	}
	F, err := part(ctx, e.X)
	if err != nil {
		return nil, err
	}
	for i := range models {
		p := e.prepare(task{node: i, idx: e.all(), lambda: models[i].Lambda})
		blas.AddScaled(p.raw, -1, F[i])
		projectOff(e.opt.Backend, p.raw, p.U)
		models[i].residual = p.raw
	}
	return models, nil
}

// Doubt is a violated assumption of the p-values of edges, in one series.
type Doubt struct {
	Series string  `json:"series"`
	What   string  `json:"what"`    // one of the constants below
	PValue float64 `json:"p_value"` // of the assumption, times the number of series
}

// What a series may violate. That two move together within a step is told by [Study.Simultaneous].
const (
	// what the model leaves is correlated in time: the past matters beyond the lag, or is measured with noise
	Memory = "memory"
	Spread = "spread" // the spread of what the model leaves changes in time
	Wander = "wander" // the series wanders, or has a trend
)

// Doubts lists the violations whose p-value, times the number of series, is at most level.
// Memory is tested by the autocorrelations of the residuals (Ljung and Box, doi:10.1093/biomet/65.2.297),
// Spread by the correlation of their magnitudes with time, and Wander by a regression of
// changes on levels that does not reject a root of one (Dickey and Fuller,
// doi:10.1080/01621459.1979.10482531); its p-value is left at 1.
func (s *Study) Doubts(ctx context.Context, level float64) ([]Doubt, error) {
	models, err := s.residuals(ctx)
	if err != nil {
		return nil, err
	}
	var out []Doubt
	tests := float64(s.e.Y.Cols)
	for k, node := range s.e.data.Nodes {
		for c, j := range node.Series {
			left := mat.Col(nil, c, blas.Dense(models[k].residual))
			for what, p := range map[string]float64{Memory: s.e.memory(left), Spread: spread(left, s.e.share)} {
				if p *= tests; p <= level {
					out = append(out, Doubt{s.e.data.Names[j], what, p})
				}
			}
			if s.e.wanders(s.e.node[k].lo + c) {
				out = append(out, Doubt{s.e.data.Names[j], Wander, 1})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.PValue, b.PValue), cmp.Compare(a.Series, b.Series))
	})
	return out, nil
}

// memory is the p-value of Q = l(l+2)·Σ_k r_k²/(l−k) over five lags k.
func (g *design) memory(left []float64) float64 {
	const lags = 5
	l, ss, q := float64(g.l), blas.Dot(left, left), 0.0
	if ss == 0 || g.l <= 2*lags {
		return 1
	}
	for k := 1; k <= lags; k++ {
		sum := 0.0
		for i, t := range g.rows {
			if b, known := g.sample[t-k]; known && g.data.Replicate[t] == g.data.Replicate[t-k] {
				sum += left[i] * left[b]
			}
		}
		q += l * (l + 2) * square(sum/ss) / (l - float64(k))
	}
	return distuv.ChiSquared{K: lags}.Survival(q)
}

// spread is the p-value of the correlation of |left| with time.
func spread(left, time []float64) float64 {
	size := make([]float64, len(left))
	for i, v := range left {
		size[i] = math.Abs(v)
	}
	r := stat.Correlation(size, time, nil)
	if !(math.Abs(r) < 1) || len(left) < 4 {
		return 1
	}
	return correlated(r, len(left))
}

// correlated is the p-value of a correlation of n pairs, by Fisher's transformation.
func correlated(r float64, n int) float64 {
	return 2 * distuv.UnitNormal.Survival(math.Abs(math.Atanh(r))*math.Sqrt(math.Max(float64(n)-3, 1)))
}

// wanders reports whether −2.86, the quantile of the test at .05, is not reached by the t of a in
// x_t − x_{t−1} = a·x_{t−1} + b, for column c of S.
func (g *design) wanders(c int) bool {
	const critical = -2.86
	var level, change []float64
	for _, t := range g.rows {
		before, now := blas.Row(g.S, t-1)[c], blas.Row(g.S, t)[c]
		level, change = append(level, before), append(change, now-before)
	}
	r := stat.Correlation(level, change, nil)
	return !(r*math.Sqrt((float64(g.l)-2)/(1-r*r)) <= critical)
}
