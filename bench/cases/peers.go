package cases

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

//go:embed scripts
var peerScripts embed.FS

// peerJob is a measurement by another program, on data of ours.
type peerJob struct {
	script string // in scripts/
	data   map[string]blas.General
	params map[string]any
	count  int      // of repetitions, unless the user asked for another number; 0 means 3
	args   []string // after the folder and the number of repetitions
}

// otherPrograms adds what the job measures with this run's threads and repetitions. Where the program
// is absent it notes why.
func otherPrograms(ctx context.Context, e *bench.Env, job peerJob) error {
	program, missing := interpreter(ctx, job.script)
	if program == nil {
		e.Skip("%s: %s", job.script, missing)
		return nil
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, peerScripts); err != nil {
		return err
	}
	for name, a := range job.data {
		if err := table.WriteNpy(filepath.Join(dir, name+".npy"), a); err != nil {
			return err
		}
	}
	args := append(program[1:], filepath.Join(dir, "scripts", job.script), dir,
		strconv.Itoa(e.Repeats(cmp.Or(job.count, 3))))
	cmd := exec.CommandContext(ctx, program[0], append(args, job.args...)...)
	threads := strconv.Itoa(e.Threads)
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS="+threads, "OMP_NUM_THREADS="+threads)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	bad := job.parse(e, text)
	if err != nil {
		// Python says what went wrong in the last line.
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return fmt.Errorf("%s: %w: %s", job.script, err, lines[len(lines)-1])
	}
	return bad
}

// parse adds the results of a JSON object a line.
func (job *peerJob) parse(e *bench.Env, text []byte) error {
	for line := range bytes.Lines(text) {
		var got struct {
			Name, Version string
			Seconds       []float64
			Metrics       map[string]float64
		}
		if err := json.Unmarshal(line, &got); err != nil {
			return fmt.Errorf("%s: %w", job.script, err)
		}
		program, _, _ := strings.Cut(got.Name, " ")
		r := bench.Result{Name: got.Name, Params: maps.Clone(job.params)}
		r.Params["backend"], r.Params["version"] = program, got.Version
		r.Time(got.Seconds)
		for key, v := range got.Metrics {
			if key == "residual" {
				r.Residual = bench.Num(v)
				continue
			}
			r.Metric(key, v)
		}
		e.Add(r)
	}
	return nil
}

// interpreter is the command that runs the script, or nil and what is missing.
// Debian's Python has the Debian packages where another comes first in PATH.
func interpreter(ctx context.Context, script string) (program []string, missing string) {
	if filepath.Ext(script) == ".m" {
		if octave, err := exec.LookPath("octave-cli"); err == nil {
			return []string{octave, "--norc", "--quiet"}, ""
		}
		return nil, "octave is not here (Debian: apt-get install octave octave-control)"
	}
	modules, debian := "sklearn, scipy", "python3-sklearn"
	if strings.HasSuffix(script, "_torch.py") {
		modules, debian = "torch, numpy", "python3-torch"
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(ctx, python, "-c", "import "+modules).Run() == nil {
			return []string{python}, ""
		}
	}
	return nil, fmt.Sprintf("python3 with %s is not here (Debian: apt-get install %s)", strings.ReplaceAll(modules, ",",
		" and"), debian)
}

// runPeers measures what other programs offer beside ours: the same data, the same number of threads, and the accuracy
// that each reached.
func runPeers(ctx context.Context, env *bench.Env) error {
	if env.Part == "eigsh" {
		return besideEigsh(ctx, env)
	}
	return besideSylvester(ctx, env)
}

