// The race: rungs, fits without each fold, elimination.

package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
)

// race is the state of Run.
type race struct {
	Job
	all   learn.Data // all samples
	top   learn.Data // the part on which all arms may be compared
	data  learn.Data // those of the rung
	from  learn.Data // that data is a part of
	size  int        // samples of data
	arms  []*arm     // the best first once they are ranked
	floor float64    // no path ends at a larger λ, which is that of squared errors; 0 for none

	folds    int         // of all repeats
	constant [][]float64 // errors without kernels: of each fold, what the metric averages
	complete []bool      // folds on which all arms were compared
	best     *Result     // of the last rung that has any
	cut      bool        // time was spent before all was compared
	held     held
	progress
}

// rungs lists the numbers of samples that arms are compared on in turn, and the number of targets. Where the user names
// kernels, he means all samples.
func (s *race) rungs() (samples []int, targets int) {
	l, n := s.all.Size()
	if s.all.Parts == nil || s.named() {
		return []int{l}, n
	}
	size := l
	if t := s.table(); t != nil {
		rows, some := MostSamples, mostTargets
		if _, partial := s.all.Cells(); min(n, partial) >= 2*holedTargets {
			rows, some = holedSamples, holedTargets
		}
		// Of every dictionary a cross-Gram matrix for each fold.
		bytesPerPair := float64(8 * fewFolds * len(bases(varying(t))))
		holds := math.Sqrt(float64(s.Method.Limit()) / bytesPerPair)
		size = min(l, max(firstSamples, min(rows, int(holds))))
		if n >= 2*some && s.Metric != "accuracy" {
			n = some
		}
	}
	samples = []int{size}
	for size /= 2; size >= firstSamples && s.Lambdas == nil; size /= 2 {
		samples = slices.Insert(samples, 0, size)
	}
	return samples, n
}

// run compares arms rung by rung, and those that lead on all samples and targets. The folds of the last rung are dealt
// anew for each repeat. Arms that learn enter before the last rung.
func (s *race) run(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	sizes, _ := s.rungs()
	last, repeats := len(sizes)-1, max(s.Repeats, 1)
	for k := range last + repeats { // rungs before the last, and then its repeats
		if err := s.take(s.top, sizes[min(k, last)]); err != nil {
			return err
		}
		folds := s.folds / repeats
		from := max(k-last, 0) * folds
		if err := s.compare(ctx, from, from+folds); err != nil {
			return err
		}
		if k == max(0, last-1) && s.kernelsOpen() {
			if err := s.learners(ctx); err != nil {
				return err
			}
			if err := s.compare(ctx, from, from+folds); err != nil {
				return err
			}
		}
		if k+1 < last+repeats {
			s.eliminate()
		}
	}
	return s.finish(ctx)
}

// enter draws the part of the samples and targets that runs the race, and lists the arms of the first rung.
func (s *race) enter(ctx context.Context) (err error) {
	sizes, targets := s.rungs()
	l, n := s.all.Size()
	size := sizes[len(sizes)-1]
	if s.top = s.all; size < l || targets < n {
		if s.top, err = s.table().Part(s.draw(l, size), s.draw(n, targets)); err != nil {
			return err
		}
	}
	if err := s.take(s.top, sizes[0]); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.kernelsOpen() {
		s.Method.Say("choosing kernels on %d of %d samples and %d of %d targets: %d dictionaries, first on %d samples",
			size, l, targets, n, len(s.arms), s.size)
	}
	return nil
}

// take makes so many samples of the data d what arms are compared on, and deals them to folds.
// A smaller number of samples takes a part of a larger one.
func (s *race) take(d learn.Data, samples int) (err error) {
	if d == s.from && samples == s.size {
		return nil
	}
	l, _ := d.Size()
	f := s.folding()
	f.Seed = s.Method.Seed
	if all, _ := s.all.Size(); l < all && f.Groups != nil {
		f.Groups = columns.Pick(f.Groups, s.draw(all, l))
	}
	before := s.data
	s.data = d
	if samples < l {
		rows := s.draw(l, samples)
		if s.data, err = d.Parts.Sample(rows); err != nil {
			return err
		}
		f.Groups = columns.Pick(f.Groups, rows)
	}
	if t := s.data.Table; t != nil && s.from.Learnable != nil {
		t.Follow(before.Table)
	}
	if s.folds, err = s.data.Split(f); err != nil {
		return err
	}
	s.complete, s.held = make([]bool, s.folds), held{}
	if s.constant, err = s.constants(f); err != nil {
		return err
	}
	for _, a := range s.arms {
		a.move(float64(samples)/float64(s.size), s.folds)
	}
	s.from, s.size = d, samples
	return nil
}

// constants are the errors without kernels on each fold, averages over the losses that λ is judged by.
func (s *race) constants(f learn.Folding) ([][]float64, error) {
	sets := []learn.Data{s.data}
	for _, l := range s.Setting.Losses {
		d, err := s.data.Parts.ByLoss(l)
		if err == nil {
			_, err = d.Split(f)
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, d)
	}
	list := make([][]float64, s.folds)
	for fold := range list {
		all := make([]learn.Errors, len(sets))
		for k, d := range sets {
			var err error
			if all[k], err = d.Constant(fold); err != nil {
				return nil, fmt.Errorf("fold %d: %w", fold+1, err)
			}
		}
		e := learn.Average(all)
		list[fold] = e.Each(s.Metric)
	}
	return list, nil
}

