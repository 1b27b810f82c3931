package atomicfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock does nothing: Windows refuses to remove a file that is open.
func lock(*os.File) bool { return true }

// acquire opens the file of a lock for this process alone; Windows removes it when it is closed, and closes it when the
// process ends.
func acquire(name string) (release func(), err error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(path, windows.GENERIC_READ|windows.DELETE, 0, nil, windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	switch err {
	case nil:
		return func() { _ = windows.CloseHandle(h) }, nil
	case windows.ERROR_SHARING_VIOLATION, windows.ERROR_ACCESS_DENIED: // the latter while the file is being removed
		return nil, ErrLocked
	}
	return nil, err
}
