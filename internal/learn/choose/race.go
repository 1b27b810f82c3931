// This file runs the race: rungs, fits without each fold, elimination.

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
	top   learn.Data // the largest part on which all arms may be compared
	data  learn.Data // those of the rung
	from  learn.Data // that data is a part of
	size  int        // samples of data
	floor float64    // no path ends at a larger λ, which is that of squared errors; 0 for none
	arms  []*arm     // the best first once they are ranked

	folds    int         // of all repeats
	constant [][]float64 // errors without kernels: of each fold, what the metric averages
	complete []bool      // folds on which all arms were compared
	best     *Result     // of the last rung that has any
	held     held
	whole    bool // all samples are fitted with exact kernels, and more of them than decompositions serve
	progress
}

// rung is a part of the data.
type rung struct{ samples, targets, repeat int }

// rungs lists the parts that arms are compared on in turn. last are those after which all data are in.
func (s *race) rungs() (list, last []rung) {
	l, n := s.all.Size()
	top := rung{samples: l, targets: n}
	if s.all.Parts == nil || s.named() {
		return s.repeats(top), nil // the user says what to compare, and means all samples
	}
	if t := s.table(); t != nil {
		most := rung{samples: MostSamples, targets: mostTargets}
		if s.holed() {
			most = rung{samples: holedSamples, targets: holedTargets}
		}
		// Of every dictionary a cross-Gram matrix for each fold.
		bytesPerPair := float64(8 * fewFolds * len(bases(varying(t))))
		holds := math.Sqrt(float64(s.Method.Limit()) / bytesPerPair)
		top.samples = min(l, max(firstSamples, min(most.samples, int(holds))))
		if n >= 2*most.targets && s.Metric != "accuracy" {
			top.targets = most.targets
		}
	}
	list = s.repeats(top)
	for size := top.samples / 2; size >= firstSamples && s.Lambdas == nil; size /= 2 {
		list = slices.Insert(list, 0, rung{samples: size, targets: top.targets})
	}
	if top.samples < l && !s.holed() {
		last = append(last, rung{samples: l, targets: top.targets})
	}
	if top.targets < n || top.samples < l && last == nil {
		last = append(last, rung{samples: l, targets: n})
	}
	return list, last
}

// holed reports whether many targets, and as many rows, may have missing cells.
func (s *race) holed() bool {
	_, n := s.all.Size()
	_, partial := s.all.Cells()
	return min(n, partial) >= 2*holedTargets
}

func (s *race) repeats(r rung) (list []rung) {
	for r.repeat = range max(s.Repeats, 1) {
		list = append(list, r)
	}
	return list
}

