// Versions of files, and locks of files that are read and then replaced.

package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

var (
	// ErrChanged says that a file was replaced after it had been read.
	ErrChanged = errors.New("it has changed since it was read: read it again, or write another file")
	// ErrLocked says that another process or call holds a lock.
	ErrLocked = errors.New("another process is changing it: wait for its end, or name another file")
)

// Target is the absolute path, without symbolic links, of the file that Write replaces or creates: the links of path
// are followed, also where they lead to a file that does not exist.
func Target(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for range 255 { // Linux follows 40
		if p, err := filepath.EvalSymlinks(path); err == nil {
			return p
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if _, e := os.Stat(path); err != nil || !errors.Is(e, fs.ErrNotExist) {
			return path // of no folder, or a link of the system's that names no path, as those of open pipes
		}
		path = filepath.Join(dir, filepath.Base(path))
		link, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if path = link; !filepath.IsAbs(link) {
			path = dir + string(filepath.Separator) + link // whose .. is that of the folder, not of its name
		}
	}
	return path
}

// Version is what a regular file held when it was read or written. Two are the same where the file, its length and the
// time of its last change are.
type Version struct {
	path string
	info os.FileInfo
}

// VersionOf is what the file at path holds now.
func VersionOf(path string) (*Version, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(path + " is no regular file")
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path) // what Stat says of a path, Windows looks up when it is compared
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err = f.Stat()
	return &Version{Target(path), info}, err
}

// Of reports whether v is a version of the file that path names; nil is of none.
func (v *Version) Of(path string) bool { return v != nil && v.path == Target(path) }

// Write is [Write] to the file of v, and returns the new version. Where the file holds another version than v by the
// time that all bytes are written, it is left as it is, and the error is an [ErrChanged].
func (v *Version) Write(write func(io.Writer) error) (*Version, error) {
	err := replace(v.path, write, func() error {
		now, err := VersionOf(v.path)
		if err == nil && !(os.SameFile(now.info, v.info) && now.info.Size() == v.info.Size() &&
			now.info.ModTime().Equal(v.info.ModTime())) {
			return &os.PathError{Op: "write", Path: v.path, Err: ErrChanged}
		}
		return nil // a file that is gone has nothing to lose
	})
	if err != nil {
		return nil, err
	}
	return VersionOf(v.path)
}

// TryLock makes the caller the one that changes the file at path, among the processes and calls that ask, until it
// calls unlock or its process ends, however it does. [ErrLocked] says that another one is. The lock is a file beside
// path, which unlock removes; it does not keep [Write] from replacing path. What is no regular file is not locked, nor
// what is on a file system without locks.
func TryLock(path string) (unlock func(), err error) {
	target := Target(path)
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return func() {}, nil
	}
	dir, base := filepath.Split(target)
	name := dir + "." + base + ".lock"
	release, err := acquire(name)
	if err != nil {
		return nil, &os.PathError{Op: "write", Path: path, Err: reason(err)}
	}
	besides.Store(name, nil)
	return func() {
		besides.Delete(name)
		release()
	}, nil
}

// lockEach is the time between two attempts of Lock.
const lockEach = 10 * time.Millisecond

// Lock is TryLock, again until ctx ends.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		if unlock, err = TryLock(path); !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockEach):
		}
	}
}

// reason is err without the operation and the path of a file beside the one asked for.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