// draw returns the numbers of some random samples or targets of so many, ascending. Those of a smaller
// number are among them. It is nil for all of them.
func (s *race) draw(of, some int) []int {
	if some == of {
		return nil
	}
	list := rand.New(rand.NewPCG(s.Method.Seed, uint64(of))).Perm(of)[:some]
	slices.Sort(list)
	return list
}

// compare fits all arms without each of some folds, and takes the result.
func (s *race) compare(ctx context.Context, from, to int) error {
	at, held, err := s.atOnce(ctx)
	if err != nil {
		return err
	}
	defer memory.Reserve(held)()
	tasks, left, count := s.tasks(s.share(from, to)), map[int]int{}, 0
	for _, t := range tasks {
		s.complete[t.fold] = false
		left[t.fold]++
		for _, a := range t.arms {
			count += len(a.pending(t.fold))
		}
	}
	s.begin(fmt.Sprintf("comparing settings on %d rows", s.size), count)
	fail := make([]error, len(tasks))
	do := func(i int) {
		t := tasks[i]
		if err := s.do(ctx, t); err != nil || ctx.Err() != nil {
			fail[i] = fmt.Errorf("fold %d: %w", t.fold+1, cmp.Or(err, ctx.Err()))
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if left[t.fold]--; left[t.fold] == 0 {
			s.complete[t.fold] = true
			s.Method.Say("cross-validation: fold %d of %d, %d arms on %d rows", t.fold+1, s.folds, len(s.arms), s.size)
		}
	}
	var next atomic.Int64
	par.For(min(at, len(tasks)), func(int) {
		for i := int(next.Add(1)) - 1; i < len(tasks) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			do(i)
		}
	})
	if ctx.Err() != nil {
		_ = s.soFar() // there may be no result yet
		return ctx.Err()
	}
	if err := cmp.Or(fail...); err != nil {
		return err
	}
	if err := s.gather(from, to); err != nil {
		return err
	}
	for _, a := range s.arms {
		a.end(from, to)
	}
	s.best, err = s.summarize(s.compared())
	return err
}

// compared lists the folds on which all arms were compared.
func (s *race) compared() (folds []int) {
	for f, done := range s.complete {
		if done || s.Ranks != nil {
			folds = append(folds, f)
		}
	}
	return folds
}

// soFar takes the result of the folds that are complete. Where none is, and nothing was compared before, it takes that
// of folds that have errors, which say too little about single targets.
func (s *race) soFar() error {
	folds, begun := s.compared(), false
	if folds == nil && s.best != nil {
		return nil
	}
	if folds == nil {
		begun = true
		for f := range s.complete {
			if slices.ContainsFunc(s.arms, func(a *arm) bool { return a.errors[a.from][f] != nil }) {
				folds = append(folds, f)
			}
		}
	}
	r, err := s.summarize(folds)
	if err != nil {
		return err
	}
	if s.best = r; begun {
		for i := range r.Points {
			r.Points[i].mixed = r.Points[i].Folds
		}
		r.Best, r.Means = s.least(r.Points), nil
	}
	return nil
}

// atLeast compares the middle of the path of the first arm on one fold, where the time was spent before anything was
// compared.
func (s *race) atLeast(ctx context.Context) error {
	if s.arms == nil {
		if err := s.enter(ctx); err != nil {
			return err
		}
	}
	a := s.arms[0]
	a.from = len(a.lambdas) / 2
	a.to = a.from + 1
	s.begin("comparing settings", 1)
	if err := s.fold(ctx, s.arms[:1], 0); err != nil {
		return err
	}
	return s.soFar()
}

// eliminate leaves the best arm of each kind that is not worse than the best beyond doubt, so that arms that are nearly
// alike do not crowd out the others. Where there are more samples than the race has, those of unionOfBest kinds stay
// whatever their errors: sums of kernels gain on others as samples are added. They keep the neighbours of their best λ,
// or all of a path that one decomposition serves: lengths that are learned on more samples may have another scale of μ.
func (s *race) eliminate() {
	if s.Lambdas != nil || s.Kernels != nil {
		return
	}
	s.rank()
	least := 1
	l, _ := s.all.Size()
	if top, _ := s.top.Size(); top < l {
		least = unionOfBest
	}
	var kept []*arm
	kinds := map[string]bool{}
	for _, a := range s.arms {
		kind := a.kind()
		if a.at < 0 || kinds[kind] || len(kept) >= least && s.worse(a.folds, s.arms[0].folds, doubt) {
			continue
		}
		if kinds[kind] = true; !a.closed {
			a.keep(a.at-beside, a.at+beside+1)
		}
		kept = append(kept, a)
	}
	if kept != nil {
		s.arms = kept
	}
}

// rank puts the best arms first.
func (s *race) rank() {
	slices.SortStableFunc(s.arms, func(a, b *arm) int { return cmp.Compare(a.score, b.score) })
}
