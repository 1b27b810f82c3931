package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/cmd/internal/results"
)

const chainLine = "granger --series s.csv --replicate run --lag 2 "

// Of the chain a → b → c the two edges are sure and no other is.
func TestGrangerConfidence(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	line := chainLine + "--stability 20 --null 39 --improvement --seed 5 --checkpoint rounds.json "
	got := object[results.Graph](t, dir, line+"--json")
	if got.StabilityRounds != 20 || got.NullRounds != 39 || len(got.Improvement) != 3 {
		t.Fatalf("%d resamples, %d shifts, %d gains", got.StabilityRounds, got.NullRounds, len(got.Improvement))
	}
	for i := range 3 {
		for j := range 3 {
			edge := i == 1 && j == 0 || i == 2 && j == 1
			if p, f := got.PValues[i][j], got.Frequency[i][j]; i != j && (edge != (p == 1.0/40) || edge && f < 0.95) {
				t.Errorf("%d → %d: p = %g, selected in %g of the resamples", j, i, p, f)
			}
		}
	}
	if g := got.Improvement; !(g[1].RMSE < 0.7*g[1].Own && g[2].RMSE < 0.7*g[2].Own && g[0].RMSE > 0.95*g[0].Own) {
		t.Errorf("gains %+v", g)
	}
	if e := got.Edges[0]; e.PValue == nil || e.Frequency == nil || len(got.Central) != 3 {
		t.Errorf("strongest edge %+v", e)
	}
	var few [2]results.Graph
	for k := range few {
		command(t, dir, chainLine+fmt.Sprint("--stability 5 --null 8 --seed 5 --json --threads ", k+1)).object(&few[k])
	}
	if !sameConfidence(few[0], few[1]) {
		t.Error("with two threads the confidence differs")
	}
	// The rounds are those of the checkpoint.
	succeed(t, dir, line+"--out g.dot").
		out("selected", "p ≤ 0.05", "of 20 resamples", "improves the forecasts of 2 of 3 nodes: ")
	if text := mustRead(t, "g.dot"); !strings.Contains(text, "p_value=0.025") {
		t.Errorf("no p-values in %s", text)
	}
}

func sameConfidence(a, b results.Graph) bool {
	return slices.EqualFunc(a.Frequency, b.Frequency, slices.Equal) &&
		slices.EqualFunc(a.PValues, b.PValues, slices.Equal)
}

// A run that is killed goes on from its checkpoint, to the same result.
func TestGrangerGoesOn(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	line := chainLine + "--stability 10 --null 8 --seed 5 --json "
	want := object[results.Graph](t, dir, line)
	// So many rounds that it is still at work when the file appears.
	cmd := process(t, dir, strings.Replace(line, "--stability 10", "--stability 100000", 1)+"--checkpoint c.json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "c.json")
	for end := time.Now().Add(*within); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil || time.Now().After(end) {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	var kept rounds
	if err := json.Unmarshal([]byte(mustRead(t, file)), &kept); err != nil || kept.Stability.Rounds < 1 {
		t.Fatalf("the checkpoint of a killed run: %v, %d rounds", err, kept.Stability.Rounds)
	}
	if kept.Stability.Rounds > 10 {
		t.Skipf("the process ran %d rounds before it was killed", kept.Stability.Rounds)
	}
	r := command(t, dir, line+"--checkpoint c.json --verbose").err("going on after")
	var got results.Graph
	r.object(&got)
	if !sameConfidence(got, want) {
		t.Error("the interrupted run has another result")
	}
	// All done: nothing is left to run.
	command(t, dir, line+"--checkpoint c.json --verbose").err("going on after 8 rounds").noErr(" of 8 rounds")
	for _, c := range map[string]string{
		"another seed":  strings.Replace(line, "--seed 5", "--seed 6", 1),
		"another lag":   line + "--lag 3",
		"fewer rounds":  strings.Replace(line, "--stability 10", "--stability 3", 1),
		"no resampling": chainLine,
	} {
		refuse(t, dir, c+" --checkpoint c.json").err("--checkpoint")
	}
	write(t, dir, "broken.json", `{"stability": {"rounds": 4, "count": [[1, 2]]}}`)
	refuse(t, dir, line+"--checkpoint broken.json").err("broken.json")
}

// What was found before an interruption is saved.
func TestGrangerInterrupted(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "c.json")); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r := commandWith(t, ctx, dir, chainLine+"--null 1000000 --checkpoint c.json --out g.csv", "")
	if r.status != exitFailed || !strings.Contains(r.stderr, "goes on from c.json; the graph alone is in g.csv") {
		t.Fatalf("%+v", r)
	}
	if text := mustRead(t, "g.csv"); !strings.HasPrefix(text, "target,a,b,c\n") {
		t.Errorf("g.csv: %s", text)
	}
	var kept rounds
	if err := json.Unmarshal([]byte(mustRead(t, "c.json")), &kept); err != nil || kept.Null.Rounds < 1 {
		t.Errorf("checkpoint: %v, %d rounds", err, kept.Null.Rounds)
	}
}
