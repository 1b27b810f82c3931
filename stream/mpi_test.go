//go:build mpi

package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/iokl/iokl/internal/base/mpi"
)

// counting is ranks that count the numbers that they add up.
type counting struct {
	*mpi.World
	numbers int
}

func (c *counting) Allreduce(x []float64) error {
	c.numbers += len(x)
	return c.World.Allreduce(x)
}

// rankJob is one rank of TestRanks: it takes its share of the rows, adds up over
// the ranks, and compares with the sums of all rows.
func rankJob() error {
	w, err := mpi.Start()
	if err != nil {
		return err
	}
	X, Y, maps := data(new(testing.T), 1000)
	opt := Options{BlockRows: 64, Folds: 3}
	alone, joint := New(maps, 3, 2, opt), New(maps, 3, 2, opt)
	whole := func() Source { return &chopped{x: X, y: Y, sizes: []int{41}, end: io.EOF} }
	if err := alone.Run(context.Background(), whole()); err != nil {
		return err
	}
	if err := joint.Run(context.Background(), Share(whole(), w.Rank(), w.Size())); err != nil {
		return err
	}
	count := &counting{World: w}
	if err := joint.Reduce(count); err != nil {
		return err
	}
	D := maps.Dim()
	if want := 3 * (D*(D+1)/2 + D*2 + D + 3*2 + 3); count.numbers != want {
		return fmt.Errorf("%d numbers exchanged, want %d", count.numbers, want)
	}
	a, _ := alone.Sums()
	b, _ := joint.Sums()
	for k := range a {
		if err := same(b[k], a[k], 1e-12); err != nil {
			return fmt.Errorf("fold %d: %w", k, err)
		}
	}
	if w.Rank() == 0 {
		fmt.Printf("%d ranks took %d rows\n", w.Size(), joint.Rows())
	}
	return w.Close()
}

func TestMain(m *testing.M) {
	if os.Getenv("STREAM_TEST_RANK") == "" {
		os.Exit(m.Run())
	}
	if err := rankJob(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestRanks(t *testing.T) {
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	for _, ranks := range []int{1, 2, 4} {
		cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(ranks), os.Args[0])
		cmd.Env = append(os.Environ(), "STREAM_TEST_RANK=1")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || out.String() != fmt.Sprintf("%d ranks took 1000 rows\n", ranks) {
			t.Errorf("%d ranks: %v\n%s%s", ranks, err, out.String(), errs.String())
		}
	}
}