// ours times one way of ours so many times, and lets measures look at its last answer.
func ours(
	ctx context.Context, env *bench.Env, params map[string]any, count int, way bench.Contender,
	measures func(r *bench.Result),
) error {
	way.Params = map[string]any{"backend": env.Backend.Name()}
	plan, last := bench.Plan{Count: env.Repeats(count), Warm: true}, error(nil)
	run := way.Run
	way.Run = func() error { last = run(); return last }
	err := env.Race(ctx, plan, params, []bench.Contender{way}, func(part []bench.Result) {
		if last == nil && len(part) > 0 {
			measures(&part[0])
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", way.Name, err)
	}
	return nil
}

// trueResidual is ‖K·C·L + μC − Y‖/‖Y‖ from its definition.
func trueResidual(env *bench.Env, K, L, C, Y blas.General, mu float64) float64 {
	R := blas.Product(env.Backend, false, false, K, blas.Product(env.Backend, false, false, C, L))
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, Y)
	return blas.Frob(R) / blas.Frob(Y)
}

// besideEigsh finds the smallest eigenvalues of dense symmetric matrices.
func besideEigsh(ctx context.Context, env *bench.Env) error {
	for _, n := range bench.Pick(env, []int{500}, []int{500, 1000, 2000, 4000}) {
		A := data.RandomSymmetric(env, n)
		for _, count := range []int{1, 3} {
			for _, tol := range []float64{1e-3, 1e-8} {
				if err := besideEigshOne(ctx, env, A, count, tol); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func besideEigshOne(ctx context.Context, env *bench.Env, A blas.General, count int, tol float64) error {
	params := map[string]any{"problem": "smallest eigenpairs", "n": A.Rows, "count": count, "tol": tol}
	op := linop.NewDense(A, env.Backend)
	repeats := 15 // what one run takes depends on its start
	var w lanczos.Workspace
	var got lanczos.Result
	seed := env.Seed
	run := func() (err error) {
		seed++
		got, err = w.Eigs(ctx, op, lanczos.Options{
			K: count, Block: 1, Which: lanczos.Smallest, Tol: tol, Seed: seed, Backend: env.Backend, MaxIter: 5000,
		})
		return err
	}
	// in a new process both threads may share a processor until then
	for start := time.Now(); time.Since(start) < 2*bench.SpinTime; {
		if err := run(); err != nil {
			return err
		}
	}
	way := bench.Contender{Name: "iokl lanczos", Run: run}
	err := ours(ctx, env, params, repeats, way, func(r *bench.Result) {
		norm := math.Max(math.Abs(got.Values[0]), math.Abs(slices.Max(got.Values)))
		r.Residual = bench.Num(slices.Max(got.Residuals) / norm)
		r.Metric("columns_multiplied", float64(got.Applies))
	})
	if err != nil {
		return err
	}
	return otherPrograms(ctx, env, peerJob{
		script: "eigsh.py", params: params, count: repeats, data: map[string]blas.General{"A": A},
		args: []string{fmt.Sprint(count), fmt.Sprint(tol)},
	})
}

// besideSylvester solves K·C·L + λl·C = Y with an L that others can invert.
func besideSylvester(ctx context.Context, env *bench.Env) error {
	for _, size := range bench.Pick(env, [][2]int{{300, 20}}, [][2]int{{300, 20}, {1000, 50}, {3000, 100}}) {
		K, err := data.GaussianGram(ctx, env, size[0])
		if err != nil {
			return err
		}
		sys := sylvester.System{K: K, L: data.OutputKernel(env, size[1], "full")}
		same := map[string]blas.General{ // the same matrices for all
			"K": blas.NewGeneral(size[0], size[0]), "L": blas.NewGeneral(size[1], size[1]),
			"Y": data.Targets(env, K, size[1]),
		}
		K.Dense(same["K"])
		sys.L.Dense(env.Backend, same["L"])
		for _, lambda := range bench.Pick(env, []float64{1e-3}, []float64{1e-2, 1e-4}) {
			sys.Mu = lambda * float64(size[0])
			if err := besideSystem(ctx, env, sys, same, lambda); err != nil {
				return err
			}
		}
	}
	return nil
}

// besideSystem solves one system, whose matrices are the same in dense form, by ours and by others.
func besideSystem(
	ctx context.Context, env *bench.Env, sys sylvester.System, same map[string]blas.General, lambda float64,
) error {
	l, n, Y, C := same["K"].Rows, same["L"].Rows, same["Y"], blas.Like(same["Y"])
	params := map[string]any{"problem": "K·C·L + λl·C = Y", "l": l, "n": n, "lambda": lambda}
	for _, name := range []string{"auto", "eigen", "tridiagonal"} {
		tol := 0.0
		if name == "auto" {
			tol = sylvesterTol
		}
		way := bench.Contender{Name: "iokl " + name, Run: func() error {
			blas.Zero(C)
			solver, err := sylvester.New(name, sylvester.Config{Backend: env.Backend, Seed: env.Seed})
			if err != nil {
				return err
			}
			_, err = solver.Solve(ctx, C, sys, Y, sylvester.Options{Tol: tol})
			return err
		}}
		if err := ours(ctx, env, params, 3, way, func(r *bench.Result) {
			r.Residual = bench.Num(trueResidual(env, same["K"], same["L"], C, Y, sys.Mu))
		}); err != nil {
			return err
		}
	}
	mu := fmt.Sprint(sys.Mu)
	for _, job := range []peerJob{
		{script: "sylvester.py", args: []string{mu}},
		{script: "sylvester_torch.py", args: []string{mu, fmt.Sprint(sylvesterTol)}},
		{script: "sylvester.m", args: []string{mu, fmt.Sprint(l), fmt.Sprint(n)}},
	} {
		if l > 1000 {
			job.count = 1 // each run takes seconds
		}
		job.data, job.params = same, params
		if err := otherPrograms(ctx, env, job); err != nil {
			return err
		}
	}
	return nil
}

// besideProgram is how many times as long as ours another program took for the sizes of a problem.
type besideProgram struct {
	Problem, Program string
	Sizes            string // of the first ratio
	Ratios           []float64
}

// besideOurs compares our fastest line of each problem with each line of another program.
func besideOurs(group []bench.Result) (all []besideProgram) {
	for _, r := range group {
		ours := bestOfOurs(group, r)
		if strings.HasPrefix(r.Name, "iokl") || ours == nil {
			continue
		}
		k := slices.IndexFunc(all, func(b besideProgram) bool {
			return b.Problem == r.Param("problem") && b.Program == r.Name
		})
		if k < 0 {
			k, all = len(all), append(all, besideProgram{r.Param("problem"), r.Name, sizes(r), nil})
		}
		all[k].Ratios = append(all[k].Ratios, r.Seconds/ours.Seconds)
	}
	return all
}

// bestOfOurs is our fastest line for the problem of r that is about as accurate.
func bestOfOurs(group []bench.Result, r bench.Result) *bench.Result {
	var best *bench.Result
	for i, o := range group {
		switch {
		case !strings.HasPrefix(o.Name, "iokl") || o.Param("problem") != r.Param("problem") || sizes(o) != sizes(r):
		case r.Residual != nil && o.Residual != nil && *o.Residual > asAccurate**r.Residual:
		case o.Seconds > 0 && (best == nil || o.Seconds < best.Seconds):
			best = &group[i]
		}
	}
	return best
}

// asAccurate is how many times as large a residual may be and still count as the same accuracy.
const asAccurate = 10

// sizes are the parameters that tell one form of a problem from another.
func sizes(r bench.Result) string {
	return r.Without("problem", "backend", "threads", "seed", "version")
}
