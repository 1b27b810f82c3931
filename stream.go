package iokl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// Rows is data of any length that are read in blocks of rows.
type Rows struct {
	Inputs, Outputs int    // columns of X and Y
	Name            string // of the data, for checkpoints: one belongs to data of one name
	Count           int64  // rows, or less than 1 when that is not known
	// Open starts to hand out the rows anew, from the first on. A source that is
	// an io.Closer is closed when it is no longer needed.
	Open func() (stream.Source, error)
}

// Ranks are the processes of a parallel job, each of which calls [FitStream] with
// the same data and options.
type Ranks = stream.Ranks

// StreamOptions of [FitStream].
type StreamOptions struct {
	Options
	// SurveyRows is the number of leading rows that scales, median distances and
	// landmarks are taken from; 0 means all rows, read once more for it.
	SurveyRows int64
	// CheckpointRows is the number of rows between two writes of the file
	// Checkpoint, which keeps the sums when a pass ends early, and at its end; a
	// pass goes on from where the file's ended. Beside it, ranks write files of
	// their own. 0 means 100 for each feature.
	CheckpointRows int64
	// Ranks share the rows of a parallel job; nil means this process alone.
	Ranks Ranks
	// Progress sees every block of rows, and whether it is read for the survey; an error from it ends the fit.
	Progress func(survey bool, p stream.Progress) error `json:"-"`
}

// surveySample is the number of rows, uniformly drawn, that median distances,
// landmarks and the means of centred kernels are taken from.
const surveySample = 4096

// DefaultStreamKernels is the dictionary of a streamed fit that names no kernels.
func DefaultStreamKernels() []string {
	return []string{"rff:gaussian:all:median*0.25,0.5,1,2:500", "linear:all"}
}

// FitStream is [Fit] for data larger than memory, with kernels that have explicit
// features: rff:…, nystrom:…, linear, poly, cosine. One pass over the rows adds up
//
//	Γ = ZᵀZ (D×D),  H = ZᵀY (D×n),  ‖Y‖²,
//
// after which nothing depends on the number of rows. Where λ is not given it is
// chosen from sums kept apart for each of opt.CV.Folds folds (5 unless said) of
// the same pass. Where D² numbers do not fit into the memory limit, every
// multiply by Γ reads the rows again; λ must then be given.
//
// Inputs are scaled, and widths and landmarks chosen, by a survey of the rows
// beforehand; targets are centred and scaled by the sums themselves. With as many
// rows as the survey samples (4096), or fewer, kernels are those of Fit. Missing
// cells are an error. Results and errors are as for Fit; an error in a row, which
// wraps [stream.ErrRow] or is the source's own, leaves the sums of the rows before
// it in the checkpoint.
func FitStream(ctx context.Context, data Rows, opt StreamOptions) (*Model, error) {
	p, err := newPass(ctx, data, opt)
	if err != nil {
		return nil, err
	}
	if len(p.sums) == 1 {
		return p.fit(ctx, p.sums[0])
	}
	r, err := p.crossValidate(ctx)
	if err != nil {
		return nil, err
	}
	return (&StreamCV{*r, p}).Fit(ctx)
}

