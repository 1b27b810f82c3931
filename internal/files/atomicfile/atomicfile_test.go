package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("folder holds %v, want only %s", entries, name)
	}
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, s := range []string{"first", "second, longer", ""} {
		if err := Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, path); got != s {
			t.Errorf("file holds %q, want %q", got, s)
		}
	}
	if err := Check(path); err != nil {
		t.Error(err)
	}
	onlyFile(t, dir, "a.txt")
}

func TestWriteKeepsOldFileOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error {
		if _, err := w.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want boom", err)
	}
	if got := mustRead(t, path); got != "old" {
		t.Errorf("file holds %d bytes after a failed write", len(got))
	}
	onlyFile(t, dir, "a.txt")
}

func TestWriteKeepsModeAndFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.txt"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := Write(link, text("new")); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, path); got != "new" {
		t.Errorf("the link's target holds %q", got)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestWriteRefusals(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"a folder":       dir,
		"missing folder": filepath.Join(dir, "none", "a.txt"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := Write(path, text("x")); err == nil {
				t.Error("Write: no error")
			}
			if err := Check(path); err == nil {
				t.Error("Check: no error")
			}
		})
	}
}

func TestWriteFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full on this system")
	}
	if err := Write("/dev/full", text("x")); err == nil {
		t.Error("no error from a full device")
	}
}

// A child process writes a large second version for as long as it lives, or does what its variable says.
const childEnv = "ATOMICFILE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func child(path string) int {
	if path, is := strings.CutPrefix(path, "count:"); is {
		if err := count(path); err != nil {
			os.Stderr.WriteString(err.Error())
			return 3
		}
		return 0
	}
	if path, is := strings.CutPrefix(path, "lock:"); is {
		unlock, err := TryLock(path)
		if err != nil {
			return 3
		}
		defer unlock()
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour)
	}
	block := bytes.Repeat([]byte{'n'}, 1<<16)
	err := Write(path, func(w io.Writer) error {
		for i := range 64 {
			if _, err := w.Write(block); err != nil {
				return err
			}
			if i == 32 {
				os.Stdout.WriteString("half\n")
			}
			if i >= 32 {
				time.Sleep(time.Second)
			}
		}
		return nil
	})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 3
	}
	return 0
}

func startChild(t *testing.T, path string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func TestKillDuringWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	cmd, out := startChild(t, path)
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatal("the child never came half way:", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := mustRead(t, path); got != "old" {
		t.Errorf("file holds %d bytes after kill -9, want the old ones", len(got))
	}
}

// Bytes at the start can be replaced when all others are written.
func TestWriteAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	err := Write(path, func(w io.Writer) error {
		if err := text("00 rows")(w); err != nil {
			return err
		}
		_, err := w.(io.WriterAt).WriteAt([]byte("17"), 0)
		return err
	})
	if got := mustRead(t, path); err != nil || got != "17 rows" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWriteRemovesOrphans checks that the temporaries of killed processes go, and no other files.
func TestWriteRemovesOrphans(t *testing.T) {
	dir := t.TempDir()
	path, before := filepath.Join(dir, "a.txt"), time.Now().Add(-2*orphanAge)
	create := func(name string, changed time.Time) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = os.Chtimes(f.Name(), changed, changed)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	orphan := create(".a.txt.01234567.tmp", before)
	_ = orphan.Close()
	written := create(".a.txt.89abcdef.tmp", before)
	if !lock(written) {
		t.Skip("this system has no locks")
	}
	for _, name := range []string{
		".a.txt.tmp", ".b.txt.01234567.tmp", ".a.txt.0123456.tmp", "a.txt.01234567.tmp", "01234567.tmp",
	} {
		create(name, before)
	}
	create(".a.txt.76543210.tmp", time.Now())
	if err := Write(path, text("x")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 8 {
		t.Errorf("folder holds %v", entries)
	}
	if _, err := os.Stat(orphan.Name()); !os.IsNotExist(err) {
		t.Errorf("the orphan is there: %v", err)
	}
}
