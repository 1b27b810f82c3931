// This file says what the fits to groups of genes found.

package causality

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
)

// concludeHoldOut orders the paper's settings by their error on held-out time points,
// says whether that is the paper's order and what learning L brings at each λ, and
// names the central groups.
func concludeHoldOut(group []bench.Result) []string {
	var with []bench.Result
	for _, r := range group {
		if _, ok := r.Metrics["mean_rmse"]; ok {
			with = append(with, r)
		}
	}
	ranked := paperSettings(with)
	if len(ranked) == 0 {
		return nil
	}
	slices.SortStableFunc(ranked, func(a, b bench.Result) int {
		return cmp.Compare(a.Metrics["mean_rmse"], b.Metrics["mean_rmse"])
	})
	best, wins := ranked[0], groupWins(ranked)
	var parts []string
	for _, r := range ranked {
		parts = append(parts, fmt.Sprintf("%s %.3f (best of %d groups)", r.Name, r.Metrics["mean_rmse"], wins[r.Name]))
	}
	out := []string{fmt.Sprintf("On held-out time points %q has the smallest mean error at the paper's λ, %.3f "+
		"standard deviations; the mean of each gene alone has %.3f.",
		best.Name, best.Metrics["mean_rmse"], best.Metrics["mean_rmse_constant"])}
	out = append(out, "Mean error by setting: "+strings.Join(parts, ", ")+".")
	if paper := bench.Lookup(ranked, "nonlinear, L learned"); paper != nil {
		if paper.Name == best.Name {
			out = append(out, "The paper finds the same setting best.")
		} else {
			out = append(out, fmt.Sprintf("The paper finds %q best; here its mean error is %.1f %% above that of %q.",
				paper.Name, 100*(paper.Metrics["mean_rmse"]/best.Metrics["mean_rmse"]-1), best.Name))
		}
		best = *paper
	}
	out = append(out, whatLearningLBrings(with)...)
	parts = nil
	for _, g := range mostCentral(&best, 8) {
		parts = append(parts, fmt.Sprintf("%s (%.2f)", g, best.Metrics[outStrength+g]))
	}
	return append(out, fmt.Sprintf("With %q the groups that drive the others most, by strength in all: %s.", best.Name,
		strings.Join(parts, ", ")))
}

// whatLearningLBrings compares each setting that learns L with the one that does not.
func whatLearningLBrings(group []bench.Result) []string {
	var out []string
	for _, r := range group {
		learned := bench.Lookup(group, strings.Replace(r.Name, "L = I", "L learned", 1))
		if learned == nil || learned.Name == r.Name {
			continue
		}
		from, to := r.Metrics["mean_rmse"], learned.Metrics["mean_rmse"]
		verb := "lowers"
		if to > from {
			verb = "raises"
		}
		kind, _, _ := strings.Cut(r.Name, ",")
		out = append(out, fmt.Sprintf("Learning L %s the mean error of %s kernels at λ = %s from %.3f to %.3f.", verb,
			kind, r.Param("lambda"), from, to))
	}
	return out
}

// groupWins counts the groups on which each setting has the smallest error.
func groupWins(group []bench.Result) map[string]int {
	wins := map[string]int{}
	for _, name := range groupOrder(group[0]) {
		best := group[0]
		for _, r := range group {
			if v, ok := r.Metrics[groupError+name]; ok && v < best.Metrics[groupError+name] {
				best = r
			}
		}
		wins[best.Name]++
	}
	return wins
}
