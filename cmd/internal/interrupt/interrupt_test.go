package interrupt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/internal/files/atomicfile"
)

// TestMain makes the test program a command whose work is named by the environment.
func TestMain(m *testing.M) {
	works := map[string]func(ctx context.Context) int{
		"obedient": func(ctx context.Context) int { <-ctx.Done(); return 7 },
		"deaf":     func(context.Context) int { select {} },
		"quick":    func(context.Context) int { return 3 },
		"writing": func(context.Context) int {
			_ = atomicfile.Write("out", func(w io.Writer) error {
				fmt.Fprintln(w, "half")
				fmt.Println("at work")
				select {}
			})
			return 0
		},
	}
	if work := works[os.Getenv("IOKL_TEST_WORK")]; work != nil {
		Main("command", func(ctx context.Context) int {
			go func() { <-ctx.Done(); fmt.Println("cancelled") }()
			fmt.Println("started")
			return work(ctx)
		})
	}
	os.Exit(m.Run())
}

func TestMainBySignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes here")
	}
	const line = "command: ended at once by a second signal (%s)\n"
	for _, c := range []struct {
		work    string
		signals []os.Signal
		status  int
		said    string
	}{
		{"quick", nil, 3, ""},
		{"obedient", []os.Signal{syscall.SIGINT}, 7, ""},
		{"obedient", []os.Signal{syscall.SIGTERM}, 7, ""},
		{"deaf", []os.Signal{syscall.SIGINT, syscall.SIGINT}, 1, fmt.Sprintf(line, "interrupt")},
		{"deaf", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, 1, fmt.Sprintf(line, "terminated")},
		{"deaf", []os.Signal{syscall.SIGINT, syscall.SIGTERM}, 1, fmt.Sprintf(line, "terminated")},
		{"writing", []os.Signal{syscall.SIGINT, syscall.SIGINT}, 1, fmt.Sprintf(line, "interrupt")},
	} {
		t.Run(fmt.Sprint(c.work, c.signals), func(t *testing.T) {
			deadline.Run(t, time.Minute, func() {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "out"), []byte("before"), 0o666); err != nil {
					t.Fatal(err)
				}
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(self)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "IOKL_TEST_WORK="+c.work)
				var said strings.Builder
				cmd.Stderr = &said
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				until := func(text string) {
					for lines.Scan() && lines.Text() != text {
					}
				}
				until("started")
				if c.work == "writing" {
					until("at work")
				}
				for _, s := range c.signals {
					if err := cmd.Process.Signal(s); err != nil {
						t.Fatal(err)
					}
					until("cancelled") // two signals at once may count as one
				}
				for lines.Scan() {
				}
				_ = cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != c.status || said.String() != c.said {
					t.Errorf("status %d, want %d; standard error %q, want %q", got, c.status, said.String(), c.said)
				}
				files, err := os.ReadDir(dir)
				if err != nil || len(files) != 1 {
					t.Errorf("%v, %v: want one file", files, err)
				}
				if b, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(b) != "before" {
					t.Errorf("the file holds %q, %v", b, err)
				}
			})
		})
	}
}

func TestDo(t *testing.T) {
	for name, c := range map[string]struct {
		f    func() (int, error)
		want int
		err  error
	}{
		"value": {func() (int, error) { return 5, nil }, 5, nil},
		"error": {func() (int, error) { return 0, fs.ErrNotExist }, 0, fs.ErrNotExist},
	} {
		if got, err := Do(t.Context(), c.f); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	deadline.Run(t, time.Minute, func() {
		_, err := Do(ctx, func() (int, error) {
			cancel()
			select {}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
	defer func() {
		if r := recover(); r != "broken" {
			t.Errorf("recovered %v", r)
		}
	}()
	_, _ = Do(t.Context(), func() (int, error) { panic("broken") })
}

// Work that goes on after the first signal is said to, and ended by the second.
func TestLongWorkIsSaid(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes here")
	}
	deadline.Run(t, time.Minute, func() {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "IOKL_TEST_WORK=deaf")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		bufio.NewScanner(out).Scan() // until it has started
		lines := bufio.NewScanner(said)
		for _, want := range []string{"a second signal ends it at once", "ended at once by a second signal"} {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), "command: ") || !strings.Contains(lines.Text(), want) {
				t.Errorf("%q, want %q", lines.Text(), want)
			}
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 1 {
			t.Errorf("status %d", got)
		}
	})
}