// newPass reads the data into sums.
func newPass(ctx context.Context, data Rows, opt StreamOptions) (*pass, error) {
	p := &pass{data: data, opt: opt}
	var err error
	if p.opt.Options, err = opt.Options.check(false); err != nil {
		return nil, err
	}
	if data.Inputs < 1 || data.Outputs < 1 {
		return nil, badInput("the data are empty")
	}
	if len(p.opt.Kernels) == 0 {
		p.opt.Kernels = DefaultStreamKernels()
	}
	saved, err := p.resume()
	if err != nil {
		return nil, err
	}
	if saved != nil {
		defer saved.Close()
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	return p, p.accumulate(ctx, saved)
}

// pass is a streamed fit under way.
type pass struct {
	data   Rows
	opt    StreamOptions
	survey *stream.Survey
	y      *Scaler // by which targets are brought near mean 0, scale 1 before they are summed
	m      Model
	dict   kernel.Dictionary
	fixed  []float64 // weights of the kernels where they are not learned
	maps   rff.Maps
	so     stream.Options
	sums   []stream.Sums // of the folds
}

// prepare surveys the data, unless a checkpoint has told of them, and makes the feature maps.
func (p *pass) prepare(ctx context.Context) (err error) {
	if p.survey == nil {
		if err := p.inspect(ctx); err != nil {
			return err
		}
	}
	if p.survey.Rows < 2 {
		return badInput("%d rows of data are not enough to learn from", p.survey.Rows)
	}
	if err := p.inputs(); err != nil {
		return err
	}
	p.y = scalerOf(p.survey.Y)
	if !p.opt.scaleY() {
		p.y = nil
	}
	Z := blas.Clone(p.survey.Sample)
	if p.m.in.Scaler != nil {
		p.m.in.Scaler.apply(Z)
	}
	if p.dict, p.fixed, err = dictionary(ctx, Z, blas.General{}, &p.opt.Options, new(kernel.Medians)); err != nil {
		return err
	}
	for _, k := range p.dict {
		if k.Approx == nil && !k.Kind.HasFeatures() {
			return badInput("kernel %s needs all samples at once: for data that are streamed write it with rff: or nystrom:", k.Name)
		}
	}
	p.m.names = p.dict.Names()
	if p.maps, err = rff.NewMaps(ctx, p.dict, Z, p.opt.Seed); err != nil {
		return &wrapped{err, ErrInput}
	}
	return p.plan()
}

// inputs fills in the model's map of the inputs.
func (p *pass) inputs() error {
	names, err := columnNames(p.opt.InputNames, p.data.Inputs, "x", "input")
	if err != nil {
		return err
	}
	s := scalerOf(p.survey.X)
	p.m.in = &inputs{Names: names, Fill: s.Mean, Strict: p.opt.Missing == "error"}
	if !p.opt.scaleX() {
		return nil
	}
	p.m.in.Scaler = s
	c := chosen(names, s.Constant)
	if len(c) == len(names) {
		return badInput("every input column is constant")
	}
	if len(c) > 0 {
		p.m.warnings = append(p.m.warnings, fmt.Sprintf("dropped %s, constant in the training data", columnList("input column", c)))
	}
	return nil
}

// scalerOf is the scaler by the moments of the columns.
func scalerOf(m stream.Moments) *Scaler {
	s := &Scaler{Mean: m.Mean, Scale: make([]float64, len(m.Mean)), Constant: make([]bool, len(m.Mean))}
	for j, d := range m.Deviation {
		s.Scale[j], s.Constant[j] = d, !positive(d)
		if s.Constant[j] {
			s.Scale[j] = 1
		}
	}
	return s
}

// plan decides on folds and on whether Γ is stored.
func (p *pass) plan() error {
	D, d, n := p.maps.Dim(), p.data.Inputs, p.data.Outputs
	if D == 0 {
		return badInput("the kernels have no features")
	}
	p.so = stream.Options{Seed: p.opt.Seed, Backend: p.opt.Backend, CheckpointRows: p.opt.CheckpointRows}
	if p.so.CheckpointRows == 0 {
		p.so.CheckpointRows = 100 * int64(D)
	}
	if p.opt.Lambda == 0 {
		p.so.Folds = p.opt.CV.Folds
		if p.so.Folds == 0 {
			p.so.Folds = chooseFolds
		}
		if p.so.Folds < 2 {
			return badInput("%d folds: at least 2 are needed", p.so.Folds)
		}
		if err := p.dealFolds(); err != nil {
			return err
		}
	}
	rows := p.data.Count
	if rows < 1 && p.opt.SurveyRows == 0 {
		rows = p.survey.Rows
	}
	if rows < 1 {
		rows = -1
	}
	var note string
	p.so, note = stream.Plan(D, d, n, rows, max(p.opt.limit()-featureBytes(D, n), 0), p.so)
	if note != "" && p.opt.Lambda == 0 {
		return &wrapped{badInput("%s; λ cannot be chosen in that way: give it, or use fewer features or folds", note), ErrMemory}
	}
	if note != "" {
		p.opt.notify("%s", note)
	}
	return nil
}

// accumulate takes the rows into the sums, from where the checkpoint ended.
func (p *pass) accumulate(ctx context.Context, saved io.Reader) error {
	if p.opt.Progress != nil {
		p.so.Progress = func(at stream.Progress) error { return p.opt.Progress(false, at) }
	}
	if p.opt.Checkpoint != "" {
		p.so.Checkpoint = p.save
	}
	var err error
	if p.so.Identity, err = p.identity(); err != nil {
		return err
	}
	acc := stream.New(p.maps, p.data.Inputs, p.data.Outputs, p.so)
	if saved != nil {
		if err := acc.Decode(saved); err != nil {
			return &wrapped{fmt.Errorf("%s: %w", p.checkpoint(), err), ErrInput}
		}
		p.opt.notify("going on after the %d rows of %s", acc.Rows(), p.checkpoint())
	}
	src, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := acc.Run(ctx, src); err != nil {
		return rowError(err)
	}
	if p.so.Checkpoint != nil {
		if err := p.save(acc); err != nil {
			return err
		}
	}
	if p.opt.Ranks != nil {
		if err := acc.Reduce(p.opt.Ranks); err != nil {
			return err
		}
	}
	p.sums, err = acc.Sums()
	return rowError(err)
}

// rowError makes an ErrInput of an error in a row.
func rowError(err error) error {
	if errors.Is(err, stream.ErrRow) {
		return &wrapped{err, ErrInput}
	}
	return asInput(err)
}

// fit learns from the sums of all rows.
func (p *pass) fit(ctx context.Context, total stream.Sums) (*Model, error) {
	opt := &p.opt.Options
	p.sums = nil
	if total.Rows < 2 {
		return nil, badInput("%d rows of data are not enough to learn from", total.Rows)
	}
	if err := p.outputs(&total); err != nil {
		return nil, err
	}
	t := newTargets(&total, opt.scaleY())
	space, gram := p.space(ctx, &total, t)
	problem := opt.problem(space, p.fixed)
	res, err := bcd.Solve(ctx, problem, p.solverOptions())
	if gram != nil && gram.Err() != nil {
		return nil, rowError(gram.Err())
	}
	if res == nil {
		return nil, asInput(err)
	}
	p.m.certify(res, problem, opt)
	p.m.basis = newFeatureBasis(p.maps, res, opt.Backend)
	return &p.m, err
}

// solverOptions are those of a fit that, without Γ, must do with its products.
func (p *pass) solverOptions() bcd.Options {
	so := p.opt.solverOptions()
	if p.so.NoGamma && (so.Sylvester == "" || so.Sylvester == "auto") {
		so.Sylvester = "rotated"
	}
	return so
}

// outputs fills in the model's map of the targets.
func (p *pass) outputs(total *stream.Sums) error {
	names, err := columnNames(p.opt.OutputNames, p.data.Outputs, "y", "output")
	if err != nil {
		return err
	}
	t := newTargets(total, true)
	if len(t.live) == 0 {
		return badInput("every target column is constant: there is nothing to learn")
	}
	out := &outputs{Names: names}
	p.m.out = out
	if !p.opt.scaleY() {
		for j := range names {
			out.Live = append(out.Live, j)
		}
		return nil
	}
	out.Live = t.live
	out.Scaler = &Scaler{Mean: make([]float64, len(names)), Scale: make([]float64, len(names)), Constant: make([]bool, len(names))}
	for j := range names {
		out.Scaler.Mean[j] = p.y.Mean[j] + p.y.Scale[j]*t.mean[j]
		out.Scaler.Scale[j] = p.y.Scale[j] * t.scale[j]
		out.Scaler.Constant[j] = t.constant[j]
	}
	if c := chosen(names, t.constant); len(c) > 0 {
		p.m.warnings = append(p.m.warnings, fmt.Sprintf("%s constant in the training data and predicted as such", columnList("target column", c)))
	}
	return nil
}
