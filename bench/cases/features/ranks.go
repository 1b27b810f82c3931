// This file is the case ranks: how a pass over streamed rows scales with the processes of an MPI job.

package features

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/mpi"
	"github.com/iokl/iokl/stream"
)

func init() {
	bench.Register(bench.Case{
		Name: "ranks",
		Does: "the same number of streamed rows for each rank of an MPI job (build tag mpi): weak scaling, and " +
			"what is exchanged",
		Run:      runRanks,
		Conclude: concludeRanks,
	})
}

// rankVariable holds the order of a process that is one rank of the case "ranks".
const rankVariable = "MKLBENCH_RANK"

// rankOrder is what each rank is to do, one thread each.
type rankOrder struct {
	Rows     int64 // of each rank
	Features int   // of each of four kernels
	Count    int
	Backend  string
	Seed     uint64
}

// rankReport is what the first rank prints.
type rankReport struct {
	Seconds []float64 // of each pass with its exchange
	Reduce  []float64 // of the exchange
	Numbers int       // exchanged in each
	Rows    int64     // of all ranks
	D       int
	Library string
}

// runRanks measures the weak scaling of a streamed pass: as many rows for each
// rank, one rank and then as many as there are threads.
func runRanks(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	if !mpi.Linked {
		return nil, fmt.Errorf("%w: it needs a build with -tags mpi", bench.ErrSkipped)
	}
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		return nil, fmt.Errorf("%w: mpirun is not here (Debian: apt-get install openmpi-bin)", bench.ErrSkipped)
	}
	order := rankOrder{
		Rows: bench.Pick(env, int64(16384), 50000), Features: bench.Pick(env, 125, 500),
		Count: env.Repeats(3), Backend: env.Backend.Name(), Seed: env.Seed,
	}
	var results []bench.Result
	for ranks := 1; ranks <= max(env.Threads, 2); ranks *= 2 {
		report, err := startRanks(ctx, mpirun, ranks, order)
		if err != nil {
			return results, err
		}
		r := bench.Result{Name: bench.Plural(ranks, "rank"), Params: map[string]any{
			"ranks": ranks, "threads": ranks, "l": report.Rows, "D": report.D, "n": scaleOutputs, "d": scaleInputs,
			"mpi": report.Library,
		}}
		r.Time(report.Seconds)
		r.Metric("seconds_exchange", bench.Median(report.Reduce))
		r.Metric("bytes_exchanged", 8*float64(report.Numbers))
		r.Metric("bytes_on_paper", 8*float64(exchanged(report.D, scaleOutputs)))
		if len(results) > 0 {
			r.Metric("weak_scaling", results[0].Seconds/r.Seconds)
		}
		results = append(results, r)
	}
	return results, nil
}

// exchanged is the number of sums of one pass: the triangle of Γ, H, the column
// sums of Z, those of Y and of its squares, the count of rows and their weight, this and the
// means of Y a second time.
func exchanged(D, n int) int { return D*(D+1)/2 + D*n + D + 3*n + 3 }

// startRanks runs this program as so many ranks.
func startRanks(ctx context.Context, mpirun string, ranks int, order rankOrder) (report rankReport, err error) {
	text, err := json.Marshal(order)
	if err != nil {
		return report, err
	}
	self, err := os.Executable()
	if err != nil {
		return report, err
	}
	cmd := exec.CommandContext(ctx, mpirun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(ranks), self)
	cmd.Env = append(os.Environ(), rankVariable+"="+string(text))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return report, fmt.Errorf("%s: %w: %s", bench.Plural(ranks, "rank"), err, strings.TrimSpace(errs.String()))
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return report, fmt.Errorf("%s: %w", bench.Plural(ranks, "rank"), err)
	}
	return report, nil
}

// RankMain does the work of one rank in a process that the case "ranks" started
// as such, and returns its exit status; elsewhere ok is false.
func RankMain(ctx context.Context, stdout, stderr io.Writer) (status int, ok bool) {
	text, ok := os.LookupEnv(rankVariable)
	if !ok {
		return 0, false
	}
	w, err := mpi.Start()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1, true
	}
	if err := rankPasses(ctx, w, text, stdout); err != nil {
		w.Abort(err.Error(), 1)
	}
	if err := w.Close(); err != nil {
		fmt.Fprintln(stderr, err)
		return 1, true
	}
	return 0, true
}

// counted counts the numbers that it adds up over the ranks.
type counted struct {
	stream.Ranks
	numbers int
}

func (c *counted) Allreduce(x []float64) error {
	c.numbers += len(x)
	return c.Ranks.Allreduce(x)
}

func rankPasses(ctx context.Context, w *mpi.World, text string, stdout io.Writer) error {
	var order rankOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return fmt.Errorf("%s: %w", rankVariable, err)
	}
	be, err := blas.ByName(order.Backend)
	if err != nil {
		return err
	}
	blas.Use(be)
	bench.SetThreads(1)
	env := bench.NewEnv()
	env.Seed = order.Seed
	maps, err := scaleMaps(ctx, env, order.Features)
	if err != nil {
		return err
	}
	report := rankReport{D: maps.Dim(), Library: w.Library()}
	for repeat := range 1 + order.Count { // the first warms up
		acc := stream.New(maps, scaleInputs, scaleOutputs, stream.Options{Seed: env.Seed, Backend: be})
		if err := w.Barrier(); err != nil {
			return err
		}
		start := time.Now()
		if err := acc.Run(ctx, newGenerator(env, order.Rows, 100+uint64(w.Rank()))); err != nil {
			return err
		}
		own := time.Now()
		all := &counted{Ranks: w}
		if err := acc.Reduce(all); err != nil {
			return err
		}
		if repeat == 0 {
			continue
		}
		report.Seconds = append(report.Seconds, time.Since(start).Seconds())
		report.Reduce = append(report.Reduce, time.Since(own).Seconds())
		report.Numbers, report.Rows = all.numbers, acc.Rows()
	}
	if w.Rank() > 0 {
		return nil
	}
	return json.NewEncoder(stdout).Encode(report)
}

// concludeRanks says what sharing the rows among ranks costs.
var concludeRanks = bench.Say(`
{{$all := .}}{{range having "weak_scaling" .}}With as many rows for each, {{.Name}} take {{printf "%.3g" .Seconds}} s
where
one takes {{printf "%.3g" (index $all 0).Seconds}} s: an efficiency of
{{value "weak_scaling" . | mul 100.0 | printf "%.0f"}} %.
{{end}}`)
