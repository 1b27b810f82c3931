//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import "os"

// lock does nothing: Windows refuses to remove a file that is open, and elsewhere no temporary is removed.
func lock(*os.File) bool { return os.PathSeparator == '\\' }
