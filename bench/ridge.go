package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

//go:embed peers/rff_ridge.py
var ridgeScript []byte

// ridgeData is a regression problem, the same for all contenders.
type ridgeData struct {
	X, Y, Xt, Yt  blas.General
	features      int
	width, lambda float64
}

// runRidge fits ridge regression on random and on Nyström features of a Gaussian
// kernel, with one kernel and L = I, beside scikit-learn on the same data.
func runRidge(ctx context.Context, env *Env) ([]Result, error) {
	python := sklearnPython(ctx)
	if python == "" {
		return nil, fmt.Errorf("%w: python3 with scikit-learn is not here (Debian: apt-get install python3-sklearn)", ErrSkipped)
	}
	l, d, n := pick(env, 4000, 20000), 20, 50
	rng := env.rng(41)
	X := blas.NewGeneral(l+2000, d)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	Y := smoothTargets(rng, X, n)
	data := &ridgeData{
		X: blas.View(X, 0, 0, l, d), Xt: blas.View(X, l, 0, 2000, d), Y: blas.View(Y, 0, 0, l, n), Yt: blas.View(Y, l, 0, 2000, n),
		features: pick(env, 300, 1000), width: 5, lambda: 1e-5,
	}
	var results []Result
	for _, method := range []string{"rff", "nystrom"} {
		r, err := data.ours(ctx, env, method)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	theirs, err := data.theirs(ctx, env, python)
	return append(results, theirs...), err
}

// smoothTargets are n mixtures of three smooth functions of the inputs, with noise.
func smoothTargets(rng *rand.Rand, X blas.General, n int) blas.General {
	Y := blas.NewGeneral(X.Rows, n)
	for i := range X.Rows {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		f := [3]float64{math.Sin(x[0] + x[1]), math.Exp(-x[2] * x[2]), x[3] * x[4] / 2}
		for j := range y {
			y[j] = f[j%3] + f[(j+1)%3]*float64(j)/float64(n) + 0.1*rng.NormFloat64()
		}
	}
	return Y
}

// sklearnPython is the Python that has scikit-learn, Debian's where another comes first in PATH.
func sklearnPython(ctx context.Context) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(ctx, python, "-c", "import sklearn").Run() == nil {
			return python
		}
	}
	return ""
}

func (r *ridgeData) params() map[string]any {
	return map[string]any{"l": r.X.Rows, "d": r.X.Cols, "n": r.Y.Cols, "D": r.features}
}

// ours takes the features, sums them and solves (Γ + λl·I)W = H.
func (r *ridgeData) ours(ctx context.Context, env *Env, method string) (Result, error) {
	out := Result{Name: "iokl " + method, Params: r.params()}
	var samples []float64
	var mse float64
	count := env.count(3)
	for repeat := range 1 + count { // the first warms up
		start := time.Now()
		dict, err := kernel.Build([]string{fmt.Sprintf("%s:gaussian:all:%g:%d", method, r.width, r.features)}, r.X, nil, env.Seed)
		if err != nil {
			return out, err
		}
		maps, err := rff.NewMaps(dict, r.X, env.Seed+uint64(repeat))
		if err != nil {
			return out, err
		}
		W, err := r.solve(ctx, env, maps)
		if err != nil {
			return out, err
		}
		seconds := time.Since(start).Seconds()
		if repeat == 0 {
			continue
		}
		samples = append(samples, seconds)
		Z := blas.NewGeneral(r.Xt.Rows, maps.Dim())
		if err := maps.Transform(Z, r.Xt); err != nil {
			return out, err
		}
		P := blas.NewGeneral(r.Yt.Rows, r.Yt.Cols)
		blas.Mul(env.Backend, P, false, false, Z, W)
		blas.AddScaled(P, -1, r.Yt)
		e := blas.Frob(P)
		mse += e * e / float64(P.Rows*P.Cols) / float64(count)
	}
	out.time(samples)
	out.metric("test_mse", mse)
	return out, nil
}

func (r *ridgeData) solve(ctx context.Context, env *Env, maps rff.Maps) (blas.General, error) {
	acc := stream.New(maps, r.X.Cols, r.Y.Cols, stream.Options{Backend: env.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the data", r.X, r.Y)); err != nil {
		return blas.General{}, err
	}
	sums, err := acc.Sums()
	if err != nil {
		return blas.General{}, err
	}
	var yy float64
	for _, v := range sums[0].YY {
		yy += v
	}
	n := r.Y.Cols
	res, err := bcd.Solve(ctx, &bcd.Problem{
		Space:  bcd.NewFeatures(sums[0].Gamma, sums[0].H, yy, r.X.Rows, maps.Blocks(), env.Backend),
		Lambda: r.lambda, Tau: float64(n), Norm: bcd.Lp{P: 1},
		Eta: []float64{1}, L: linop.ScaledIdentity(n, 1), FixEta: true, FixL: true,
	}, bcd.Options{Sylvester: "cholesky", Tol: 1e-6, Backend: env.Backend, Seed: env.Seed})
	if err != nil {
		return blas.General{}, err
	}
	return res.C, nil
}

// theirs runs the script on the data.
func (r *ridgeData) theirs(ctx context.Context, env *Env, python string) ([]Result, error) {
	dir, err := os.MkdirTemp("", "ridge")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, a := range map[string]blas.General{"X": r.X, "Y": r.Y, "Xt": r.Xt, "Yt": r.Yt} {
		if err := table.Write(filepath.Join(dir, name+".npy"), &table.Table{Data: a}); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(dir, "rff_ridge.py")
	if err := os.WriteFile(script, ridgeScript, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, script, dir, strconv.Itoa(r.features), fmt.Sprint(1/(2*r.width*r.width)),
		fmt.Sprint(r.lambda*float64(r.X.Rows)), strconv.Itoa(env.count(3)))
	threads := strconv.Itoa(env.Threads)
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS="+threads, "OMP_NUM_THREADS="+threads)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("scikit-learn: %w: %s", err, errs.String())
	}
	var results []Result
	for line := range bytes.Lines(text) {
		var got struct {
			Name    string
			Seconds []float64
			MSE     float64
			Version string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			return results, fmt.Errorf("scikit-learn: %w", err)
		}
		out := Result{Name: "scikit-learn " + got.Name, Params: r.params()}
		out.Params["backend"], out.Params["version"] = "scikit-learn", got.Version
		out.time(got.Seconds)
		out.metric("test_mse", got.MSE)
		results = append(results, out)
	}
	return results, nil
}
