package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets the test binary be its own parallel job: with MPI_TEST_JOB set it
// is one rank of it.
func TestMain(m *testing.M) {
	if job := os.Getenv("MPI_TEST_JOB"); job != "" {
		w, err := Start()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		if err := errors.Join(jobs[job](w), w.Close()); err != nil {
			w.Abort(err.Error(), 4)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// jobs is what the ranks do.
var jobs = map[string]func(w *World) error{
	"sum": func(w *World) error {
		x := make([]float64, 1000)
		for i := range x {
			x[i] = float64(i * (w.Rank() + 1))
		}
		if err := w.Allreduce(x); err != nil {
			return err
		}
		ranks := float64(w.Size() * (w.Size() + 1) / 2)
		for i, v := range x {
			if v != float64(i)*ranks {
				return fmt.Errorf("element %d is %g", i, v)
			}
		}
		text := []byte(fmt.Sprintf("from rank %d", w.Rank()))
		if err := w.Bcast(text, w.Size()-1); err != nil {
			return err
		}
		if string(text) != fmt.Sprintf("from rank %d", w.Size()-1) {
			return fmt.Errorf("received %q", text)
		}
		if w.Rank() == 0 {
			fmt.Printf("%d ranks agree\n", w.Size())
		}
		return nil
	},
	"fail": func(w *World) error {
		if w.Rank() == w.Size()-1 {
			w.Abort("part7.csv, row 12: not a number", 5)
		}
		return w.Allreduce(make([]float64, 1)) // waits for the others
	},
}

// job runs ranks processes of this test under mpirun.
func job(t *testing.T, name string, ranks int) (stdout, stderr string, err error) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), "MPI_TEST_JOB="+name)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestSingle(t *testing.T) {
	if launched() != 1 {
		t.Skip("inside a parallel job")
	}
	for _, name := range []string{"sum"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MPI_TEST_JOB="+name)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "1 ranks agree\n" {
			t.Errorf("alone: %v\n%s", err, out)
		}
	}
}

func TestPieces(t *testing.T) {
	var got []string
	err := pieces([]byte("abcdefg"), 3, func(p []byte) error { got = append(got, string(p)); return nil })
	if err != nil || strings.Join(got, " ") != "abc def g" {
		t.Errorf("%v, %v", got, err)
	}
	stop := errors.New("stop")
	if err := pieces(make([]int, 9), 4, func([]int) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}
