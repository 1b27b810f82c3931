package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A link to a file that is not there is followed, through links to folders too.
func TestWriteFollowsDanglingLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"deep/inner", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]string{
		{"deep/inner", "linked"},      // a folder
		{"../a.txt", "deep/inner/up"}, // from linked/up to deep/a.txt
		{"b.txt", "plain"},            // beside it
		{"plain", "twice"},            // a link to a link
		{filepath.Join(dir, "other", "c.txt"), "absolute"},
	} {
		if err := os.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for link, want := range map[string]string{
		"linked/up": "deep/a.txt", "twice": "b.txt", "absolute": "other/c.txt", "linked/new": "deep/inner/new",
	} {
		path, want := filepath.Join(dir, link), filepath.Join(dir, want)
		if Target(path) != Target(want) {
			t.Errorf("%s leads to %s", link, Target(path))
		}
		if err := errors.Join(Check(path), Write(path, text(link))); err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		if got := mustRead(t, want); got != link {
			t.Errorf("%s: its target holds %q", link, got)
		}
	}
	for _, name := range []string{"plain", "twice", "absolute", "deep/inner/up"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("link %s was replaced: %v", name, err)
		}
	}
	round := filepath.Join(dir, "round")
	if err := os.Symlink("round", round); err != nil {
		t.Fatal(err)
	}
	if err := Write(round, text("x")); err == nil {
		t.Error("a link to itself is written")
	}
}

// Of several changes to what was read, the first is kept and the others are refused.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := Write(path, text("0")); err != nil {
		t.Fatal(err)
	}
	v, err := VersionOf(path)
	if err != nil || !v.Of(path) || v.Of(path+"x") || (*Version)(nil).Of(path) {
		t.Fatal(v, err)
	}
	next, err := v.Write(text("1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Write(text("2")); !errors.Is(err, ErrChanged) || mustRead(t, path) != "1" {
		t.Errorf("a second change of the same version: %v, %s", err, mustRead(t, path))
	}
	if next, err = next.Write(text("3")); err != nil || mustRead(t, path) != "3" {
		t.Errorf("the next change: %v, %s", err, mustRead(t, path))
	}
	if err := os.WriteFile(path, []byte("4"), 0o666); err != nil { // in place, of the same length
		t.Fatal(err)
	}
	if _, err := next.Write(text("5")); !errors.Is(err, ErrChanged) {
		t.Errorf("after a change in place: %v", err)
	}
	onlyFile(t, dir, "a.txt")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Write(text("6")); err != nil || mustRead(t, path) != "6" {
		t.Errorf("after the file was removed: %v", err)
	}
}

// Numbers that goroutines and processes add to a file are all there in the end, whether they lock it or try again.
func TestNothingIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "count")
	if err := Write(path, text("0")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=count:"+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wg.Go(func() {
			if err := count(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := mustRead(t, path); got != strconv.Itoa(8*counts) {
		t.Errorf("%s of %d additions are left", got, 8*counts)
	}
	onlyFile(t, filepath.Dir(path), "count")
}

const counts = 10

// count adds 1 so many times, every other time under a lock.
func count(path string) error {
	for i := range counts {
		unlock := func() {}
		if i%2 == 0 {
			var err error
			if unlock, err = Lock(context.Background(), path+".queue"); err != nil {
				return err
			}
		}
		err := addOne(path)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// addOne adds 1, again until nobody else has in between.
func addOne(path string) error {
	for {
		v, err := VersionOf(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(b))
		if err != nil {
			return err
		}
		_, err = v.Write(func(w io.Writer) error { _, err := fmt.Fprint(w, n+1); return err })
		if !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

// The lock of a process that is killed is free at once.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	cmd, out := startChild(t, "lock:"+path)
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockEach)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, ErrLocked) {
		t.Errorf("waited for: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	unlock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		again, err := Lock(t.Context(), path)
		if err != nil {
			t.Error(err)
			return
		}
		again()
	})
	time.Sleep(2 * lockEach)
	unlock()
	waiting.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := TryLock(filepath.Join(dir, "none", "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}
