// Package atomicfile replaces files whole or not at all: a reader, or a program
// started after a crash, sees the old contents or the new ones and never a part.
package atomicfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Write replaces the file at path by what write sends to its argument. The bytes
// go to a temporary file in the same folder, are flushed to the disk, and take
// the name path only once all of them are there. On any error the old file, or
// its absence, is left as it was and the temporary file is removed. A process
// killed on the way leaves at most a temporary, named like ".path.*.tmp", which a
// later Write to the same path removes.
//
// The argument of write is an [io.WriterAt] too, for bytes that went to it before, unless path
// is no regular file.
//
// The new file keeps the permissions of the one it replaces. Symbolic links are followed, see [Target], and what is no
// regular file (a pipe, a device) is written to directly.
func Write(path string, write func(io.Writer) error) error {
	return replace(Target(path), write, func() error { return nil })
}

// replace is Write to the file that path names itself, unless check, which is called when all bytes are there and no
// other call is about to replace the file, returns an error.
func replace(path string, write func(io.Writer) error, check func() error) error {
	mode := os.FileMode(0o666)
	replaced, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && replaced.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !replaced.Mode().IsRegular():
		return writeThrough(path, write)
	case err == nil:
		mode = replaced.Mode().Perm()
	}
	sweep(path)
	f, err := createBeside(path, mode)
	if err != nil {
		return err
	}
	lock(f)
	besides.Store(f.Name(), nil)
	defer besides.Delete(f.Name())
	err = fill(f, write)
	if err == nil {
		err = rename(f.Name(), path, check)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// renameTime bounds the wait for another process that is renaming to the same path.
const renameTime = 10 * time.Second

// rename gives a file the name path, unless check returns an error. No other call of rename to path runs meanwhile.
func rename(from, path string, check func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), renameTime)
	defer cancel()
	unlock, err := Lock(ctx, path+".tmp") // path itself may be locked by the caller
	if err != nil {
		return err
	}
	defer unlock()
	if err := check(); err != nil {
		return err
	}
	return os.Rename(from, path)
}

// besides are the names of the files beside those that are being written, and of locks.
var besides sync.Map

// Abandon removes the temporary files of all calls of Write that have not returned, which then fail, and those of
// locks. It is for a process that is about to end.
func Abandon() {
	besides.Range(func(name, _ any) bool {
		os.Remove(name.(string))
		return true
	})
}

// fill writes, flushes and closes f.
func fill(f *os.File, write func(io.Writer) error) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	b := file{bufio.NewWriterSize(f, 1<<16), f}
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// file is what write gets for a regular file. Bytes that went to it can be replaced.
type file struct {
	*bufio.Writer
	at *os.File
}

func (f file) WriteAt(p []byte, off int64) (int, error) {
	if err := f.Flush(); err != nil {
		return 0, err
	}
	return f.at.WriteAt(p, off)
}

func writeThrough(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// createBeside opens a new file in the folder of path. os.CreateTemp would give
// it mode 0600 where the user's umask should decide.
func createBeside(path string, mode os.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%s.%08x.tmp", dir, base, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || !os.IsExist(err) || try == 100 {
			return f, describe(path, err)
		}
	}
}

// orphanAge is how long a temporary must not have changed before it may be removed: longer than the moment between its
// creation and its lock.
const orphanAge = time.Minute

// sweep removes the temporaries of path that no process has locked, those of killed ones.
func sweep(path string) {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		random, own := strings.CutPrefix(e.Name(), "."+base+".")
		random, temporary := strings.CutSuffix(random, ".tmp")
		if !own || !temporary || len(random) != 8 || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < orphanAge {
			continue
		}
		if f, err := os.Open(dir + e.Name()); err == nil {
			orphan := lock(f)
			_ = f.Close()
			if orphan {
				_ = os.Remove(f.Name())
			}
		}
	}
}

// describe names the file asked for in place of the temporary one.
func describe(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return &os.PathError{Op: "write", Path: path, Err: pe.Err}
	}
	return err
}

// syncFolder makes the rename durable where the system lets a folder be synced;
// elsewhere the file is whole all the same, only perhaps the old one after a power cut.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Check reports whether Write can be expected to work at path: that the folder is
// there and takes a new file. It leaves nothing behind.
func Check(path string) error {
	path = Target(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	} else if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := createBeside(path, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
