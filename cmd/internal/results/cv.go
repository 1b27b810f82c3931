// This file has the sections of a page about a cross-validation.

package results

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/page"
)

// check refuses a report that cv did not print.
func (r *CV) check() error {
	if len(r.Points) == 0 {
		return errors.New("it has no settings")
	}
	for k, p := range r.Points {
		if !(p.Lambda > 0) {
			return fmt.Errorf("its setting %d has no λ", k+1)
		}
	}
	return nil
}

// errorText is an error of cross-validation with its standard error.
func errorText(metric iokl.Metric, mean, stderr float64) string {
	return fmt.Sprintf("%.4g ± %.2g (%s)", mean, stderr, metricNames[metric])
}

var metricNames = map[iokl.Metric]string{
	"nmse": "squared error over the variance of the targets", "mse": "mean squared error",
	"rmse": "root mean squared error", "accuracy": "accuracy",
	"loss": "loss over that of the best constant",
}

// rival is the best setting that differs from the one chosen in more than λ, or where there is none the best of all
// others; nil when there is no other.
func rival(r *CV) *iokl.CVPoint {
	var others, kinds []iokl.CVPoint
	for _, p := range r.Points {
		if !r.IsBest(p) {
			others = append(others, p)
		}
		if !sameKind(&p, &r.Best) {
			kinds = append(kinds, p)
		}
	}
	if kinds != nil {
		others = kinds
	}
	if others == nil {
		return nil
	}
	best := bestOf(others, r.Metric)
	return &best
}

// Page is the page of a cross-validation.
func (r *CV) Page(path string) Subject {
	s := Subject{name: filepath.Base(path), kind: "Cross-validation"}
	s.verdict = []string{say("compared", r), say("best", r)}
	if q := rival(r); q != nil {
		s.verdict = append(s.verdict, say("rival", struct {
			*iokl.CVPoint
			Close bool
		}{q, math.Abs(q.Mean-r.Best.Mean) <= 2*max(q.StdErr, r.Best.StdErr)}))
	}
	s.figures = facts("cv figures", r)
	best := slices.IndexFunc(r.Points, r.IsBest)
	curve := section("curve", "Error against λ", page.Charts(CVFigures(&iokl.CVResult{
		Metric: r.Metric, Folds: r.Folds, Best: max(best, 0), Points: r.Points,
	})), page.Classed("soft", "Each line is a setting; bars are standard errors over the folds; the ring is the "+
		"setting chosen."))
	points, title := r.listed()
	s.add(curve, section("settings", title, r.table(points).HTML()), rerun(r.Command, facts("cv settings", r)))
	return s
}

// listed are the settings that a table has room for, and what it is called: every one, or where more differ than in λ
// than a picture has colours for, each with its best λ, the best first.
func (r *CV) listed() (points []iokl.CVPoint, title string) {
	paths := splitPaths(r.Points, r.Metric)
	if len(paths) <= mostPaths {
		return r.Points, "Every setting"
	}
	for _, p := range paths {
		points = append(points, bestOf(p, r.Metric))
	}
	return points, "Every setting with its best λ"
}

// IsBest reports whether the setting is the best.
func (r *CV) IsBest(p iokl.CVPoint) bool { return reflect.DeepEqual(p, r.Best) }

// table lists settings with their errors.
func (r *CV) table(points []iokl.CVPoint) *page.Table {
	t := table("settings.csv", struct {
		*CV
		Listed []iokl.CVPoint
	}{r, points})
	t.LongLast = true
	return t
}

// CV is what cv --json prints.
type CV struct {
	Metric   iokl.Metric    `json:"metric"`
	Folds    int            `json:"folds"`
	Best     iokl.CVPoint   `json:"best"`
	Points   []iokl.CVPoint `json:"points"`
	Constant float64        `json:"constant_error"`  // of the mean of the training targets
	Means    []int          `json:"means,omitempty"` // targets, from 0, that the best setting predicts no better
	Seconds  float64        `json:"seconds"`
	Backend  string         `json:"backend"`
	Threads  int            `json:"threads"`
	Seed     uint64         `json:"seed"`
	Model    string         `json:"model,omitempty"`
	Pictures []string       `json:"pictures,omitempty"`
	Command  string         `json:"command"`
}

// Write prints the settings with their errors, and what became of the best.
func (r *CV) Write(w io.Writer) error {
	points, title := r.listed()
	if err := r.table(points).WriteText(w, len(points)); err != nil {
		return status.Failure(err)
	}
	if n := len(r.Points); len(points) < n {
		if _, err := fmt.Fprintf(w, "%s, of %d in all (--json has them)\n", title, n); err != nil {
			return status.Failure(err)
		}
	}
	return Report(w, "cv end", r)
}