// run compares arms rung by rung. Arms that learn enter on the first rung of the largest part but one.
func (s *race) run(ctx context.Context) error {
	list, last := s.rungs()
	if err := s.begins(ctx); err != nil {
		return err
	}
	enter := max(0, len(list)-max(s.Repeats, 1)-1)
	for k, r := range list {
		if err := s.take(s.top, r); err != nil {
			return err
		}
		folds := s.folds / max(s.Repeats, 1) // of a repeat
		from, to := r.repeat*folds, (r.repeat+1)*folds
		if err := s.compare(ctx, from, to); err != nil {
			return err
		}
		if k == enter && s.kernelsOpen() {
			if err := s.enterLearners(ctx, from, to); err != nil {
				return err
			}
		}
		if k+1 < len(list) {
			s.eliminate()
		}
	}
	s.follow()
	for _, r := range last {
		if err := s.finish(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// follow makes fits to all samples start from the lengths of columns that the last rung learned.
func (s *race) follow() {
	if t := s.table(); t != nil {
		t.Follow(s.data.Table)
	}
}

// begins lists the arms of the first rung.
func (s *race) begins(ctx context.Context) (err error) {
	list, _ := s.rungs()
	l, n := s.all.Size()
	s.top = s.all
	if top := list[len(list)-1]; top.samples < l || top.targets < n {
		if s.top, err = s.table().Part(s.draw(l, top.samples), s.draw(n, top.targets)); err != nil {
			return err
		}
	}
	if err := s.take(s.top, list[0]); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.kernelsOpen() {
		s.Method.Say("choosing kernels on %d of %d samples and %d of %d targets: %d dictionaries, first on %d samples",
			list[len(list)-1].samples, l, list[0].targets, n, len(s.arms), s.size)
	}
	return nil
}

// enterLearners compares the arms that learn, and then the sum on the best dictionary.
func (s *race) enterLearners(ctx context.Context, from, to int) error {
	s.rank()
	if err := s.learners(ctx); err != nil {
		return err
	}
	s.arms = slices.DeleteFunc(s.arms, func(a *arm) bool {
		return s.Setting.Learn != "" && a.Learn != s.Setting.Learn ||
			s.Setting.OutputKernel != "" && a.OutputKernel != s.Setting.OutputKernel
	})
	if err := s.compare(ctx, from, to); err != nil {
		return err
	}
	if s.Setting.Model != learn.Sum && !slices.Contains(s.Models, learn.Sum) {
		return nil
	}
	s.rank()
	if err := s.sum(ctx); err != nil {
		return err
	}
	if s.Models == nil {
		s.arms = slices.DeleteFunc(s.arms, func(a *arm) bool { return a.Model != learn.Sum })
	}
	return s.compare(ctx, from, to)
}

// take makes a part of the data d what arms are compared on, and deals it to folds.
// A smaller number of samples takes a part of a larger one.
func (s *race) take(d learn.Data, r rung) (err error) {
	if d == s.from && r.samples == s.size {
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
	if r.samples < l {
		rows := s.draw(l, r.samples)
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
		a.move(float64(r.samples)/float64(s.size), s.folds)
	}
	s.from, s.size = d, r.samples
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
			lambdas, _ := a.pending(t.fold)
			count += len(lambdas)
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
		s.soFar()
		return ctx.Err()
	}
	if err := cmp.Or(fail...); err != nil {
		return err
	}
	if err := s.gather(from, to); err != nil {
		return err
	}
	for _, a := range s.arms {
		a.drop(from, to)
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

// soFar takes the result of the folds that are complete, or where none is and nothing was compared
// before, of those that have errors.
func (s *race) soFar() {
	if folds := s.compared(); folds != nil {
		if r, err := s.summarize(folds); err == nil {
			s.best = r
		}
		return
	}
	if s.best != nil {
		return
	}
	var begun []int
	for f := range s.complete {
		if slices.ContainsFunc(s.arms, func(a *arm) bool {
			return slices.ContainsFunc(a.errors, func(e [][]float64) bool { return e[f] != nil })
		}) {
			begun = append(begun, f)
		}
	}
	if begun != nil {
		_ = s.begun(begun) // there is no result yet
	}
}

// begun takes the result of folds that not all arms were compared on. Such folds say too little about single targets.
func (s *race) begun(folds []int) error {
	r, err := s.summarize(folds)
	if err != nil {
		return err
	}
	r.Means = nil
	for i, p := range r.Points {
		if s.score(p.Folds) < s.score(r.Points[r.Best].Folds) {
			r.Best = i
		}
	}
	s.best = r
	return nil
}

// least compares the middle of the path of the first arm on one fold, where the time was spent before anything was
// compared.
func (s *race) least(ctx context.Context) error {
	if s.arms == nil {
		if err := s.begins(ctx); err != nil {
			return err
		}
	}
	a := s.arms[0]
	for i := range a.in {
		a.in[i] = i == len(a.lambdas)/2
	}
	s.begin("comparing settings", 1)
	if err := s.fold(ctx, s.arms[:1], 0); err != nil {
		return err
	}
	return s.begun([]int{0})
}

// eliminate removes the arms that are worse than the best beyond doubt, and more until at most half are left: first the
// best arm of each kind stays, then the second of each, so that arms that are nearly alike do not crowd out the
// others. Where there are more samples than the race has, unionOfBest arms stay whatever their errors: sums of kernels
// gain on others as samples are added. Those that stay keep the neighbours of their best λ, and all of a path that one
// decomposition serves: lengths that are learned on more samples may have another scale of μ.
func (s *race) eliminate() {
	if s.Lambdas != nil || s.Kernels != nil {
		return
	}
	s.rank()
	leader := s.arms[0]
	if leader.at < 0 {
		return
	}
	least, most := 1, max(unionOfBest, (len(s.arms)+1)/2)
	l, _ := s.all.Size()
	if top, _ := s.top.Size(); top < l {
		least = unionOfBest
	}
	kept, turn, better := s.arms[:0:0], map[*arm]int{}, map[string]int{}
	for _, a := range s.arms {
		kind := a.kind()
		turn[a] = better[kind]
		better[kind]++
	}
	slices.SortStableFunc(s.arms, func(a, b *arm) int { return cmp.Compare(turn[a], turn[b]) })
	for _, a := range s.arms {
		if a.at >= 0 && (len(kept) < least || len(kept) < most && !s.worse(a.folds, leader.folds, doubt)) {
			if !a.closed {
				a.keep(beside)
			}
			kept = append(kept, a)
		}
	}
	s.arms = kept
}

// rank puts the best arms first.
func (s *race) rank() {
	slices.SortStableFunc(s.arms, func(a, b *arm) int { return cmp.Compare(a.score, b.score) })
}
