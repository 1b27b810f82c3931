// This file chooses the setting of a fit by a loss other than the squared one.

package choose

import (
	"cmp"
	"context"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/loss"
)

// lossSamples is how many samples, at most, values of λ are compared on by a loss. A fit takes several Newton steps
// there, and a path of λ on five folds about a hundred fits.
const lossSamples = 1000

// byLoss finds the kernels, and what is learned on them, by the race with squared errors, whose decompositions serve
// all λ, and then λ by the loss on at most lossSamples samples.
func byLoss(ctx context.Context, d learn.Table, job Job) (*Result, error) {
	job.Method.Say("kernels are compared by squared errors, since one decomposition of these serves all λ, and then λ "+
		"by the loss %s", d.Loss())
	squares, err := d.ByLoss(loss.Loss{})
	if err != nil {
		return nil, err
	}
	first := job
	if first.Metric != "accuracy" {
		first.Metric = ""
	}
	first.Budget, first.Lambdas = job.Budget/2, nil
	best, err := Run(ctx, squares, first)
	if err != nil {
		return nil, err
	}
	p := best.Chosen()
	d.Follow(squares)
	second := job
	second.Budget, second.Kernels, second.Models = job.Budget/2, nil, nil
	second.Setting.Kernels, second.Setting.Learn, second.Setting.Model = p.Kernels, p.Learn, p.Model
	if second.Setting.Regularizer == nil {
		second.Setting.Norm = p.Norm
	}
	second.Norms, second.Repeats = nil, 1
	l, _ := d.Size()
	part, rows := learn.Data(d), []int(nil)
	if some := (&race{Job: job}).draw(l, min(l, lossSamples)); some != nil && job.Lambdas == nil {
		rows = some
		if part, err = d.Sample(rows); err != nil {
			return nil, err
		}
		second.Groups = learn.Pick(job.Groups, rows)
	}
	r, err := Run(ctx, part, second)
	if r == nil || rows == nil {
		return r, err
	}
	for i := range r.Points { // μ = λl stays
		r.Points[i].Lambda *= float64(len(rows)) / float64(l)
	}
	return r, cmp.Or(err, ctx.Err())
}
