//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// lock locks f until it is closed and reports whether no other open file holds a lock.
func lock(f *os.File) bool { return flock(f) == nil }

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// acquire creates the file of a lock and locks it; release removes it first, so that it is found by its name as long as
// it is locked. A file that is no longer there when it is locked was that of another call.
func acquire(name string) (release func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, os.ErrPermission) { // it may be the file of another user
		f, err = os.Open(name)
	}
	if err != nil {
		return nil, err
	}
	release = func() {
		_ = os.Remove(name)
		_ = f.Close()
	}
	switch err := flock(f); err {
	case nil:
	case syscall.EWOULDBLOCK, syscall.EINTR:
		_ = f.Close()
		return nil, ErrLocked
	default: // the file system has no locks
		release()
		return func() {}, nil
	}
	own, err := f.Stat()
	if there, e := os.Stat(name); err != nil || e != nil || !os.SameFile(own, there) {
		_ = f.Close()
		return nil, ErrLocked
	}
	return release, nil
}
